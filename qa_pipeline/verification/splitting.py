"""An answer as claims: its sentences, list items and table rows, each with its place and marked sources."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from qa_pipeline.text.references import NUMBER_MARK, SOURCE_MARK, mark_references, without_marks
from qa_pipeline.text.sentences import sentence_spans

_LABEL = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+|>\s*|#{1,6}\s+)+")
_FRAGMENT_TERMS = 1
"""A claim of at most so many content words answers a question, and states nothing without it."""
MOST_CLAIMS = 500
"""Claims of an answer; one with more fails. Checking more of them would let one answer stop a whole run."""
TOO_MANY = "too_many_claims"


class AnswerRow(TypedDict):
    """Hold an answer, its question and the chunks it was drafted from."""

    pair_id: str
    batch: str
    question: str
    answer: str
    language: str
    used_chunk_ids: list[str]


@dataclass(frozen=True, slots=True)
class Claim:
    """A checkable statement: `text` is the answer from start to end without its citation marks.

    `self_contained` says the same so that it is understood alone, where `text` is not; `split_reason` why
    the rules had to cut where a model should have.
    """

    text: str
    start: int
    end: int
    references: tuple[str, ...] = ()
    self_contained: str | None = None
    split_by: Literal["rules", "model"] = "rules"
    split_reason: str | None = None

    @property
    def stated(self) -> str:
        """Return the claim as it is understood alone."""
        return self.text if self.self_contained is None else self.self_contained


def split_claims(answer: str, language: str) -> list[Claim]:
    """Return the claims of an answer in order.

    Every word belongs to a claim; only list labels, punctuation and citation marks stand outside.
    A mark belongs to the claim it is in, else to the last one that begins before it, else to the first.

    An answer with more than `MOST_CLAIMS` claims has one more that holds the rest, with the reason
    `too_many_claims`.
    """
    words = without_marks(answer)
    spans = [_trimmed(words, start, end) for start, end in sentence_spans(words, language)]
    claims = [
        Claim(plain(words[start:end]), start, end) for start, end in spans if is_claim(words[start:end])
    ]
    if len(claims) > MOST_CLAIMS:
        rest = Claim(plain(words[claims[MOST_CLAIMS].start :]), claims[MOST_CLAIMS].start, claims[-1].end)
        claims[MOST_CLAIMS:] = [replace(rest, split_reason=TOO_MANY)]
    return with_references(claims, answer)


def with_references(claims: Sequence[Claim], answer: str) -> list[Claim]:
    """Give each claim the sources marked behind its beginning; a piece without any those of its sentence.

    Claims that a model cut out of one sentence have that sentence's sources already, and keep them where they
    have none of their own.
    """
    owned: dict[int, list[str]] = {}
    owner = 0
    marks = [*SOURCE_MARK.finditer(answer), *NUMBER_MARK.finditer(answer)]
    for mark in sorted(marks, key=lambda reference: reference.start()):
        while owner + 1 < len(claims) and claims[owner + 1].start < mark.start():
            owner += 1
        owned.setdefault(owner, []).extend(mark_references(mark[0]) or [mark[0]])
    return [
        replace(claim, references=tuple(owned.get(place, claim.references)))
        for place, claim in enumerate(claims)
    ]


def _trimmed(words: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without list labels and heading signs in front and blanks around."""
    label = _LABEL.match(words, start, end)
    start = label.end() if label else start
    piece = words[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def plain(piece: str) -> str:
    """Return the text of a claim: one line, no gap where a mark stood."""
    return re.sub(r" ([.,;:!?])", r"\1", " ".join(piece.split()))


def is_claim(text: str) -> bool:
    """Return True if a text holds a letter, digit or symbol, and not punctuation and spaces alone."""
    return any(character.isalnum() or unicodedata.category(character) == "So" for character in text)


def is_fragment(text: str, terms: int) -> bool:
    """Return True if a claim states something only with its question: few words, or no whole sentence."""
    is_complete = not text[:1].islower() and text.rstrip("\"'”’»)* ")[-1:] in (".", "!")
    return terms <= _FRAGMENT_TERMS or not is_complete
