"""English questions after dates, versions, defaults, counts and acronyms.

What belongs here: rules whose answer is a number, a date or the words behind an abbreviation. What does
not: prose definitions.
"""

import re
from collections.abc import Iterator

from qa_pipeline.llm.extractive.candidates import Candidate
from qa_pipeline.llm.extractive.drafts import Draft
from qa_pipeline.llm.extractive.english_filters import IDENTIFIER, standalone_words
from qa_pipeline.llm.extractive.english_names import asked, decapitalised, lead, named
from qa_pipeline.llm.extractive.english_words import KINDS, PREPOSITIONS, one_of
from qa_pipeline.records import Passage

_WORD_OF_NAME = rf"(?:{IDENTIFIER}|[A-Z][\w+-]*)"
_NAME = rf"((?:The )?{_WORD_OF_NAME}(?: (?:{_WORD_OF_NAME}|{'|'.join(sorted(KINDS))})){{0,4}})"
_YEAR = r"(?:19|20)\d\d\b"
_EVENT = one_of(
    "released, published, created, founded, introduced, developed, established, launched, adopted, "
    "deprecated, removed, added, started, proposed, renamed, taught, offered, held, delivered, written, "
    "hosted, built, designed, presented, updated, completed"
)
_WHEN = re.compile(
    rf"([A-Z][^,;:()]{{2,60}}?) (was|were) ((?:first |originally |initially )?{_EVENT})"
    r"( (?:at|by|for|as|to|from|in) [^,;:()]{3,60}?)? (?:in|on|since) "
    rf"(?:[A-Za-z]+ )?(?:\d{{1,2}},? )?{_YEAR}.*"
)
_BEGAN = re.compile(rf"([A-Za-z][^,;:()]{{2,60}}?) (began|started) in (?:[A-Za-z]+ )?{_YEAR}.*")
_VERSION = re.compile(
    rf"{_NAME} (?:was|were|is|has been) (?:first )?"
    rf"({one_of('introduced, added, deprecated, removed, renamed, available')})"
    r" (?:in|since|from) (?:[A-Z]\w* ){0,3}(?:version )?\d+\.\d.*"
)
_DEFAULT = re.compile(
    r"The default (value |size |timeout |port |limit |maximum )?(?:of|for) ([^,;:]{3,60}?) is (?!to ).+"
)
_DEFAULTS_TO = re.compile(rf"{_NAME} defaults to .+")
_ABOUT = one_of("about, around, approximately, roughly, at least, at most, up to, between, over, more than")
_MEASURED = re.compile(
    r"(The (?:[a-z][\w-]+ ){0,2}[a-z][\w-]+) (is|was|are|were) "
    rf"(?:(?:typically|usually|currently|normally|set to|limited to|always) )?(?:{_ABOUT} )?\d.*"
)
_NUMBER = rf"(?:\d[\d,.]*|{one_of('two, three, four, five, six, seven, eight, nine, ten, eleven, twelve')})"
_UNITS = one_of(
    "litres?, liters?, kilograms?, kg, grams?, metres?, meters?, kilometres?, euros?, dollars?, kronor, "
    "watts?, kilowatts?, volts?, amperes?, minutes?, hours?, days?, weeks?, months?, years?, bytes, MB, GB"
)
_HOLDING = one_of("holds, weighs, uses, needs, consumes, costs, contains, produces, delivers, stores")
_HOLDS = re.compile(
    rf"([A-Z][^,;:()]{{3,60}}?) ({_HOLDING}) (?:{_ABOUT} )?\d[\d.,]* "
    rf"({_UNITS}(?: of [a-z][a-z ]{{2,20}}?)?)(?: (?:in|on|at|per|a|each|for|when) .*)?\."
)
_ACTING = one_of("opens, closes, starts, stops, runs, operates, freezes, melts, boils, trips")
_AT = re.compile(
    rf"(The (?:[a-z][\w-]+ ){{0,2}}[a-z][\w-]+) ({_ACTING}) at (?:{_ABOUT} )?"
    r"[-−]?\d[\d.,]* ?(bar|°C|degrees|volts?|V|rpm)\b.*"
)
_DIMENSION = {
    "bar": "pressure", "°C": "temperature", "degrees": "temperature", "volt": "voltage", "volts": "voltage",
    "V": "voltage", "rpm": "speed",
}  # fmt: skip
_COUNT = re.compile(
    rf"{_NAME} (has|contains|includes|provides|comprises|consists of|supports) (?:a total of )?(?:{_ABOUT} )?"
    rf"{_NUMBER} ((?:[a-z-]+ ){{0,2}}[a-z]+s)\b(?! of).*"
)
_BASE = {
    "has": "have", "contains": "contain", "includes": "include", "provides": "provide",
    "comprises": "comprise",
    "consists of": "have", "supports": "support",
}  # fmt: skip

