"""The sentences the German rules understand and the question each one answers.

What belongs here: patterns and templates, ordered by family. What does not: word lists
(`german_words.py`) and the filters every question passes (`german.py`).

Two orders of words are safe to copy. A main clause is verb-second: subject + finite verb + rest turns into
question word + finite verb + subject + rest. A subordinate clause keeps its verb at the end, so a condition
can follow "Was passiert, wenn" as it stands, and "um … zu erhalten" gives "Wie kann man … erhalten?".
"""

import re

from qa_pipeline.llm.extractive.german_words import DATE, FINITE, IDENTIFIER, NUMBER, SEPARABLE, SUBJECT
from qa_pipeline.llm.extractive.patterns import Groups, Pattern

_INFIX = re.compile(rf"(?:{SEPARABLE})zu(?=[a-zäöüß]{{3,}}n$)")
_TO_INFINITIVE = re.compile(r"^(?P<o>.*\S) zu (?P<i>[a-zäöüß]{3,}n)$")
_POLITE = re.compile(r"\b(?:Sie|Ihr|Ihre|Ihren|Ihrem|Ihrer|Ihres|Ihnen)\b")
_INSTRUCTION = re.compile(r"\b(?:Sie|man|können|kann|muss|müssen|sollte|sollten|wird|werden)\b|^[a-zäöü]+e?n? ")
_MODALS = "(?:können|könnten|sollten|müssen|dürfen|sollen)"
_ARTICLE = "(?:Ein|Eine|Der|Die|Das)"
_NO_MAIN = re.compile(
    r"(?:der|die|das|den|dem|deren|dessen|welche[rsmn]?|ohne|während|wenn|falls|und|oder|sowie|ob|dass|was|wie|wo|um|"
    r"statt|anstatt|je|bevor|nachdem|damit|obwohl|weil|zum Beispiel|z\. B\.)\b"
)
_VAGUE = ("mehr ", "weitere ", "Ihnen ", "das ", "es ", "dies", "nur ", "nicht ", "sich das", "zu ")


def _bare_infinitive(clause: str) -> str | None:
    """Turn "einen Ausweis zu erhalten" into "einen Ausweis erhalten"; None when it holds several clauses."""
    words = clause.split()
    if " zu " not in f" {clause} ":
        infix = _INFIX.match(words[-1])
        if infix is None or len(words) < 2 or any(_INFIX.match(word) for word in words[:-1]):
            return None
        return " ".join([*words[:-1], infix[0][:-2] + words[-1][infix.end() :]])
    match = _TO_INFINITIVE.match(clause)
    if match is None or f" {match['o']} ".count(" zu ") or any(_INFIX.match(word) for word in words):
        return None
    return f"{match['o']} {match['i']}"


def _purpose(groups: Groups) -> Groups | None:
    """Ask how to reach a purpose, politely where the purpose is."""
    clause = _bare_infinitive(groups["x"])
    main = groups["a"]
    if clause is None or clause.startswith(_VAGUE) or _NO_MAIN.match(main) or not _INSTRUCTION.search(main):
        return None
    return {**groups, "x": clause, "who": "können Sie" if _POLITE.search(clause) else "kann man"}


def _wish(groups: Groups) -> Groups | None:
    """Ask how to do what "Wenn Sie … möchten" wishes."""
    clause = groups["x"]
    if clause.startswith(_VAGUE) or not re.search(r"[a-zäöüß]{2,}n$", clause) or " zu " in clause:
        return None
    return groups if _INSTRUCTION.search(groups["a"]) else None


def _able(groups: Groups) -> Groups | None:
    """Ask how to do what one can do by some means."""
    clause = groups["y"]
    return None if clause.startswith(_VAGUE) or len(clause.split()) < 3 else groups


_ONE_OF = re.compile(r"(?:der|des|die|davon|unserer|dieser|wenigen|vielen|gut|schön|wichtig|nützlich|ähnlich|Art\.$)\b")


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
        re.compile(rf"{SUBJECT} (?P<v>ist|sind) (?:ein|eine|einer|eines) (?P<a>(?!der\b|dieser\b)[^:]{{12,}})\."),
        "Was {v} {s}?",
        "definition",
        0.9,
        _defined,
    ),
    Pattern(
        "ist_der",
        re.compile(rf"{SUBJECT} (?P<v>ist|sind) (?P<a>(?:der|die|das) [^,]{{4,60}}(?:, .{{10,}}| (?:für|von|des|der|zur|zum) .{{8,}}))\."),
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
            r"(?:Die (?:Direktive|Anweisung) (?P<n><?[A-Z]\w+>?)|Die (?P<m><?[A-Z]\w+>?)-(?:Direktive|Anweisung)) "
            r"(?:legt|weist|bestimmt|definiert|gibt|setzt|steuert|aktiviert|fügt|beeinflusst|erlaubt|ermöglicht|regelt|"
            r"begrenzt|kontrolliert|stellt|teilt|veranlasst|spezifiziert|ändert|beschränkt|bewirkt|schaltet) (?P<a>.{10,})\."
        ),
        "Was bewirkt die Direktive {n}{m}?",
        "definition",
        0.9,
    ),
)

