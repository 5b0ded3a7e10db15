"""Swedish questions for times, amounts, numbers and penalties.

What belongs here: rules whose answer is a figure, a date or a list of members. What does not: word lists
(`swedish_words.py`) and the filters every question passes (`swedish.py`).
"""

import re

from qa_pipeline.llm.extractive.patterns import Groups, Pattern
from qa_pipeline.llm.extractive.swedish_words import DATE, MODAL, MONTH, NUMBER, OUGHT, PERIOD, SUBJECT

_PEOPLE = re.compile(
    r"\b(?:ledam\w+|ordförande\w*|personer|ersättare|representant\w*|ombud|domare|suppleanter|"
    r"\w*(?:chef|företrädar|föreståndar|direktör|biskop|sekreterar)\w*)\b"
)
_HEADCOUNT = re.compile(
    rf"(?:högst |minst )?{NUMBER} (?P<n>ledamöter|personer)(?: och (?:högst )?{NUMBER} \w+)?(?: som [^,]+)?"
)
_PENALTY = r"(?:böter|penningböter|dagsböter|fängelse|vite|ansvar)"


def _made_of(groups: Groups) -> Groups | None:
    """Ask who belongs to a body and what a thing consists of."""
    modal = groups.get("m", "")
    count = _HEADCOUNT.fullmatch(groups["a"])
    if count:
        ask = f"Hur många {count['n']} {modal}" if modal else f"Hur många {count['n']} har"
        return {**groups, "ask": ask, "end": "ha" if modal else ""}
    if _PEOPLE.search(groups["a"]):
        return {**groups, "ask": f"Vilka {modal} ingå i" if modal else "Vilka ingår i", "end": ""}
    return {**groups, "ask": f"Vad {modal}" if modal else "Vad består", "end": "bestå av" if modal else "av"}


def _included(groups: Groups) -> Groups | None:
    """Refuse a single or added member, which is not the answer to who or what belongs to a whole."""
    members = groups["a"]
    if members.startswith(("även", "också", "dessutom")) or not re.search(r" och |,", members):
        return None
    return {**groups, "ask": "Vilka ingår" if _PEOPLE.search(members) else "Vad ingår"}


def _amount(groups: Groups) -> Groups | None:
    """Agree "hur stor" with the noun it asks for."""
    noun = groups["noun"]
    neuter = noun.endswith(("bidrag", "arvode", "belopp", "traktamente", "tillägg", "vite", "stöd", "avdrag"))
    return {**groups, "big": "stort" if neuter else "stor", "particle": "ut" if groups["v"] == "tas" else ""}


TIMES = (
    Pattern(
        "inom",
        re.compile(
            rf"{SUBJECT} (?P<m>{MODAL}) (?P<x>(?![^,:;]* och )[^,:;]{{2,90}}? )inom "
            rf"{PERIOD}(?P<a>[^:;,]{{0,110}}?)\."
        ),
        "Inom vilken tid {m} {s} {x}?",
        "figure",
        0.85,
    ),
    Pattern(
        "inom_främre",
        re.compile(
            rf"(?P<f>(?:Vid|För|I|På|Efter) [^,;:]{{3,60}}?) (?P<m>{MODAL}) (?P<r>[^,:;]{{5,90}}?) inom "
            rf"{PERIOD}\."
        ),
        "Inom vilken tid {m} {r} {f}?",
        "figure",
        0.85,
    ),
    Pattern(
        "senast",
        re.compile(
            rf"{SUBJECT} (?P<m>{OUGHT}) (?P<d>(?:årligen |varje år )?senast {DATE}(?: varje år| året "
            rf"efter \w+)?) "
            r"(?P<x>[a-zåäö][^:;]{6,})\."
        ),
        "Senast när {m} {s} {x}?",
        "date",
        0.85,
    ),
    Pattern(
        "senast_sist",
        re.compile(
            rf"{SUBJECT} (?P<m>{OUGHT}) (?P<x>[^:;,]{{4,100}}?) senast {DATE}(?: varje år| året efter "
            rf"[^,:]+)?\."
        ),
        "Senast när {m} {s} {x}?",
        "date",
        0.85,
    ),
    Pattern(
        "för_tid",
        re.compile(
            rf"{SUBJECT} (?P<v>utses|förordnas|väljs|gäller|anställs)(?: av [^,:]{{3,50}}?)? för"
            rf" (?:högst |en tid av (?:högst )?|en mandattid om )?{PERIOD}[^:]*\."
        ),
        "För hur lång tid {v} {s}?",
        "figure",
        0.8,
    ),
    Pattern(
        "gäller_från",
        re.compile(rf"{SUBJECT} gäller (?P<p>från och med|till och med|från|till) {DATE}[^:]*\."),
        "{ask} gäller {s}?",
        "date",
        0.8,
        lambda groups: {**groups, "ask": "Från när" if groups["p"].startswith("från") else "Till när"},
    ),
    Pattern(
        "hände",
        re.compile(
            rf"{SUBJECT} (?P<v>togs|grundades|infördes|byggdes|invigdes|öppnades|släpptes|publicerades|"
            rf"antogs|bildades|"
            rf"startades|skapades|upphörde|trädde|beslutades)(?P<x>(?: [a-zåäö]+){{0,4}}?) (?P<d>{DATE}|"
            rf"år \d{{4}}|"
            rf"i {MONTH} \d{{4}}|\d{{4}})(?:[ ,][^:]*)?\."
        ),
        "När {v} {s}{x}?",
        "date",
        0.8,
    ),
    Pattern(
        "datum_först",
        re.compile(
            rf"(?P<d>Den \d{{1,2}} {MONTH}(?: \d{{4}})?|I {MONTH} \d{{4}}|År \d{{4}}) (?P<v>\w+) "
            rf"(?P<r>[^,:;]{{8,110}})\."
        ),
        "När {v} {r}?",
        "date",
        0.75,
    ),
)


