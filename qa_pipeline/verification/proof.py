"""Prove or deny a claim from the units of its sources, without a model.

A claim is proved if it equals a sentence, list item or table row that answers the question. It is denied if
it differs from a unit in one slot. All other claims stay open.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from qa_pipeline.text.characters import reads_otherwise
from qa_pipeline.text.reading import Reading, read
from qa_pipeline.verification.binding import QuestionContext, is_polar, unbound, without_polar_word
from qa_pipeline.verification.quotation import Denial, cell_in, fragment_in, one_slot_denial
from qa_pipeline.verification.sources import SourceIndex, Unit
from qa_pipeline.verification.surroundings import introduction_of, surroundings, takes_back

Kind = Literal["quotation", "fragment", "cell"]
LONGEST_READ = 2000
"""Maximum characters of a claim. A longer claim is left to a model, since these rules read sentences."""
_MOST_TRIED = 8
"""Maximum equal units that are checked. A sentence repeated more often is boilerplate."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of a comparison. The claim is proved if there is a unit without doubts or denial."""

    unit: Unit | None = None
    kind: Kind | None = None
    doubts: tuple[str, ...] = ()
    denial: Denial | None = None

    @property
    def is_proved(self) -> bool:
        """Return True if the unit proves the claim."""
        return self.unit is not None and not self.doubts and self.denial is None


@dataclass(frozen=True, slots=True)
class Context:
    """The question and the complete answer of a claim.

    If `is_bound` is False, the source need not answer the question.
    """

    question: Reading
    answer: Reading
    is_bound: bool = True


def prove(
    claim: str, fragment: bool, context: Context, index: SourceIndex, chunk_ids: Sequence[str]
) -> Proof:
    """Prove a claim from the chunks it cites, or find the single slot that they deny."""
    language = context.question.language
    if len(claim) > LONGEST_READ:
        return Proof(doubts=("longer than the rules read",))
    if reads_otherwise(claim):
        return Proof(doubts=("holds signs that hide text or turn its order round",))
    text, said_yes = without_polar_word(claim, language)
    if said_yes is not None and not is_polar(context.question):
        return Proof(doubts=("answers yes or no to another kind of question",))
    reading = read(text, language)
    if said_yes is not None and (not reading.tokens or bool(reading.negations) is said_yes):
        return Proof(doubts=("yes and no are for a model",))
    first: Proof | None = None
    for proof in _proofs(reading, fragment, context, index, chunk_ids):
        if proof.is_proved:
            return proof
        first = first or proof
    if first is not None:
        return first
    return _denied(reading, index, chunk_ids) or Proof(doubts=("not in the source word for word",))


def _proofs(
    claim: Reading, fragment: bool, context: Context, index: SourceIndex, chunk_ids: Sequence[str]
) -> Iterator[Proof]:
    for unit in index.equal_to(claim, chunk_ids)[:_MOST_TRIED]:
        is_bound = context.is_bound or fragment
        yield Proof(unit, "quotation", tuple(_doubts(unit, context, index, is_bound=is_bound)))
    if not context.question.tokens:
        return
    for chunk_id in chunk_ids:
        headings = read("\n".join(index.sources[chunk_id].headings), context.question.language)
        units = index.units(chunk_id)
        for unit in units:
            if unit.is_row and cell_in(claim, unit, context.question, headings, units):
                yield Proof(unit, "cell", tuple(_doubts(unit, context, index, is_bound=False)))
            elif fragment and fragment_in(claim, unit, context.question, headings):
                yield Proof(unit, "fragment", tuple(_doubts(unit, context, index, is_bound=True)))


def _doubts(unit: Unit, context: Context, index: SourceIndex, *, is_bound: bool) -> Iterator[str]:
    """Yield reasons why a unit may not answer the question, or may be retracted by its context."""
    source, language = index.sources[unit.chunk_id], unit.reading.language
    at = source.start + unit.start
    around = surroundings(source.document_text, language, at, at + len(unit.text))
    asked_of = QuestionContext(
        context.question,
        context.answer,
        read("\n".join(source.headings), language),
        read(introduction_of(source.document_text, at, around), language),
    )
    if is_bound:
        yield from unbound(unit.reading, asked_of)
    yield from takes_back(unit.reading, around, source.headings, asked_of, source.status)
    if doubt := source.doubt(unit.start, unit.end):
        yield f"the reader is not sure of its text: {doubt}"


def _denied(claim: Reading, index: SourceIndex, chunk_ids: Sequence[str]) -> Proof | None:
    units = list(chain.from_iterable(index.units(chunk_id) for chunk_id in chunk_ids))
    stated = {token for unit in units for token in unit.reading.tokens}
    for unit in units:
        denial = one_slot_denial(claim, unit.reading, stated)
        if denial is not None:
            return Proof(unit, None, (), denial)
    return None
