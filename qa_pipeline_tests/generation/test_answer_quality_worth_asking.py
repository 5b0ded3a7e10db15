import polars as pl
import pytest

from qa_pipeline.generation.answer_quality import mark_not_worth_asking

STATED = "The pump is switched off before the filter is changed."


def mark(text: str, heading: str = "Care", language: str = "en", before: str | None = None) -> str | None:
    chunk = {"language": language, "section_path": ["Guide", heading], "text": text, "passed_over": before}
    marked = mark_not_worth_asking(pl.DataFrame([chunk], schema_overrides={"passed_over": pl.String()}))
    reason: str | None = marked["passed_over"].item()
    return reason


@pytest.mark.parametrize(
    "text",
    [
        STATED,
        "## Care\n\n- Change the filter every 6 months",
        "Name | Weight\nKestrel | 12 kg\nMerlin | 9 kg",
        "Power: 230 V\nWeight: 12 kg",
        "1. Close the lower valve by hand",
        "```\nmake install\n```\n\nThis installs the program for all users.",
        "The authority may, before a matter is finally decided, obtain an opinion of the council on whether",
    ],
)
def test_what_states_something_is_asked(text: str) -> None:
    assert mark(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "# Guide",
        "Installation and operation manual for the Kestrel 4",
        "- Installation\n- First start\n- Faults",
        "```\nThe program prints this. It ends then.\n```",
        "2.1 How the pump is installed on the wall ........ 14\n2.2 How the pump is switched on ........ 17",
        "Kestrel 4",
    ],
)
def test_titles_links_code_and_lists_of_contents_are_not_asked(text: str) -> None:
    assert mark(text) == "no_sentence"


@pytest.mark.parametrize(
    ("language", "heading"),
    [("en", "Table of Contents"), ("en", "7. References"), ("sv", "Innehållsförteckning"), ("sv", "Licens"),
     ("de", "A.2 Literaturverzeichnis"), ("de", "IMPRESSUM")],
)  # fmt: skip
def test_front_and_back_matter_is_told_by_its_heading(language: str, heading: str) -> None:
    assert mark(STATED, heading, language) == "front_or_back_matter"


def test_a_heading_that_only_holds_such_a_word_tells_nothing() -> None:
    assert mark(STATED, "References to other laws") is None


def test_a_mark_of_repeated_text_stays() -> None:
    assert mark("# Guide", before="near_duplicate") == "near_duplicate"
