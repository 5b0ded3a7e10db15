"""How far its passages entail and contradict a claim.

A claim is read whatever its citations are worth: local steps always all run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.models.entailment.files import Scores
from qa_pipeline.models.entailment.models import CrossEncoder
from qa_pipeline.models.entailment.tokens import LEAST_ROOM, PairReader
from qa_pipeline.records import Passage, ProgressCallback, index_text, no_progress
from qa_pipeline.storage.rows import ClaimRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CLAIMS


class ClaimWithQuestionRow(ClaimRow):
    """Hold a claim with the question of its pair."""

    question: str | None


_PAIR_BELOW = 0.8
"""Pairs of passages are read where the best single passage entails less: a pair costs as much as a passage,
and can add little where one already entails the claim."""
_MOST_PASSAGES = 8
"""Cited passages read for a claim: its evidence, then by shared words. Time grows with each."""
_WINDOW_TOKENS = 320
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
    """Scores of a claim; None is unknown, and `reason` then names why."""

    entailment: float | None = None
    contradiction: float | None = None
    reason: str | None = None


_NO_NUMBER = ClaimEntailment(reason="model_nan")
Window = tuple[int, str]
"""The place of a passage, and the part of it that is read."""


def search(
    requests: Sequence[ClaimPassages],
    model: CrossEncoder,
    notify: ProgressCallback = no_progress,
    *,
    window_tokens: int = _WINDOW_TOKENS,
) -> list[ClaimEntailment]:
    """Score claims against windows of their passages, then against pairs of passages where none suffices.

    A claim has the largest entailment and the largest contradiction over its windows. It is unknown with the
    reason `empty_claim`, `claim_too_long`, `no_passage` or `model_nan` (one number that is none leaves the
    largest of all numbers unknown).
    """
    results: list[ClaimEntailment] = []
    for start in range(0, len(requests), _GROUP):
        results += _search_group(requests[start : start + _GROUP], model, window_tokens)
        model.reader.clear()
        notify(len(results), len(requests))
    return results


def _search_group(
    requests: Sequence[ClaimPassages], model: CrossEncoder, window_tokens: int
) -> list[ClaimEntailment]:
    reader = model.reader
    reader.learn(text for request in requests for text in (request.claim, *request.passages))
    rooms = [reader.room_beside(request.claim) if request.claim.strip() else 0 for request in requests]
    windows = [
        [
            (place, passage[start:end])
            for place, passage in enumerate(request.passages)
            for start, end in (reader.windows(passage, min(room, window_tokens)) if room else ())
        ]
        for request, room in zip(requests, rooms, strict=True)
    ]
    scores = _scores([[text for _, text in of_claim] for of_claim in windows], requests, model)
    results = [_result(room, of_claim) for room, of_claim in zip(rooms, scores, strict=True)]
    pairs = [
        list(_pairs(of_windows, of_claim, request.claim, room, reader))
        if room and result.entailment is not None and result.entailment < _PAIR_BELOW
        else []
        for request, room, result, of_windows, of_claim in zip(
            requests, rooms, results, windows, scores, strict=True
        )
    ]
    for place, of_claim in enumerate(_scores(pairs, requests, model)):
        if of_claim:
            best = max(float(np.max([score[0] for score in of_claim])), results[place].entailment or 0.0)
            is_number = not np.isnan(best)
            results[place] = replace(results[place], entailment=best) if is_number else _NO_NUMBER
    return results


def _scores(
    texts: Sequence[Sequence[str]], requests: Sequence[ClaimPassages], model: CrossEncoder
) -> list[list[Scores]]:
    """Return the scores of the texts that are read for each claim, all read in one call."""
    inputs = [
        (text, request.claim) for request, of_claim in zip(requests, texts, strict=True) for text in of_claim
    ]
    scores = iter(model.probabilities(inputs))
    return [[next(scores) for _ in of_claim] for of_claim in texts]


def _result(room: int | None, scores: Sequence[Scores]) -> ClaimEntailment:
    if not room:
        return ClaimEntailment(reason="claim_too_long" if room is None else "empty_claim")
    if not scores:
        return ClaimEntailment(reason="no_passage")
    entailment, _, contradiction = (float(column.max()) for column in np.stack(scores).T)  # NaN if one is
    if np.isnan(entailment):
        return _NO_NUMBER
    return ClaimEntailment(entailment, None if np.isnan(contradiction) else contradiction)


def _pairs(
    windows: Sequence[Window], scores: Sequence[Scores], claim: str, room: int, reader: PairReader
) -> Iterator[str]:
    """Yield the best windows of two passages, best pair first, each in the order of its passages."""
    best: dict[int, str] = {}
    for (place, text), _ in sorted(zip(windows, scores, strict=True), key=lambda item: -item[1][0]):
        best.setdefault(place, text)
    ranked = sorted(
        combinations(enumerate(best.items()), 2), key=lambda two: (two[0][0] + two[1][0], two[0][0])
    )
    for (_, better), (_, worse) in islice(ranked, _MOST_PAIRS):
        (_, first), (_, second) = sorted((better, worse))
        texts = _fitted(first, second, claim, room - _BORDERS, reader)
        if texts is not None:
            yield _BETWEEN.join(texts)


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
    """Score every claim against the chunk of its evidence and the chunks it cites."""
    if model is None or not claims.height:
        return claims
    # with the headings, which name what a passage is about
    texts = {i: index_text(passage.section_path, passage.text) for i, passage in passages.items()}
    with_question = claims.join(
        pairs.select("pair_id", "question"), on="pair_id", how="left", maintain_order="left"
    )
    requests = []
    for row in typed_rows(with_question, ClaimWithQuestionRow):
        evidence = [] if row["evidence_chunk_id"] is None else [row["evidence_chunk_id"]]
        chunk_ids = list(dict.fromkeys([*evidence, *(row["candidate_chunk_ids"] or [])]))[:_MOST_PASSAGES]
        # a fragment states nothing without the question it answers
        claim = f"{row['question'] or ''} {row['text']}".strip() if row["fragment"] else row["text"]
        requests.append(ClaimPassages(claim, tuple(texts[i] for i in chunk_ids)))
    results = search(requests, model, notify)
    columns: dict[str, list[Any]] = {
        "entailment": [result.entailment for result in results],
        "contradiction": [result.contradiction for result in results],
        "entailment_model": [model.network.name] * len(results),
        "entailment_reason": [result.reason for result in results],
    }
    return CLAIMS.conform(
        claims.with_columns(
            pl.Series(name, values, dtype=CLAIMS.schema[name]) for name, values in columns.items()
        )
    )
