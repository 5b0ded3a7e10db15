"""Sentences: definitions, figures, dates and goals, in three languages, and what is left alone."""

import pytest

from qa_pipeline.llm.extractive.provider import find_candidates
from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.languages import LANGUAGES, lexicon


def asked(text: str, language: str, *, heading: str = "Nordic valves", title: str = "Guide 7") -> list[str]:
    passage = Passage("chunk", title, (title, heading), text, language)
    return [candidate.question for candidate in find_candidates(passage)]


@pytest.mark.parametrize(
    ("language", "sentence", "question"),
    [
        ("en", "A locale is a group of regional settings.", "What is a locale?"),
        ("en", "FJ-20 stands for the second series of pumps.", "What does FJ-20 stand for?"),
        ("en", "The brass valve opens when the pressure falls.", None),
        ("en", "A login shell is used to start a session of a user.", "What is a login shell used for?"),
        (
            "en",
            "The maximum pressure is 3 bar in every building.",
            "According to “Nordic valves” in “Guide 7”, what is the maximum pressure?",
        ),
        (
            "en",
            "The FJ-20 was released in March 2021 and replaced another pump.",
            "When was the FJ-20 released?",
        ),
        (
            "en",
            "To drain the boiler, open the lower valve and wait.",
            "According to “Nordic valves” in “Guide 7”, how do you drain the boiler?",
        ),
        ("sv", "En bildkarta är en grupp med en eller flera stödpunkter.", "Vad är en bildkarta?"),
        (
            "sv",
            "Med råvatten avses vatten som ännu inte har behandlats.",
            "Vad avses med råvatten enligt ”Nordic valves” i ”Guide 7”?",
        ),
        ("sv", "IRC står för Internet Relay Chat i hela handboken.", "Vad står IRC för?"),
        (
            "sv",
            "FJ-20 togs i drift den 12 september 1974 och byggdes om år 2016.",
            "När togs FJ-20 i drift?",
        ),
        (
            "sv",
            "För att fånga ett fönster, klicka på Fönster och välj Spara.",
            "Hur gör man enligt ”Nordic valves” i ”Guide 7” för att fånga ett fönster?",
        ),
        ("de", "Eine Fernleihe ist ein Dienst, der Bücher beschafft.", "Was ist eine Fernleihe?"),
        ("de", "SSH steht für Secure Shell und ist ein Protokoll.", "Wofür steht SSH?"),
        (
            "de",
            "Die Mahngebühr beträgt 5 Euro für jede Mahnung und Person.",
            "Wie viel beträgt die Mahngebühr laut „Nordic valves“ in „Guide 7“?",
        ),
        (
            "de",
            "Das FJ-20 wurde am 17. Juni 2022 im Werk eröffnet.",
            "Wann wurde das FJ-20 im Werk eröffnet?",
        ),
        (
            "de",
            "Um ein Fenster aufzunehmen, klicken Sie auf Fenster.",
            "Wie geht man laut „Nordic valves“ in „Guide 7“ vor, um ein Fenster aufzunehmen?",
        ),
    ],
)
def test_a_sentence_answers_the_question_of_its_kind(
    language: str, sentence: str, question: str | None
) -> None:
    assert asked(sentence, language) == ([question] if question else [])


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "It is a group of regional settings for a user."),
        ("en", "This is the group of regional settings for a user."),
        ("en", "The reason is a group of regional settings for a user."),
        ("en", "The setting is a group of regional values for a user."),
        ("en", "A good locale is a locale that everybody understands."),
        ("en", "A locale is a good idea in each and every country."),
        ("en", "A locale is a group of settings, as the following table shows."),
        ("en", "Note that OpenPGP is an open standard of the internet."),
        ("en", "To change it, open the lower valve and wait for a day."),
        ("sv", "Den är en grupp med en eller flera stödpunkter i bilden."),
        ("sv", "Funktionen är en grupp med en eller flera stödpunkter."),
        ("sv", "Med detta avses vatten som ännu inte har behandlats."),
        ("de", "Ersteres ist ein schwerer Fehler in der Konfiguration."),
        ("de", "Beispielsweise ist die linke Ecke auch die Ecke des Tabletts."),
        ("de", "Die Erklärung ist ein Text, der für alle gilt."),
        ("de", "WPA2 ist die sicherste der drei Methoden im Netz."),
        ("de", "A locale is a group of regional settings for a user."),
    ],
)
def test_a_sentence_that_leans_on_others_or_defines_nothing_is_left_alone(
    language: str, sentence: str
) -> None:
    assert asked(sentence, language) == []


def test_what_a_thing_does_is_asked_only_where_its_own_section_opens() -> None:
    sentence = "The FJ-20 valve controls the flow of water in the building."
    assert asked(sentence, "en", heading="FJ-20 valve") == ["What does the FJ-20 valve do?"]
    assert asked(sentence, "en") == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_brings_all_of_its_words(language: str) -> None:
    phrases = lexicon(language).wording
    assert {one.question_type for one in phrases.statements} == {"fact_single", "procedure"}
    assert all(one.template.endswith("?") for one in phrases.statements)
    for words in (phrases.definite, phrases.indefinite, phrases.empty, phrases.leaning, phrases.weak):
        assert words
        assert all(word == word.lower() for word in words)
