"""Swedish questions for demands, conditions, reasons and ways: what is required, when, why and how.

What belongs here: rules whose answer is a clause. What does not: word lists
(`swedish_words.py`) and the filters every question passes (`swedish.py`).
"""

import re

from qa_pipeline.llm.extractive.patterns import Groups, Pattern, words
from qa_pipeline.llm.extractive.swedish_definitions import statement
from qa_pipeline.llm.extractive.swedish_words import FINITE, MODAL, OUGHT, SUBJECT

_INFINITIVE = re.compile(
    r"(?:[a-zåäö]{2,}a|få|bli|se|gå|stå|ge|ta|be|dra|slå|nå|förstå|ske|bo|tro|le|förse|anse)\b"
)
_ONLY = re.compile(r"\b(?:endast|bara|redan|först) ?")
_BARE = words(
    "undantag dispens tillstånd bidrag beslut anstånd ärende ansökan fråga avgift stöd uppgift förlängning"
)
_CLAUSE_START = (
    r"(?:det (?:är|finns|behövs|kan|föreligger|framgår|krävs|medför|uppkommer)|särskilda skäl|"
    r"synnerliga skäl|"
    r"någon|hinder|den som|en |ett |de som|[a-zåäö]{4,}(?:en|et|na) (?:inte |ej )?(?:är|har|kan|"
    r"ska) |de[nt]? (?:är|har|kan|ska|skall|inte är|inte har) )"
)
_CLAUSE = re.compile(r" (?:att|som|när|om|där) ")
_FINITE = re.compile(r" (?:har|är|finns|måste|ska|skall|kan|bör|får|vill|behöver|krävs)\b")


def _infinitive_first(groups: Groups) -> Groups | None:
    """Demand that a copied purpose opens with its infinitive and ends before the verb of the main clause."""
    own = _CLAUSE.split(groups["x"])[0]
    return groups if _INFINITIVE.match(groups["x"]) and not _FINITE.search(own) else None


def _form(groups: Groups) -> Groups | None:
    """Ask for the form a document has or an act takes."""
    has = groups["v"] == "vara"
    return {**groups, "ask": "Vilken form" if has else "I vilken form", "end": "ha" if has else groups["v"]}


def _condition(groups: Groups) -> Groups | None:
    """Choose the question word for a time or a case; refuse one that is too bare to be about anything."""
    subject = groups["s"].lower().removeprefix("ett ").removeprefix("en ")
    if subject in _BARE or groups["x"].split()[0] in ("meddela", "inte", "ej"):
        return None
    groups = {**groups, "x": _ONLY.sub("", groups["x"])}
    return {**groups, "ask": "När" if groups["j"] == "när" else "I vilka fall"}


DEMANDS = (
    Pattern(
        "skriftlig",
        re.compile(
            rf"{SUBJECT} (?P<m>{OUGHT}) (?P<v>vara|göras|ske|lämnas|avfattas)(?: \w+)? skriftlig(?:en|t|"
            rf"a)?\b[^:]*\."
        ),
        "{ask} {m} {s} {end}?",
        "fact",
        0.7,
        _form,
    ),
    Pattern(
        "innehålla",
        re.compile(
            rf"{SUBJECT} (?P<m>{OUGHT}) (?P<v>innehålla|ange|åtföljas av|föregås av|utformas så att) "
            rf"(?P<a>[^:]{{10,}})\."
        ),
        "Vad {m} {s} {v}?",
        "fact",
        0.75,
        lambda groups: None if groups["v"].startswith("utformas") else groups,
    ),
    Pattern(
        "anges_i",
        re.compile(
            r"I (?P<s>[^,;:]{4,70}?) (?P<m>ska|skall) (?P<v>anges|antecknas|redovisas) (?P<a>[^:]{10,})\."
        ),
        "Vad {m} {v} i {s}?",
        "fact",
        0.75,
    ),
    Pattern(
        "krävs",
        re.compile(
            r"(?P<s>[A-ZÅÄÖ][^,;:]{3,80}?) (?P<v>krävs|behövs|fordras) (?P<p>för|vid|av|hos) "
            r"(?P<c>[^:;]{4,100})\."
        ),
        "Vad {v} {p} {c}?",
        "fact",
        0.75,
    ),
    Pattern(
        "för_krävs",
        re.compile(r"För (?P<c>[^,;:]{4,90}?) (?P<v>krävs|behövs|fordras) (?P<a>[^:]{6,})\."),
        "Vad {v} för {c}?",
        "fact",
        0.8,
        statement,
    ),
    Pattern(
        "uppgift",
        re.compile(
            rf"{SUBJECT} har till (?P<u>(?:huvudsaklig |främsta )?(?:uppgift|syfte|ändamål|"
            rf"huvuduppgift)) att (?P<a>[^:]{{10,}})\."
        ),
        "Vad har {s} till {u}?",
        "definition",
        0.85,
    ),
    Pattern(
        "skyldig",
        re.compile(
            rf"{SUBJECT} är (?P<v>skyldig|skyldiga|berättigad|berättigade|pliktig|pliktiga) att "
            rf"(?P<a>[^:]{{10,}})\."
        ),
        "Vad är {s} {v} att göra?",
        "fact",
        0.75,
        lambda groups: groups if len(groups["s"].split()) > 2 and "§" not in groups["a"] else None,
    ),
    Pattern(
        "rätt_till",
        re.compile(rf"{SUBJECT} har rätt till (?P<a>[^:]{{8,}})\."),
        "Vad har {s} rätt till?",
        "fact",
        0.75,
    ),
)


