"""English questions after reasons, conditions and what a named thing does.

What belongs here: "Why is …", "What happens if …", "What does … do?". What does not: instructions,
definitions, figures.
"""

import re
from collections.abc import Iterator

from qa_pipeline.llm.extractive.drafts import Draft
from qa_pipeline.llm.extractive.english_filters import (
    IDENTIFIER,
    anchored,
    imperative,
    is_identifier,
    points,
    standalone_words,
    verb_phrase,
)
from qa_pipeline.llm.extractive.english_names import about, decapitalised, heading, product, topic
from qa_pipeline.llm.extractive.english_words import KINDS, one_of
from qa_pipeline.records import Passage

_BECAUSE = re.compile(r"(.{8,140}?),? because (?!of ).{8,}")
_WEAK_REASON = (" only", " just", " probably", " simply")
_FORMS = one_of("is, are, was, were, can, cannot, could, should, must, will, would")
_AUXILIARY = re.compile(rf"(.{{3,70}}?) ({_FORMS})( not|n't)? (.+)")
_SUBORDINATE = re.compile(r",|\b(?:that|which|who|if|when|to|for)\b")
_DO_NOT = re.compile(r"(?:Do not|Don't|Never) ([a-z][^,;:()]{6,100}?),? because (?!of ).{8,}")
_YOU_NEED = re.compile(r"You (?:need|have|want) .{4,100}")

_IF = re.compile(r"(If|When) ([^,;:()]{10,110}), (?:then )?(.{10,})")
_THEN_IF = re.compile(r"([A-Z][^,;:()]{14,150}?) (if|when) ([^,;:()]{10,110})\.")
_FINITE = re.compile(
    r"\b(?:is|are|has|have|does|do|can|cannot|will|must|should|you \w+|\w{2,}[^su]s|\w+ed)\b"
)
_USELESS_AFTER_YOU = one_of(
    "want to, need to, want \\w+ to, are, can, prefer, see, look, think, would, also, check, come, only, "
    "just, don, "
    "already, still, wish, know, run into, go, feel, find, haven, use these, open, "
    "have an? (?:old|older|new|newer|different|similar)"
)
_USELESS_CONDITION = re.compile(
    rf"you {_USELESS_AFTER_YOU}\b|(?:in|not|so|and|using|instead|any|\w+ing|\w+ed) |possible|a condition"
)
_GENERAL = ("a", "an", "no", "your", "there")
_UNREAL = re.compile(r"\b(?:was|were|would|had|could|folks|people)\b")
_LISTED = re.compile(r"(?:the |an? )?[\w.]+ (?:and|or) |(?:\S+ ){0,2}\S+,")
_YOU_SHOULD = re.compile(r"[Yy]ou (?:should|must|need|have to)\b")
_YOU_CAN = re.compile(r"you (?:can|could)\b")
_NO_EFFECT = re.compile(
    one_of(
        "and, or, but, and/or, which, unless, even, for example, at least, it's, consider, see, note, "
        "please, this, that"
    )
    + r"\b|you (?!(?:will|would|get|receive|have)\b)"
)
_OPENS_MAIN = re.compile(rf"(?:The|An?|No|All|Any|Each|Every|Your|{IDENTIFIER})(?= )")
_DANGLING = re.compile(
    r" also | "
    + one_of("only, even, as, for, to, of, about, by, than, especially, except, and, or, not, just, like")
    + r"$| (?:indicat|decid|know|determin|check|specif|see|tell|defin|test|declar|ask|control)\w*$"
)

_DOES = re.compile(
    rf"(The )?({IDENTIFIER}|[A-Z]\w+)(?: ({'|'.join(sorted(KINDS))}))? ([a-z]{{2,}}s) "
    r"(?!are |is |were |was |can |must |should |will ).{10,}"
)
_INTRODUCTION = re.compile(r"(?:summary|overview|introduction|description|about|what )|.*_", re.IGNORECASE)
"""Headings under which a document says what its own subject does, rather than one thing it does."""
_ASKED = {
    "returns": "return", "requires": "require", "accepts": "accept", "takes": "take", "supports": "support",
    "expects": "expect", "contains": "contain", "receives": "receive",
}  # fmt: skip
_NOT_DOING = frozenset(
    (
        "is", "has", "was", "does", "needs", "its", "this", "works", "runs", "comes", "goes", "stands",
        "depends", "relies", "exists", "looks", "seems", "becomes", "consists", "refers", "means",
        "belongs", "remains", "applies", "inherits", "follows", "uses", "includes", "knows", "gets",
        "gives", "plus", "less", "as", "us", "always", "sometimes", "receives",
    )
) | {f"{kind}s" for kind in KINDS} | {"classes", "values", "properties"}  # fmt: skip
"""Words in s that are no verb, or one whose sentence does not say what its subject does."""


