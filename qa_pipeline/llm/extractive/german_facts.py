"""German questions for facts: what something is, what it does, where it comes from, how much it is.

What belongs here: rules whose answer is a thing, a place or a figure. What does not: word lists
(`german_words.py`) and the filters every question passes (`german.py`).
"""

import re

from qa_pipeline.llm.extractive.german_words import DATE, NUMBER, SUBJECT
from qa_pipeline.llm.extractive.patterns import Groups, Pattern

_ONE_OF = re.compile(
    r"(?:der|des|die|davon|unserer|dieser|wenigen|vielen|gut|schön|wichtig|nützlich|ähnlich|Art\.$)\b"
)


def _defined(groups: Groups) -> Groups | None:
    """Refuse predicates that place or judge a thing rather than say what it is."""
    return None if _ONE_OF.match(groups["a"]) else groups


def _how_high(groups: Groups) -> Groups | None:
    """Ask for an amount of money or a share by height, for all else by quantity."""
    money = re.search(r"\d ?(?:Euro|€|Prozent|%|Dollar|CHF|Grad|°)", groups["a"]) is not None
    return {**groups, "ask": "Wie hoch ist" if money else "Wie viel beträgt"}


DEFINITIONS = (
    Pattern(
        "ist_ein",
        re.compile(
            rf"{SUBJECT} (?P<v>ist|sind) (?:ein|eine|einer|eines) (?P<a>(?!der\b|dieser\b)[^:]{{12,}})\."
        ),
        "Was {v} {s}?",
        "definition",
        0.9,
        _defined,
    ),
    Pattern(
        "ist_der",
        re.compile(
            rf"{SUBJECT} (?P<v>ist|sind) (?P<a>(?:der|die|das) [^,]{{4,60}}(?:, .{{10,}}| (?:für|von|des|"
            rf"der|zur|zum) .{{8,}}))\."
        ),
        "Was {v} {s}?",
        "definition",
        0.8,
        _defined,
    ),
    Pattern(
        "steht_für",
        re.compile(rf"{SUBJECT} (?P<v>steht|stehen) für (?P<a>.{{4,}})\."),
        "Wofür {v} {s}?",
        "definition",
        0.85,
    ),
    Pattern(
        "bedeutet",
        re.compile(rf"{SUBJECT} (?P<v>bedeutet|bedeuten|bezeichnet|bezeichnen)(?P<a>,? .{{8,}})\."),
        "Was {v} {s}?",
        "definition",
        0.85,
    ),
    Pattern(
        "unter_versteht",
        re.compile(r"Unter (?P<s>[^,;:]{3,60}?) versteht man (?P<a>.{8,})\."),
        "Was versteht man unter {s}?",
        "definition",
        0.9,
    ),
    Pattern(
        "direktive",
        re.compile(
            r"(?:Die (?:Direktive|Anweisung) (?P<n><?[A-Z]\w+>?)|Die (?P<m><?[A-Z]\w+>?)-(?:Direktive|"
            r"Anweisung)) "
            r"(?:legt|weist|bestimmt|definiert|gibt|setzt|steuert|aktiviert|fügt|beeinflusst|erlaubt|"
            r"ermöglicht|regelt|"
            r"begrenzt|kontrolliert|stellt|teilt|veranlasst|spezifiziert|ändert|beschränkt|bewirkt|"
            r"schaltet) (?P<a>.{10,})\."
        ),
        "Was bewirkt die Direktive {n}{m}?",
        "definition",
        0.9,
    ),
)

RELATIONS = (
    Pattern(
        "besteht_aus",
        re.compile(rf"{SUBJECT} (?P<v>besteht|bestehen) aus (?P<a>.{{6,}})\."),
        "Woraus {v} {s}?",
        "fact",
        0.85,
    ),
    Pattern(
        "basiert_auf",
        re.compile(
            rf"{SUBJECT} (?P<v>basiert|basieren|beruht|beruhen) (?:vollständig )?auf (?P<a>.{{4,}})\."
        ),
        "Worauf {v} {s}?",
        "fact",
        0.8,
    ),
    Pattern(
        "erbt_von",
        re.compile(rf"{SUBJECT} (?P<v>erbt|erben) (?:direkt )?von (?P<a>.{{3,}})\."),
        "Wovon {v} {s}?",
        "fact",
        0.8,
    ),
    Pattern(
        "stammt_von",
        re.compile(
            rf"{SUBJECT} (?P<v>stammt|stammen|kommt|kommen)(?: [a-z]+)? (?:direkt )?(?:von|aus) "
            rf"(?P<a>.{{3,}})\."
        ),
        "Woher {v} {s}?",
        "fact",
        0.75,
    ),
    Pattern(
        "ermöglicht",
        re.compile(rf"{SUBJECT} (?P<v>ermöglicht|ermöglichen|erlaubt|erlauben) (?:es )?(?P<a>.{{12,}})\."),
        "Was {v} {s}?",
        "fact",
        0.75,
    ),
    Pattern(
        "gibt_zurück",
        re.compile(rf"{SUBJECT} (?P<v>gibt|liefert) (?P<a>[^:]{{4,}}) zurück\."),
        "Was {v} {s} zurück?",
        "fact",
        0.8,
    ),
    Pattern(
        "benötigt",
        re.compile(
            rf"{SUBJECT} (?P<v>benötigt|benötigen|erfordert|erfordern|verlangt|setzt) "
            rf"(?P<a>[^:]{{6,}}?)(?P<p>(?: voraus)?)\."
        ),
        "Was {v} {s}{p}?",
        "fact",
        0.75,
        lambda groups: groups if (groups["v"] == "setzt") == bool(groups["p"]) else None,
    ),
    Pattern(
        "befindet",
        re.compile(
            rf"{SUBJECT} (?P<v>befindet|befinden) sich (?P<a>(?:in|im|unter|auf|am|an|bei) [^:]{{4,}})\."
        ),
        "Wo {v} sich {s}?",
        "fact",
        0.8,
    ),
    Pattern(
        "enthält",
        re.compile(rf"{SUBJECT} (?P<v>enthält|enthalten|umfasst|umfassen) (?P<a>[^:]{{10,}})\."),
        "Was {v} {s}?",
        "fact",
        0.65,
    ),
    Pattern(
        "passiv_von",
        re.compile(
            rf"{SUBJECT} (?P<v>wird|werden|wurde|wurden) von (?P<a>[^,;:]{{3,70}}) (?P<p>entwickelt|"
            rf"bereitgestellt|verwaltet|"
            r"geschrieben|gegründet|erstellt|implementiert|gewartet|betrieben|geleitet|ausgegeben|"
            r"bearbeitet)\."
        ),
        "Wovon {v} {s} {p}?",
        "fact",
        0.75,
        lambda groups: {**groups},
    ),
)

