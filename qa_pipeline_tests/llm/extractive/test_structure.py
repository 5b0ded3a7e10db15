"""Key-value lines, table rows, lists and headings: what is asked of them, and what is left alone."""

import pytest

from qa_pipeline.llm.extractive.passages import Candidate
from qa_pipeline.llm.extractive.provider import find_candidates
from qa_pipeline.records import Passage

DIRECTIVE = """## KeepAlive Directive

Summary: Enables persistent connections of one client
Syntax: KeepAlive On|Off
Default: KeepAlive On"""
TABLE = """## Limits

Plan: Basic tariff | Monthly price: 12 euros a month | Storage: 5 GB
Plan: Large tariff | Monthly price: 20 euros a month | Storage: n/a"""
STEPS = """## Removing a user account

- 1. Open the list of users.
- 2. Press the button Remove."""
LEAD = "An account holds the name of a person, and the groups in which the person takes part."


def found(text: str, *path: str, language: str = "en", title: str = "A Guide") -> dict[str, Candidate]:
    passage = Passage("chunk", title, path or (title,), text, language)
    return {candidate.question: candidate for candidate in find_candidates(passage)}


def test_a_block_of_keys_is_asked_for_under_its_heading_and_title() -> None:
    asked = found(DIRECTIVE, "A Guide", "KeepAlive Directive")
    place = "“KeepAlive Directive” in “A Guide”"
    assert {question: candidate.answer for question, candidate in asked.items()} == {
        f"What does {place} state under “Summary”?": "Enables persistent connections of one client",
        f"What does {place} state under “Syntax”?": "Syntax: KeepAlive On|Off",
        f"What does {place} state under “Default”?": "Default: KeepAlive On",
    }


def test_the_quote_holds_the_key_beside_the_value() -> None:
    for candidate in found(DIRECTIVE, "A Guide", "KeepAlive Directive").values():
        assert DIRECTIVE[candidate.start : candidate.end] == candidate.quote
        assert ": " in candidate.quote


def test_one_line_with_a_colon_is_no_block_of_keys() -> None:
    assert not found("## fetch() Function\n\nRetry limit: 3 tries for each page", "fetch() Function")


@pytest.mark.parametrize("title", ["", "Overview", "See “this” page"])
def test_a_document_without_a_title_that_says_anything_is_not_asked_about(title: str) -> None:
    assert not found(DIRECTIVE, title=title)
    assert not found(TABLE, title=title)


def test_a_table_row_answers_for_its_cells_and_a_cell_that_says_nothing_is_left_alone() -> None:
    answers = {
        question: candidate.answer for question, candidate in found(TABLE, "A Guide", "Limits").items()
    }
    place = "the table in “Limits” in “A Guide”"
    assert answers == {
        f"What does {place} give as “Monthly price” for “Basic tariff”?": "12 euros a month",
        f"What does {place} give as “Storage” for “Basic tariff”?": "Storage: 5 GB",
        f"What does {place} give as “Monthly price” for “Large tariff”?": "20 euros a month",
    }


@pytest.mark.parametrize(
    "rows",
    [
        "Plan: Basic | Price: 12 euros",
        "Plan: Basic | Price: 12 euros\nPlan: Basic | Price: 20 euros",
        "Plan: 2019 | Price: 12 euros\nPlan: 2020 | Price: 20 euros",
        "only one cell | another cell\nonly two cells | another cell",
        "Plan: this long text is not the name of a row | Price: 12 euros\nPlan: | Price: 20 euros",
    ],
)
def test_rows_that_their_first_cell_does_not_tell_apart_are_left_alone(rows: str) -> None:
    assert not found(f"## Limits\n\n{rows}", "A Guide", "Limits")


def test_the_terms_of_a_list_are_asked_for() -> None:
    text = (
        "## Options\n\n- max_age: The longest time an entry is kept.\n- retries: How often a page is fetched."
    )
    assert list(found(text, "A Guide", "Options")) == [
        "How does “A Guide” explain “max_age”?",
        "How does “A Guide” explain “retries”?",
    ]


def test_a_term_that_is_followed_by_questions_only_is_not_asked_for() -> None:
    text = """## Learning objectives

- Data management: What is data management? How should I back up my data?
- Collaboration: The work of several people on one set of files."""
    assert [one for one in found(text, "A Guide", "Learning objectives").values() if "?" in one.answer] == []


