"""The sentences the Swedish rules understand and the question each one answers.

What belongs here: patterns and templates, ordered by family. What does not: word lists
(`swedish_words.py`) and the filters every question passes (`swedish.py`).

Swedish is a verb-second language: subject + finite verb + rest turns into question word + finite verb +
subject + rest, so a pattern that finds the finite verb with certainty asks grammatically by construction.
In templates `{s}` is the subject; what the question asks for is left out.
"""

import re

from qa_pipeline.llm.extractive.patterns import Groups, Pattern
from qa_pipeline.llm.extractive.swedish_words import (
    AGENT_NOUNS,
    DATE,
    FINITE,
    GENERIC_BODIES,
    MODAL,
    MONTH,
    NUMBER,
    OUGHT,
    PERIOD,
    SUBJECT,
)

_VERBS = tuple(
    line.split()
    for line in """
    pröva prövar prövas prövas
    besluta beslutar beslutas beslutas
    meddela meddelar meddelas meddelas
    utse utser utses utses
    tillsätta tillsätter tillsättas tillsätts
    bestämma bestämmer bestämmas bestäms
    förordna förordnar förordnas förordnas
    fastställa fastställer fastställas fastställs
    avgöra avgör avgöras avgörs
    leda leder ledas leds
    utöva utövar utövas utövas
    handlägga handlägger handläggas handläggs
    välja väljer väljas väljs
    utfärda utfärdar utfärdas utfärdas
    förvalta förvaltar förvaltas förvaltas
    anställa anställer anställas anställs
    betala betalar betalas betalas
    granska granskar granskas granskas
    finansiera finansierar finansieras finansieras
    utföra utför utföras utförs
    förestå förestår förestås förestås
    anordna anordnar anordnas anordnas
    utarbeta utarbetar utarbetas utarbetas
    upprätta upprättar upprättas upprättas
    lämna lämnar lämnas lämnas
    verkställa verkställer verkställas verkställs
    sammankalla sammankallar sammankallas sammankallas
    förrätta förrättar förrättas förrättas
    väcka väcker väckas väcks
    ansvara ansvarar ansvaras ansvaras
    """.strip().splitlines()
)
"""Infinitive, present, passive infinitive and passive present of what bodies and offices do."""
_PAST = {
    "grundades": "grundade",
    "utvecklades": "utvecklade",
    "skapades": "skapade",
    "infördes": "införde",
    "byggdes": "byggde",
    "beslutades": "beslutade",
    "antogs": "antog",
    "skrevs": "skrev",
    "ritades": "ritade",
    "invigdes": "invigde",
}
_PRESENT_OF = {verb[3]: verb[1] for verb in _VERBS} | _PAST
_INFINITIVE_OF = {verb[2]: verb[0] for verb in _VERBS}
PASSIVE = f"(?:{'|'.join(_PRESENT_OF)})"
_PASSIVE_INFINITIVE = f"(?:{'|'.join(_INFINITIVE_OF)})"
_DOES = "|".join(verb[1] for verb in _VERBS)
_DO = "|".join(verb[0] for verb in _VERBS)
_PEOPLE = re.compile(
    r"\b(?:ledam\w+|ordförande\w*|personer|ersättare|representant\w*|ombud|domare|suppleanter|\w*(?:chef|företrädar|föreståndar|direktör|biskop|sekreterar)\w*)\b"
)
_NOT_AGENTS = re.compile(r"(?:hur|att|om|det|vad|de|dessa|denne|denna|vilken|vilka|samma|den)\b")
_INFINITIVE = re.compile(
    r"(?:[a-zåäö]{2,}a|få|bli|se|gå|stå|ge|ta|be|dra|slå|nå|förstå|ske|bo|tro|le|förse|anse)\b"
)
_ONLY = re.compile(r"\b(?:endast|bara|redan|först) ?")
_BARE = frozenset(
    "undantag dispens tillstånd bidrag beslut anstånd ärende ansökan fråga avgift stöd uppgift".split()
)
_PENALTY = r"(?:böter|penningböter|dagsböter|fängelse|vite|ansvar)"
_CLAUSE_START = (
    r"(?:det (?:är|finns|behövs|kan|föreligger|framgår|krävs|medför|uppkommer)|särskilda skäl|synnerliga skäl|"
    r"någon|hinder|den som|en |ett |de som|de[nt]? (?:är|har|kan|ska|skall|inte är|inte har) )"
)


