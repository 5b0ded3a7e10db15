"""Find context around a unit of a document that may retract or restrict the unit.

The reasons leave a claim undecided and never reject it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.reading import Reading, read
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.verification.binding import QuestionContext, only_scope

_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,4}[.)])[ \t]+")
_LABEL = re.compile(r"[ \t]*(?:[-*+•][ \t]+)?(?:\d{1,4}[.)][ \t]+)?([^\n:]{1,80}?)(?::|[ ][-–—])[ \t]")
_HEADING = re.compile(r"#{1,6}[ \t]")
_FARTHEST_ITEM = 100
"""Maximum sentences between a list item and its lead-in. Longer lists are mostly registers."""
_LONGEST = 600
"""Maximum characters read of a neighbouring sentence. A retraction begins early."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The sentences around a unit and the lead-ins of its lists, or empty strings.

    `opens_paragraph` is True if the sentence before is in another paragraph.
    """

    before: str
    after: str
    lead_ins: tuple[str, ...]
    is_item: bool
    opens_paragraph: bool


def surroundings(text: str, language: str, start: int, end: int) -> Surroundings:
    """Return the context of the characters from `start` to `end` of a document's canonical text."""
    spans = sentence_spans(text, language)
    if not spans:
        return Surroundings("", "", (), is_item=False, opens_paragraph=True)
    first = max(bisect_right(spans, (start, len(text))) - 1, 0)
    last = max(bisect_right(spans, (end - 1, len(text))) - 1, first)
    before = "" if first == 0 or _apart(text, spans, first - 1) else _cut(text, spans[first - 1])
    after = "" if last + 1 == len(spans) or _apart(text, spans, last) else _cut(text, spans[last + 1])
    opens = first == 0 or "\n\n" in text[spans[first - 1][1] : spans[first][0]]
    is_item = _depth(text, spans[first]) is not None
    return Surroundings(before, after, tuple(_lead_ins(text, spans, first)), is_item, opens)


def introduction_of(text: str, at: int, around: Surroundings) -> str:
    """Return the term before a colon at the start of the line, and the lead-ins of its lists."""
    line = text.rfind("\n", 0, at) + 1
    label = _LABEL.match(text, line, at)
    return "\n".join([*([label[1]] if label else []), *around.lead_ins])


def takes_back(
    unit: Reading, around: Surroundings, headings: Sequence[str], context: QuestionContext, status: str | None
) -> Iterator[str]:
    """Yield every reason why the context of a unit may retract it.

    `headings` begin with the title of the document, and `status` is its declared status. A restriction that
    the question or answer mentions is not reported.
    """
    yield from _pronoun(unit, around, context)
    yield from _report(unit, around)
    yield from _contrast(unit, around)
    yield from _void(unit, headings, context, status)
    yield from _lead_in(unit, around, context)


def _pronoun(unit: Reading, around: Surroundings, context: QuestionContext) -> Iterator[str]:
    """Yield a reason if the unit opens with a pronoun and its antecedent is not in the answer.

    "This option" is clear if a heading or the lead-in names an option.
    """
    words = lexicon(unit.language).proof
    if not unit.opens_with(words.pronouns) or unit.opens_with(words.impersonal):
        return
    points = unit.lower_tokens[0] in words.articles and len(unit.words) > 1
    if points and unit.words[1].stem in context.headings.stem_set | context.introduction.stem_set:
        return
    before = read(around.before, unit.language).folded
    if not before or before not in " ".join(context.answer.folded.split()):
        yield f'"{unit.tokens[0]}" stands for something said before'


def _report(unit: Reading, around: Surroundings) -> Iterator[str]:
    """Yield a reason if the sentence before reports, supposes or announces the unit."""
    words = lexicon(unit.language).proof
    before = read(around.before, unit.language)
    if around.before.endswith(":") and not around.opens_paragraph:
        yield "stands behind a colon"
    if before.holds_any(words.reporting) or before.opens_with(words.supposing):
        yield f'stands behind "{around.before[:80]}"'
    if unit.folded.count('"') % 2:
        yield "is part of a quotation"


