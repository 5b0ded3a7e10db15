"""What the offline rules ask and what they leave alone, in the three languages."""

import pytest

from qa_pipeline.generation.offline.provider import find_candidates
from qa_pipeline.records import Passage

ANSWER = {
    "en": "An account holds the name of a person, and the groups in which the person takes part.",
    "sv": "Ett konto innehåller namnet på en person och de grupper som personen ingår i.",
    "de": "Ein Konto enthält den Namen einer Person und die Gruppen, zu denen die Person gehört.",
}
PUMP = """## Fjell 8

Refrigerant: R290 (propane)
Delivery time: 14 days
Status: final"""


def asked(text: str, *path: str, language: str = "en", title: str = "Fjell 8 guide") -> dict[str, str]:
    """Return question and answer of what is asked; `path` are the headings below the title."""
    passage = Passage("chunk", title, (title, *path), text, language)
    return {candidate.question: candidate.answer for candidate in find_candidates(passage)}


def below(heading: str, text: str, *, language: str = "en", title: str = "Fjell 8 guide") -> dict[str, str]:
    """Return what is asked of a section."""
    return asked(f"## {heading}\n\n{text}", heading, language=language, title=title)


@pytest.mark.parametrize(
    ("language", "heading"),
    [
        ("en", "1.2. What does an account of Fjell hold?"),
        ("sv", "Vad innehåller ett konto i Fjell?"),
        ("de", "Was enthält ein Konto im Fjell-Programm?"),
    ],
)
def test_a_heading_that_asks_is_answered_by_the_paragraphs_below_it(language: str, heading: str) -> None:
    text = f"{ANSWER[language]}\n\n{ANSWER[language]}"
    assert below(heading, text, language=language) == {
        heading.removeprefix("1.2. "): f"{ANSWER[language]} {ANSWER[language]}"
    }


def test_a_question_that_names_no_thing_is_not_asked() -> None:
    assert not below("How long may an account be kept?", ANSWER["en"])


@pytest.mark.parametrize(
    "heading",
    [
        "What's next?",
        "What is this manual?",
        "How do I remove it from Fjell?",
        "Why Fjell? Should I not choose another pump?",
        "But what about the pumps of Fjell?",
        "Could you tell me which Fjell I should buy?",
        "A guide to the accounts of Fjell",
        "Tired of the old Fjell?",
    ],
)
def test_a_heading_that_leans_on_its_page_or_talks_with_its_reader_is_not_asked(heading: str) -> None:
    assert not below(heading, ANSWER["en"])


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (f"{ANSWER['en']} See section 4 for more.", ANSWER["en"]),
        (f"{ANSWER['en']}\n\nIt is kept as follows:\n\n```\naccount\n```", ANSWER["en"]),
        ("Yes.", None),
        ("These hold the name of a person, and the groups in which the person takes part.", None),
        ("For the accounts of all persons see the table in section 4 of the manual.", None),
        ("Sentence after sentence about the accounts goes on and on. " * 20, None),
        ("- An account holds the name of a person.\n- It holds groups.", None),
    ],
)
def test_an_answer_is_whole_and_points_nowhere(text: str, answer: str | None) -> None:
    assert list(below("What does an account of Fjell hold?", text).values()) == ([answer] if answer else [])


def test_steps_that_go_on_in_code_or_a_list_do_not_answer_how_something_is_done() -> None:
    text = f"{ANSWER['en']}\n\nRun the program:\n\n```\nfjell --new\n```"
    assert not below("How do I make an account of Fjell?", text)


