"""Key-value lines, table rows, lists and headings: what is asked of them, and what is left alone."""

import pytest

from qa_pipeline.generation.offline.passages import Candidate
from qa_pipeline.generation.offline.provider import find_candidates
from qa_pipeline.records import Passage

PUMP = """## Fjell 8

Refrigerant: R290 (propane)
Delivery time: 14 days
Price: 5,200 euros
Status: final"""
TABLE = """## Prices

Group: Adults | Late fee: 5 euros | Loan period: 28 days | Note: n/a
Group: Children under 12 | Late fee: 1.50 euros | Loan period: 14 days | Note: with a parent"""
STEPS = """## Removing a user account

- 1. Open the list of users.
- 2. Press the button Remove."""
LEAD = "An account holds the name of a person, and the groups in which the person takes part."


def found(text: str, *path: str, language: str = "en", title: str = "Fjell 8") -> dict[str, Candidate]:
    passage = Passage("chunk", title, path or (title,), text, language)
    return {candidate.question: candidate for candidate in find_candidates(passage)}


def answers_of(text: str, *path: str, language: str = "en", title: str = "Fjell 8") -> dict[str, str]:
    asked = found(text, *path, language=language, title=title)
    return {question: candidate.answer for question, candidate in asked.items()}


def test_a_key_is_asked_of_the_thing_that_the_heading_names_and_never_one_of_the_document() -> None:
    assert answers_of(PUMP, "Fjell 8", "Fjell 8") == {
        "What is the refrigerant of Fjell 8?": "The refrigerant of Fjell 8 is R290 (propane).",
        "How long is the delivery time of Fjell 8?": "The delivery time of Fjell 8 is 14 days.",
        "What is the price of Fjell 8?": "The price of Fjell 8 is 5,200 euros.",
    }


def test_the_quote_holds_the_key_beside_the_value() -> None:
    for candidate in found(PUMP, "Fjell 8", "Fjell 8").values():
        assert PUMP[candidate.start : candidate.end] == candidate.quote
        assert ": " in candidate.quote


def test_one_line_with_a_colon_is_no_block_of_keys() -> None:
    assert not found("## Fjell 8\n\nRetry limit: 3 tries for each page", "Fjell 8")


def test_a_key_is_not_asked_where_nothing_names_the_thing_that_has_it() -> None:
    assert not found(PUMP, title="Overview")


def test_the_cells_of_a_table_are_asked_of_its_rows() -> None:
    assert answers_of(TABLE, "Fjell 8", "Prices") == {
        "According to “Fjell 8”, how much is the late fee for adults?": "The late fee for adults is 5 euros.",
        "According to “Fjell 8”, how long is the loan period for adults?": (
            "The loan period for adults is 28 days."
        ),
        "According to “Fjell 8”, how much is the late fee for children under 12?": (
            "The late fee for children under 12 is 1.50 euros."
        ),
        "According to “Fjell 8”, how long is the loan period for children under 12?": (
            "The loan period for children under 12 is 14 days."
        ),
    }


@pytest.mark.parametrize(
    ("language", "row", "asked"),
    [
        (
            "sv",
            "Grupp: {} | Förseningsavgift: 5 kronor | Lånetid: 28 dagar",
            {
                "Vad är förseningsavgiften för vuxna enligt ”Fjell 8”?": (
                    "Förseningsavgiften för vuxna är 5 kronor."
                ),
                "Hur lång är lånetiden för vuxna enligt ”Fjell 8”?": ("Lånetiden för vuxna är 28 dagar."),
            },
        ),
        (
            "de",
            "Gruppe: {} | Mahngebühr: 5 Euro | Leihfrist: 28 Tage",
            {
                "Wie hoch ist die Mahngebühr für Vuxna laut „Fjell 8“?": (
                    "Die Mahngebühr für Vuxna beträgt 5 Euro."
                ),
                "Wie lang ist die Leihfrist für Vuxna laut „Fjell 8“?": (
                    "Die Leihfrist für Vuxna beträgt 28 Tage."
                ),
            },
        ),
        ("de", "Gruppe: {} | Kram: 5 Euro", {}),
    ],
)
def test_a_key_has_its_article_where_its_ending_tells_it_and_is_left_alone_elsewhere(
    language: str, row: str, asked: dict[str, str]
) -> None:
    text = "\n".join(row.format(name) for name in ("Vuxna", "Barn"))
    answers = answers_of(f"## Avgifter\n\n{text}", "Fjell 8", "Avgifter", language=language)
    assert {question: answers[question] for question in answers if "uxna" in question} == asked


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
    assert not found(f"## Limits\n\n{rows}", "Fjell 8", "Limits")