def _contrast(unit: Reading, around: Surroundings) -> Iterator[str]:
    """Yield a reason if the next sentence narrows or denies the unit."""
    words = lexicon(unit.language).proof
    after = read(around.after, unit.language)
    first = around.after.partition(" ")[0]
    said_no = first.endswith((",", ".", "!")) and first[:-1].casefold() in words.no
    denies = after.negations > 0 or after.holds_any(words.revoking)
    points = after.opens_with(words.demonstratives) and denies
    if said_no or points or after.opens_with(words.contrasts):
        yield f'is followed by "{around.after[:80]}"'


def _void(
    unit: Reading, headings: Sequence[str], context: QuestionContext, status: str | None
) -> Iterator[str]:
    """Yield a reason if a heading, the title or the declared status voids the text."""
    words = lexicon(unit.language).proof
    mentioned = {*context.question.lower_tokens, *unit.lower_tokens}
    for text in (*headings, status or ""):
        void = {*read(text, unit.language).lower_tokens} & words.voiding - mentioned
        if void:
            yield f'"{min(void)}" stands above it'


def _lead_in(unit: Reading, around: Surroundings, context: QuestionContext) -> Iterator[str]:
    """Yield a reason if the lead-in of the list is not in the question, answer or headings.

    For an item that is a sentence, only lead-ins that deny, report, restrict or suppose matter.
    """
    if not around.is_item or not around.lead_ins:
        return
    words = lexicon(unit.language).proof
    telling = lexicon(unit.language).negations.union(
        words.reporting, words.supposing, words.voiding, words.scope
    )
    is_sentence = unit.written[-1:] in (".", "!") and unit.written.lstrip("-*+• ")[:1].isupper()
    mentioned = context.question.stem_set | context.answer.stem_set | context.headings.stem_set
    tokens = {*context.question.lower_tokens, *context.answer.lower_tokens, *context.headings.lower_tokens}
    negated = context.question.negations or context.answer.negations
    for text in around.lead_ins:
        lead_in = read(text, unit.language)
        if is_sentence and not lead_in.holds_any(telling):
            continue
        unsaid = [stem for stem in lead_in.stems if stem not in mentioned]
        if unsaid or only_scope(lead_in, tokens) or (lead_in.negations and not negated):
            yield f'is an item of "{text[:80]}"'


def _apart(text: str, spans: Sequence[tuple[int, int]], place: int) -> bool:
    """Return True if two adjacent sentences are unrelated, such as items, rows or headings."""
    both = spans[place : place + 2]
    if any(_HEADING.match(text, *span) or " | " in text[slice(*span)] for span in both):
        return True
    return _ITEM.match(text, *both[1]) is not None


def _cut(text: str, span: tuple[int, int]) -> str:
    return text[span[0] : min(span[1], span[0] + _LONGEST)]


def _lead_ins(text: str, spans: Sequence[tuple[int, int]], place: int) -> Iterator[str]:
    """Yield the lead-ins of the list or table around a sentence, nearest first."""
    depth = _depth(text, spans[place])
    row = " | " in text[slice(*spans[place])]
    if depth is None and not row:
        return
    for at in range(place - 1, max(place - _FARTHEST_ITEM, -1), -1):
        span = spans[at]
        if _HEADING.match(text, *span):
            return
        above = _depth(text, span)
        if row and " | " in text[slice(*span)]:
            continue
        if above is None:
            if row or text[span[1] - 1] == ":" or text[span[1] - 1].isalnum():
                yield _cut(text, span)
            return
        if depth is not None and above < depth:
            depth = above
            yield _cut(text, span)


def _depth(text: str, span: tuple[int, int]) -> int | None:
    """Return the indentation of the list item around a sentence, if any."""
    line = text.rfind("\n", 0, span[0]) + 1
    item = _ITEM.match(text, line)
    return None if item is None else len(item[0]) - len(item[0].lstrip())
