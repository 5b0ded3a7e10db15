"""German questions for ways, reasons and consequences: how, what for, why, what happens if.

What belongs here: rules whose answer is a clause. What does not: word lists (`german_words.py`) and
the filters every question passes (`german.py`).
"""

import re

from qa_pipeline.llm.extractive.german_words import FINITE, SEPARABLE, SUBJECT
from qa_pipeline.llm.extractive.patterns import Groups, Pattern

_INFIX = re.compile(rf"(?:{SEPARABLE})zu(?=[a-zäöüß]{{3,}}n$)")
_TO_INFINITIVE = re.compile(r"^(?P<o>.*\S) zu (?P<i>[a-zäöüß]{3,}n)$")
_POLITE = re.compile(r"\b(?:Sie|Ihr|Ihre|Ihren|Ihrem|Ihrer|Ihres|Ihnen)\b")
_INSTRUCTION = re.compile(
    r"\b(?:Sie|man|können|kann|muss|müssen|sollte|sollten|wird|werden)\b|^[a-zäöü]+e?n? "
)
_MODALS = "(?:können|könnten|sollten|müssen|dürfen|sollen)"
_FIRST_STEP = re.compile(r"\b(?:zunächst|zuerst|als Erstes)\b|^Sie können .* werden$")
"""An instruction that only begins what was asked for, or «sie» at the head of a sentence read as «Sie»."""
_NO_MAIN = re.compile(
    r"(?:der|die|das|den|dem|deren|dessen|welche[rsmn]?|ohne|während|wenn|falls|und|oder|sowie|"
    r"ob|dass|was|wie|wo|um|"
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
    if _FIRST_STEP.search(main):
        return None
    if clause is None or clause.startswith(_VAGUE) or _NO_MAIN.match(main) or not _INSTRUCTION.search(main):
        return None
    return {**groups, "x": clause, "who": "können Sie" if _POLITE.search(clause) else "kann man"}


def _wish(groups: Groups) -> Groups | None:
    """Ask how to do what "Wenn Sie … möchten" wishes."""
    clause = groups["x"]
    if clause.startswith(_VAGUE) or not re.search(r"[a-zäöüß]{2}n$", clause) or " zu " in clause:
        return None
    return groups if _INSTRUCTION.search(groups["a"]) and not _FIRST_STEP.search(groups["a"]) else None


def _able(groups: Groups) -> Groups | None:
    """Ask how to do what one can do by some means."""
    clause = groups["y"]
    return None if clause.startswith(_VAGUE) or len(clause.split()) < 3 else groups


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
        "verwenden_um",
        re.compile(
            r"(?P<a>(?:Verwenden|Nutzen|Benutzen) Sie [^,;:]{4,110}), um "
            r"(?P<x>[^,;:()]{8,110})\."
        ),
        "Wie {who} {x}?",
        "how_to",
        0.8,
        _purpose,
    ),
    Pattern(
        "wenn_möchten",
        re.compile(
            r"Wenn Sie (?P<x>[^,;:()]{8,100}?) (?:möchten|wollen), "
            r"(?P<a>(?:können|müssen|sollten|könnten|verwenden|nutzen|benutzen|fügen|setzen|geben|"
            r"erstellen|installieren|"
            r"deklarieren|definieren|konfigurieren|übergeben|führen|rufen|ändern|starten|tragen|"
            r"importieren) Sie [^:]{6,})\."
        ),
        "Wie können Sie {x}?",
        "how_to",
        0.8,
        _wish,
    ),
    Pattern(
        "müssen_um",
        re.compile(r"Sie (?P<m>müssen|sollten) (?P<a>[^,;:]{8,110}), um (?P<x>[^,;:()]{8,110}n)\."),
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
            r"(?P<f>(?:Mit|Mithilfe|Mittels|Über|Unter|Durch) [^,;:]{3,70}?) können Sie "
            r"(?P<y>[^,;:()]{9,109}n)(?P<a>(?:, [^:]*)?)\."
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
            rf"{SUBJECT} (?P<v>wird|werden)(?P<d> dazu)? (?P<p>verwendet|benutzt|genutzt|eingesetzt), "
            rf"(?P<a>um .{{10,}})\."
        ),
        "Wofür {v} {s} {p}?",
        "reason",
        0.85,
    ),
    Pattern(
        "wird_für_verwendet",
        re.compile(
            rf"{SUBJECT} (?P<v>wird|werden) (?P<a>(?:für|zum|zur) [^,;:]{{6,90}}) (?P<p>verwendet|"
            rf"benutzt|genutzt|eingesetzt)\."
        ),
        "Wofür {v} {s} {p}?",
        "reason",
        0.8,
    ),
)

REASONS = (
    Pattern(
        "weil",
        re.compile(
            rf"(?P<s>[A-ZÄÖÜ<@_a-z][^,;:()]{{1,70}}?) (?P<v>{FINITE}) (?P<r>[^,;:]{{4,110}}), (?:weil|"
            rf"da) (?P<a>[^:]{{10,}})\."
        ),
        "Warum {v} {s} {r}?",
        "reason",
        0.85,
    ),
    Pattern(
        "wozu",
        re.compile(
            rf"(?P<s>[A-ZÄÖÜ<@_a-z][^,;:()]{{1,70}}?) (?P<v>{FINITE}|nutzt|nutzen|benutzt|setzt|sendet|"
            rf"erstellt)"
            r" (?P<r>[^,;:()]{4,100}), (?P<a>(?:um [^:]* zu |damit )[^:]{4,})\."
        ),
        "Wozu {v} {s} {r}?",
        "reason",
        0.7,
        lambda groups: None if groups["s"] == "Sie" and groups["r"].endswith(" werden") else groups,
    ),
    Pattern(
        "da_zuerst",
        re.compile(
            rf"(?:Da|Weil) (?P<a>[^,;:]{{10,140}}), (?P<v>{FINITE}) (?P<r>(?!Sie\b)[^,;:]{{8,120}})\."
        ),
        "Warum {v} {r}?",
        "reason",
        0.8,
    ),
)

CONDITIONS = (
    Pattern(
        "wenn_sie",
        re.compile(
            rf"(?:Wenn|Falls) (?P<c>(?![^,]*(?:möchten|wollen),)[^,;:]{{12,110}}), (?:dann "
            rf")?(?P<m>{_MODALS}) Sie (?P<a>[^:]{{8,}})\."
        ),
        "Was {m} Sie tun, wenn {c}?",
        "how_to",
        0.75,
    ),
    Pattern(
        "wenn_passiert",
        re.compile(
            r"(?:Wenn|Falls) (?P<c>[^,;:]{12,110}), (?:dann |so )?(?P<v>wird|werden|ist|sind|hat|erhält|"
            r"erhalten|gibt|bleibt|"
            r"startet|antwortet|verwendet|verwirft|fügt|lauscht|sendet|beendet|ignoriert|bekommt|wertet|"
            r"versucht|schlägt|"
            r"erzeugt|erstellt|löst|gilt|nimmt|setzt|führt|ersetzt) (?P<a>(?!Sie\b)[^:]{8,})\."
        ),
        "Was passiert, wenn {c}?",
        "fact",
        0.75,
    ),
)
