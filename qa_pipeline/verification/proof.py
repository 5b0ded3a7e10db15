"""Prove or deny a claim from the units of its sources, without a model.

A claim is proved if it equals a sentence, list item or table row that answers the question. It is denied if
it differs from a unit in one slot, such as a number or a negation. All other claims stay open.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter

from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.reading import Reading, read
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.text.words import reads_otherwise
from qa_pipeline.verification.quotation import (
    Context,
    Denial,
    adds_scope_word,
    is_polar,
    one_slot_denial,
    question_mismatches,
    without_polar_word,
)
from qa_pipeline.verification.sources import SourceIndex, Unit

_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,4}[.)])[ \t]+")  # "- ", "2. "
_TERM = re.compile(r"[ \t]*(?:[-*+•][ \t]+)?(?:\d{1,4}[.)][ \t]+)?([^\n:]{1,80}?)(?::|[ ][-–—])[ \t]")
"""The term that begins a line, such as the group "Range" in "- Range: 40 km"."""
_HEADING = re.compile(r"#{1,6}[ \t]")
_FARTHEST_ITEM = 100  # maximum sentences from a lead-in to its list item; longer lists are mostly registers
_LONGEST = 600  # maximum characters read of a neighbouring sentence; a retraction begins early


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
    # indices of the sentences that contain the first and last character
    first = max(bisect_right(spans, start, key=itemgetter(0)) - 1, 0)
    last = max(bisect_right(spans, end - 1, key=itemgetter(0)) - 1, first)
    has_before = first > 0 and not _are_unrelated(text, spans, first - 1)
    has_after = last + 1 < len(spans) and not _are_unrelated(text, spans, last)
    return Surroundings(
        before=_beginning(text, spans[first - 1]) if has_before else "",
        after=_beginning(text, spans[last + 1]) if has_after else "",
        lead_ins=tuple(_lead_ins(text, spans, first)),
        is_item=_indentation(text, spans[first]) is not None,
        opens_paragraph=first == 0 or "\n\n" in text[spans[first - 1][1] : spans[first][0]],
    )


def _pronoun_doubts(unit: Reading, around: Surroundings, context: Context) -> Iterator[str]:
    """Yield a reason if the unit opens with a pronoun and the answer lacks the sentence before it.

    "It closes." is doubtful. Below the heading "Options", "This option closes." is clear.
    """
    vocabulary = lexicon(unit.language).proof
    if not unit.opens_with(vocabulary.pronouns) or unit.opens_with(vocabulary.impersonal):
        return  # "It is possible …" refers to nothing
    may_be_determiner = unit.lower_tokens[0] in vocabulary.determiners and len(unit.words) > 1
    if may_be_determiner and unit.words[1].stem in context.headings.stem_set | context.introduction.stem_set:
        return
    before = read(around.before, unit.language).folded
    answer = " ".join(context.answer.folded.split())
    if not before or before not in answer:
        yield f'"{unit.tokens[0]}" stands for something said before'


def _attribution_doubts(unit: Reading, around: Surroundings) -> Iterator[str]:
    """Yield a reason if the unit may not be the document's own statement, as after "Critics claim this:"."""
    words = lexicon(unit.language).proof
    before = read(around.before, unit.language)
    if around.before.endswith(":") and not around.opens_paragraph:
        yield "stands behind a colon"
    if before.contains_any(words.reporting) or before.opens_with(words.supposing):  # "said", "suppose"
        yield f'stands behind "{around.before[:80]}"'
    if unit.folded.count('"') % 2:  # the quotation begins or ends in another sentence
        yield "is part of a quotation"


def _contrast_doubts(unit: Reading, around: Surroundings) -> Iterator[str]:
    """Yield a reason if the next sentence narrows or denies the unit."""
    words = lexicon(unit.language).proof
    after = read(around.after, unit.language)
    first = around.after.partition(" ")[0]
    opens_with_no = first.endswith((",", ".", "!")) and first[:-1].casefold() in words.no  # "No, …"
    denies = after.negations > 0 or after.contains_any(words.revoking)
    denies_unit = denies and after.opens_with(words.demonstratives)  # "This is no longer …"
    if opens_with_no or denies_unit or after.opens_with(words.contrasts):
        yield f'is followed by "{around.after[:80]}"'


