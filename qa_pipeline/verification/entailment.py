"""How far its passages entail and contradict a claim.

Which texts a claim of a batch is read with, what of the models' scores becomes the claim's, and its columns
of the claims table. A claim is read whatever its citations are worth: local steps always all run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any, TypedDict

import numpy as np
import polars as pl

from qa_pipeline.models.entailment.files import Scores
from qa_pipeline.models.entailment.models import CrossEncoder
from qa_pipeline.models.entailment.tokens import LEAST_ROOM, PairReader
from qa_pipeline.records import Passage, ProgressCallback, index_text, no_progress
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CLAIMS


class ClaimWithChunksRow(TypedDict):
    """Hold a claim with the chunks that it is read with, and what its pair says of it."""

    pair_id: str
    text: str
    fragment: bool | None
    chunk_ids: list[str]
    question: str | None


PAIR_BELOW = 0.8
"""Pairs of passages are read where the best single passage entails less: a pair costs as much as a passage,
and can add little where one already entails the claim."""
MOST_PASSAGES = 8
"""Cited passages read for a claim: its evidence, then by shared words. Time grows with each."""
WINDOW_TOKENS = 320
"""Most tokens of a passage in one input; longer passages are read in windows."""
_GROUP = 256
"""Claims read together: larger groups fill batches of the model better and need more memory."""
_MOST_PAIRS = 3
"""Pairs of passages read for a claim, the best ones: further ones hardly ever entail more."""
_BETWEEN = "\n"
_BORDERS = 4
"""Tokens kept free where two passages are joined: words at a border may be cut otherwise there."""


@dataclass(frozen=True, slots=True)
class ClaimPassages:
    """A claim and the texts that should prove it."""

    claim: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClaimEntailment:
    """Scores of a claim; None is unknown, and `reason` then names why.

    `passages` has the places of the passage or pair that entails it most.
    """

    entailment: float | None = None
    contradiction: float | None = None
    passages: tuple[int, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text read for a claim, and the places of the passages it is of."""

    text: str
    passages: tuple[int, ...]


Scored = list[tuple[_Piece, Scores]]


def search(
    requests: Sequence[ClaimPassages],
    model: CrossEncoder,
    notify: ProgressCallback = no_progress,
    *,
    window_tokens: int = WINDOW_TOKENS,
    pair_below: float = PAIR_BELOW,
) -> list[ClaimEntailment]:
    """Score claims against windows of their passages, then against pairs of passages where none suffices.

    A claim has the largest entailment and the largest contradiction over its windows. It is unknown with the
    reason `empty_claim`, `claim_too_long`, `no_passage` or `model_nan` (one number that is none leaves the
    largest of all numbers unknown).

    Pairs of passages are read for a claim whose best single passage entails less than `pair_below`.
    """
    results: list[ClaimEntailment] = []
    for start in range(0, len(requests), _GROUP):
        results += _search_group(requests[start : start + _GROUP], model, window_tokens, pair_below)
        model.reader.clear()
        notify(len(results), len(requests))
    return results


def _search_group(
    requests: Sequence[ClaimPassages], model: CrossEncoder, window_tokens: int, pair_below: float
) -> list[ClaimEntailment]:
    reader = model.reader
    reader.learn(text for request in requests for text in (request.claim, *request.passages))
    rooms = [reader.room_beside(request.claim) if request.claim.strip() else 0 for request in requests]
    windows = [
        [
            _Piece(passage[start:end], (place,))
            for place, passage in enumerate(request.passages)
            for start, end in (reader.windows(passage, min(room, window_tokens)) if room else ())
        ]
        for request, room in zip(requests, rooms, strict=True)
    ]
    singles = _scored(windows, requests, model)
    best_singles = [_best(room, of_claim) for room, of_claim in zip(rooms, singles, strict=True)]
    pairs = [
        list(_pairs(of_claim, request.claim, room, reader))
        if room and best.entailment is not None and best.entailment < pair_below
        else []
        for request, room, best, of_claim in zip(requests, rooms, best_singles, singles, strict=True)
    ]
    for row, of_claim in enumerate(_scored(pairs, requests, model)):
        for piece, score in of_claim:
            best_singles[row] = _better(best_singles[row], piece, score)
    return best_singles


def _scored(
    pieces: Sequence[Sequence[_Piece]], requests: Sequence[ClaimPassages], model: CrossEncoder
) -> list[Scored]:
    """Return the pieces of each claim with their scores, all read in one call."""
    texts = [
        (piece.text, request.claim)
        for request, pieces_of_request in zip(requests, pieces, strict=True)
        for piece in pieces_of_request
    ]
    scores = iter(model.probabilities(texts))
    return [[(piece, next(scores)) for piece in pieces_of_request] for pieces_of_request in pieces]