def _active(groups: Groups) -> Groups | None:
    """Turn the passive verb round; refuse an "av" that names no agent."""
    if _NOT_AGENTS.match(groups["a"]) or bare_body(groups["a"]):
        return None
    forms = _INFINITIVE_OF if groups.get("m") else _PRESENT_OF
    return {**groups, "active": forms[groups["v"]]}


def bare_body(text: str) -> bool:
    """Tell whether an answer names nobody: "verket", "den kommunala nämnden"."""
    return text.split()[-1].lower() in GENERIC_BODIES and len(text.split()) <= 3


def _own_body(groups: Groups) -> Groups | None:
    """Refuse what mentions "myndigheten", which is the very body the question asks for."""
    words = set(groups["r"].lower().split())
    return (
        None
        if words & {"myndigheten", "myndighetens", "verket", "verkets", "nämndens", "styrelsens"}
        else groups
    )


def _receiver(groups: Groups) -> Groups | None:
    """Ask for a named receiver: "hos vem", "till vem"."""
    return None if bare_body(groups["a"]) else {**groups, "ask": groups["p"].capitalize()}


def _made_of(groups: Groups) -> Groups | None:
    """Ask who belongs to a body and what a thing consists of."""
    people = _PEOPLE.search(groups["a"]) is not None
    modal = groups.get("m", "")
    if people:
        return {**groups, "ask": f"Vilka {modal} ingå i" if modal else "Vilka ingår i", "end": ""}
    return {**groups, "ask": f"Vad {modal}" if modal else "Vad består", "end": "bestå av" if modal else "av"}


def _infinitive_first(groups: Groups) -> Groups | None:
    """Demand that a copied purpose opens with its infinitive."""
    return groups if _INFINITIVE.match(groups["x"]) else None


def _amount(groups: Groups) -> Groups | None:
    """Agree "hur stor" with the noun it asks for."""
    noun = groups["noun"]
    neuter = noun.endswith(("bidrag", "arvode", "belopp", "traktamente", "tillägg", "vite", "stöd", "avdrag"))
    return {**groups, "big": "stort" if neuter else "stor"}


def _statement(groups: Groups) -> Groups | None:
    """Refuse a definition that only opens a list or names another provision."""
    return (
        None
        if groups["a"].startswith(("detsamma", "bestämmelserna i ", "föreskrifterna i ", "här", "i ", "vad ", "vid ", "även", "inte", "dock "))
        else groups
    )


def _condition(groups: Groups) -> Groups | None:
    """Choose the question word for a time or a case; refuse one that is too bare to be about anything."""
    subject = groups["s"].lower().removeprefix("ett ").removeprefix("en ")
    if subject in _BARE or groups["x"].split()[0] in ("meddela", "inte", "ej"):
        return None
    groups = {**groups, "x": _ONLY.sub("", groups["x"])}
    return {**groups, "ask": "När" if groups["j"] == "när" else "I vilka fall"}


DEFINITIONS = (
    Pattern(
        "avses",
        re.compile(
            r"Med (?:begreppet |uttrycket |termen |ordet )?[\"”]?(?P<s>[^,;:\"”]{2,80}?)[\"”]? "
            r"(?P<v>avses|menas|förstås)(?: i (?:denna|detta) \w+)? (?P<a>[^:]{8,})\."
        ),
        "Vad {v} med {s}?",
        "definition",
        0.95,
        _statement,
    ),
    Pattern(
        "räknas_som",
        re.compile(
            r"Som (?P<s>[^,;:]{3,70}?) (?P<v>räknas|anses|betraktas)(?: i denna \w+)? (?P<a>[^:]{8,})\."
        ),
        "Vad {v} som {s}?",
        "definition",
        0.85,
        _statement,
    ),
    Pattern(
        "räknas_till",
        re.compile(r"Till (?P<s>[^,;:]{3,70}?) (?P<v>räknas|hänförs|hör) (?P<a>[^:]{8,})\."),
        "Vad {v} till {s}?",
        "definition",
        0.8,
        _statement,
    ),
    Pattern(
        "är_en",
        re.compile(
            r"(?P<s>(?:En |Ett )?[A-Za-zÅÄÖåäö][^,;:()\"]{2,50}?) är (?:en|ett) (?P<a>(?:[a-zåäö]+ ){0,4}?"
            r"[a-zåäö]+(?:,? som| för| av| i) .{8,})\."
        ),
        "Vad är {s}?",
        "definition",
        0.85,
    ),
    Pattern(
        "uttryck",
        re.compile(
            r"Uttrycket [\"”“](?P<s>[^,;:\"”“]{2,80}?)[\"”“] (?:åsyftar|avser|betecknar|betyder|inbegriper)(?: i detta avtal)?"
            r" (?P<a>[^:]{15,})\."
        ),
        "Vad avses med uttrycket ”{s}”?",
        "definition",
        0.9,
    ),
    Pattern(
        "står_för",
        re.compile(r"(?P<s>[A-ZÅÄÖ]{2,8}) står för (?P<a>.{4,})\."),
        "Vad står {s} för?",
        "definition",
        0.85,
    ),
    Pattern(
        "syfte",
        re.compile(r"(?:Syftet|Ändamålet) med (?P<s>[^,;:]{3,90}?) är (?:att )?(?P<a>.{10,})\."),
        "Vad är syftet med {s}?",
        "reason",
        0.85,
    ),
)