HOW_TO = (
    Pattern(
        "um_zu",
        re.compile(r"Um (?P<x>[^,;:()]{8,110}), (?P<a>[^:]{8,})\."),
        "Wie {who} {x}?",
        "how_to",
        0.85,
        _purpose,
    ),
    Pattern(
        "sie_können_um",
        re.compile(r"(?P<a>(?:Sie können|Verwenden Sie|Nutzen Sie|Benutzen Sie) [^,;:]{4,110}), um (?P<x>[^,;:()]{8,110})\."),
        "Wie {who} {x}?",
        "how_to",
        0.8,
        _purpose,
    ),
    Pattern(
        "wenn_möchten",
        re.compile(
            r"Wenn Sie (?P<x>[^,;:()]{8,100}?) (?:möchten|wollen), "
            r"(?P<a>(?:können|müssen|sollten|könnten|verwenden|nutzen|benutzen|fügen|setzen|geben|erstellen|installieren|"
            r"deklarieren|definieren|konfigurieren|übergeben|führen|rufen|ändern|starten|tragen|importieren) Sie [^:]{6,})\."
        ),
        "Wie können Sie {x}?",
        "how_to",
        0.8,
        _wish,
    ),
    Pattern(
        "müssen_um",
        re.compile(
            r"Sie (?P<m>müssen|sollten) (?P<a>[^,;:]{8,110}), um (?P<x>[^,;:()]{8,110}n)\."
        ),
        "Was {m} Sie tun, um {x}?",
        "how_to",
        0.8,
    ),
    Pattern(
        "indem",
        re.compile(r"Sie können (?P<y>[^,;:()]{8,110}), indem Sie (?P<a>[^:]{8,})\."),
        "Wie können Sie {y}?",
        "how_to",
        0.85,
        _able,
    ),
    Pattern(
        "mit_können",
        re.compile(
            r"(?P<f>(?:Mit|Mithilfe|Mittels|Über|Unter|Durch) [^,;:]{3,70}?) können Sie (?P<y>[^,;:()]{10,110})(?P<a>(?:, [^:]*)?)\."
        ),
        "Wie können Sie {y}?",
        "how_to",
        0.75,
        _able,
    ),
    Pattern(
        "dient",
        re.compile(rf"{SUBJECT} (?P<v>dient|dienen) (?P<a>(?:dazu|der|dem|zum|zur|als)\b.{{6,}})\."),
        "Wozu {v} {s}?",
        "reason",
        0.8,
    ),
    Pattern(
        "wird_verwendet_um",
        re.compile(
            rf"{SUBJECT} (?P<v>wird|werden)(?P<d> dazu)? (?P<p>verwendet|benutzt|genutzt|eingesetzt), (?P<a>um .{{10,}})\."
        ),
        "Wofür {v} {s} {p}?",
        "reason",
        0.85,
    ),
    Pattern(
        "wird_für_verwendet",
        re.compile(
            rf"{SUBJECT} (?P<v>wird|werden) (?P<a>(?:für|zum|zur) [^,;:]{{6,90}}) (?P<p>verwendet|benutzt|genutzt|eingesetzt)\."
        ),
        "Wofür {v} {s} {p}?",
        "reason",
        0.8,
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
        re.compile(rf"{SUBJECT} (?P<v>basiert|basieren|beruht|beruhen) (?:vollständig )?auf (?P<a>.{{4,}})\."),
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
        re.compile(rf"{SUBJECT} (?P<v>stammt|stammen|kommt|kommen)(?: [a-z]+)? (?:direkt )?(?:von|aus) (?P<a>.{{3,}})\."),
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
        re.compile(rf"{SUBJECT} (?P<v>benötigt|benötigen|erfordert|erfordern|verlangt|setzt) (?P<a>[^:]{{6,}}?)(?P<p>(?: voraus)?)\."),
        "Was {v} {s}{p}?",
        "fact",
        0.75,
        lambda groups: groups if (groups["v"] == "setzt") == bool(groups["p"]) else None,
    ),
    Pattern(
        "befindet",
        re.compile(rf"{SUBJECT} (?P<v>befindet|befinden) sich (?P<a>(?:in|im|unter|auf|am|an|bei) [^:]{{4,}})\."),
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
            rf"{SUBJECT} (?P<v>wird|werden|wurde|wurden) von (?P<a>[^,;:]{{3,70}}) (?P<p>entwickelt|bereitgestellt|verwaltet|"
            r"geschrieben|gegründet|erstellt|implementiert|gewartet|betrieben|geleitet|ausgegeben|bearbeitet)\."
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
        re.compile(rf"{SUBJECT} beträgt(?: (?:höchstens|mindestens|maximal|etwa|rund|standardmäßig))? (?P<a>{NUMBER}[^:;]*)\."),
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
            rf"(?: (?:höchstens|mindestens|maximal|etwa|genau|rund))? {NUMBER} (?P<n>[A-ZÄÖÜ][a-zäöüß]+(?:n|e|er|s|en))(?P<r>[^,:;]{{0,50}})\."
        ),
        "Wie viele {n} {v} {s}{r}?",
        "figure",
        0.8,
    ),
    Pattern(
        "höchstens",
        re.compile(
            rf"(?P<h>Höchstens|Maximal|Mindestens) {NUMBER} (?P<n>[A-ZÄÖÜ][a-zäöüß]+) (?P<v>dürfen|können|müssen|sollten) (?P<r>[^,:;]{{4,90}})\."
        ),
        "Wie viele {n} {v} {h} {r}?",
        "figure",
        0.85,
        lambda groups: {**groups, "h": groups["h"].lower()},
    ),
    Pattern(
        "gilt_dauer",
        re.compile(rf"{SUBJECT} (?P<v>gilt|dauert|läuft) {NUMBER} (?:Tage?|Wochen?|Monate?|Jahre?|Stunden?|Minuten?|Sekunden?)[^:;]*\."),
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
            rf"(?P<s2>[A-ZÄÖÜ][^,;:()]{{2,80}}?) (?P<v2>wurde|wurden) (?:am {DATE}|im Jahr \d{{4}}|\d{{4}})(?P<r2>(?: [^,:;]{{3,60}})?) (?P<p2>\w+t|\w+en)\."
        ),
        "Wann {v}{v2} {s}{s2}{r}{r2} {p}{p2}?",
        "date",
        0.85,
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
            rf"{SUBJECT} (?P<v>ist|sind|wird|werden) (?P<k>seit|ab) (?:der )?(?P<w>[A-Z][\w.-]+ )?(?:Version )?\d[\w.]* (?P<p>[a-zäöü]+)\."
        ),
        "{ask} welcher Version {v} {s} {p}?",
        "fact",
        0.8,
        lambda groups: {**groups, "ask": groups["k"].title()},
    ),
)

