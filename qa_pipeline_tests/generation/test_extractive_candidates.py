"""What the offline rules ask and what they leave alone, in the three languages."""

import pytest

from qa_pipeline.generation.extractive import find_candidates
from qa_pipeline.records import Passage

ANSWER = {
    "en": "An account holds the name of a person, and the groups in which the person takes part.",
    "sv": "Ett konto innehåller namnet på en person och de grupper som personen ingår i.",
    "de": "Ein Konto enthält den Namen einer Person und die Gruppen, zu denen die Person gehört.",
}


def below(heading: str, text: str, *, language: str = "en") -> dict[str, str]:
    """Return question and answer of what is asked of a section."""
    title = "Fjell 8 guide"
    passage = Passage("chunk", title, (title, heading), f"## {heading}\n\n{text}", language)
    return {candidate.question: candidate.answer for candidate in find_candidates(passage)}


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


@pytest.mark.parametrize(
    "heading",
    [
        "How long may an account be kept?",
        "What is this manual?",
        "How do I remove it from Fjell?",
        "Why Fjell? Should I not choose another pump?",
        "Could you tell me which Fjell I should buy?",
        "A guide to the accounts of Fjell",
        "Tired of the old Fjell?",
    ],
)
def test_a_heading_that_names_nothing_leans_on_its_page_or_talks_with_its_reader_is_not_asked(
    heading: str,
) -> None:
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


@pytest.mark.parametrize(
    ("language", "sentence", "question"),
    [
        (
            "en",
            "A cut-off device (CD) is a switch that cuts the power when it leaks.",
            "What is a cut-off device?",
        ),
        ("en", "SQLite is a library that keeps its tables in one file.", "What is SQLite?"),
        ("en", "The Fjell 8 was released in March 2021 in Oslo.", "When was the Fjell 8 released?"),
        ("en", "The weight of the Fjell 8 is 128 kg without the base.", "What is the weight of the Fjell 8?"),
        ("sv", "Ett snabbfilter är ett filter som renar vatten snabbt.", "Vad är ett snabbfilter?"),
        ("sv", "Med råvatten avses vatten som inte har behandlats.", "Vad avses med råvatten?"),
        ("sv", "Fjell 8 grundades den 12 september 1974 i Alvik.", "När grundades Fjell 8?"),
        ("de", "Eine Fernleihe ist ein Dienst, der Bücher beschafft.", "Was ist eine Fernleihe?"),
        ("de", "Unter Kies versteht man kleine runde Steine.", "Was versteht man unter Kies?"),
        ("de", "Das FJ-20 wurde am 17. Juni 2022 eröffnet.", "Wann wurde das FJ-20 eröffnet?"),
        ("de", "Der Preis des FJ-20 beträgt 5.200 Euro.", "Wie hoch ist der Preis des FJ-20?"),
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
        ("en", "SQLite is a library that this program keeps beside the others."),
        ("en", "SQLite is a library and a program of some size."),
        ("en", "SQLite is a good choice for most of the programs of today."),
        ("en", "The setting is a number that the program reads at its start."),
        ("en", "If the valve leaks, the Fjell 8 is a danger to the house."),
        ("en", "SQLite is a library , which keeps a database in one file."),
        ("sv", "Detta är ett filter som renar vatten med hög hastighet."),
        ("sv", "SQLite är ett bra val för de flesta program i dag."),
        ("de", "Dies ist ein Dienst, der Bücher aus anderen Häusern beschafft."),
        ("en", "Refrigerant: R290 (propane)\nDelivery time: 14 days"),
        ("en", "The Fjell 8 is a heat pump for small houses.\n\n```\nreturn"),
        ("xx", "The Fjell 8 is a heat pump for small houses."),
    ],
)
def test_a_statement_that_leans_judges_tells_little_or_breaks_is_not_asked(
    language: str, sentence: str
) -> None:
    assert not below("Words", sentence, language=language)