CONDITIONS = (
    Pattern(
        "tillämpas_vid",
        re.compile(
            r"(?P<f>(?:Vid|I fråga om|På|För) [^,;:]{5,80}?) (?P<v>tillämpas|gäller)"
            r" (?P<a>(?!inte\b|även\b|i stället|att\b)[^:§]{8,})\."
        ),
        "Vad {v} {f}?",
        "fact",
        0.7,
        statement,
    ),
    Pattern(
        "när",
        re.compile(
            rf"{SUBJECT} (?P<v>är|får|kan) (?P<x>(?!inte\b)[^,:;]{{9,70}}?),? (?P<j>när) (?P<c>[^:;]{{8,}})\."
        ),
        "{ask} {v} {s} {x}?",
        "fact",
        0.8,
        _condition,
    ),
    Pattern(
        "om",
        re.compile(
            rf"{SUBJECT} (?P<v>är|får|kan|ska|skall) (?P<x>(?!inte\b)[^,:;]{{4,70}}?)(?:, | endast | "
            rf"bara | )(?P<j>om)"
            rf" (?P<c>{_CLAUSE_START}[^:;]{{8,}})\."
        ),
        "{ask} {v} {s} {x}?",
        "fact",
        0.75,
        _condition,
    ),
    Pattern(
        "om_först",
        re.compile(rf"Om (?P<c>[^,;:]{{20,110}}), (?P<v>{MODAL}|är|har|gäller|upphör) (?P<a>[^:]{{10,}})\."),
        "Vad gäller om {c}?",
        "fact",
        0.65,
    ),
    Pattern(
        "varför",
        re.compile(
            rf"(?P<s>[A-ZÅÄÖ][^,;:]{{2,70}}?) (?P<v>{FINITE}) (?P<x>[^,:;]{{4,110}}?),? (?:eftersom|"
            rf"därför att) (?P<c>[^:]{{8,}})\."
        ),
        "Varför {v} {s} {x}?",
        "reason",
        0.85,
    ),
    Pattern(
        "för_att",
        re.compile(
            r"För att (?P<x>[^,;:]{5,100}?)(?:, (?P<i>[a-zåäö]+)| (?:ska|kan|måste|behöver|bör|"
            r"[a-zåäö]+r) (?:du|man|ni)\b)"
            r"(?P<a>[^:]{4,})\."
        ),
        "Hur gör man för att {x}?",
        "how_to",
        0.85,
        _infinitive_first,
    ),
    Pattern(
        "standardvärde",
        re.compile(r"Standardvärdet (?P<x>(?:för|på|av) [^,;:]{2,70}?) är (?P<a>.{1,})\."),
        "Vilket är standardvärdet {x}?",
        "figure",
        0.85,
    ),
)
