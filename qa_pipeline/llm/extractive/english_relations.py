"""English questions after what a named thing requires, is based on, is meant for, or where it is.

What belongs here: "What does X require?", "Where is X stored?", "Who developed X?". What does not:
definitions, instructions, reasons, figures.
"""

import re
from collections.abc import Iterator

from qa_pipeline.llm.extractive.drafts import Draft
from qa_pipeline.llm.extractive.english_filters import IDENTIFIER, standalone_words, verb_phrase
from qa_pipeline.llm.extractive.english_names import asked, decapitalised, lead, named
from qa_pipeline.llm.extractive.english_words import one_of
from qa_pipeline.llm.extractive.phrases import ENGLISH
from qa_pipeline.records import Passage

_SUBJECT = r"((?:The |An? )?[\w<@./-][^,;:()]{1,70}?)(?: \([^()]{1,40}\))?"
_ACTIVE = {
    "requires": "require", "accepts": "accept", "supports": "support", "expects": "expect",
    "returns": "return", "depends on": "depend on", "relies on": "rely on", "focuses on": "focus on",
    "includes": "include", "contains": "contain", "introduces": "introduce", "covers": "cover",
    "inherits from": "inherit from", "takes": "take", "applies to": "apply to",
    "consists of": "consist of", "prevents": "prevent", "provides": "provide", "describes": "describe",
    "teaches": "teach", "listens on": "listen on", "comes with": "come with", "runs on": "run on",
    "starts with": "start with", "defaults to": "default to", "specifies": "specify",
    "determines": "determine", "controls": "control", "replaces": "replace", "represents": "represent",
    "generates": "generate", "stores": "store", "ignores": "ignore", "extends": "extend",
    "implements": "implement", "offers": "offer", "indicates": "indicate", "handles": "handle",
    "affects": "affect", "overrides": "override", "aims to": "aim to do", "helps": "help to do",
}  # fmt: skip
_NARROW = frozenset(
    ("requires", "depends on", "relies on", "consists of", "aims to", "inherits from", "listens on",
     "defaults to", "focuses on")
)  # fmt: skip
"""Verbs that leave one answer even for a whole product."""
_NO_OBJECT = "(?!precedence|place|care|effect|advantage|long|time|only)"
_DOES = re.compile(rf"{_SUBJECT} ({'|'.join(_ACTIVE)}) {_NO_OBJECT}(.{{8,}})")
_PLURAL = {base.removesuffix(" do"): base for base in _ACTIVE.values() if base != "help to do"}
_DO = re.compile(rf"{_SUBJECT} (?:also )?({'|'.join(_PLURAL)}) {_NO_OBJECT}.{{8,}}")

_PEOPLE = one_of(
    "you, users?, students, learners, instructors, teachers, administrators, developers, clients, server, "
    "client, browser"
)
_LETS = re.compile(
    rf"{_SUBJECT} (allows?|enables?|helps?|lets?|permits?) ((?:the )?{_PEOPLE}) (?:to )?[a-z]+ .{{8,}}"
)
_USES = re.compile(rf"{_SUBJECT} (?:uses|will use) [^,;:()]{{3,60}}? to ([a-z]+ [^,;:()]{{6,90}})[.,].*")
_LASTS = re.compile(
    rf"{_SUBJECT} (lasts|takes|runs for) (?:(?:about|around|approximately|up to|at least|only) )?"
    rf"(?:\d|{one_of('one, two, three, four, five, six, ten, twelve')} )[^,;:()]{{0,12}}"
    r"(?:minutes?|hours?|days?|weeks?|months?)\b.*"
)
_LASTING = {"lasts": "last", "takes": "take", "runs for": "run"}
_PLACED = one_of("stored, located, found, available, placed, saved, hosted, kept, published, logged, written")
_WHERE = re.compile(
    rf"{_SUBJECT} (is|are|can be) ({_PLACED}) (?:in|on|at|under|from|through|via|as part of) .{{4,}}"
)
_USED_IN = re.compile(
    rf"{_SUBJECT} (has|have) been (?:successfully |widely |also )?"
    rf"({one_of('used, taught, adopted, applied, deployed, offered, tested, presented, delivered')}) "
    r"(in|at|by|for|as) .{6,}"
)
_ASK_USED = {
    "by": "By whom {aux} {subject} been {verb}?",
    "for": "What {aux} {subject} been {verb} for?",
    "as": "What {aux} {subject} been {verb} as?",
    "in": "Where {aux} {subject} been {verb}?",
    "at": "Where {aux} {subject} been {verb}?",
}
_ONLY = re.compile(rf"{_SUBJECT} (is|are) only ([a-z]+(?: to [a-z]+)?) (?:if|when) .{{8,}}")
_PLAIN = one_of(
    "based on, built on, built with, derived from, designed for, intended for, meant for, compatible with, "
    "responsible for, composed of, made up of, supported by, called, known as, equivalent to, limited to, "
    "required for, inspired by"
)
_ASK_BASED = {
    "designed to": "What {aux} {subject} designed to do?",
    "intended to": "What {aux} {subject} intended to do?",
    "meant to": "What {aux} {subject} meant to do?",
    "required to": "What {aux} {subject} required to do?",
    "expected to": "What {aux} {subject} expected to do?",
    "encouraged to": "What {aux} {subject} encouraged to do?",
    "needed to": "What {aux} {subject} needed to do?",
    "aimed at": "Who {aux} {subject} aimed at?",
    "written in": "In which language {aux} {subject} written?",
    "developed by": "Who developed {subject}?",
    "created by": "Who created {subject}?",
    "maintained by": "Who maintains {subject}?",
    "written by": "Who wrote {subject}?",
    "organized into": "How {aux} {subject} organized?",
    "organised into": "How {aux} {subject} organised?",
    "divided into": "How {aux} {subject} divided?",
    "supported on": "On what {aux} {subject} supported?",
}
_BASED = re.compile(
    rf"{_SUBJECT} (is|are|was|were|has been|have been) (?!(?:designed|intended|meant) to be)"
    rf"({'|'.join(_ASK_BASED)}|{_PLAIN}) .{{6,}}"
)
_VALUE = re.compile(rf"(?:an?|the|one|either|\d|[\"“]|{IDENTIFIER})(?: |\b)")
_FREE = one_of("audience, group, effect, role, prerequisite, advantage, disadvantage")
_MEASURE = one_of(
    "value, type, format, syntax, limit, maximum, minimum, size, scope, range, duration, length, name, "
    "location, meaning, order, license, licence, unit, interval, timeout, path, port"
)
_ATTRIBUTE = re.compile(
    rf"The ((?:[a-z-]+ )?(?:({_FREE})|{_MEASURE})) (?:of|for) ([^,;:()]{{3,70}}?) (is|was) "
    r"(?!not |to be )(.{6,})"
)


