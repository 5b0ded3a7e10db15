"""What the rules read in a passage: units with their places, and headings without their numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.generation.passages import plain, sentences_of, units_of
from qa_pipeline.records import Passage

TEXT = """## Fees

An adult pays 5 euros. A child
pays nothing.

- 1. Open the door.
- Close it.

Group: Adults | Fee: 5 euros

```
code
```"""


def test_units_are_told_apart_and_joined_to_one_line() -> None:
    assert [(unit.kind, unit.text) for unit in units_of(TEXT)] == [
        ("heading", "Fees"),
        ("prose", "An adult pays 5 euros. A child pays nothing."),
        ("item", "Open the door."),
        ("item", "Close it."),
        ("row", "Group: Adults | Fee: 5 euros"),
        ("code", "``` code ```"),
    ]


@given(st.text(alphabet="aA .\n-#|:`1", max_size=80))
def test_a_unit_is_the_text_between_its_places(text: str) -> None:
    passage = Passage("chunk", "", (), text, "en")
    for unit in units_of(text):
        assert " ".join(text[unit.start : unit.end].split()) == unit.text
        assert all(unit.start <= line.start < line.end <= unit.end for line in sentences_of(unit, passage))


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("3.1.2. How do I start?", "How do I start?"),
        ("Chapter 3. Choosing a pump", "Choosing a pump"),
        ("Kapitel 14: Pumpen", "Pumpen"),
        ("How do I start?", "How do I start?"),
        ("A. First steps ¶", "First steps"),
        ("A pump", "A pump"),
    ],
)
def test_a_heading_is_read_without_its_number(heading: str, name: str) -> None:
    assert plain(heading) == name
