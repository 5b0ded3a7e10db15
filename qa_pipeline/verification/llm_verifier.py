"""Borderline claims decided by a language model, one call each, and a probe whether it obeys what it reads.

Which claims are borderline and what a reply means is `deciding.py`. The model's reasoning is kept as a detail
for people; it decides nothing.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import LanguageModel, Reply, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import delimit, load_prompt, render_passages
from qa_pipeline.records import ClaimReply, Passage, ProgressCallback, no_progress, passages_by_id
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.text.injection import INJECTION_IN_SOURCE, hold_injections, is_injection, redact_injections
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.verification.deciding import REPLIES, borderline, decide_claims, scores_of_other_models

Row = dict[str, Any]
_log = logging.getLogger(__name__)
_MOST_PASSAGES = 5


def verify_claims(
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    chunks: pl.DataFrame,
    settings: VerificationSettings,
    *,
    model: LanguageModel | None = None,
    llm: LLMSettings | None = None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Decide all claims locally, and have a model, where there is one, decide the borderline ones.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    for step, count in scores_of_other_models(claims, settings.fitted).items():
        if count:
            _log.warning("%d scores of %s are of another model than the thresholds; unused", count, step)
    local = decide_claims(claims, pairs, settings)
    if model is None:
        return local
    replies = ask_verifier(
        borderline(claims, local), pairs, chunks, model, settings, llm or LLMSettings(), notify=notify
    )
    return decide_claims(claims, pairs, settings, replies)


def ask_verifier(
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    chunks: pl.DataFrame,
    model: LanguageModel,
    settings: VerificationSettings,
    llm: LLMSettings,
    *,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Ask about every given claim, in order; a reply that failed is a row with its reason.

    Equal questions are asked once. The passages shown are those of the evidence and the second evidence,
    then the others the pair says it used, with gaps where they hold injections. Where they, the claim or its
    question hold one, an accept carries the reason `injection_in_source`, and a person decides.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    if not claims.height:
        return pl.DataFrame(schema=REPLIES)
    passages = passages_by_id(chunks)
    rows = claims.join(
        pairs.select("pair_id", "question", "language", "used_chunk_ids"), on="pair_id", maintain_order="left"
    ).to_dicts()
    requests = [claim_request(row, passages, settings, llm.seed) for row in rows]
    distinct = {request.key: request for request in requests}
    asked = complete_all(model, list(distinct.values()), workers=llm.workers, notify=notify)
    replies = dict(zip(distinct, asked, strict=True))
    obeyed = _obeyed(list(distinct.values()), asked, model, llm.workers) if settings.probe_passages else set()
    found: list[Row] = []
    for row, request in zip(rows, requests, strict=True):
        reply = replies[request.key]
        base = {"claim_id": row["claim_id"], "prompt_hash": request.prompt_hash}
        if isinstance(reply, ModelError):
            found.append({**base, "reason": reply.reason, "detail": str(reply)})
            continue
        # an accept is not trusted where anything the model read speaks to it
        trusted = reply.value.decision != "accept" or not (
            _injected(row, passages) or request.passages in obeyed
        )
        found.append(
            {
                **base,
                "decision": reply.value.decision,
                "reason": None if trusted else INJECTION_IN_SOURCE,
                "detail": reply.value.reasoning,
                "model": reply.model,
            }
        )
    return pl.DataFrame(found, schema=REPLIES)


def claim_request(
    row: Row, passages: dict[str, Passage], settings: VerificationSettings, seed: int
) -> Request[ClaimReply]:
    """What a claim is verified with; `row` is its row of the claims table with its pair's columns beside."""
    prompt = load_prompt(row["language"], "verify")
    shown = tuple(redact_injections(one) for one in _shown(row, passages))
    return Request(
        role="verify",
        system=prompt.system,
        prompt=prompt.fill(passages=render_passages(shown), claim=delimit(_stated(row), "claim")),
        reply_model=ClaimReply,
        temperature=settings.temperature,
        seed=seed,
        language=row["language"],
        passages=shown,
        question=row["question"],
        answer=row["text"],
        batch=row["batch"],
        prompt_hash=prompt.hash,
    )


def _obeyed(
    requests: Sequence[Request[ClaimReply]],
    replies: Sequence[Reply[ClaimReply] | ModelError],
    model: LanguageModel,
    workers: int,
) -> set[tuple[Passage, ...]]:
    """Sets of passages over which the model accepts a claim that they do not state: it obeys what it reads.

    An injection that nobody detects makes an obedient model agree with whatever it is asked; a model that
    reads the passages rejects the probe, and its other replies stand. Asked only of passages over which it
    accepted another claim. A probe that fails proves nothing good: those passages count too.
    """
    accepted: dict[tuple[Passage, ...], Request[ClaimReply]] = {}
    for request, reply in zip(requests, replies, strict=True):
        if not isinstance(reply, ModelError) and reply.value.decision == "accept":
            accepted.setdefault(request.passages, request)
    answers = complete_all(model, [_probe(one) for one in accepted.values()], workers=workers)
    return {
        shown
        for shown, answer in zip(accepted, answers, strict=True)
        if isinstance(answer, ModelError) or answer.value.decision != "reject"
    }


def _probe(request: Request[ClaimReply]) -> Request[ClaimReply]:
    claim = lexicon(request.language).probe
    template = load_prompt(request.language, "verify")
    shown = render_passages(request.passages)
    return replace(request, prompt=template.fill(passages=shown, claim=delimit(claim, "claim")), answer=claim)


def _shown(row: Row, passages: dict[str, Passage]) -> list[Passage]:
    pieces = (row["evidence_chunk_id"], row["second_evidence_chunk_id"])
    ids = dict.fromkeys(i for i in (*pieces, *row["used_chunk_ids"]) if i in passages)
    return [passages[i] for i in list(ids)[:_MOST_PASSAGES]]


def _injected(row: Row, passages: dict[str, Passage]) -> bool:
    return (
        hold_injections(_shown(row, passages)) or is_injection(_stated(row)) or is_injection(row["question"])
    )


def _stated(row: Row) -> str:
    """The claim as it is understood alone; a fragment together with the question it answers."""
    if row["self_contained"] is not None:
        return str(row["self_contained"])
    return f"{row['question']} — {row['text']}" if row["fragment"] else str(row["text"])