SCOPE = (
    Pattern(
        "omfattas",
        re.compile(
            r"(?P<self>Denna \w+|Detta \w+|\w+) (?:gäller|tillämpas|är tillämplig)(?P<not> inte| ej| icke)?"
            r" (?:för|på|vid|i fråga om) (?P<a>[^:]{8,})\."
        ),
        "Vad omfattas{not} av {self}?",
        "fact",
        0.8,
    ),
    Pattern(
        "bestämmelser_om",
        re.compile(
            r"(?P<self>Denna \w+|Detta \w+|\w+) innehåller (?P<k>kompletterande |vissa )?"
            r"(?P<n>bestämmelser|föreskrifter|regler) (?P<p>om|till) (?P<a>[^:]{8,})\."
        ),
        "Vad innehåller {self} {k}{n} {p}?",
        "fact",
        0.65,
    ),
    Pattern(
        "finns_bestämmelser",
        re.compile(
            r"I (?P<self>denna \w+|detta \w+) (?:finns|ges|meddelas) (?P<k>kompletterande |vissa )?"
            r"(?P<n>bestämmelser|föreskrifter|regler) (?P<p>om|till) (?P<a>[^:]{8,})\."
        ),
        "Vad innehåller {self} {k}{n} {p}?",
        "fact",
        0.65,
    ),
    Pattern(
        "lagens_syfte",
        re.compile(r"(?P<self>Denna \w+|\w+) (?:syftar till|har till syfte) att (?P<a>.{10,})\."),
        "Vad är syftet med {self}?",
        "reason",
        0.85,
    ),
)
"""Sentences whose subject is the statute itself; `{self}` becomes its name."""

AGENTS = (
    Pattern(
        "chef",
        re.compile(
            r"(?P<x>Chef|Ordförande|Föreståndare|Huvudman|Ombud) (?P<r>(?:för|i|vid) [^,;:]{4,80}?) är (?P<a>[^:]{4,})\."
        ),
        "Vem är {x} {r}?",
        "fact",
        0.85,
    ),
    Pattern(
        "passiv",
        re.compile(rf"{SUBJECT} (?P<v>{PASSIVE}) av (?P<a>[^:]{{4,}})\."),
        "Vem {active} {s}?",
        "fact",
        0.8,
        _active,
    ),
    Pattern(
        "passiv_modal",
        re.compile(rf"{SUBJECT} (?P<m>{MODAL}) (?P<v>{_PASSIVE_INFINITIVE}) av (?P<a>[^:]{{4,}})\."),
        "Vem {m} {active} {s}?",
        "fact",
        0.8,
        _active,
    ),
    Pattern(
        "aktiv",
        re.compile(rf"(?P<a>{AGENT_NOUNS}) (?P<v>{_DOES}) (?P<r>(?!om\b)[^,:]{{8,110}})\."),
        "Vem {v} {r}?",
        "fact",
        0.7,
        _own_body,
    ),
    Pattern(
        "aktiv_modal",
        re.compile(rf"(?P<a>{AGENT_NOUNS}) (?P<m>ska|skall|får) (?P<v>{_DO}) (?P<r>[^,:]{{8,110}})\."),
        "Vem {m} {v} {r}?",
        "fact",
        0.7,
        _own_body,
    ),
    Pattern(
        "ansvarar",
        re.compile(rf"(?P<a>{AGENT_NOUNS}) (?P<v>ansvarar|svarar) för (?P<r>[^,:]{{8,110}})\."),
        "Vem {v} för {r}?",
        "fact",
        0.75,
        _own_body,
    ),
    Pattern(
        "behörig",
        re.compile(r"Behörig (?P<x>(?:att|till) [^,;:]{4,90}?) är (?P<a>[^:]{6,})\."),
        "Vem är behörig {x}?",
        "fact",
        0.8,
    ),
    Pattern(
        "rätt_har",
        re.compile(r"(?P<x>Rätt|Rösträtt) (?P<r>(?:till|att|vid) [^,;:]{4,90}?) har (?P<a>[^:]{6,})\."),
        "Vem har {x} {r}?",
        "fact",
        0.8,
    ),
)