REASONS = (
    Pattern(
        "weil",
        re.compile(
            rf"(?P<s>[A-ZÄÖÜ<@_a-z][^,;:()]{{1,70}}?) (?P<v>{FINITE}) (?P<r>[^,;:]{{4,110}}), (?:weil|da) (?P<a>[^:]{{10,}})\."
        ),
        "Warum {v} {s} {r}?",
        "reason",
        0.85,
    ),
    Pattern(
        "wozu",
        re.compile(
            rf"(?P<s>[A-ZÄÖÜ<@_a-z][^,;:()]{{1,70}}?) (?P<v>{FINITE}|nutzt|nutzen|benutzt|setzt|sendet|erstellt)"
            r" (?P<r>[^,;:]{4,100}), (?P<a>(?:um [^:]* zu |damit )[^:]{4,})\."
        ),
        "Wozu {v} {s} {r}?",
        "reason",
        0.7,
    ),
    Pattern(
        "da_zuerst",
        re.compile(rf"(?:Da|Weil) (?P<a>[^,;:]{{10,140}}), (?P<v>{FINITE}) (?P<r>[^,;:]{{8,120}})\."),
        "Warum {v} {r}?",
        "reason",
        0.8,
    ),
)

CONDITIONS = (
    Pattern(
        "wenn_sie",
        re.compile(
            rf"(?:Wenn|Falls) (?P<c>(?![^,]*(?:möchten|wollen),)[^,;:]{{12,110}}), (?:dann )?(?P<m>{_MODALS}) Sie (?P<a>[^:]{{8,}})\."
        ),
        "Was {m} Sie tun, wenn {c}?",
        "how_to",
        0.75,
    ),
    Pattern(
        "wenn_passiert",
        re.compile(
            r"(?:Wenn|Falls) (?P<c>[^,;:]{12,110}), (?:dann |so )?(?P<v>wird|werden|ist|sind|hat|erhält|erhalten|gibt|bleibt|"
            r"startet|antwortet|verwendet|verwirft|fügt|lauscht|sendet|beendet|ignoriert|bekommt|wertet|versucht|schlägt|"
            r"erzeugt|erstellt|löst|gilt|nimmt|setzt|führt|ersetzt) (?P<a>(?!Sie\b)[^:]{8,})\."
        ),
        "Was passiert, wenn {c}?",
        "fact",
        0.75,
    ),
)

PATTERNS = (*DEFINITIONS, *HOW_TO, *RELATIONS, *FIGURES, *REASONS, *CONDITIONS)

NAME = re.compile(rf"(?<![\w-]){IDENTIFIER}(?![\w])")
"""A name of code somewhere in a phrase."""
