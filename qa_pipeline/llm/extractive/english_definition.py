"""English questions after definitions: "X is a …", "X stands for …", "X is used to …".

What belongs here: rules that ask what a thing is or is for. What does not: what it does or how it is used.
"""

import re
from collections.abc import Iterator

from qa_pipeline.llm.extractive.drafts import Draft
from qa_pipeline.llm.extractive.english_filters import IDENTIFIER, standalone_words
from qa_pipeline.llm.extractive.english_names import asked, decapitalised, heading, lead
from qa_pipeline.llm.extractive.english_words import GENERIC_NOUNS, KINDS, PREPOSITIONS, one_of
from qa_pipeline.records import Passage

_NAME = rf"(?:{IDENTIFIER}|[A-Z][\w+-]*)"
_PROPER = rf"(?:The )?{_NAME}(?: (?:{_NAME}|\d[\w.]*|of|for|and)){{0,4}}(?: (?:{'|'.join(sorted(KINDS))}))?"
_COMMON = r"[Aa]n? [\"“]?[a-z][\w-]*(?: [\w-]+){0,3}[\"”]?"
_TERM = rf"({_COMMON}|{_PROPER})(?: \([^()]{{1,40}}\))?"
_IS = re.compile(rf"{_TERM}(?: itself)? (is|are) (?:simply |just |basically )?((?:an?|the|one of) .{{12,}})")
_PART = re.compile(r"(The (?:[a-z][\w-]+ ){0,2}[a-z][\w-]+) is (the .{12,})")
_MEANS = re.compile(rf"{_TERM} (stands for|refers to|means|is short for|consists of) .{{6,}}")
_ASK_MEANS = {
    "stands for": "What does {term} stand for?",
    "refers to": "What does {term} refer to?",
    "means": "What does {term} mean?",
    "is short for": "What is {term} short for?",
    "consists of": "What does {term} consist of?",
}
_USED = re.compile(
    rf"{_TERM} (is|are|can be) (?:also |\w+ly )?used (?:by [\w ]{{2,30}}? )?(?:\w+ly )?(?:to|for|as) .{{8,}}"
)
_ASSET = one_of("purpose, goal, aim, objective, advantage, drawback, benefit, role")
_PURPOSE = re.compile(
    rf"The (?:main |primary |overall )?({_ASSET})"
    r" of ([^,;:]{3,80}?) (?:is|was) (?!not ).{10,}"
)
_DIFFERENCE = re.compile(r"The (main |only |key |biggest )?difference between ([^,;:]{6,90}?) is .{8,}")
_CONJUNCTIONS = frozenset(("if", "when", "while", "since", "unless", "because", "although", "once"))
_WEAK = re.compile(
    r"(?:the|an?) "
    + one_of(
        "good, bad, bit, lot, problem, same, one, only, first, last, case, default, best, few, great, nice, "
        "common, single, must, most, little, reason, result, example, different, very, more, simple"
    )
    + r"\b"
)
_RESTRICTED = re.compile(r"the (?:[\w'-]+ ){1,5}(?:that|which|of|for|used|where|to|by|in)\b")


def rules(text: str, passage: Passage) -> Iterator[Draft]:
    """Yield the questions a definition answers."""
    yield from _what_is(text, passage)
    yield from _what_is_the(text, passage)
    yield from _what_it_means(text, passage)
    yield from _what_for(text, passage)
    yield from _what_purpose(text, passage)


def _what_is(text: str, passage: Passage) -> Iterator[Draft]:
    match = _IS.fullmatch(text)
    if not match or _WEAK.match(match[3]) or not _defined(match[1]):
        return
    if match[3].startswith("the ") and not _RESTRICTED.match(match[3]):
        return
    if match[2] == "are" and not match[3].startswith("the "):
        return
    score = 0.85 if _in_heading(match[1], passage) else 0.75
    yield Draft(f"What {match[2]} {decapitalised(match[1], passage)}?", "definition", score)


def _what_is_the(text: str, passage: Passage) -> Iterator[Draft]:
    """Ask what a part of the thing a document is about is: "The outdoor unit is the part that …"."""
    match = _PART.fullmatch(text)
    if match and _RESTRICTED.match(match[2]) and lead(match[1], passage, any_noun=True):
        question = f"What is {decapitalised(match[1], passage)}?"
        yield Draft(asked(question, match[1], passage, any_noun=True), "definition", 0.7)


def _what_it_means(text: str, passage: Passage) -> Iterator[Draft]:
    match = _MEANS.fullmatch(text)
    if match and _defined(match[1]):
        question = _ASK_MEANS[match[2]].format_map({"term": decapitalised(match[1], passage)})
        yield Draft(question, "definition", 0.8)


def _what_for(text: str, passage: Passage) -> Iterator[Draft]:
    match = _USED.fullmatch(text)
    if match and _defined(match[1]):
        term = decapitalised(match[1], passage)
        passive = f"can {term} be" if match[2] == "can be" else f"{match[2]} {term}"
        yield Draft(f"What {passive} used for?", "definition", 0.7)


def _what_purpose(text: str, passage: Passage) -> Iterator[Draft]:
    match = _PURPOSE.fullmatch(text)
    if match:
        subject = match[2].capitalize()
        if standalone_words(match[2]) or lead(subject, passage):
            yield Draft(asked(f"What is the {match[1]} of {match[2]}?", subject, passage), "definition", 0.8)
    match = _DIFFERENCE.fullmatch(text)
    if match and standalone_words(match[2]):
        yield Draft(f"What is the {match[1] or ''}difference between {match[2]}?", "definition", 0.85)


def _defined(term: str) -> bool:
    """Tell whether a noun phrase names something worth defining."""
    words = term.split()
    generic = (
        GENERIC_NOUNS
        if len(words) < 3 and words[0] in ("A", "An", "The", words[-1])
        else GENERIC_NOUNS - KINDS
    )
    inflected = words[0] in ("A", "An") and any(word.endswith(("ing", "ed")) for word in words[1:])
    return (
        words[-1].casefold() not in generic
        and words[0].casefold() not in PREPOSITIONS | _CONJUNCTIONS
        and words[-1] not in ("of", "for", "and")
        and not inflected
        and standalone_words(term)
    )


def _in_heading(term: str, passage: Passage) -> bool:
    words = [word for word in term.casefold().split() if word not in ("a", "an", "the")]
    return bool(words) and " ".join(words) in heading(passage).casefold()
