"""Pairs whose right verdict is known, which a judge reads among those of the batch.

They are made of pairs that passed source verification, and in each wrong one a single thing is wrong: the
answer belongs to another question, breaks off before it says anything, or states another number or condition.
Good ones are pairs as they are, whose replies the batch needs anyway.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from qa_pipeline.records import Passage
from qa_pipeline.storage.hashes import draw_number, hash_parts
from qa_pipeline.storage.rows import AssessmentColumns
from qa_pipeline.storage.tables import JUDGE_CANARIES
from qa_pipeline.text.injection import hold_injections, is_injection
from qa_pipeline.text.lexicon.languages import LEXICONS, lexicon
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.text.words import content_stems
from qa_pipeline.verification.canaries import foreign, known
from qa_pipeline.verification.canaries.material import Generator, Material, Sentence
from qa_pipeline.verification.judging import ProvedPairRow

WRONG = ("other_answer", "fragment", "changed")
GOOD = "good"
_GOOD_SHARE = 4
"""One in so many is good: that a judge fails good pairs is a warning, that it passes wrong ones decides."""
_MOST_SHARED = 1 / 3
"""Content words of a question that an answer to another one may have: one with more may answer it too."""
_FEWEST_ASKED = 2
"""Content words of a question that tell its answer from others: "What must be done?" has many answers."""
_TRIES = 30
"""Other pairs looked at for one whose answer is no answer: in a batch about several things most are."""
_FEWEST_KEPT = 2
"""Words of a fragment: a single one is hardly the beginning of an answer."""
_WORD = re.compile(r"[^\W_]+(?:[-'’.,][^\W_]+)*")
_MECHANISMS = frozenset(
    {
        *("digit_changed", "year_changed", "inserted", "removed"),
        *("tail_deleted", "function_word_flipped", "function_word_deleted"),
    }
)
"""Generators that need no other text than the passage, so that no batch is read once more for a few pairs."""
_CHANGES = tuple(made for made in (*known.GENERATORS, *foreign.GENERATORS) if made.mechanism in _MECHANISMS)


@dataclass(frozen=True, slots=True)
class JudgePair:
    """A pair of known verdict; `row` is what the judge reads, and its pair_id that of the canary."""

    kind: str
    pair_id: str
    row: ProvedPairRow

    @property
    def expected(self) -> Literal["accepted", "rejected"]:
        """Return the right verdict."""
        return "accepted" if self.kind == GOOD else "rejected"


def draw_judge_pairs(
    rows: Sequence[ProvedPairRow], passages: dict[str, Passage], most: int, seed: int = 0
) -> list[JudgePair]:
    """Draw at most `most` pairs, a quarter of them good, from each wrong kind in turn; always the same ones.

    Args:
        rows: pairs that passed source verification, in any order.
        passages: by chunk id.
        most: pairs; a batch with too little to make them from gets fewer.
        seed: of every choice.
    """
    suited = [row for row in rows if _is_suited(row, passages)]
    count = most_wrong(most)
    wrong = [_made(kind, suited, passages, seed) for kind in WRONG]
    return [*_in_turn(wrong, count), *_in_turn([_made(GOOD, suited, passages, seed)], most - count)]


def most_wrong(most: int) -> int:
    """Return how many of so many canaries are wrong: each a call, where good ones ask what the batch asks."""
    return most - most // _GOOD_SHARE


def judge_canary_frame(drawn: Sequence[JudgePair], assessed: Sequence[AssessmentColumns]) -> pl.DataFrame:
    """Return the canaries with their assessments, which are in the same order.

    Returns:
        the columns of `JUDGE_CANARIES` without the last two, verdict and thresholds_id.
    """
    undecided = dict(list(JUDGE_CANARIES.schema.items())[:-2])
    rows = [
        {
            **assessment,
            "canary_id": canary.row["pair_id"],
            "kind": canary.kind,
            "expected": canary.expected,
            "pair_id": canary.pair_id,
            "language": canary.row["language"],
            "question": canary.row["question"],
            "answer": canary.row["answer"],
            "chunk_ids": canary.row["evidence_chunk_ids"],
        }
        for canary, assessment in zip(drawn, assessed, strict=True)
    ]
    return pl.DataFrame(rows, schema=undecided)


def _is_suited(row: ProvedPairRow, passages: dict[str, Passage]) -> bool:
    """Return whether a pair is a right and whole one whose evidence is there; known answers may be wrong."""
    chunk_ids = row["evidence_chunk_ids"]
    return (
        row["expected_verdict"] is None
        and row["coverage"] == "full"
        and row["language"] in LEXICONS
        and bool(chunk_ids)
        and all(chunk_id in passages for chunk_id in chunk_ids)
    )


def _holds_orders(row: ProvedPairRow, passages: dict[str, Passage]) -> bool:
    """Return whether a pair or its evidence gives orders, whose scores would say little about the judge."""
    evidence = [passages[chunk_id] for chunk_id in row["evidence_chunk_ids"]]
    return hold_injections(evidence) or is_injection(row["question"]) or is_injection(row["answer"])


def _in_turn(sources: list[Iterator[JudgePair]], most: int) -> list[JudgePair]:
    """Take pairs from the sources in turn until there are `most`, none twice."""
    drawn: dict[str, JudgePair] = {}
    while sources and len(drawn) < most:
        for source in list(sources):
            canary = next(source, None)
            if canary is None:
                sources.remove(source)
            elif len(drawn) < most:
                drawn.setdefault(canary.row["pair_id"], canary)
    return list(drawn.values())


def _made(
    kind: str, rows: Sequence[ProvedPairRow], passages: dict[str, Passage], seed: int
) -> Iterator[JudgePair]:
    """Yield at most one pair of a kind from each row, in an order that looks random."""
    ordered = sorted(rows, key=lambda row: (draw_number(seed, kind, row["pair_id"]), row["pair_id"]))
    texts = {chunk_id: passage.text for chunk_id, passage in passages.items()}
    owners = {chunk_id: passage.document_id for chunk_id, passage in passages.items()}
    material = Material((), (), (), texts, owners, seed)
    for place, row in enumerate(ordered):
        answer, chunk_ids = row["answer"], row["evidence_chunk_ids"]
        if kind == "other_answer":
            following = (ordered[(place + step) % len(ordered)] for step in range(1, 1 + _TRIES))
            other = next((other for other in following if _answers_something_else(other, row)), None)
            if other is None:
                continue
            # with the passages of the question, whose document must be known where it is to be forgotten
            answer, chunk_ids = other["answer"], [*other["evidence_chunk_ids"], *chunk_ids]
        elif kind == "fragment":
            answer = _fragment(row)
        elif kind == "changed":
            answer = next(_changed(row, material), "")
        if answer:
            canary_id = hash_parts(kind, row["question"], answer, *chunk_ids)[:32]
            canary: ProvedPairRow = {
                **row,
                "pair_id": canary_id,
                "answer": answer,
                "evidence_chunk_ids": chunk_ids,
            }
            if not _holds_orders(canary, passages):
                yield JudgePair(kind, row["pair_id"], canary)


def _answers_something_else(other: ProvedPairRow, row: ProvedPairRow) -> bool:
    """Return whether the answer of another pair is surely none to a question: of other passages and words."""
    asked_stems = set(content_stems(row["question"], row["language"]))
    shared = asked_stems.intersection(content_stems(other["answer"], row["language"]))
    return (
        other["language"] == row["language"]
        and not set(other["evidence_chunk_ids"]) & set(row["evidence_chunk_ids"])
        and other["answer"] not in row["answer"]
        and row["answer"] not in other["answer"]
        and len(asked_stems) >= _FEWEST_ASKED
        and len(shared) <= _MOST_SHARED * len(asked_stems)
    )


def _fragment(row: ProvedPairRow) -> str:
    """Return the beginning of an answer that only repeats words of its question; empty without one.

    The question must not be one of yes or no, which its own words answer.
    """
    answer, language = row["answer"], row["language"]
    vocabulary = lexicon(language)
    question_words = [match[0].casefold() for match in _WORD.finditer(row["question"])]
    openers = [word for word in question_words[:2] if word not in vocabulary.prepositions]
    if not openers or openers[0] not in vocabulary.question_openers:
        return ""
    shaping = vocabulary.definite | vocabulary.indefinite | vocabulary.prepositions | vocabulary.finite_verbs
    asked_stems = set(content_stems(row["question"], language))
    matches = list(_WORD.finditer(answer))
    count = 0
    for match in matches:
        word = match[0].casefold()
        stems = set(content_stems(word, language))
        repeats = word in shaping or word in question_words or (bool(stems) and stems <= asked_stems)
        if word in vocabulary.denying or not repeats:
            break
        count += 1
    return answer[: matches[count - 1].end()] if _FEWEST_KEPT <= count < len(matches) else ""


def _changed(row: ProvedPairRow, material: Material) -> Iterator[str]:
    """Yield the answer with one of its sentences changed so that its passage does not say so."""
    answer, chunk_id = row["answer"], row["evidence_chunk_ids"][0]

    def order(generator: Generator) -> int:
        return draw_number(material.seed, generator.mechanism, row["pair_id"])

    for generator in sorted(_CHANGES, key=order):
        for start, end in split_sentences(answer, row["language"]):
            owner = material.owners[chunk_id]
            sentence = Sentence(chunk_id, owner, row["language"], answer[start:end], None)
            for draft in generator.make(sentence, material):
                yield answer[:start] + draft.claim + answer[end:]
