"""What the rules read in a passage: units with their places, names, and the label of a document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.generation.offline.passages import Reading, plain, sentences_of, units_of, words_of
from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.languages import LANGUAGES

TEXT = """## Fees

An adult pays 5 euros. A child
pays nothing.

- 1. Open the door.
- Close it.

Group: Adults | Fee: 5 euros

```
code
```"""


def label(title: str, language: str, text: str = "") -> str:
    return Reading(Passage("chunk", title, (title,), text, language)).label


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_a_record_of_words(language: str) -> None:
    words = words_of(language)
    assert {"{key}", "{subject}"} <= {part for part in words.value.split(" ") if part.startswith("{")} | {
        "{subject}"
    }
    assert all("{subject}" in statement.question for statement in words.statements)


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


@pytest.mark.parametrize(
    ("language", "title", "named"),
    [
        ("en", "FAQ — restic 0.16 documentation", "restic 0.16 documentation"),
        ("en", "Chapter 3. Choosing a Debian distribution", "Choosing a Debian distribution"),
        ("en", "Fjell 8 data sheet", "Fjell 8 data sheet"),
        ("en", "Housing Act", "Housing Act"),
        ("en", "Frequently Asked Questions", ""),
        ("en", "Response Status Code", ""),
        ("en", "Getting started", ""),
        ("sv", "Taxa för Alviks vattenverk", "Taxa för Alviks vattenverk"),
        ("sv", "Lag om befordran med luftfartyg", "Lag om befordran med luftfartyg"),
        ("sv", "Vanliga frågor", ""),
        ("de", "Gebühren der Stadtbibliothek Auental", "Gebühren der Stadtbibliothek Auental"),
        ("de", "Benutzung der Bibliothek", ""),
        ("de", "Häufige Fragen", ""),
    ],
)
def test_the_label_of_a_document_is_the_part_of_its_title_that_names_something(
    language: str, title: str, named: str
) -> None:
    assert label(title, language) == named


def test_a_word_of_a_title_in_capitals_is_a_name_where_the_text_writes_it_so() -> None:
    assert (
        label("The Muttprint Manual", "en", "Start Muttprint, and Muttprint prints.")
        == "The Muttprint Manual"
    )
    assert not label("The Printing Manual", "en", "For printing start the program.")
