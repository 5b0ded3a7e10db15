"""Sentences: definitions, figures, dates and goals, in three languages, and what is left alone."""

import pytest

from qa_pipeline.generation.offline.passages import document_name
from qa_pipeline.generation.offline.provider import find_candidates
from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.languages import LANGUAGES, lexicon


def asked(text: str, language: str, *, heading: str = "Nordic valves", title: str = "Fjell 7") -> list[str]:
    passage = Passage("chunk", title, (title, heading), text, language)
    return [candidate.question for candidate in find_candidates(passage)]


@pytest.mark.parametrize(
    ("language", "sentence", "question"),
    [
        ("en", "A locale is a group of regional settings.", "According to “Fjell 7”, what is a locale?"),
        ("en", "FJ-20 stands for the second series of pumps.", "What does FJ-20 stand for?"),
        ("en", "The brass valve was yellow once.", None),
        (
            "en",
            "A login shell is used to start a session of a user.",
            "According to “Fjell 7”, what is a login shell used for?",
        ),
        (
            "en",
            "The maximum pressure is 3 bar in every building.",
            "According to “Fjell 7”, what is the maximum pressure?",
        ),
        (
            "en",
            "The FJ-20 was released in March 2021 and replaced another pump.",
            "According to “Fjell 7”, when was the FJ-20 released?",
        ),
        (
            "en",
            "To drain the boiler, open the lower valve and wait.",
            "According to “Fjell 7”, how do you drain the boiler?",
        ),
        (
            "en",
            "If the safety valve leaks, the pump stops.",
            "According to “Fjell 7”, what happens if the safety valve leaks?",
        ),
        (
            "en",
            "If the safety valve leaks, you must close the tap.",
            "According to “Fjell 7”, what should you do if the safety valve leaks?",
        ),
        (
            "en",
            "The FJ-20 must be stopped before the tap is opened.",
            "According to “Fjell 7”, when must the FJ-20 be stopped?",
        ),
        (
            "en",
            "The fee for the FJ-20 must be paid within 30 days of its delivery.",
            "According to “Fjell 7”, within how many days must the fee for the FJ-20 be paid?",
        ),
        (
            "en",
            "A member may borrow at most ten books in a month.",
            "According to “Fjell 7”, how many books may a member borrow at most in a month?",
        ),
        ("en", "The FJ-20 is loud because the fan is old.", "According to “Fjell 7”, why is the FJ-20 loud?"),
        (
            "en",
            "The tenant of a flat must report any damage in writing.",
            "According to “Fjell 7”, what must the tenant of a flat do?",
        ),
        (
            "en",
            "The Alias directive controls the order of files in a folder.",
            "According to “Fjell 7”, which directive controls the order of files in a folder?",
        ),
        (
            "en",
            "A member cannot borrow the books of the archive.",
            "According to “Fjell 7”, can a member borrow the books of the archive?",
        ),
        (
            "sv",
            "Om säkerhetsventilen läcker, ska pumpen stängas av.",
            "Vad gäller enligt ”Fjell 7” om säkerhetsventilen läcker?",
        ),
        (
            "sv",
            "Om säkerhetsventilen läcker, stannar pumpen av sig själv.",
            "Vad händer enligt ”Fjell 7” om säkerhetsventilen läcker?",
        ),
        (
            "sv",
            "En medlem ska lämna tillbaka boken inom 28 dagar från lånet.",
            "Inom hur många dagar ska en medlem lämna tillbaka boken enligt ”Fjell 7”?",
        ),
        (
            "sv",
            "Den som bryter mot förbudet döms till böter.",
            "Vad gäller enligt ”Fjell 7” för den som bryter mot förbudet?",
        ),
        (
            "sv",
            "Regeringen får meddela föreskrifter om avgifter för tillsynen.",
            "Vem får meddela föreskrifter om avgifter för tillsynen enligt ”Fjell 7”?",
        ),
        (
            "de",
            "Wenn das Sicherheitsventil undicht ist, muss die Pumpe stehen.",
            "Was gilt laut „Fjell 7“, wenn das Sicherheitsventil undicht ist?",
        ),
        (
            "de",
            "Ist das Sicherheitsventil undicht, stoppt die Pumpe von selbst.",
            "Was gilt laut „Fjell 7“, wenn das Sicherheitsventil undicht ist?",
        ),
        (
            "de",
            "Ein Mitglied muss das Buch innerhalb von 28 Tagen zurückgeben.",
            "Innerhalb von wie vielen Tagen muss ein Mitglied laut „Fjell 7“ das Buch zurückgeben?",
        ),
        ("de", "Das FJ-20 ist heiß, weil der Lüfter alt ist.", "Warum ist das FJ-20 laut „Fjell 7“ heiß?"),
        (
            "sv",
            "En bildkarta är en grupp med en eller flera stödpunkter.",
            "Vad är en bildkarta enligt ”Fjell 7”?",
        ),
        (
            "sv",
            "Med råvatten avses vatten som ännu inte har behandlats.",
            "Vad avses med råvatten enligt ”Fjell 7”?",
        ),
        ("sv", "IRC står för Internet Relay Chat i hela handboken.", "Vad står IRC för?"),
        (
            "sv",
            "FJ-20 togs i drift den 12 september 1974 och byggdes om år 2016.",
            "När togs FJ-20 i drift enligt ”Fjell 7”?",
        ),
        (
            "sv",
            "För att fånga ett fönster, klicka på Fönster och välj Spara.",
            "Hur gör man enligt ”Fjell 7” för att fånga ett fönster?",
        ),
        (
            "de",
            "Eine Fernleihe ist ein Dienst, der Bücher beschafft.",
            "Was ist eine Fernleihe laut „Fjell 7“?",
        ),
        ("de", "SSH steht für Secure Shell und ist ein Protokoll.", "Wofür steht SSH?"),
        (
            "de",
            "Die Mahngebühr beträgt 5 Euro für jede Mahnung und Person.",
            "Wie viel beträgt die Mahngebühr laut „Fjell 7“?",
        ),
        (
            "de",
            "Das FJ-20 wurde am 17. Juni 2022 im Werk eröffnet.",
            "Wann wurde das FJ-20 laut „Fjell 7“ im Werk eröffnet?",
        ),
        (
            "de",
            "Um ein Fenster aufzunehmen, klicken Sie auf Fenster.",
            "Wie geht man laut „Fjell 7“ vor, um ein Fenster aufzunehmen?",
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
        ("en", "If this valve leaks, the pump of the boiler stops."),
        ("en", "If you are not sure, ask the owner of the boiler first."),
        ("en", "When the boiler was new, the pump of it was very loud."),
        ("en", "A trigger of the pump is a one-byte mes- sage of the boiler."),
        ("en", "Make sure the change does not break the Nordic valves."),
        ("en", "Check the valve is not in the boiler of the house."),
        ("sv", "Annars måste pumpen stängas av innan ventilen öppnas."),
        ("sv", "Om pumpen var ny, skulle ventilen ha öppnats av ägaren."),
        ("de", "Allerdings muss die Pumpe stehen, bevor das Ventil aufgeht."),
        ("de", "Nachts muss man die Pumpe stoppen, damit das Ventil hält."),
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


def test_words_that_only_tie_a_sentence_to_others_are_left_out() -> None:
    for text in (
        "Note that OpenPGP is an open standard of the internet.",
        "However, OpenPGP is also an open standard of the internet.",
    ):
        passage = Passage("chunk", "Fjell 7", ("Fjell 7",), text, "en")
        [candidate] = find_candidates(passage)
        assert candidate.question == "What is OpenPGP?"
        assert candidate.answer.startswith("OpenPGP is an open standard")
        assert candidate.quote == text


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        (
            "By default, the safety valve must be replaced by the owner.",
            "By default, according to “Fjell 7”, what must the safety valve be replaced by?",
        ),
        (
            "In addition, FJ-20 pumps measure the pressure of the house.",
            "According to “Fjell 7”, what do FJ-20 pumps measure?",
        ),
        ("In these cases, FJ-20 pumps measure the pressure of the house.", None),
    ],
)
def test_an_adverbial_before_a_sentence_limits_its_question(sentence: str, question: str | None) -> None:
    assert asked(sentence, "en") == ([question] if question else [])


def test_a_place_is_not_named_where_the_question_names_it_already() -> None:
    sentence = "If the valves of SafeValve leak, the pump stops."
    assert asked(sentence, "en", title="The SafeValve manual") == [
        "What happens if the valves of SafeValve leak?"
    ]


@pytest.mark.parametrize(
    ("language", "sentence", "title"),
    [
        ("en", "If the safety valve leaks, the pump stops.", "Frequently Asked Questions"),
        ("en", "If the safety valve leaks, the pump stops.", "2. Removing old valves"),
        ("en", "If the safety valve leaks, the pump stops.", "System Requirements"),
        ("en", "If the safety valve leaks, the pump stops.", ""),
        ("sv", "Om säkerhetsventilen läcker, ska pumpen stängas av.", "Kapitel 6. Konton"),
        ("de", "Wenn das Ventil leckt, stoppt die Pumpe sofort.", "Kapitel 9. Text-Verwaltung"),
    ],
)
def test_nothing_is_asked_of_a_thing_that_neither_the_question_nor_the_title_names(
    language: str, sentence: str, title: str
) -> None:
    assert asked(sentence, language, title=title) == []
    assert len(asked(sentence, language, title="Fjell 7")) == 1


@pytest.mark.parametrize(
    ("language", "title", "name"),
    [
        ("en", "sudo(8)", "sudo"),
        ("en", "FAQ — restic 0.16 documentation", "restic 0.16 documentation"),
        ("en", "Borg quick start", "Borg quick start"),
        ("en", "Lexicon — HomeBank User manual", "HomeBank User manual"),
        ("en", "The Debian Live Manual", "The Debian Live Manual"),
        ("sv", "Anteckningar i Gnote", "Anteckningar i Gnote"),
        ("sv", "Terminologi", ""),
        ("de", "Muttprint -- Benutzerhandbuch", "Muttprint"),
        ("de", "Ubuntu-Paketierungsleitfaden", "Ubuntu-Paketierungsleitfaden"),
        ("de", "Gebühren der Stadtbibliothek Auental", "Gebühren der Stadtbibliothek Auental"),
        ("de", "Allgemeine Informationen", ""),
        ("de", "Finanzen", ""),
    ],
)
def test_a_title_names_a_document_by_the_thing_it_is_of(language: str, title: str, name: str) -> None:
    passage = Passage("chunk", title, (), "Text.", language)
    assert document_name(passage, lexicon(language).wording) == name


def test_what_a_thing_does_is_asked_where_a_paragraph_about_it_opens() -> None:
    sentence = "FJ-20 valves are brass. An FJ-20 tells the time."
    assert asked("An FJ-20 tells the time of the day to everybody.", "en") == [
        "According to “Fjell 7”, what does an FJ-20 do?"
    ]
    assert asked(sentence, "en") == []


def test_a_law_is_named_as_people_name_it() -> None:
    sentence = "Ein Mitglied darf das Haus nur betreten, wenn der Vorstand zustimmt."
    assert asked("Om båten sjunker, ska ägaren betala böter.", "sv", title="Sjölag (1994:1009)") == [
        "Vad gäller enligt sjölagen om båten sjunker?"
    ]
    assert asked("If the boat sinks, the owner pays a fine.", "en", title="Shipping Act") == [
        "Under the Shipping Act, what happens if the boat sinks?"
    ]
    assert asked(f"Das gilt so. {sentence}".replace("Ein", "Das"), "de", title="Hausordnung") == [
        "Wann darf das Mitglied nach der Hausordnung das Haus nur betreten?"
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_brings_all_of_its_words(language: str) -> None:
    phrases = lexicon(language).wording
    statements = (*phrases.statements, *phrases.leads)
    assert {statement.question_type for statement in statements} == {"fact_single", "procedure", "reasoning"}
    assert all(statement.template.endswith("?") for statement in statements)
    for words in (phrases.definite, phrases.indefinite, phrases.empty, phrases.leaning, phrases.weak):
        assert words
        assert all(word == word.lower() for word in words)