@pytest.mark.parametrize(
    ("language", "heading", "question"),
    [
        ("en", "Removing a user account", "How do you remove a user account?"),
        ("en", "Remove a user account", "How do you remove a user account?"),
        ("en", "When an account is old", "What are the steps under “When an account is old” in “A Guide”?"),
        ("sv", "Ta bort ett konto", "Hur gör man för att ta bort ett konto?"),
        ("sv", "Gamla konton", "Vilka steg beskrivs under ”Gamla konton” i ”A Guide”?"),
        ("de", "Ein Konto löschen", "Wie kann man ein Konto löschen?"),
        ("de", "Alte Konten", "Welche Schritte stehen unter „Alte Konten“ in „A Guide“?"),
    ],
)
def test_steps_answer_for_the_heading_above_them(language: str, heading: str, question: str) -> None:
    text = f"## {heading}\n\n- 1. Open the list of users.\n- 2. Press the button Remove."
    answers = found(text, "A Guide", heading, language=language)
    assert answers[question].answer == "1. Open the list of users. 2. Press the button Remove."
    assert answers[question].quote in text


@pytest.mark.parametrize(
    "text",
    [
        "## Removing a user account\n\n- 2. Press the button Remove.\n- 3. Press Yes.",
        "## Removing a user account\n\n- 1. Open the list of users.\n- 2. Choose one of:",
        STEPS.replace("users.", "users. " + "Take your time. " * 30),
    ],
)
def test_steps_that_may_go_on_elsewhere_answer_for_nothing(text: str) -> None:
    assert not found(text, "A Guide", "Removing a user account")


def test_a_heading_that_asks_is_answered_by_its_paragraph() -> None:
    heading = "1.2. What does an account hold?"
    answers = found(f"## {heading}\n\n{LEAD}", "A Guide", heading)
    assert answers["What does an account hold?"].answer == LEAD


def test_a_heading_is_asked_for_by_name_and_answered_by_its_whole_paragraph() -> None:
    answers = found(f"## Accounts\n\n{LEAD}", "A Guide", "Accounts")
    assert answers["What does “A Guide” say about “Accounts”?"].answer == LEAD


@pytest.mark.parametrize(
    "paragraph",
    [
        "It holds the name of a person, and the groups in which the person takes part in.",
        "An account holds the name of a person, as the following table shows in every row.",
        "An account holds the name of a person, and the groups in which the person is:",
        "An account holds , and the groups in which the person takes part in the month.",
        "Konto",
    ],
)
def test_a_paragraph_that_cannot_be_read_alone_answers_for_nothing(paragraph: str) -> None:
    assert not found(f"## Accounts\n\n{paragraph}", "A Guide", "Accounts")


def test_a_paragraph_of_a_law_is_asked_for_by_its_number_and_its_chapter() -> None:
    text = "## 5 §\n\nEn kommun får meddela föreskrifter om avgifter för den tillsyn som kommunen utövar."
    path = ("Lag om tillsyn", "2 kap. Avgifter", "5 §")
    assert list(found(text, *path, language="sv", title="Lag om tillsyn")) == [
        "Vad föreskriver 2 kap. 5 § i ”Lag om tillsyn”?"
    ]


@pytest.mark.parametrize(
    ("language", "heading"), [("en", "See also"), ("sv", "Se även"), ("de", "Siehe auch")]
)
def test_nothing_is_asked_under_a_heading_that_lists_other_places(language: str, heading: str) -> None:
    assert not found(
        f"## {heading}\n\nManual: Pitches.\nIndex: Rhythms.", "A Guide", heading, language=language
    )


def test_lines_of_code_are_never_asked_for() -> None:
    text = "## KeepAlive Directive\n\n```\nSyntax: inside a listing\nDefault: On\n```"
    assert not found(text, "A Guide", "KeepAlive Directive")


def test_text_left_in_another_language_is_not_asked_for() -> None:
    text = (
        "## Konten\n\nThe account holds the name of a person and the groups in which the person takes part."
    )
    assert not found(text, "A Guide", "Konten", language="de")


def test_a_language_without_phrases_has_no_questions() -> None:
    assert not found(DIRECTIVE, "KeepAlive Directive", language="xx")
