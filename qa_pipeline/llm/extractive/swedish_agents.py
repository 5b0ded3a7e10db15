"""Swedish questions for who does something and where one turns: decisions, appeals, applications.

What belongs here: rules whose answer is a body, an office or a role. What does not: word lists
(`swedish_words.py`) and the filters every question passes (`swedish.py`).
"""

import re

from qa_pipeline.llm.extractive.patterns import Groups, Pattern, words
from qa_pipeline.llm.extractive.swedish_words import AGENT_NOUNS, GENERIC_BODIES, MODAL, OUGHT, SUBJECT

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
_OWN_BODY = words("myndigheten myndighetens verket verkets nämnden nämndens styrelsens")
_NOT_AGENTS = re.compile(r"(?:hur|att|om|det|vad|de|dessa|denne|denna|vilken|vilka|samma|den)\b")


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
    named = set(groups["r"].lower().split())
    return None if named & _OWN_BODY else groups


def _receiver(groups: Groups) -> Groups | None:
    """Ask for a named receiver: "hos vem", "till vem"."""
    return None if bare_body(groups["a"]) else {**groups, "ask": groups["p"].capitalize()}


AGENTS = (
    Pattern(
        "chef",
        re.compile(
            r"(?P<x>Chef|Ordförande|Föreståndare|Huvudman|Ombud) (?P<r>(?:för|i|vid) [^,;:]{4,80}?) är "
            r"(?P<a>[^:]{4,})\."
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
            r"(?P<s>[^,;:]{4,110}?)(?P<rel>, [^,:]{4,80},)? (?:får överklagas|överklagas) hos "
            r"(?P<a>[^:]{4,})\."
        ),
        "Hos vem får {s}{rel} överklagas?",
        "fact",
        0.85,
    ),
    Pattern(
        "överklagas_till",
        re.compile(
            r"(?P<s>[^,;:]{4,110}?)(?P<rel>, [^,:]{4,80},)? (?:får överklagas|överklagas) till "
            r"(?P<a>[^:]{4,})\."
        ),
        "Vart får {s}{rel} överklagas?",
        "fact",
        0.85,
    ),
    Pattern(
        "göras_hos",
        re.compile(
            rf"{SUBJECT} (?P<m>{OUGHT}) (?P<v>göras|ges in|lämnas in|lämnas|skickas|sändas|ställas|"
            rf"anmälas|insändas|"
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
            rf"{SUBJECT} (?P<v>görs|ges in|lämnas|lämnas in|skickas|sänds|ställs|anmäls|betalas) "
            rf"(?P<p>hos|till) "
            r"(?P<a>[^:]{4,})\."
        ),
        "{ask} vem {v} {s}?",
        "fact",
        0.8,
        _receiver,
    ),
)