PLACES = (
    Pattern(
        "överklagas_inte",
        re.compile(r"(?P<s>[^,;:]{4,110}?)(?P<rel>, [^,:]{4,80},)? får inte överklagas\."),
        "Får {s}{rel} överklagas?",
        "fact",
        0.75,
    ),
    Pattern(
        "överklagas_hos",
        re.compile(
            r"(?P<s>[^,;:]{4,110}?)(?P<rel>, [^,:]{4,80},)? (?:får överklagas|överklagas) hos (?P<a>[^:]{4,})\."
        ),
        "Hos vem får {s}{rel} överklagas?",
        "fact",
        0.85,
    ),
    Pattern(
        "överklagas_till",
        re.compile(
            r"(?P<s>[^,;:]{4,110}?)(?P<rel>, [^,:]{4,80},)? (?:får överklagas|överklagas) till (?P<a>[^:]{4,})\."
        ),
        "Vart får {s}{rel} överklagas?",
        "fact",
        0.85,
    ),
    Pattern(
        "göras_hos",
        re.compile(
            rf"{SUBJECT} (?P<m>{OUGHT}) (?P<v>göras|ges in|lämnas in|lämnas|skickas|sändas|ställas|anmälas|insändas|"
            r"inges|betalas|inbetalas) (?P<p>hos|till) (?P<a>[^:]{4,})\."
        ),
        "{ask} vem {m} {s} {v}?",
        "fact",
        0.8,
        _receiver,
    ),
    Pattern(
        "görs_hos",
        re.compile(
            rf"{SUBJECT} (?P<v>görs|ges in|lämnas|lämnas in|skickas|sänds|ställs|anmäls|betalas) (?P<p>hos|till) "
            r"(?P<a>[^:]{4,})\."
        ),
        "{ask} vem {v} {s}?",
        "fact",
        0.8,
        _receiver,
    ),
)

TIMES = (
    Pattern(
        "inom",
        re.compile(
            rf"{SUBJECT} (?P<m>{MODAL}) (?P<x>(?![^,:;]* och )[^,:;]{{2,90}}? )inom {PERIOD}(?P<a>[^:;,]{{0,110}}?)\."
        ),
        "Inom vilken tid {m} {s} {x}?",
        "figure",
        0.85,
    ),
    Pattern(
        "inom_främre",
        re.compile(
            rf"(?P<f>(?:Vid|För|I|På|Efter) [^,;:]{{3,60}}?) (?P<m>{MODAL}) (?P<r>[^,:;]{{5,90}}?) inom {PERIOD}\."
        ),
        "Inom vilken tid {m} {r} {f}?",
        "figure",
        0.85,
    ),
    Pattern(
        "senast",
        re.compile(
            rf"{SUBJECT} (?P<m>{OUGHT}) (?P<d>(?:årligen |varje år )?senast {DATE}(?: varje år| året efter \w+)?) "
            r"(?P<x>[a-zåäö][^:;]{6,})\."
        ),
        "Senast när {m} {s} {x}?",
        "date",
        0.85,
    ),
    Pattern(
        "senast_sist",
        re.compile(
            rf"{SUBJECT} (?P<m>{OUGHT}) (?P<x>[^:;,]{{4,100}}?) senast {DATE}(?: varje år| året efter [^,:]+)?\."
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
            rf"{SUBJECT} (?P<v>togs|grundades|infördes|byggdes|invigdes|öppnades|släpptes|publicerades|antogs|bildades|"
            rf"startades|skapades|upphörde|trädde|beslutades)(?P<x>(?: [a-zåäö]+){{0,4}}?) (?P<d>{DATE}|år \d{{4}}|"
            rf"i {MONTH} \d{{4}}|\d{{4}})(?:[ ,][^:]*)?\."
        ),
        "När {v} {s}{x}?",
        "date",
        0.8,
    ),
    Pattern(
        "datum_först",
        re.compile(
            rf"(?P<d>Den \d{{1,2}} {MONTH}(?: \d{{4}})?|I {MONTH} \d{{4}}|År \d{{4}}) (?P<v>\w+) (?P<r>[^,:;]{{8,110}})\."
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
        lambda groups: (
            None
            if groups["a"].startswith(("även", "också", "dessutom"))
            else {**groups, "ask": "Vilka ingår" if _PEOPLE.search(groups["a"]) else "Vad ingår"}
        ),
    ),
    Pattern(
        "belopp_först",
        re.compile(
            r"(?P<f>(?:För|Vid|Till) [^,;:]{3,90}?) (?P<v>betalas|utgår|tas|utges|erläggs|lämnas|utbetalas)"
            r" (?:[^,:\d]{0,50}? )?(?:en |ett )?(?:årlig |särskild )?(?P<noun>[a-zåäö]*(?:avgift|ersättning|bidrag|"
            r"arvode|belopp|traktamente|tillägg|skatt|stöd))(?: (?:ut|per [a-zåäö]+))?"
            r" (?:på|med|om|av)(?: högst| lägst| sammanlagt)? \d[^:]*\."
        ),
        "Hur {big} {noun} {v} {f}?",
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
            rf"(?: högst| minst| cirka| ca| ungefär)? {NUMBER} (?P<n>(?:[a-zåäö]+(?:a|ade) )?[a-zåäö]{{3,}}(?:ar|er|or|en|a|n))"
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
            rf"Den som (?P<c>[^:;]{{8,120}}?),? (?:döms|straffas)(?:, om [^:;]{{8,140}}?,)? (?:för [^,:]{{3,60}} )?"
            rf"(?:till|med) (?P<a>{_PENALTY}\b[^:]*)\."
        ),
        "Vilket straff gäller för den som {c}?",
        "fact",
        0.85,
    ),
    Pattern(
        "till_straff_döms",
        re.compile(
            rf"Till {_PENALTY}[^,:;]{{0,60}}? döms (?P<c>(?:den som|ägaren|föraren|innehavaren) [^:]{{8,120}})\."
        ),
        "Vilket straff gäller för {c}?",
        "fact",
        0.85,
    ),
)

