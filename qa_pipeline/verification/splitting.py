"""Split an answer into claims: its sentences, list items and table rows, with their marked sources."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from qa_pipeline.text.references import NUMBER_MARK, SOURCE_MARK, mark_references, without_marks
from qa_pipeline.text.sentences import sentence_spans

_LABEL = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+|>\s*|#{1,6}\s+)+")
_FRAGMENT_TERMS = 1
"""A claim of at most this many content words is a statement only together with its question."""
MOST_CLAIMS = 500
"""Maximum claims of an answer. An answer with more fails, so that it cannot block a whole run."""
TOO_MANY = "too_many_claims"


class AnswerRow(TypedDict):
    """An answer, its question and the chunks it was drafted from."""

    pair_id: str
    batch: str
    question: str
    answer: str
    language: str
    used_chunk_ids: list[str]


@dataclass(frozen=True, slots=True)
class Claim:
    """A checkable statement. `text` is the answer from start to end without citation marks.

    `self_contained` rewords a claim that is unclear alone. `split_reason` tells why the rules split an answer
    that a model should have split.
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
        """Return the wording that can be understood alone."""
        return self.text if self.self_contained is None else self.self_contained


def split_claims(answer: str, language: str) -> list[Claim]:
    """Return the claims of an answer in order.

    Every word belongs to a claim, except list labels, punctuation and citation marks. A mark belongs to the
    claim around it. Otherwise it belongs to the last claim that begins before it, or to the first.

    If an answer has more than `MOST_CLAIMS` claims, an extra claim contains the rest, with the reason
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
    """Give each claim the sources marked after its beginning.

    Claims that a model split from a sentence keep the sources of that sentence unless they have their own.
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
    """Return the span without list labels, heading signs and surrounding blanks."""
    label = _LABEL.match(words, start, end)
    start = label.end() if label else start
    piece = words[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def plain(piece: str) -> str:
    """Return the text of a claim on one line, without gaps before punctuation."""
    return re.sub(r" ([.,;:!?])", r"\1", " ".join(piece.split()))


def is_claim(text: str) -> bool:
    """Return True if a text contains more than punctuation and spaces."""
    return any(character.isalnum() or unicodedata.category(character) == "So" for character in text)


def is_fragment(text: str, terms: int) -> bool:
    """Return True if a claim needs its question: few content words, or an incomplete sentence."""
    is_complete = not text[:1].islower() and text.rstrip("\"'”’»)* ")[-1:] in (".", "!")
    return terms <= _FRAGMENT_TERMS or not is_complete
