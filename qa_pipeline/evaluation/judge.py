"""Answers that people judged, put to the configured judge: each again and again, each pair in both orders."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.judging import judge_request
from qa_pipeline.llm.base import LanguageModel, Reply, ReplyT, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import delimit, load_prompt
from qa_pipeline.records import PairwiseReply, Passage, ProgressCallback, no_progress
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import JudgingSettings

Row = dict[str, Any]
BATCH = "evaluation"
"""Whom the calls are noted for."""
SCORES = ("relevance", "correctness", "completeness")
SCORED = pl.Schema(
    {
        "id": pl.String(),
        "repeat": pl.Int64(),
        **dict.fromkeys(SCORES, pl.Float64()),
        "overall": pl.Float64(),
        "reason": pl.String(),
    }
)
"""One row for each answer and repeat; `overall` is the mean by the weights of the composite score. A reply
that failed has a reason and no scores."""
CHOSEN = pl.Schema(
    {
        "id": pl.String(),
        "repeat": pl.Int64(),
        "swapped": pl.Boolean(),
        "choice": pl.Int64(),
        "reason": pl.String(),
    }
)
"""One row for each pair, repeat and order; `choice` is 1 for response a, -1 for b, 0 for a tie, whichever
stood first. A reply that failed has a reason and no choice."""

_FIRST = {"first": 1, "second": -1, "tie": 0}


def score_answers(
    rated: pl.DataFrame,
    model: LanguageModel,
    judging: JudgingSettings,
    llm: LLMSettings,
    repeats: int,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Have each answer scored `repeats` times, each time with another seed (`SCORED`).

    Raises:
        PermanentModelError: the judge can answer no further request.
    """
    asked = [
        ({"id": row["id"], "repeat": repeat}, _score_request(row, judging, llm.seed + repeat))
        for repeat in range(repeats)
        for row in rated.iter_rows(named=True)
    ]
    told = _ask(asked, model, llm, notify)
    return pl.DataFrame([{**of, **_scores(reply, judging)} for of, reply in told], schema=SCORED)


def _score_request(row: Row, judging: JudgingSettings, seed: int) -> Request[Any]:
    shown = Passage(
        chunk_id=row["id"],
        title="",
        section_path=(),
        text=row["passage"],
        language=row["language"],
    )
    pair = {**row, "evidence_chunk_ids": [row["id"]], "batch": BATCH}
    return judge_request(pair, {row["id"]: shown}, judging, seed)


def _scores(reply: Reply[Any] | ModelError, judging: JudgingSettings) -> Row:
    if isinstance(reply, ModelError):
        return {"reason": reply.reason}
    scores = {name: getattr(reply.value, name) for name in SCORES}
    weights = {name: getattr(judging, f"weight_{name}") for name in SCORES}
    total = sum(weights.values())
    overall = sum(scores[name] * weights[name] for name in SCORES) / total if total else None
    return {**scores, "overall": overall}


def compare_responses(
    paired: pl.DataFrame,
    model: LanguageModel,
    judging: JudgingSettings,
    llm: LLMSettings,
    repeats: int,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Have each two responses compared in both orders, `repeats` times with another seed (`CHOSEN`).

    Raises:
        PermanentModelError: the judge can answer no further request.
    """
    asked = [
        (
            {"id": row["id"], "repeat": repeat, "swapped": swapped},
            _pair_request(row, judging, llm.seed + repeat, swapped=swapped),
        )
        for repeat in range(repeats)
        for row in paired.iter_rows(named=True)
        for swapped in (False, True)
    ]
    told = _ask(asked, model, llm, notify)
    return pl.DataFrame(
        [{**of, **_choice(reply, swapped=of["swapped"])} for of, reply in told], schema=CHOSEN
    )


def _pair_request(row: Row, judging: JudgingSettings, seed: int, *, swapped: bool) -> Request[PairwiseReply]:
    prompt = load_prompt(row["language"], "judge_pairwise")
    first, second = ("b", "a") if swapped else ("a", "b")
    return Request(
        role="judge",
        system=prompt.system,
        prompt=prompt.fill(
            task=delimit(row["prompt"], "task"),
            first=delimit(row[f"response_{first}"], "first"),
            second=delimit(row[f"response_{second}"], "second"),
        ),
        reply_model=PairwiseReply,
        temperature=judging.temperature,
        seed=seed,
        language=row["language"],
        question=row["prompt"],
        batch=BATCH,
        prompt_hash=prompt.hash,
    )


def _choice(reply: Reply[Any] | ModelError, *, swapped: bool) -> Row:
    if isinstance(reply, ModelError):
        return {"reason": reply.reason}
    place = _FIRST[reply.value.preferred]
    return {"choice": -place if swapped else place}


def _ask(
    asked: Sequence[tuple[Row, Request[ReplyT]]],
    model: LanguageModel,
    llm: LLMSettings,
    notify: ProgressCallback,
) -> list[tuple[Row, Reply[ReplyT] | ModelError]]:
    """The reply to each request beside what it is about; equal requests are asked once."""
    distinct = {request.key: request for _, request in asked}
    replies = complete_all(model, list(distinct.values()), workers=llm.workers, notify=notify)
    by_key = dict(zip(distinct, replies, strict=True))
    return [(about, by_key[request.key]) for about, request in asked]
