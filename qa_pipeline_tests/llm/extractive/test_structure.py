"""Key-value lines and table rows: what is asked of them, and what is left alone."""

import pytest

from qa_pipeline.llm.extractive.candidates import Candidate
from qa_pipeline.llm.extractive.structure import find
from qa_pipeline.records import Passage

DIRECTIVE = """## KeepAlive Directive

Description: Enables persistent connections
Syntax: KeepAlive On|Off
Default: KeepAlive On
Context: server config, virtual host
Status: Core
Compatibility: Available in version 1.2 and later"""


def found(text: str, *path: str, language: str = "en", title: str = "A Guide") -> dict[str, Candidate]:
    passage = Passage("chunk", title, path, text, language)
    return {candidate.question: candidate for candidate in find(passage)}


def test_each_known_key_has_its_own_question() -> None:
    answers = {
        question: candidate.answer for question, candidate in found(DIRECTIVE, "KeepAlive Directive").items()
    }
    assert answers == {
        "What does the KeepAlive directive do?": "Enables persistent connections",
        "What is the syntax of the KeepAlive directive?": "Syntax: KeepAlive On|Off",
        "What is the default of the KeepAlive directive?": "Default: KeepAlive On",
        "In which contexts can the KeepAlive directive be used?": "server config, virtual host",
        "In which versions is the KeepAlive directive available?": "Available in version 1.2 and later",
    }


def test_the_quote_holds_the_key_beside_the_value() -> None:
    candidate = found(DIRECTIVE, "KeepAlive Directive")["What is the syntax of the KeepAlive directive?"]
    assert candidate.quote == "Syntax: KeepAlive On|Off"
    assert DIRECTIVE[candidate.start : candidate.end] == candidate.quote


@pytest.mark.parametrize(
    ("heading", "value", "question"),
    [
        ("Timeout Directive", "Seconds to wait for a reply", "What does the Timeout directive specify?"),
        ("Timeout Directive", "Limits the wait for a reply", "What does the Timeout directive do?"),
        ("Module mod_wait", "Waiting for slow clients", "What does the mod_wait module provide?"),
        ("fetch() Function", "Reads a page", "What does the fetch() function do?"),
        ("wait_all", "Waits for all workers", "What does wait_all do?"),
        ("pool.wait(limit[, retry])", "Waits for all workers", "What does pool.wait() do?"),
        ("Class: WaitPool", "Waits for all workers", "What does the WaitPool class do?"),
    ],
)
def test_a_description_is_asked_for_in_the_words_that_fit_it(heading: str, value: str, question: str) -> None:
    assert list(found(f"## {heading}\n\nDescription: {value}", heading)) == [question]


def test_an_unknown_key_is_asked_for_only_inside_a_block_of_keys() -> None:
    block = "## fetch() Function\n\nRetry limit: 3 tries for each page\nMaintainer: The network group"
    assert "What is the retry limit of the fetch() function?" in found(block, "fetch() Function")
    assert not found("## fetch() Function\n\nRetry limit: 3 tries for each page", "fetch() Function")


@pytest.mark.parametrize("heading", ["Overview", "Getting started with caches", "Why it matters", ""])
def test_a_heading_that_names_nothing_gives_no_subject(heading: str) -> None:
    assert not found(f"## {heading}\n\nDescription: Reads a page\nDefault: On", heading)


def test_the_lines_of_a_data_sheet_are_about_the_product_in_its_title() -> None:
    text = "## Technical data\n\nWeight: 128 kg\nDimensions: 80 by 40 cm"
    assert list(found(text, "Technical data", title="Tank 8 data sheet")) == [
        "What is the weight of Tank 8?",
        "What are the dimensions of Tank 8?",
    ]
    assert not found(text, "Tank 12", title="Tank 8 data sheet")
    assert not found(text, "Technical data", title="Style guide")


def test_a_compatibility_note_that_names_no_version_range_is_left_alone() -> None:
    text = "## Alias Directive\n\nCompatibility: Moved from mod_old in 2.3.5"
    assert not found(text, "Alias Directive")


def test_columns_are_asked_for_in_the_number_they_stand_in_and_only_where_they_are_nouns() -> None:
    row = "Package: Basic tariff | Libraries: libone and libtwo | Contains: 5 discs | Normalized: 7 units"
    assert list(found(f"## Limits\n\n{row} | Run: on a shell", "Limits")) == [
        "What are the libraries of Basic tariff?"
    ]


def test_a_table_row_answers_for_its_cells() -> None:
    text = "## Limits\n\nPlan: Basic tariff | Monthly price: 12 euros a month | Storage: 5 GB"
    answers = {question: candidate.answer for question, candidate in found(text, "Limits").items()}
    assert answers == {
        "What is the monthly price of Basic tariff?": "12 euros a month",
        "What is the storage of Basic tariff?": "Storage: 5 GB",
    }


@pytest.mark.parametrize(
    "row",
    [
        "12: 5 | 13: 6",
        "Plan: 2019 | Price: 12 euros",
        "Plan: Basic | Notes: Ask the shop for more",
        "only one cell | another cell",
        "Plan: this long text is not the name of a row at all | Price: 12 euros",
    ],
)
def test_a_row_without_a_name_or_a_telling_column_is_left_alone(row: str) -> None:
    assert not found(f"## Limits\n\n{row}", "Limits")


def test_lines_of_code_are_never_asked_for() -> None:
    text = "## KeepAlive Directive\n\n```\nDescription: inside a listing\nDefault: On\n```"
    assert not found(text, "KeepAlive Directive")


def test_german_lines_are_asked_for_in_german() -> None:
    text = "## ErrorLog-Direktive\n\nSyntax: ErrorLog Dateipfad"
    questions = found(text, "Direktive ErrorLog", language="de")
    assert list(questions) == ["Wie lautet die Syntax der Direktive ErrorLog?"]


def test_a_language_without_wording_has_no_questions() -> None:
    assert not found(DIRECTIVE, "KeepAlive Directive", language="fr")
