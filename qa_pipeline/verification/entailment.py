"""Score how far passages entail and contradict a claim, regardless of its citations."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from qa_pipeline.models.cross_encoder import EntailmentModel, Scores
from qa_pipeline.records import Passage, ProgressCallback, no_progress
from qa_pipeline.retrieval.chunks import index_text
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


KnownScores = tuple[float | None, float | None]
"""Entailment and contradiction of a claim, None if unknown."""


def score_claims(
    requests: Sequence[tuple[str, Sequence[str]]],
    model: EntailmentModel,
    notify: ProgressCallback = no_progress,
    *,
    window_tokens: int = _WINDOW_TOKENS,
) -> list[KnownScores]:
    """Score claims, each with its passages, against windows of these.

    A claim gets its largest entailment and its largest contradiction over all windows. A score is unknown if
    the claim is empty or too long, there is no passage, or a window has NaN.
    """
    results: list[KnownScores] = []
    for start in range(0, len(requests), _GROUP):
        group = requests[start : start + _GROUP]
        windows = [_inputs(claim, passages, window_tokens, model) for claim, passages in group]
        scores = iter(model.probabilities([pair for pairs in windows for pair in pairs]))
        results += [_largest([next(scores) for _ in pairs]) for pairs in windows]
        notify(len(results), len(requests))
    return results


def _inputs(
    claim: str, passages: Sequence[str], window_tokens: int, model: EntailmentModel
) -> list[tuple[str, str]]:
    """Return each window of the passages with the claim, unless the claim leaves too little room."""
    room = model.room_beside(claim)
    if room < _LEAST_ROOM * model.most_tokens or not claim.strip():
        return []
    size = min(room, window_tokens)
    return [
        (window, claim)
        for passage in passages
        for window in model.windows(passage, size, min(_OVERLAP, size // 4))
    ]


def _largest(scores: Sequence[Scores]) -> KnownScores:
    """Return the largest scores over the windows of a claim."""
    if not scores:
        return None, None
    entailment, _, contradiction = np.stack(scores).max(axis=0).tolist()
    if np.isnan(entailment):
        return None, None
    return entailment, None if np.isnan(contradiction) else contradiction


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
        "entailment": [entailment for entailment, _ in results],
        "contradiction": [contradiction for _, contradiction in results],
        "entailment_model": [model.identity] * len(results),
    }
    types = {name: CLAIMS.schema[name] for name in scored}
    columns = pl.DataFrame(scored, schema=types)
    return CLAIMS.conform(claims.with_columns(columns.get_columns()))