DEMANDS = (
    Pattern(
        "skriftlig",
        re.compile(
            rf"{SUBJECT} (?P<m>{OUGHT}) (?:vara|göras|ske|lämnas|avfattas)(?: \w+)? skriftlig(?:en|t|a)?\b[^:]*\."
        ),
        "I vilken form {m} {s} göras?",
        "fact",
        0.7,
    ),
    Pattern(
        "innehålla",
        re.compile(
            rf"{SUBJECT} (?P<m>{OUGHT}) (?P<v>innehålla|ange|åtföljas av|föregås av|utformas så att) (?P<a>[^:]{{10,}})\."
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
            r"(?P<s>[A-ZÅÄÖ][^,;:]{3,80}?) (?P<v>krävs|behövs|fordras) (?P<p>för|vid|av|hos) (?P<c>[^:;]{4,100})\."
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
        _statement,
    ),
    Pattern(
        "uppgift",
        re.compile(
            rf"{SUBJECT} har till (?P<u>(?:huvudsaklig |främsta )?(?:uppgift|syfte|ändamål|huvuduppgift)) att (?P<a>[^:]{{10,}})\."
        ),
        "Vad har {s} till {u}?",
        "definition",
        0.85,
    ),
    Pattern(
        "skyldig",
        re.compile(
            rf"{SUBJECT} är (?P<v>skyldig|skyldiga|berättigad|berättigade|pliktig|pliktiga) att (?P<a>[^:]{{10,}})\."
        ),
        "Vad är {s} {v} att göra?",
        "fact",
        0.75,
        lambda groups: groups if len(groups["s"].split()) > 2 else None,
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
            r" (?P<a>(?!inte\b|även\b|i stället|att\b)[^:]{8,})\."
        ),
        "Vad {v} {f}?",
        "fact",
        0.7,
        _statement,
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
            rf"{SUBJECT} (?P<v>är|får|kan|ska|skall) (?P<x>(?!inte\b)[^,:;]{{4,70}}?)(?:, | endast | bara | )(?P<j>om)"
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
            rf"(?P<s>[A-ZÅÄÖ][^,;:]{{2,70}}?) (?P<v>{FINITE}) (?P<x>[^,:;]{{4,110}}?),? (?:eftersom|därför att) (?P<c>[^:]{{8,}})\."
        ),
        "Varför {v} {s} {x}?",
        "reason",
        0.85,
    ),
    Pattern(
        "för_att",
        re.compile(
            r"För att (?P<x>[^,;:]{5,100}?)(?:, (?P<i>[a-zåäö]+)| (?:ska|kan|måste|behöver|bör|[a-zåäö]+r) (?:du|man|ni)\b)"
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

PATTERNS = (*DEFINITIONS, *AGENTS, *PLACES, *TIMES, *FIGURES, *DEMANDS, *CONDITIONS)