FIGURES = (
    Pattern(
        "består",
        re.compile(rf"{SUBJECT} består av (?P<a>[^:]{{8,}})\."),
        "{ask} {s} {end}?",
        "fact",
        0.8,
        _made_of,
    ),
    Pattern(
        "bestå",
        re.compile(rf"{SUBJECT} (?P<m>{OUGHT}) bestå av (?P<a>[^:]{{8,}})\."),
        "{ask} {s} {end}?",
        "fact",
        0.8,
        _made_of,
    ),
    Pattern(
        "ingår",
        re.compile(r"I (?P<s>[^,;:]{4,80}?) (?P<v>ingår) (?P<a>[^:]{8,})\."),
        "{ask} i {s}?",
        "fact",
        0.75,
        _included,
    ),
    Pattern(
        "belopp_först",
        re.compile(
            r"(?P<f>(?:För|Vid|Till) [^,;:]{3,90}?) (?P<v>betalas|utgår|tas|utges|erläggs|lämnas|utbetalas)"
            r" (?:[^,:\d]{0,50}? )?(?:en |ett )?(?:årlig |särskild )?(?P<noun>[a-zåäö]*(?:avgift|"
            r"ersättning|bidrag|"
            r"arvode|belopp|traktamente|tillägg|skatt|stöd))(?: (?:ut|per [a-zåäö]+))?"
            r" (?:på|med|om|av)(?: högst| lägst| sammanlagt)? \d[^:]*\."
        ),
        "Hur {big} {noun} {v} {particle} {f}?",
        "figure",
        0.85,
        _amount,
    ),
    Pattern(
        "belopp",
        re.compile(
            rf"{SUBJECT} (?P<v>är|uppgår till|utgör|utgår med|fastställs till|bestäms till)"
            r"(?: högst| lägst| minst)? \d[\d  .,]* ?(?:kronor|kr|öre|euro)\b[^:]*\."
        ),
        "Vilket belopp gäller för {s}?",
        "figure",
        0.8,
    ),
    Pattern(
        "kostar",
        re.compile(rf"{SUBJECT} kostar(?: högst| lägst| minst| ungefär)? \d[^:]*\."),
        "Vad kostar {s}?",
        "figure",
        0.85,
    ),
    Pattern(
        "hur_många",
        re.compile(
            rf"{SUBJECT} (?P<v>har|rymmer|omfattar|innehåller|får ha|kräver|förser)"
            rf"(?: högst| minst| cirka| ca| ungefär)? {NUMBER} (?P<n>(?:[a-zåäö]+(?:a|ade) "
            rf")?[a-zåäö]{{3,}}(?:ar|er|or|en|a|n))"
            r"(?P<r>(?: med| i| på| för| av)?[^,:;]{0,60})\."
        ),
        "Hur många {n} {v} {s}{r}?",
        "figure",
        0.8,
    ),
    Pattern(
        "överstiga",
        re.compile(rf"{SUBJECT} får (?:inte |icke |ej )(?P<v>överstiga|understiga) \d[^:;]*\."),
        "{ask} får {s} vara?",
        "figure",
        0.8,
        lambda groups: {**groups, "ask": "Hur stor" if groups["v"] == "överstiga" else "Hur liten"},
    ),
    Pattern(
        "straff_den_som",
        re.compile(
            rf"Den som (?P<c>[^:;]{{8,120}}?),? (?:döms|straffas)(?:, om [^:;]{{8,140}}?,)? (?:för "
            rf"[^,:]{{3,60}} )?"
            rf"(?:till|med) (?P<a>{_PENALTY}\b[^:]*)\."
        ),
        "Vilket straff gäller för den som {c}?",
        "fact",
        0.85,
    ),
    Pattern(
        "till_straff_döms",
        re.compile(
            rf"Till {_PENALTY}[^,:;]{{0,60}}? döms (?P<c>(?:den som|ägaren|föraren|innehavaren) "
            rf"[^:]{{8,120}})\."
        ),
        "Vilket straff gäller för {c}?",
        "fact",
        0.85,
    ),
)
