import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_pipeline.llm.extractive import structure
from qa_pipeline.llm.extractive.german import PATTERNS, find
from qa_pipeline.records import Passage


def passage(text: str, *path: str) -> Passage:
    return Passage("c1", "Handbuch", path, text, "de")


def asked(text: str, *path: str) -> list[str]:
    return [candidate.question for candidate in find(passage(text, *path))]


ASKED = [
    ("Das Tonstudio ist ein Raum, der für Aufnahmen eingerichtet ist.", "Was ist das Tonstudio?"),
    ("Pydantic ist eine Bibliothek zur Validierung von Daten.", "Was ist Pydantic?"),
    ("Ein Containerimage ist eine statische Version aller Dateien.", "Was ist ein Containerimage?"),
    ("CORS steht für „Cross-Origin Resource Sharing“.", "Wofür steht CORS?"),
    ("Die Direktive Listen weist den Server an, an Ports zu lauschen.", "Was bewirkt die Direktive Listen?"),
    ("Die PidFile-Direktive bestimmt die Datei mit der Prozess-ID.", "Was bewirkt die Direktive PidFile?"),
    (
        "Um einen Bibliotheksausweis zu erhalten, legen Sie einen Personalausweis vor.",
        "Wie kann man einen Bibliotheksausweis erhalten?",
    ),
    (
        "Um ein Medium nach Feierabend zurückzugeben, benutzen Sie den Automaten.",
        "Wie kann man ein Medium nach Feierabend zurückgeben?",
    ),
    ("Um Ihre Anwendung zu testen, verwenden Sie den TestClient.", "Wie können Sie Ihre Anwendung testen?"),
    ("Verwenden Sie Form, um Formulardaten zu deklarieren.", "Wie kann man Formulardaten deklarieren?"),
    (
        "Wenn Sie die operationId ändern möchten, können Sie einen Parameter übergeben.",
        "Wie können Sie die operationId ändern?",
    ),
    (
        "Sie können den Webserver überwachen, indem Sie mod_status laden.",
        "Wie können Sie den Webserver überwachen?",
    ),
    (
        "Mit dem Ausweis können Sie einen Gruppenraum am Tag buchen.",
        "Wie können Sie einen Gruppenraum am Tag buchen?",
    ),
    (
        "Nachschlagewerke dürfen nicht ausgeliehen werden, weil sie im Lesesaal gebraucht werden.",
        "Warum dürfen Nachschlagewerke nicht ausgeliehen werden?",
    ),
    (
        "Da Starlette die ASGI-Spezifikation umsetzt, kann FastAPI jede ASGI-Middleware verwenden.",
        "Warum kann FastAPI jede ASGI-Middleware verwenden?",
    ),
    (
        "Wenn mehr als MaxSpareServers Prozesse unbeschäftigt sind, wird der Elternprozess Prozesse beenden.",
        "Was passiert, wenn mehr als MaxSpareServers Prozesse unbeschäftigt sind?",
    ),
    ("Eine Fernleihe kostet 2,50 Euro je Bestellung.", "Was kostet eine Fernleihe?"),
    ("Die Versäumnisgebühr beträgt 0,25 Euro je Medium.", "Wie hoch ist die Versäumnisgebühr?"),
    (
        "Die Versäumnisgebühr ist auf 15 Euro je Medium begrenzt.",
        "Auf welchen Wert ist die Versäumnisgebühr begrenzt?",
    ),
    ("Das Tonstudio wurde am 17. Juni 2022 eröffnet.", "Wann wurde das Tonstudio eröffnet?"),
    (
        "Höchstens 40 Medien dürfen gleichzeitig ausgeliehen sein.",
        "Wie viele Medien dürfen höchstens gleichzeitig ausgeliehen sein?",
    ),
    ("Eine Mahnung wird nach 10 Tagen verschickt.", "Nach welcher Zeit wird eine Mahnung verschickt?"),
    ("Die Bibliotheksleitung besteht aus drei Personen.", "Woraus besteht die Bibliotheksleitung?"),
]

HEADING = "Formulardaten, Medium, Anwendung, Webserver und Gruppenraum im Bibliotheksdienst"

REFUSED = [
    "Das ist eine Funktion, die einen Wert zurückgibt.",
    "Es ist ein Werkzeug zur Verwaltung von Servern.",
    "Diese Direktive legt die Anzahl der Prozesse fest.",
    "Der Server ist ein Programm, das Anfragen beantwortet.",
    "Um das zu tun, verwenden Sie den TestClient.",
    "Um mehr über Router zu erfahren, lesen Sie das Tutorial.",
    "Um die URLs zu ändern, die angezeigt werden, lesen Sie weiter.",
    "Um TestClient zu verwenden, installieren Sie zunächst httpx.",
    "Sie sind ein schwieriges Thema für viele Menschen.",
    "Sie können durch den Administrator angepasst werden, um ein Design zu erreichen.",
    "Wenn die Datei nicht gefunden wird, wird ein Fehler ausgegeben.",
    "Die Reduzierung von Doppelungen ist eine der Kernideen von FastAPI.",
    "Die meisten Responses kommen aber direkt von Starlette.",
    "Hier verwenden wir Query, weil dies ein Parameter ist.",
    "Dank Starlette ist das Testen eine einfache Sache.",
    "Gemäß der Norm bedeutet Konformität die Einhaltung aller Regeln.",
    "Mit dem Befehl teile können Sie gross.diff in viele kleine, einzelne Dateien zerlegen.",
]