_ACRONYM = re.compile(r" \(([A-Z][A-Za-z]{1,6}[A-Z])s?\)")
_BREAK = re.compile(r"[.;:,()\n]")
_WORD = re.compile(r"[A-Za-z][\w'’]*")
_REACH = 120
"""Characters before an acronym in which its words must stand."""


def rules(text: str, passage: Passage) -> Iterator[Draft]:
    """Yield the questions a date, version, default, measure or count answers."""
    yield from _dates(text, passage)
    match = _VERSION.fullmatch(text)
    if match and standalone_words(match[1]):
        auxiliary = "is" if match[2] == "available" else "was"
        question = f"In which version {auxiliary} {decapitalised(match[1], passage)} {match[2]}?"
        yield Draft(question, "figure", 0.8)
    match = _COUNT.fullmatch(text)
    if match and standalone_words(match[1]):
        question = f"How many {match[3]} does {decapitalised(match[1], passage)} {_BASE[match[2]]}?"
        yield Draft(question, "figure", 0.8)
    match = _MEASURED.fullmatch(text)
    if match and lead(match[1], passage, any_noun=True):
        question = f"What {match[2]} {decapitalised(match[1], passage)}?"
        yield Draft(asked(question, match[1], passage, any_noun=True), "figure", 0.7)
    yield from _amounts(text, passage)
    yield from _defaults(text, passage)


def _amounts(text: str, passage: Passage) -> Iterator[Draft]:
    """Ask how much of a unit a thing holds, and at what pressure or temperature it acts."""
    match = _HOLDS.fullmatch(text)
    if match and named(match[1], passage, broad=False):
        verb = match[2].removesuffix("s")
        question = f"How many {match[3]} does {decapitalised(match[1], passage)} {verb}?"
        yield Draft(asked(question, match[1], passage), "figure", 0.8)
    match = _AT.fullmatch(text)
    if match and lead(match[1], passage, any_noun=True):
        dimension = _DIMENSION.get(match[3], "voltage")
        question = (
            f"At what {dimension} does {decapitalised(match[1], passage)} {match[2].removesuffix('s')}?"
        )
        yield Draft(asked(question, match[1], passage, any_noun=True), "figure", 0.75)


def _dates(text: str, passage: Passage) -> Iterator[Draft]:
    match = _WHEN.fullmatch(text)
    if match and named(match[1], passage, broad=False) and standalone_words(match[4] or ""):
        question = f"When {match[2]} {decapitalised(match[1], passage)} {match[3]}{match[4] or ''}?"
        yield Draft(asked(question, match[1], passage), "date", 0.85)
    match = _BEGAN.fullmatch(text)
    if match and named(match[1], passage, broad=False):
        verb = "begin" if match[2] == "began" else "start"
        question = f"When did {decapitalised(match[1], passage)} {verb}?"
        yield Draft(asked(question, match[1], passage), "date", 0.8)


def _defaults(text: str, passage: Passage) -> Iterator[Draft]:
    match = _DEFAULT.fullmatch(text)
    if match and standalone_words(match[2]):
        yield Draft(f"What is the default {match[1] or 'value '}of {match[2]}?", "figure", 0.8)
    match = _DEFAULTS_TO.fullmatch(text)
    if match and standalone_words(match[1]):
        yield Draft(f"What does {decapitalised(match[1], passage)} default to?", "figure", 0.75)


def acronyms(passage: Passage) -> Iterator[Candidate]:
    """Ask what an acronym stands for where its words stand right before it: "Word Word (WW)".

    Only one that the passage uses again is worth it. Text before the first heading is left out: there
    the acronyms are those of its authors' institutions.
    """
    if not passage.section_path:
        return
    for match in _ACRONYM.finditer(passage.text):
        before = passage.text[max(match.start() - _REACH, 0) : match.start()]
        words = _spelt_out(_BREAK.split(before)[-1], match[1])
        if words is None or passage.text.count(match[1]) < 2:
            continue
        start = match.start() - len(words)
        quote = passage.text[start : match.end()]
        yield Candidate(
            f"What does {match[1]} stand for?", "definition", quote, quote, start, match.end(), 0.45
        )


def _spelt_out(text: str, acronym: str) -> str | None:
    """Return the last words of `text` whose initials spell the acronym; None when they do not."""
    left = acronym.casefold()
    for word in reversed(list(_WORD.finditer(text))):
        folded = word[0].casefold()
        if folded[0] == left[-1]:
            left = left[:-1]
            if not left:
                return text[word.start() :]
        elif folded not in PREPOSITIONS and folded not in ("the", "a", "an"):
            return None
    return None
