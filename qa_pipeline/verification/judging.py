"""Assess the quality of verified pairs with a language model.

Scores come only from a judge. They are null without a judge, or if its reply cannot be read.
"""

from collections.abc import Sequence

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import LanguageModel, Reply, Request, complete_all, maker
from qa_pipeline.prompts.loading import delimit, load_prompt, render_passages
from qa_pipeline.records import JudgeReply, Passage, ProgressCallback, no_progress, passages_by_id
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import JudgingSettings
from qa_pipeline.storage.table_schema import AssessmentColumns, DraftedPairRow, typed_rows
from qa_pipeline.storage.tables import ASSESSMENTS
from qa_pipeline.text.injection import INJECTION_IN_SOURCE, hold_injections, is_injection, redact_injections
from qa_pipeline.verification.outcomes import decided_claims, evidence_passages, grounded_pairs


class ProvedPairRow(DraftedPairRow):
    """A pair with the chunks that support its claims."""

    evidence_chunk_ids: list[str]


def assess_pairs(
    *,
    pairs: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
    chunks: pl.DataFrame,
    model: LanguageModel | None,
    settings: JudgingSettings,
    accept_grounding: float,
    llm: LLMSettings,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Judge every pair that passed source verification, with a call for each, in the order of `pairs`.

    The judge reads the chunks of the evidence, not the passages of the draft. If these chunks, the question
    or the answer contain an injection, the reason is `injection_in_source`. Scores of such a row are stored
    but are not enough to accept the pair. Without a model every row is not_judged.

    Raises:
        PermanentModelError: the judge cannot answer further requests.
    """
    passed = grounded_pairs(pairs, claims, claim_verdicts, accept_grounding=accept_grounding)
    if model is None or not settings.enabled:
        return ASSESSMENTS.frame([not_judged(*ids) for ids in passed.select("pair_id", "batch").iter_rows()])
    rows = with_evidence(passed, claims, claim_verdicts)
    judged = judge_rows(rows, passages_by_id(chunks), model, settings, llm=llm, notify=notify)
    return ASSESSMENTS.frame(judged)


def judge_rows(
    rows: Sequence[ProvedPairRow],
    passages: dict[str, Passage],
    model: LanguageModel,
    settings: JudgingSettings,
    *,
    llm: LLMSettings,
    notify: ProgressCallback = no_progress,
) -> list[AssessmentColumns]:
    """Judge each pair in its own call and return the assessments, in the order of `rows`."""
    judgeable = [  # with evidence, and all chunks of it are known
        row for row in rows if row["evidence_chunk_ids"] and passages.keys() >= {*row["evidence_chunk_ids"]}
    ]
    requests = [judge_request(row, passages, settings, llm) for row in judgeable]
    replies = complete_all(model, requests, workers=llm.workers, notify=notify)
    judged = {
        row["pair_id"]: _assessment(row, request, reply, model.name, passages)
        for row, request, reply in zip(judgeable, requests, replies, strict=True)
    }
    return [judged.get(row["pair_id"]) or _without_evidence(row) for row in rows]


def with_evidence(
    pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame
) -> list[ProvedPairRow]:
    """Return the rows of `pairs` with the distinct chunks that prove their claims, in claim order."""
    chunk_ids = pl.col("evidence_chunk_id").drop_nulls().unique(maintain_order=True)
    evidence = (
        decided_claims(claims, claim_verdicts)
        .filter(pl.col("verdict") == "supported")
        .join(evidence_passages(claims, claim_verdicts), on="claim_id", maintain_order="left_right")
        .group_by("pair_id", maintain_order=True)
        .agg(evidence_chunk_ids=chunk_ids)
    )
    joined = pairs.join(evidence, on="pair_id", how="left", maintain_order="left")
    return list(typed_rows(joined.with_columns(pl.col("evidence_chunk_ids").fill_null([])), ProvedPairRow))


def judge_request(
    row: ProvedPairRow, passages: dict[str, Passage], settings: JudgingSettings, llm: LLMSettings
) -> Request[JudgeReply]:
    """Return the request to judge a pair with its evidence."""
    prompt = load_prompt(row["language"], "judge", llm)
    evidence = tuple(redact_injections(passages[chunk_id]) for chunk_id in row["evidence_chunk_ids"])
    return Request(
        role="judge",
        system=prompt.system,
        prompt=prompt.fill(
            passages=render_passages(evidence),
            question=delimit(row["question"], "question"),
            answer=delimit(row["answer"], "answer"),
        ),
        reply_model=JudgeReply,
        temperature=settings.temperature,
        language=row["language"],
        passages=evidence,
        question=row["question"],
        answer=row["answer"],
        batch=row["batch"],
        prompt_hash=prompt.hash,
    )


def not_judged(pair_id: str, batch: str) -> AssessmentColumns:
    """Return the assessment of a pair without a judge."""
    ids: AssessmentColumns = {"pair_id": pair_id, "batch": batch}
    return {**ids, "status": "not_judged", "reason": "no_judge", "detail": "no judge is configured"}


def _without_evidence(pair: ProvedPairRow) -> AssessmentColumns:
    """Return the assessment of a pair whose evidence is missing. Scores without evidence would mislead."""
    detail = "no supported claim names chunks of the batch as evidence"
    ids: AssessmentColumns = {"pair_id": pair["pair_id"], "batch": pair["batch"]}
    return {**ids, "status": "failed", "reason": "no_evidence", "detail": detail}


def _assessment(
    pair: ProvedPairRow,
    request: Request[JudgeReply],
    reply: Reply[JudgeReply] | ModelError,
    judge: str,
    passages: dict[str, Passage],
) -> AssessmentColumns:
    """Return the assessment of a pair from the judge's reply or its failure."""
    common: AssessmentColumns = {
        "pair_id": pair["pair_id"],
        "batch": pair["batch"],
        "judge": maker(judge, reply),
        "prompt_hash": request.prompt_hash,
    }
    if isinstance(reply, ModelError):
        return {**common, "status": "failed", "reason": reply.reason, "detail": str(reply)}
    evidence = [passages[chunk_id] for chunk_id in pair["evidence_chunk_ids"]]
    injected = hold_injections(evidence) or is_injection(pair["question"]) or is_injection(pair["answer"])
    reason = INJECTION_IN_SOURCE if injected else None
    return {**common, "status": "judged", "reason": reason, **reply.value.model_dump()}