@pytest.mark.parametrize(
    ("language", "sentence", "question"),
    [
        (
            "en",
            "A residual-current device (RCD) is a switch that cuts the power when current leaks.",
            "What is a residual-current device?",
        ),
        ("en", "SQLite is a library that keeps a database in one file.", "What is SQLite?"),
        ("en", "The Fjell 8 is an air-to-water heat pump for small houses.", "What is the Fjell 8?"),
        (
            "en",
            "The Fjell 8 was released in March 2021 and replaced the Fjell 6.",
            "When was the Fjell 8 released?",
        ),
        ("en", "The weight of the Fjell 8 is 128 kg without the base.", "What is the weight of the Fjell 8?"),
        ("en", "The Fjell 8 costs about 5,200 euros.", "How much does the Fjell 8 cost?"),
        (
            "sv",
            "Ett snabbfilter är ett filter som renar vatten med hög hastighet.",
            "Vad är ett snabbfilter?",
        ),
        (
            "sv",
            "Med råvatten avses vatten som inte har behandlats.",
            "Vad avses med råvatten?",
        ),
        ("sv", "Fjell 8 grundades den 12 september 1974 i Alvik.", "När grundades Fjell 8?"),
        ("sv", "Fjell 8 kostar 5 200 kronor i butik.", "Hur mycket kostar Fjell 8?"),
        (
            "de",
            "Eine Fernleihe ist ein Dienst, der Bücher aus anderen Häusern beschafft.",
            "Was ist eine Fernleihe?",
        ),
        (
            "de",
            "Unter Rohwasser versteht man Wasser, das nicht behandelt ist.",
            "Was versteht man unter Rohwasser?",
        ),
        ("de", "Das FJ-20 wurde am 17. Juni 2022 eröffnet.", "Wann wurde das FJ-20 eröffnet?"),
        ("de", "Das Fjell 8 kostet 5.200 Euro im Handel.", "Wie viel kostet das Fjell 8?"),
    ],
)
def test_a_statement_about_a_named_subject_answers_word_for_word(
    language: str, sentence: str, question: str
) -> None:
    assert below("Words", sentence, language=language) == {question: sentence}


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "It is a pump that heats small houses in the winter."),
        ("en", "SQLite is a good choice for most of the programs of today."),
        ("en", "The setting is a number that the program reads at its start."),
        ("en", "Removing the cover means that the pump stops at once."),
        ("en", "If the valve leaks, the Fjell 8 is a danger to the house."),
        ("en", "SQLite is a library , and keeps a database in one file."),
        ("sv", "Detta är ett filter som renar vatten med hög hastighet."),
        ("sv", "SQLite är ett bra val för de flesta program i dag."),
        ("de", "Dies ist ein Dienst, der Bücher aus anderen Häusern beschafft."),
        ("de", "The account is a record that holds the name of a person."),
    ],
)
def test_a_statement_that_leans_judges_or_breaks_is_not_asked(language: str, sentence: str) -> None:
    assert not below("Words", sentence, language=language)


def test_the_terms_of_a_glossary_are_asked_for_their_meaning() -> None:
    text = "- Quota: The space that a person may use.\n- Alias: A second name of a mailbox."
    path = ("Glossary",)
    assert asked(f"## Glossary\n\n{text}", *path, title="Fjell 8 guide") == {
        "What does Quota mean?": "The space that a person may use.",
        "What does Alias mean?": "A second name of a mailbox.",
    }
    assert not asked(f"## Menu\n\n{text}", "Menu")


def test_a_heading_of_a_glossary_is_a_term() -> None:
    text = f"### Account\n\n{ANSWER['en']}"
    assert asked(text, "Glossary", "Account") == {"What does Account mean?": ANSWER["en"]}


def test_a_key_is_asked_of_the_thing_that_is_named_and_never_one_of_the_document() -> None:
    assert asked(PUMP) == {
        "What is the refrigerant of Fjell 8?": "R290 (propane)",
        "What is the delivery time of Fjell 8?": "14 days",
    }
    assert not asked(PUMP, title="Overview")


def test_the_quote_of_a_value_has_its_key() -> None:
    passage = Passage("chunk", "Fjell 8", ("Fjell 8",), PUMP, "en")
    assert [candidate.quote for candidate in find_candidates(passage)] == [
        "Refrigerant: R290 (propane)",
        "Delivery time: 14 days",
    ]


def test_one_line_with_a_colon_is_no_block_of_keys() -> None:
    assert not below("Fjell 8", "Retry limit: 3 tries for each page")


@pytest.mark.parametrize(
    ("language", "heading"), [("en", "Examples"), ("sv", "Se även"), ("de", "Siehe auch")]
)
def test_nothing_is_asked_under_a_heading_of_examples_or_other_places(language: str, heading: str) -> None:
    assert not below(heading, "Weight: 5 kg\nPressure: 3 bar", language=language)


def test_nothing_is_asked_of_code_nor_where_a_border_cuts_it() -> None:
    assert not below("Fjell 8", "```\nPressure: 3 bar\nWeight: 5 kg\n```")
    assert not below("Fjell 8", "Pressure: 3 bar\nWeight: 5 kg\n\n```\nreturn")


def test_a_language_without_words_has_no_questions() -> None:
    assert not asked(PUMP, language="xx")