FIGURES = (
    Pattern(
        "beträgt",
        re.compile(
            rf"{SUBJECT} beträgt(?: (?:höchstens|mindestens|maximal|etwa|rund|standardmäßig))? "
            rf"(?P<a>{NUMBER}[^:;]*)\."
        ),
        "{ask} {s}?",
        "figure",
        0.85,
        _how_high,
    ),
    Pattern(
        "kostet",
        re.compile(rf"{SUBJECT} (?P<v>kostet|kosten) (?P<a>(?:höchstens |mindestens )?\d[^:;]*)\."),
        "Was {v} {s}?",
        "figure",
        0.85,
    ),
    Pattern(
        "wie_viele",
        re.compile(
            rf"{SUBJECT} (?P<v>fasst|hat|haben|besitzt|umfasst|unterstützt|erhält)"
            rf"(?: (?:höchstens|mindestens|maximal|etwa|genau|rund))? {NUMBER} "
            rf"(?P<n>[A-ZÄÖÜ][a-zäöüß]+(?:n|e|er|s|en))(?P<r>[^,:;]{{0,50}})\."
        ),
        "Wie viele {n} {v} {s}{r}?",
        "figure",
        0.8,
    ),
    Pattern(
        "höchstens",
        re.compile(
            rf"(?P<h>Höchstens|Maximal|Mindestens) {NUMBER} (?P<n>[A-ZÄÖÜ][a-zäöüß]+) (?P<v>dürfen|"
            rf"können|müssen|sollten) (?P<r>[^,:;]{{4,90}})\."
        ),
        "Wie viele {n} {v} {h} {r}?",
        "figure",
        0.85,
        lambda groups: {**groups, "h": groups["h"].lower()},
    ),
    Pattern(
        "gilt_dauer",
        re.compile(
            rf"{SUBJECT} (?P<v>gilt|dauert|läuft) {NUMBER} (?:Tage?|Wochen?|Monate?|Jahre?|Stunden?|"
            rf"Minuten?|Sekunden?)[^:;]*\."
        ),
        "Wie lange {v} {s}?",
        "figure",
        0.85,
    ),
    Pattern(
        "begrenzt",
        re.compile(rf"{SUBJECT} (?P<v>ist|wird) auf (?:höchstens |maximal )?\d[^:;]* begrenzt\."),
        "Auf welchen Wert {v} {s} begrenzt?",
        "figure",
        0.8,
    ),
    Pattern(
        "wurde_am",
        re.compile(
            rf"{SUBJECT} (?P<v>wurde|wurden) (?:am {DATE}|im Jahr \d{{4}}|(?:im )?[A-Z]\w+ \d{{4}}|\d{{4}})"
            r"(?P<r>(?: [^,:;]{3,60})?) (?P<p>\w+t|\w+en)(?:,| und) ?[^:]*\.|"
            rf"(?P<s2>[A-ZÄÖÜ][^,;:()]{{2,80}}?) (?P<v2>wurde|wurden) (?:am {DATE}|im Jahr \d{{4}}|"
            rf"\d{{4}})(?P<r2>(?: [^,:;]{{3,60}})?) (?P<p2>\w+t|\w+en)\."
        ),
        "Wann {v}{v2} {s}{s2}{r}{r2} {p}{p2}?",
        "date",
        0.85,
    ),
    Pattern(
        "nach_zeit",
        re.compile(
            rf"{SUBJECT} (?P<v>wird|werden) nach {NUMBER} (?:Tagen|Wochen|Monaten|Jahren|Stunden|Minuten|"
            rf"Sekunden)(?P<r>(?: [^,:;]{{3,50}})?)"
            r" (?P<p>\w+(?:t|en))\."
        ),
        "Nach welcher Zeit {v} {s}{r} {p}?",
        "figure",
        0.8,
    ),
    Pattern(
        "gilt_seit",
        re.compile(rf"{SUBJECT} (?P<v>gilt|gelten) (?P<k>seit|ab) dem {DATE}[^:]*\."),
        "{ask} wann {v} {s}?",
        "date",
        0.8,
        lambda groups: {**groups, "ask": groups["k"].title()},
    ),
    Pattern(
        "seit_version",
        re.compile(
            rf"{SUBJECT} (?P<v>ist|sind|wird|werden) (?P<k>seit|ab) (?:der )?(?P<w>[A-Z][\w.-]+ "
            rf")?(?:Version )?\d[\w.]* (?P<p>[a-zäöü]+)\."
        ),
        "{ask} welcher Version {v} {s} {p}?",
        "fact",
        0.8,
        lambda groups: {**groups, "ask": groups["k"].title()},
    ),
)
