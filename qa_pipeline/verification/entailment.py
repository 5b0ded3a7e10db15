"""Score how far passages entail and contradict a claim, regardless of its citations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from qa_pipeline.models.cross_encoder import EntailmentModel, Scores
from qa_pipeline.records import Passage, ProgressCallback, index_text, no_progress
from qa_pipeline.storage.table_schema import ClaimRow, typed_rows
from qa_pipeline.storage.tables import CLAIMS


class ClaimWithQuestionRow(ClaimRow):
    """A claim with the question of its pair."""

    question: str | None


_MOST_PASSAGES = 8
"""Maximum passages read for a claim: its evidence, then by shared words. Time grows with each passage."""
_WINDOW_TOKENS, _OVERLAP = 320, 64
"""Maximum tokens of a passage in one input, and the overlap of two windows in tokens."""
_LEAST_ROOM = 0.5
"""Minimum share of an input that a claim must leave to the passage."""
_GROUP = 256
"""Claims read together. Larger groups fill batches of the model better and need more memory."""


@dataclass(frozen=True, slots=True)
class ClaimEntailment:
    """Scores of a claim. `reason` has a code if a score is unknown."""

    entailment: float | None = None
    contradiction: float | None = None
    reason: str | None = None


def score_claims(
    requests: Sequence[tuple[str, Sequence[str]]],
    model: EntailmentModel,
    notify: ProgressCallback = no_progress,
    *,
    window_tokens: int = _WINDOW_TOKENS,
) -> list[ClaimEntailment]:
    """Score claims, each with its passages, against windows of these.

    A claim gets its largest entailment and its largest contradiction over all windows. The scores are unknown
    with the reason `empty_claim`, `claim_too_long`, `no_passage` or `model_nan`. A single NaN makes the
    maximum unknown.
    """
    results: list[ClaimEntailment] = []
    for start in range(0, len(requests), _GROUP):
        group = requests[start : start + _GROUP]
        windows = [_inputs(claim, passages, window_tokens, model) for claim, passages in group]
        scores = iter(model.probabilities([pair for pairs in windows for pair in pairs or ()]))
        for (claim, _), pairs in zip(group, windows, strict=True):
            results.append(_result(claim, pairs, [next(scores) for _ in pairs or ()]))
        notify(len(results), len(requests))
    return results


def _inputs(
    claim: str, passages: Sequence[str], window_tokens: int, model: EntailmentModel
) -> list[tuple[str, str]] | None:
    """Return each window of the passages with the claim, unless the claim leaves too little room."""
    room = model.room_beside(claim)
    if room < _LEAST_ROOM * model.most_tokens:
        return None
    size = min(room, window_tokens)
    return [
        (window, claim)
        for passage in passages
        for window in model.windows(passage, size, min(_OVERLAP, size // 4))
    ]


def _result(
    claim: str, inputs: Sequence[tuple[str, str]] | None, scores: Sequence[Scores]
) -> ClaimEntailment:
    """Return the largest scores over the windows of a claim, or the reason why they are unknown."""
    if not claim.strip():
        return ClaimEntailment(reason="empty_claim")
    if inputs is None:
        return ClaimEntailment(reason="claim_too_long")
    if not scores:
        return ClaimEntailment(reason="no_passage")
    entailment, _, contradiction = (float(column.max()) for column in np.stack(scores).T)
    if np.isnan(entailment):  # a window has NaN
        return ClaimEntailment(reason="model_nan")
    return ClaimEntailment(entailment, None if np.isnan(contradiction) else contradiction)


def fill_entailment(
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    passages: Mapping[str, Passage],
    model: EntailmentModel | None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Score every claim against the chunk of its evidence and the chunks it cites."""
    if model is None or not claims.height:
        return claims
    # headings name the topic of a passage
    texts = {i: index_text(passage.section_path, passage.text) for i, passage in passages.items()}
    with_question = claims.join(
        pairs.select("pair_id", "question"), on="pair_id", how="left", maintain_order="left"
    )
    requests = []
    for row in typed_rows(with_question, ClaimWithQuestionRow):
        evidence = [] if row["evidence_chunk_id"] is None else [row["evidence_chunk_id"]]
        chunk_ids = list(dict.fromkeys([*evidence, *(row["candidate_chunk_ids"] or [])]))[:_MOST_PASSAGES]
        # a fragment is only a statement together with its question
        claim = f"{row['question'] or ''} {row['text']}".strip() if row["fragment"] else row["text"]
        requests.append((claim, [texts[i] for i in chunk_ids]))
    results = score_claims(requests, model, notify)
    scored = {
        "entailment": [result.entailment for result in results],
        "contradiction": [result.contradiction for result in results],
        "entailment_model": [model.identity] * len(results),
        "entailment_reason": [result.reason for result in results],
    }
    types = {name: CLAIMS.schema[name] for name in scored}
    columns = pl.DataFrame(scored, schema=types)
    return CLAIMS.conform(claims.with_columns(columns.get_columns()))