def rules(text: str, passage: Passage) -> Iterator[Draft]:
    """Yield the questions a statement about a named thing answers."""
    yield from _does(text, passage)
    yield from _uses(text, passage)
    yield from _lets(text, passage)
    yield from _passive(text, passage)
    match = _ATTRIBUTE.fullmatch(text)
    if match and standalone_words(match[3]) and (match[2] or _VALUE.match(match[5])):
        yield Draft(f"What {match[4]} the {match[1]} of {match[3]}?", "fact", 0.65)


def _does(text: str, passage: Passage) -> Iterator[Draft]:
    match = _DOES.fullmatch(text)
    if match and named(match[1], passage, broad=match[2] not in _NARROW) and _helps(match[2], match[3]):
        question = f"What does {decapitalised(match[1], passage)} {_ACTIVE[match[2]]}?"
        yield Draft(asked(question, match[1], passage), "fact", 0.6)
    match = _DO.fullmatch(text)
    if match and match[1].endswith("s") and lead(match[1], passage):
        question = f"What do {decapitalised(match[1], passage)} {_PLURAL[match[2]]}?"
        yield Draft(asked(question, match[1], passage), "fact", 0.58)


def _uses(text: str, passage: Passage) -> Iterator[Draft]:
    """Ask what a thing uses for a purpose, and how long it takes."""
    match = _USES.fullmatch(text)
    if match and named(match[1], passage, broad=False) and verb_phrase(match[2], least=3):
        question = f"What does {decapitalised(match[1], passage)} use to {match[2]}?"
        yield Draft(asked(question, match[1], passage), "fact", 0.63)
    match = _LASTS.fullmatch(text)
    if match and named(match[1], passage, broad=False):
        question = f"How long does {decapitalised(match[1], passage)} {_LASTING[match[2]]}?"
        yield Draft(asked(question, match[1], passage), "figure", 0.7)


def _helps(verb: str, rest: str) -> bool:
    """Tell "helps (to) teach …" from "helps students …", where help has another object."""
    first = rest.removeprefix("to ").split(" ", 1)[0]
    return verb != "helps" or first == "teach" or ENGLISH.verbal(first)


def _lets(text: str, passage: Passage) -> Iterator[Draft]:
    """Ask what a thing lets people do."""
    match = _LETS.fullmatch(text)
    if match and named(match[1], passage, broad=True):
        subject, verb, people = match.groups()
        do, base = ("does", verb[:-1]) if verb.endswith("s") else ("do", verb)
        to = "" if base == "let" else "to "
        question = f"What {do} {decapitalised(subject, passage)} {base} {people} {to}do?"
        yield Draft(asked(question, subject, passage), "fact", 0.62)


def _passive(text: str, passage: Passage) -> Iterator[Draft]:
    """Ask where a thing is, what it is made for, who made it, when it applies."""
    for pattern, write in ((_WHERE, _where), (_USED_IN, _used), (_BASED, _based), (_ONLY, _when)):
        match = pattern.fullmatch(text)
        if match and named(match[1], passage, broad=False):
            question = write(match, decapitalised(match[1], passage))
            yield Draft(asked(question, match[1], passage), "fact", 0.65 if pattern is _BASED else 0.6)


def _where(match: re.Match[str], subject: str) -> str:
    can = match[2] == "can be"
    return f"Where can {subject} be {match[3]}?" if can else f"Where {match[2]} {subject} {match[3]}?"


def _used(match: re.Match[str], subject: str) -> str:
    return _ASK_USED[match[4]].format_map({"aux": match[2], "subject": subject, "verb": match[3]})


def _based(match: re.Match[str], subject: str) -> str:
    auxiliary, _, been = match[2].partition(" ")
    template = _ASK_BASED.get(match[3], f"What {{aux}} {{subject}} {match[3]}?")
    return template.format_map({"aux": auxiliary, "subject": f"{subject} {been}".strip()})


def _when(match: re.Match[str], subject: str) -> str:
    return f"When {match[2]} {subject} {match[3]}?"