def _best(room: int | None, pieces: Scored) -> ClaimEntailment:
    if not room:
        return ClaimEntailment(reason="claim_too_long" if room is None else "empty_claim")
    if not pieces:
        return ClaimEntailment(reason="no_passage")
    table = np.stack([score for _, score in pieces])
    if np.isnan(table[:, 0]).any():
        return ClaimEntailment(reason="model_nan")
    place = int(table[:, 0].argmax())
    contradiction = float(table[:, 2].max())
    return ClaimEntailment(
        entailment=float(table[place, 0]),
        contradiction=None if np.isnan(contradiction) else contradiction,
        passages=pieces[place][0].passages,
    )


def _better(result: ClaimEntailment, piece: _Piece, score: Scores) -> ClaimEntailment:
    if result.entailment is None:
        return result
    if np.isnan(score[0]):
        return ClaimEntailment(reason="model_nan")
    if score[0] <= result.entailment:
        return result
    return replace(result, entailment=float(score[0]), passages=piece.passages)


def _pairs(singles: Scored, claim: str, room: int, reader: PairReader) -> Iterator[_Piece]:
    """Yield pairs of the best windows of two passages, best first, each in the order of its passages."""
    best: dict[tuple[int, ...], _Piece] = {}
    for piece, _ in sorted(singles, key=lambda item: -item[1][0]):
        best.setdefault(piece.passages, piece)
    ranked = sorted(
        combinations(enumerate(best.values()), 2), key=lambda two: (two[0][0] + two[1][0], two[0][0])
    )
    for (_, first_piece), (_, second_piece) in islice(ranked, _MOST_PAIRS):
        first, second = sorted((first_piece, second_piece), key=lambda piece: piece.passages)
        texts = _fitted(first.text, second.text, claim, room - _BORDERS, reader)
        if texts is not None:
            yield _Piece(_BETWEEN.join(texts), first.passages + second.passages)


def _fitted(first: str, second: str, claim: str, room: int, reader: PairReader) -> tuple[str, str] | None:
    """Return both texts, or as much of each as fits: the parts that share most tokens with the claim."""
    sizes = reader.count(first), reader.count(second)
    if sum(sizes) <= room:
        return first, second
    most_first = max(room // 2, room - sizes[1])
    most_second = room - min(sizes[0], most_first)
    if min(most_first, most_second) < LEAST_ROOM:
        return None
    return _nearest(first, claim, most_first, reader), _nearest(second, claim, most_second, reader)


def _nearest(text: str, claim: str, most: int, reader: PairReader) -> str:
    """Return the window of a text that shares most tokens with the claim; the first of equals."""
    claim_ids = set(reader.ids(claim))
    slices = [text[start:end] for start, end in reader.windows(text, most, most // 2)]
    return max(slices, key=lambda part: len(claim_ids & set(reader.ids(part))))


def fill_entailment(
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    passages: Mapping[str, Passage],
    model: CrossEncoder | None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Score every claim against the chunks it cites.

    Returns:
        CLAIMS frame, in the order given.
    """
    if model is None or not claims.height:
        return claims
    rows = list(typed_rows(claims_with_chunks(claims, pairs), ClaimWithChunksRow))
    # with the headings, which name what a passage is about
    texts = {i: index_text(passage.section_path, passage.text) for i, passage in passages.items()}
    requests = [ClaimPassages(_stated(row), tuple(texts[i] for i in row["chunk_ids"])) for row in rows]
    results = search(requests, model, notify)
    return _with_columns(
        claims,
        {
            "entailment": [result.entailment for result in results],
            "contradiction": [result.contradiction for result in results],
            "entailment_model": [model.network.name] * len(results),
            "entailment_reason": [result.reason for result in results],
        },
    )


def _with_columns(claims: pl.DataFrame, columns: Mapping[str, list[Any]]) -> pl.DataFrame:
    series = [pl.Series(name, values, dtype=CLAIMS.schema[name]) for name, values in columns.items()]
    return CLAIMS.conform(claims.with_columns(series))


def claims_with_chunks(claims: pl.DataFrame, pairs: pl.DataFrame, most: int = MOST_PASSAGES) -> pl.DataFrame:
    """Return text, fragment, question and chunk_ids of each claim; the chunk of its evidence is first."""
    ids = pl.concat_list(
        pl.concat_list("evidence_chunk_id").list.drop_nulls(), pl.col("candidate_chunk_ids").fill_null([])
    )
    chunk_ids = ids.list.unique(maintain_order=True).list.head(most)
    return claims.select("pair_id", "text", "fragment", chunk_ids=chunk_ids).join(
        pairs.select("pair_id", "question"), on="pair_id", how="left", maintain_order="left"
    )


def _stated(row: ClaimWithChunksRow) -> str:
    """Return the claim; a fragment follows the question it answers, without which it states nothing."""
    question = row["question"] or ""
    return f"{question} {row['text']}".strip() if row["fragment"] else row["text"]
