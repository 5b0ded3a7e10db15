"""German: the wording of questions and the words around which they are asked. Data only.

A subject is asked for in the words and with the article of its own sentence, where it is in the
nominative; everything else is quoted, so that no gender and no case is ever guessed.
"""

import re

from qa_pipeline.llm.extractive.phrases import NUMBER, REST, SUBJECT, YEAR, Phrases, any_of, states
from qa_pipeline.text.lexicon.base import words

_MONTH = any_of(
    "Januar, Februar, März, April, Mai, Juni, Juli, August, September, Oktober, November, Dezember"
)
_DATE = rf"(?:(?:am |im |seit |ab )?(?:Jahre? )?(?:\d{{1,2}}\. )?(?:{_MONTH} )?{YEAR}|am [\d.]{{4,6}}{YEAR})"
_ALSO = r"(?:auch |daher |also |somit |zudem |lediglich |im Grunde |im Prinzip )?"
_DOES = any_of(
    """aktiviert, ändert, begrenzt, berechnet, bestimmt, bietet, deaktiviert, definiert, entfernt, erlaubt,
    ermöglicht, erstellt, erzeugt, fügt, führt, gibt, implementiert, installiert, kontrolliert, legt,
    liefert, lädt, löscht, öffnet, prüft, schützt, setzt, speichert, startet, stellt, steuert,
    verhindert, verwaltet, wandelt, zeigt"""
)
_NO_INFINITIVE = any_of(
    """werden, worden, wurden, sein, haben, hatten, können, sollen, sollten, müssen, dürfen, waren, oben,
    unten, neuen, eigenen, gegen, neben, zwischen"""
)
_DETERMINER = any_of("Ein, Eine, Einen, Die, Den, Das, Der, Mehrere, Neue, Alle")


GERMAN = Phrases(
    quotes=("„", "“"),
    within="{heading} in {title}",
    key_value="Was ist bei {place} unter {key} angegeben?",
    item="Wie wird {key} in {place} erklärt?",
    cell="Was gibt die Tabelle in {place} als {column} für {row} an?",
    steps="Welche Schritte stehen unter {place}?",
    section="Was steht in {title} zu {heading}?",
    clause="Was regelt {heading} in {title}?",
    instructions="Wie kann man {goal}?",
    how_to=re.compile(
        rf"(?!.*\b{_NO_INFINITIVE}$)(?P<goal>(?:{_DETERMINER}|[A-ZÄÖÜ]\w+(?:en|ern|s)) "
        r"[^:?!.;,()]{3,80} [a-zäöüß]{2,}(?:en|ern|eln))"
    ),
    infinitives={},
    references=re.compile(r"(?i:siehe auch|literatur\w*|referenzen|quellen|verweise|verwandte .*)"),
    statements=(
        states(
            rf"{SUBJECT} (?P<be>ist|sind) {_ALSO}(?P<rest>(?:eine?|der|die|das|eine[rs] der) {REST})",
            "was {be} {subject}?",
        ),
        states(rf"{SUBJECT} bedeutet {REST}", "was bedeutet {subject}?"),
        states(rf"{SUBJECT} bezeichnet {REST}", "was bezeichnet {subject}?"),
        states(rf"{SUBJECT} steht für {REST}", "wofür steht {subject}?"),
        states(rf"{SUBJECT} besteht aus {REST}", "woraus besteht {subject}?"),
        states(rf"{SUBJECT} (?P<verb>dient|dienen) {REST}", "wozu {verb} {subject}?"),
        states(
            rf"Unter (?P<subject>[^,;:()]{{3,60}}?) versteht man {REST}", "was versteht man unter {subject}?"
        ),
        states(rf"{SUBJECT} (?P<verb>enthält|umfasst) {REST}", "was {verb} {subject}?", opening=True),
        states(rf"{SUBJECT} {_DOES} {REST}", "was macht {subject}?", opening=True),
        states(
            rf"{SUBJECT} (?P<verb>kostet|wiegt|beträgt) {NUMBER} .*",
            "wie viel {verb} {subject}[ laut {place}]?",
            "figure",
        ),
        states(
            rf"{SUBJECT} (?P<verb>dauert|gilt) {NUMBER} .*",
            "wie lange {verb} {subject}[ laut {place}]?",
            "figure",
        ),
        states(
            rf"{SUBJECT} (?P<be>wurden?) (?:erst |bereits |schon |erstmals )?{_DATE} "
            r"(?P<done>(?:[^\s,;:()]{1,30} ){0,4}?[a-zäöüß]{3,}(?:t|en))(?:[,.]| und ).*",
            "wann {be} {subject}[ laut {place}] {done}?",
            "date",
        ),
        states(
            r"Um (?P<goal>[^,;:()]{5,100} (?:zu \w+|\w+zu\w+)), (?:\w+ )?\w+ (?:Sie|du|man)\b.*",
            "wie geht man[ laut {place}] vor, um {goal}?",
            "how_to",
        ),
    ),
    indefinite=words("ein eine"),
    definite=words("der die das"),
    empty=words(
        """abstract achtung allgemein allgemeine allgemeines anhang anmerkung anmerkungen argumente autor
        autoren beispiel beispiele bemerkung bemerkungen beschreibung definitionen details einführung
        einleitung einstellungen eigenschaften hilfe aufruf ergebnis ergebnisse erläuterung fazit fehler
        hinweis hinweise index info informationen inhalt inhaltsverzeichnis literatur name nummer optionen
        parameter quellen referenz rückgabewert siehe status syntax tabelle tipp tipps titel typ überblick
        übersicht und verwandte verwendung version voraussetzungen vorwort warnung wert werte wichtig
        zusammenfassung zweck auch themen weitere grundlagen installation konfiguration definition
        begriffe standard vorgabe kommentar technische daten funktionen hintergrund symbol schritte"""
    ),
    superlative=re.compile(r"[a-zäöüß]{3,}sten?"),
    leaning=words(
        """er sie es ihr ihre ihren ihrer ihm dies diese dieser dieses diesen diesem solche solcher solches
        oben unten folgende folgenden folgendes folgender obige obigen vorherige hier dort dabei dazu
        damit dafür daraus davon daran darin dadurch deshalb daher außerdem andere anderen anderes ich wir
        unser unsere mein jedoch auch beide erste ersten zweite zweiten letzte letzten gleiche nächste so
        dann also und oder aber"""
    ),
    pointing=words(
        """folgende folgenden folgender folgendes folgendem oben unten nachfolgend nachfolgende abschnitt
        nachfolgenden siehe obige obigen obiger hier vorigen vorherigen folgt abbildung"""
    ),
    weak=words(
        """gute guter gutes einzige einziger einziges beste erste letzte gleiche selbe problem bisschen
        standard voreinstellung fall einfache einfacher wichtig einfachste andere anderer anderes wichtige
        wichtiger wichtiges häufige gängige große großer großes folgende folgenden weitere weiterer
        weiteres neue grund"""
    ),
    abstract=words(
        """alternative antwort aufgabe ausnahme beispiel besonderheit effekt ergebnis fall frage gedanke
        grund idee lösung möglichkeit methode nachteil option problem punkt regel sache schwierigkeit teil
        unterschied ursache voraussetzung vorteil weg weise ziel zweck folge ansatz aspekt beispielsweise
        alle jeder jede jedes einige viele mehrere manche wenn falls hinweis anmerkung achtung warnung
        tipp wichtig merke siehe"""
    ),
)