def rules(text: str, passage: Passage) -> Iterator[Draft]:
    """Yield the questions a reason, a condition or an effect answers."""
    yield from _why(text, passage)
    yield from _what_if(text, passage)
    yield from _what_then(text, passage)
    yield from _what_does(text, passage)


def _why(text: str, passage: Passage) -> Iterator[Draft]:
    match = _DO_NOT.fullmatch(text)
    if match and verb_phrase(match[1]):
        yield Draft(f"Why should you not {match[1]}?", "reason", 0.85)
    match = _BECAUSE.fullmatch(text)
    if not match or not standalone_words(match[1]) or match[1].endswith(_WEAK_REASON):
        return
    if _YOU_NEED.fullmatch(match[1]):
        yield Draft(f"Why do {match[1][0].lower()}{match[1][1:]}?", "reason", 0.85)
        return
    parts = _AUXILIARY.fullmatch(match[1])
    if not parts or _SUBORDINATE.search(parts[1]):
        return
    auxiliary = parts[2].removesuffix("not")
    negated = " not" if parts[3] or auxiliary != parts[2] else ""
    yield Draft(f"Why {auxiliary} {decapitalised(parts[1], passage)}{negated} {parts[4]}?", "reason", 0.85)


def _what_if(text: str, passage: Passage) -> Iterator[Draft]:
    """Ask for what follows from a condition that stands first: "If …, … is sent"."""
    match = _IF.fullmatch(text)
    if not match or _LISTED.match(match[3]):
        return
    about_what = _condition(match[2], passage)
    if about_what is None:
        return
    clause = f"{match[1].lower()} {match[2]}?"
    if imperative(match[3]) or _YOU_SHOULD.match(match[3]):
        yield Draft(about(about_what, f"What should you do {clause}"), "how_to", 0.6)
    elif _YOU_CAN.match(match[3]):
        yield Draft(about(about_what, f"What can you do {clause}"), "how_to", 0.5)
    elif not _NO_EFFECT.match(match[3]):
        yield Draft(about(about_what, f"What happens {clause}"), "fact", 0.55)


def _what_then(text: str, passage: Passage) -> Iterator[Draft]:
    """Ask for what follows from a condition that stands last: "… is sent if …"."""
    match = _THEN_IF.fullmatch(text)
    about_what = _condition(match[3], passage) if match else None
    if match is None or about_what is None or _DANGLING.search(match[1]):
        return
    clause = f"{match[2]} {match[3]}?"
    if imperative(match[1]) or _YOU_SHOULD.match(match[1]):
        yield Draft(about(about_what, f"What should you do {clause}"), "how_to", 0.55)
    elif _OPENS_MAIN.match(match[1]) and (_AUXILIARY.match(match[1]) or len(match[1].split()) <= 5):
        yield Draft(about(about_what, f"What happens {clause}"), "fact", 0.5)


def _condition(condition: str, passage: Passage) -> str | None:
    """Return what a condition must be said to be about, "" when it names that itself; None when unfit."""
    if (
        len(condition.split()) < 3
        or _USELESS_CONDITION.match(condition)
        or _UNREAL.search(condition)
        or condition.endswith((" to", " it", " so", " or", " and"))
        or not _FINITE.search(condition)
        or not standalone_words(condition)
    ):
        return None
    known = topic(passage) or product(passage)
    if known is not None:
        return "" if known in condition else known
    if points(condition):
        return None
    words = condition.split()
    general = len(words) >= (5 if words[0] in _GENERAL else 7)
    return "" if anchored(condition) or general else None


def _what_does(text: str, passage: Passage) -> Iterator[Draft]:
    match = _DOES.fullmatch(text)
    if not match:
        return
    article, name, kind, verb = match.groups()
    if (kind is None) == (article is not None) or (kind is None and not _specific(name, passage)):
        return
    subject = f"the {name} {kind}" if kind else name
    if verb in _ASKED:
        yield Draft(f"What does {subject} {_ASKED[verb]}?", "fact", 0.6)
    elif verb not in _NOT_DOING and (name not in passage.title or _INTRODUCTION.match(heading(passage))):
        yield Draft(f"What does {subject} do?", "definition", 0.7)


def _specific(name: str, passage: Passage) -> bool:
    """Tell whether a bare name is one thing of the section rather than the product all pages are about."""
    return is_identifier(name) and ("_" in name or name.startswith("-") or name in heading(passage))