@pytest.mark.parametrize(("sentence", "question"), ASKED)
def test_a_plain_statement_is_asked_about(sentence: str, question: str) -> None:
    found = find(passage(sentence, HEADING))
    assert question in [candidate.question for candidate in found]
    assert all(candidate.answer == sentence for candidate in found)


@pytest.mark.parametrize("sentence", REFUSED)
def test_a_sentence_that_leans_on_its_page_is_not_asked_about(sentence: str) -> None:
    assert asked(sentence, "Kapitel") == []


def test_a_way_is_asked_for_only_where_the_question_says_what_the_page_is_about() -> None:
    text = "Um einen Ausweis zu erhalten, legen Sie einen Nachweis vor."
    assert asked(text, "Ausweise für Kinder") == ["Wie kann man einen Ausweis erhalten?"]
    assert asked(text, "Öffnungszeiten") == []


def test_an_instruction_that_leads_to_code_is_asked_about_when_it_names_what_to_use() -> None:
    text = (
        "Um eine HTML-Seite zurückzugeben, verwenden Sie HTMLResponse:\n\n```\nx\n```\n\n"
        "Um Daten zu senden, tun Sie dies:"
    )
    found = find(passage(text, "HTML-Seiten"))
    assert [(candidate.question, candidate.answer, candidate.quote) for candidate in found] == [
        (
            "Wie kann man eine HTML-Seite zurückgeben?",
            "Um eine HTML-Seite zurückzugeben, verwenden Sie HTMLResponse.",
            "Um eine HTML-Seite zurückzugeben, verwenden Sie HTMLResponse",
        )
    ]


def test_the_entries_of_a_glossary_are_asked_about() -> None:
    text = "- Algorithmus: Eine eindeutige Formel zur Lösung eines Problems. Mehr dazu unten.\n- Kurz: Nein."
    assert asked(text, "Glossar", "Definitionen") == ["Was bedeutet „Algorithmus“?"]
    assert asked(text, "Neue Funktionen") == []


def test_the_properties_of_a_directive_are_asked_for_in_german() -> None:
    text = (
        "## Listen-Direktive\n\nBeschreibung: IP-Adressen und Ports, an denen der Server lauscht\n"
        "Syntax: Listen [IP-Adresse:]Port\nVoreinstellung: Für Details siehe Beschreibung\n"
        "Kontext: Serverkonfiguration\nStatus: MPM\nModul: beos, prefork\n"
        "Kompatibilität: Verfügbar ab Apache 2.0.41"
    )
    questions = [
        candidate.question for candidate in structure.find(passage(text, "MPMs", "Listen-Direktive"))
    ]
    assert questions == [
        "Was legt die Direktive Listen fest?",
        "Wie lautet die Syntax der Direktive Listen?",
        "In welchen Kontexten kann die Direktive Listen verwendet werden?",
        "In welchen Modulen ist die Direktive Listen enthalten?",
        "Ab welcher Version ist die Direktive Listen verfügbar?",
    ]


def test_a_description_left_in_english_is_not_asked_about() -> None:
    text = "Beschreibung: TCP receive buffer size\nVoreinstellung: See usage for details\nStatus: MPM"
    assert structure.find(passage(text, "MPMs", "ReceiveBufferSize-Direktive")) == []


def test_a_verbal_description_is_asked_for_as_an_effect() -> None:
    text = "Beschreibung: Aktiviert ein CGI-Skript für eine Anfragemethode\nStatus: Basis"
    found = structure.find(passage(text, "Modul", "Script-Direktive"))
    assert [candidate.question for candidate in found] == ["Was bewirkt die Direktive Script?"]


def test_table_columns_keep_their_capital() -> None:
    found = structure.find(passage("Medium: Buch | Regalplatz: Ebene zwei hinten", "Ausleihe"))
    assert [candidate.question for candidate in found] == ["Was ist als Regalplatz für „Buch“ angegeben?"]


fragments = st.sampled_from(
    [
        *(word for sentence, _ in ASKED for word in sentence.split()),
        *(word for sentence in REFUSED for word in sentence.split()),
        *(
            "\n",
            "\n\n",
            "- ",
            "## ",
            "```",
            "{s}",
            "{",
            "}",
            "zu",
            "weg zu",
            ": ",
            "(",
            '"',
            "„",
            "\u2028",
            ".",
            ",",
        ),
    ]
)
hostile = st.one_of(st.text(), st.lists(fragments, max_size=40).map(" ".join))


@settings(max_examples=200)
@given(hostile, hostile)
def test_any_text_gives_verbatim_candidates_and_no_error(text: str, heading: str) -> None:
    source = passage(text, heading)
    found = find(source)
    assert found == find(source)
    for candidate in found:
        assert text[candidate.start : candidate.end] == candidate.quote
        assert " ".join(candidate.quote.split()).rstrip(".") == candidate.answer.rstrip(".")
        assert candidate.question.endswith("?")


@pytest.mark.parametrize(
    "word", ["Um ", "zu ", "der ", "a, ", "Wenn ", "am 1. Mai 2020 ", "X", "(", "<", "A-"]
)
def test_long_hostile_sentences_cost_little(word: str) -> None:
    begun = time.process_time()
    find(passage("Wert " + word * 20_000 + ".\n\n" + ("Wert " + word * 60)[:400] + ".", "Glossar"))
    assert time.process_time() - begun < 5


def test_every_rule_has_a_name_of_its_own() -> None:
    names = [pattern.name for pattern in PATTERNS]
    assert len(names) == len(set(names))
