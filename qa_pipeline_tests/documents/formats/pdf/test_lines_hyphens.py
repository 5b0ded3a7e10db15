import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.formats.pdf.lines import Spelling


def rejoined(first: str, second: str, text: str = "", *, hard: bool = False) -> str:
    joined, rest = Spelling([text, first, second]).rejoin(first, second, hard=hard)
    return joined + rest


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("an improve", "ment of", "an improvement of"),
        ("a computer", "based course", "a computer-based course"),
        ("the well", "known rule", "the well-known rule"),
        ("is inter", "connected with", "is interconnected with"),
        ("Martínez", "Ferrer, A.", "Martínez-Ferrer, A."),
        ("the satellite", "and model-based data", "the satellite- and model-based data"),
        ("Sentinel", "5 is", "Sentinel-5 is"),
        ("https://example.org/future-in", "chemistry", "https://example.org/future-in-chemistry"),
        ("kommu", "nernas", "kommunernas"),
        ("a day-to", "day matter", "a day-to-day matter"),
        ("GNU/", "Linux ist", "GNU/Linux ist"),
        ("in 20", "and 30-year plans", "in 20- and 30-year plans"),
    ],
)
def test_a_word_broken_at_a_line_end_is_spelt_as_it_would_be_within_one(
    first: str, second: str, whole: str
) -> None:
    assert rejoined(first, second) == whole


def test_what_the_document_writes_elsewhere_decides() -> None:
    assert rejoined("a note", "based system", "notebased systems exist") == "a notebased system"
    assert rejoined("an on", "line course", "every on-line course") == "an on-line course"
    assert rejoined("a data", "base", "data here, data there; the base, this base") == "a data-base"
    assert rejoined("a data", "base", "the database", hard=True) == "a database"


@given(st.text(max_size=30), st.text(max_size=30), st.booleans())
def test_no_character_but_the_hyphen_is_lost(first: str, second: str, hard: bool) -> None:
    before = first + "-" if hard else first
    joined, rest = Spelling([first, second]).rejoin(before, second, hard=hard)
    both = joined + rest
    assert both.replace("-", "").replace(" ", "") == (first + second).replace("-", "").replace(" ", "")