def _voiding_doubts(unit: Reading, above: Sequence[str], context: Context) -> Iterator[str]:
    """Yield a reason for each of the title, headings and declared status that voids the text, as "Draft"."""
    voiding_words = lexicon(unit.language).proof.voiding
    mentioned = {*context.question.lower_tokens, *unit.lower_tokens}
    for text in above:
        voiding = {*read(text, unit.language).lower_tokens} & voiding_words - mentioned
        if voiding:
            yield f'"{min(voiding)}" stands above it'


def _lead_in_doubts(unit: Reading, around: Surroundings, context: Context) -> Iterator[str]:
    """Yield a reason for each lead-in of a list that may change the meaning of its item.

    "The parts are:" cannot change the complete sentence "It is red.", as it has no qualifier such as "never".
    Any other lead-in may, if it has a content word, word of scope or negation that is not in the question,
    answer or headings: "Never do this:", or "The parts are:" before the item "red cables".
    """
    if not around.is_item or not around.lead_ins:
        return  # the lead-in of a table is not compared
    vocabulary = lexicon(unit.language)
    words = vocabulary.proof
    qualifiers = vocabulary.negations.union(words.reporting, words.supposing, words.voiding, words.scope)
    is_complete = unit.written[-1:] in (".", "!") and unit.written.lstrip("-*+• ")[:1].isupper()
    known = (context.question, context.answer, context.headings)
    known_stems = frozenset[str]().union(*(text.stem_set for text in known))
    known_tokens = frozenset[str]().union(*(text.lower_tokens for text in known))
    has_known_negation = context.question.negations or context.answer.negations
    for text in around.lead_ins:
        lead_in = read(text, unit.language)
        if is_complete and not lead_in.contains_any(qualifiers):
            continue
        adds_content_word = not lead_in.stem_set <= known_stems
        # stems lack function words of scope, such as "may", so these are compared as tokens
        adds_scope = adds_scope_word(lead_in, known_tokens)
        adds_negation = lead_in.negations and not has_known_negation
        if adds_content_word or adds_scope or adds_negation:
            yield f'is an item of "{text[:80]}"'


def _are_unrelated(text: str, spans: Sequence[tuple[int, int]], index: int) -> bool:
    """Return True if the sentence at `index` and the next are unrelated, such as items, rows or headings."""
    both = spans[index : index + 2]
    if any(_HEADING.match(text, *span) or " | " in text[slice(*span)] for span in both):
        return True
    return _ITEM.match(text, *both[1]) is not None


def _beginning(text: str, span: tuple[int, int]) -> str:
    return text[span[0] : min(span[1], span[0] + _LONGEST)]


def _lead_ins(text: str, spans: Sequence[tuple[int, int]], index: int) -> Iterator[str]:
    r"""Yield the lead-ins of the list or table around a sentence, nearest first.

    For "- b" in "These are:\n- a\n  - b", they are "- a" and "These are:". For the last row of
    "Sizes.\n\n| a | b |\n| c | d |", it is "Sizes.".
    """
    indent = _indentation(text, spans[index])  # None outside a list
    is_row = " | " in text[slice(*spans[index])]
    if indent is None and not is_row:
        return
    farthest = max(index - _FARTHEST_ITEM + 1, 0)
    for span in reversed(spans[farthest:index]):
        if _HEADING.match(text, *span):
            return
        if is_row and " | " in text[slice(*span)]:
            continue  # another row of the table
        indent_above = _indentation(text, span)
        if indent_above is None:  # the text above the list or table
            # any text introduces a table; "These are:" or "Parts" introduces a list, but not "It is red."
            last_character = text[span[1] - 1]
            if is_row or last_character == ":" or last_character.isalnum():
                yield _beginning(text, span)
            return
        if indent is not None and indent_above < indent:  # an item of an outer list; all others are skipped
            indent = indent_above
            yield _beginning(text, span)