def test_the_terms_of_a_list_are_asked_for_by_what_is_said_of_them() -> None:
    text = (
        "## Options\n\n- max_age: The longest time an entry is kept.\n"
        "- --force: Deletes all of the files on the disk.\n- Otherwise: How often a page is fetched."
    )
    assert answers_of(text, "Fjell 8", "Options") == {
        "According to “Fjell 8”, what is max_age?": "The longest time an entry is kept.",
        "According to “Fjell 8”, what does --force do?": "--force deletes all of the files on the disk.",
    }


@pytest.mark.parametrize(
    ("language", "lead", "question"),
    [
        (
            "en",
            "The library lends books. The FJ-20 supports:",
            "According to “Fjell 8”, what does the FJ-20 support?",
        ),
        ("en", "The following cards are accepted:", "According to “Fjell 8”, which cards are accepted?"),
        ("sv", "Ansökan ska innehålla:", "Vad ska ansökan innehålla enligt ”Fjell 8”?"),
        ("de", "Das FJ-20 umfasst folgende Teile:", "Was umfasst das FJ-20 laut „Fjell 8“?"),
    ],
)
def test_the_members_of_a_list_answer_for_the_sentence_that_announces_them(
    language: str, lead: str, question: str
) -> None:
    text = f"## Words\n\n{lead}\n\n- alpha\n- beta\n\nEnd."
    candidate = found(text, "Fjell 8", "Words", language=language)[question]
    assert candidate.answer == candidate.quote
    assert candidate.answer.endswith(":\n\n- alpha\n- beta")


def test_a_term_that_is_followed_by_questions_only_is_not_asked_for() -> None:
    text = """## Learning objectives

- Data management: What is data management? How should I back up my data?
- Collaboration: The work of several people on one set of files."""
    assert [one for one in found(text, "Fjell 8", "Learning objectives").values() if "?" in one.answer] == []


@pytest.mark.parametrize(
    ("language", "heading", "question"),
    [
        ("en", "Removing a user account", "According to “Fjell 8”, how do you remove a user account?"),
        ("en", "Remove a user account", "According to “Fjell 8”, how do you remove a user account?"),
        ("sv", "Ta bort ett konto", "Hur gör man enligt ”Fjell 8” för att ta bort ett konto?"),
        ("de", "Ein Konto löschen", "Wie kann man laut „Fjell 8“ ein Konto löschen?"),
    ],
)
def test_steps_answer_for_the_heading_above_them(language: str, heading: str, question: str) -> None:
    text = f"## {heading}\n\n- 1. Open the list of users.\n- 2. Press the button Remove."
    answers = found(text, "Fjell 8", heading, language=language)
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
    assert not found(text, "Fjell 8", "Removing a user account")


def test_a_heading_that_asks_is_answered_by_its_paragraph() -> None:
    heading = "1.2. What does an account hold?"
    answers = found(f"## {heading}\n\n{LEAD}", "Fjell 8", heading)
    assert answers["According to “Fjell 8”, what does an account hold?"].answer == LEAD


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
    heading = "What does an account hold?"
    asked = found(f"## {heading}\n\n{paragraph}", "Fjell 8", heading)
    assert not [question for question in asked if question.endswith("what does an account hold?")]


def test_a_rule_of_a_law_is_asked_for_by_the_name_of_the_law() -> None:
    text = "## 5 §\n\nEn kommun får meddela föreskrifter om avgifter för den tillsyn som kommunen utövar."
    path = ("Lag (2006:412) om tillsyn", "2 kap. Avgifter", "5 §")
    assert list(found(text, *path, language="sv", title=path[0])) == [
        "Vad får en kommun meddela enligt lagen om tillsyn?"
    ]


@pytest.mark.parametrize(
    ("language", "heading"), [("en", "See also"), ("sv", "Se även"), ("de", "Siehe auch")]
)
def test_nothing_is_asked_under_a_heading_that_lists_other_places(language: str, heading: str) -> None:
    assert not found(
        f"## {heading}\n\nManual: Pitches.\nIndex: Rhythms.", "Fjell 8", heading, language=language
    )


def test_lines_of_code_are_never_asked_for() -> None:
    text = "## Fjell 8\n\n```\nSyntax: inside a listing\nDefault: On\n```"
    assert not found(text, "Fjell 8", "Fjell 8")


def test_text_left_in_another_language_is_not_asked_for() -> None:
    text = (
        "## Konten\n\nThe account holds the name of a person and the groups in which the person takes part."
    )
    assert not found(text, "Fjell 8", "Konten", language="de")


def test_a_language_without_phrases_has_no_questions() -> None:
    assert not found(PUMP, "Fjell 8", language="xx")
