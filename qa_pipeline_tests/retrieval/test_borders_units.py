from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.retrieval.borders import join_lines, read_lines, sentence_starts

TEXT = """## Options

They are:

- One. It is first.
- Two

Name: a | Price: 1
Name: b | Price: 2

```python
if x:
    return 1

return 2
```

A paragraph. Of two
sentences."""

UNITS = [
    "## Options\n\nThey are:\n\n- One. It is first.",
    "- Two",
    "Name: a | Price: 1",
    "Name: b | Price: 2",
    "```python\nif x:\n    return 1",
    "return 2\n```",
    "A paragraph. Of two\nsentences.",
]


def test_headings_lead_ins_and_fences_go_with_what_is_beside_them() -> None:
    joined = join_lines(read_lines(TEXT, heading=10))
    assert [TEXT[unit[0].start : unit[-1].end] for unit in joined] == UNITS


def test_a_heading_too_long_to_be_kept_is_a_unit_of_its_own() -> None:
    first, *_ = join_lines(read_lines("## Options\n\nThey are few.", heading=0))
    assert [line.end for line in first] == [10]


def test_blocks_begin_where_blank_lines_or_fences_part_them() -> None:
    opening = [TEXT[line.start : line.end] for line in read_lines(TEXT, heading=10) if line.opens]
    assert opening == [
        "## Options",
        "They are:",
        "- One. It is first.",
        "Name: a | Price: 1",
        "```python",
        UNITS[-1],
    ]


def test_sentences_are_read_of_paragraphs_and_items_but_not_of_rows_and_code() -> None:
    lines = read_lines(TEXT, heading=10)
    starts = [TEXT[at:][:5] for line in lines for at in sentence_starts(TEXT, line, "en")[1:]]
    assert starts == ["It is", "Of tw"]


@given(st.text(st.sampled_from("ab \n`-#|:. "), max_size=200), st.integers(0, 20))
def test_lines_are_disjoint_in_order_and_hold_all_that_is_no_space(text: str, heading: int) -> None:
    place = 0
    for line in read_lines(text, heading=heading):
        assert place <= line.start < line.end
        assert not text[place : line.start].strip()
        assert text[line.start : line.end].strip()
        place = line.end
    assert not text[place:].strip()