def _indentation(text: str, span: tuple[int, int]) -> int | None:
    """Return the indentation of the list item around a sentence, if any."""
    line_start = text.rfind("\n", 0, span[0]) + 1
    item = _ITEM.match(text, line_start)
    return None if item is None else len(item[0]) - len(item[0].lstrip())


LONGEST_READ = 2000
"""Maximum characters of a claim. A longer claim is left to a model, since these rules read sentences."""
_MOST_TRIED = 8  # maximum equal units that are checked; a sentence repeated more often is boilerplate


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of a comparison. The claim is proved if there is a unit without doubts or denial."""

    unit: Unit | None = None
    doubts: tuple[str, ...] = ()
    denial: Denial | None = None

    @property
    def is_proved(self) -> bool:
        """Return True if the unit proves the claim."""
        return self.unit is not None and not self.doubts and self.denial is None


def prove(
    claim: str, is_fragment: bool, context: Context, index: SourceIndex, chunk_ids: Sequence[str]
) -> Proof:
    """Prove a claim from the chunks it cites, or find a unit that differs from it in one slot."""
    if len(claim) > LONGEST_READ:
        return Proof(doubts=("longer than the rules read",))
    if reads_otherwise(claim):
        return Proof(doubts=("holds signs that hide text or turn its order round",))
    text, affirms = without_polar_word(claim, context.question.language)
    reading = read(text, context.question.language)
    if affirms is not None:
        if not is_polar(context.question):
            return Proof(doubts=("answers yes or no to another kind of question",))
        is_contradictory = (reading.negations > 0) == affirms  # "Yes, it does not …" or "No, it does …"
        if not reading.tokens or is_contradictory:
            return Proof(doubts=("yes and no are for a model",))
    # a fragment, such as a year, is only a statement together with its question
    context = replace(context, must_answer=context.must_answer or is_fragment)
    doubted: list[Proof] = []
    for unit in index.equal_to(reading, chunk_ids)[:_MOST_TRIED]:
        proof = Proof(unit, tuple(_doubts(unit, context, index)))
        if proof.is_proved:
            return proof
        doubted.append(proof)
    if doubted:
        return doubted[0]
    not_verbatim = Proof(doubts=("no sentence, list item or table row of the source equals it",))
    return _disproof(reading, index, chunk_ids) or not_verbatim


def _doubts(unit: Unit, context: Context, index: SourceIndex) -> Iterator[str]:
    """Yield reasons why a unit may not answer the question, if it must, or why its context may retract it."""
    source, language = index.sources[unit.chunk_id], unit.reading.language
    text, start = source.document_text, source.start + unit.start
    around = surroundings(text, language, start, start + len(unit.text))
    line_start = text.rfind("\n", 0, start) + 1
    term = _TERM.match(text, line_start, start)  # "Range" before "It varies." in "- Range: 40 km. It varies."
    introduction = "\n".join([term[1] if term else "", *around.lead_ins])
    headings = read("\n".join(source.headings), language)
    context = replace(context, headings=headings, introduction=read(introduction, language))
    if context.must_answer:
        yield from question_mismatches(unit.reading, context)
    yield from _pronoun_doubts(unit.reading, around, context)
    yield from _attribution_doubts(unit.reading, around)
    yield from _contrast_doubts(unit.reading, around)
    yield from _voiding_doubts(unit.reading, (*source.headings, source.status or ""), context)
    yield from _lead_in_doubts(unit.reading, around, context)
    if doubt := source.doubt(unit.start, unit.end):
        yield f"the reader is not sure of its text: {doubt}"


def _disproof(claim: Reading, index: SourceIndex, chunk_ids: Sequence[str]) -> Proof | None:
    """Return the denial of a claim by the first unit that differs from it in one slot, if any."""
    units = list(chain.from_iterable(index.units(chunk_id) for chunk_id in chunk_ids))
    stated = {token for unit in units for token in unit.reading.tokens}
    for unit in units:
        denial = one_slot_denial(claim, unit.reading, stated)
        if denial is not None:
            return Proof(unit, denial=denial)
    return None
