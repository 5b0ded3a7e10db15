"""Borderline claims decided by a language model, those of one answer and its passages in one call.

Which claims are borderline and what a reply means is `deciding.py`. The model's reasoning is kept as a detail
for people; it decides nothing. An accept is taken only with a quote that is in the passages and holds what
must not be missing, and from a model that rejects a claim which the passages do not state.
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import LanguageModel, Reply, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import delimit_all, load_prompt, probe, render_passages
from qa_pipeline.records import (
    ClaimReply,
    Passage,
    ProgressCallback,
    VerifyReply,
    no_progress,
    passages_by_id,
)
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.rows import ClaimRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.text.injection import INJECTION_IN_SOURCE, hold_injections, is_injection, redact_injections
from qa_pipeline.verification.citations import locate_quote
from qa_pipeline.verification.consistency.proof import lacking
from qa_pipeline.verification.consistency.reading import read
from qa_pipeline.verification.deciding import REPLIES, borderline, decide_claims, scores_of_other_models


class PairClaimRow(ClaimRow):
    """Hold a claim with what its pair says of it."""

    question: str
    language: str
    used_chunk_ids: list[str]


_log = logging.getLogger(__name__)
_MOST_PASSAGES = 5
_MOST_CLAIMS = 8
"""Claims of one request: enough for nearly every answer, few enough to be read one by one."""


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

    Claims of one pair are asked about together; equal requests are sent once. The passages shown are those
    of the evidence and the second evidence, then the others the pair says it used, with gaps where they hold
    injections. An accept carries a reason, and a person decides, where

    - the passages, the claim or its question hold an injection (`injection_in_source`);
    - the model accepted the probe among the claims too (`probe_accepted`);
    - it names no quote, or one that is in none of the passages (`no_quote`, `quote_not_found`);
    - a number, date, name, negation, quantifier, modal or condition is missing there (`quote_lacks_words`).

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    if not claims.height:
        return pl.DataFrame(schema=REPLIES)
    passages = passages_by_id(chunks)
    with_pairs = claims.join(
        pairs.select("pair_id", "question", "language", "used_chunk_ids"), on="pair_id", maintain_order="left"
    )
    groups = list(_groups(typed_rows(with_pairs, PairClaimRow), passages))
    requests = [claims_request(group, passages, settings, llm.seed) for group in groups]
    distinct = {request.key: request for request in requests}
    outcomes = complete_all(model, list(distinct.values()), workers=llm.workers, notify=notify)
    replies = dict(zip(distinct, outcomes, strict=True))
    verdicts = [
        {"claim_id": row["claim_id"], "prompt_hash": request.prompt_hash, **reply}
        for group, request in zip(groups, requests, strict=True)
        for row, reply in zip(
            group, _verdicts(group, request, replies[request.key], settings, passages), strict=True
        )
    ]
    return pl.DataFrame(verdicts, schema=REPLIES)


def claims_request(
    rows: Sequence[PairClaimRow], passages: dict[str, Passage], settings: VerificationSettings, seed: int
) -> Request[VerifyReply]:
    """Return the request to verify claims of one pair, rows of the claims table with their pair's columns."""
    language = rows[0]["language"]
    prompt = load_prompt(language, "verify")
    visible = tuple(redact_injections(passage) for passage in _passages_shown(rows, passages))
    stated = _with_probe([_stated(row) for row in rows], language, settings)
    return Request(
        role="verify",
        system=prompt.system,
        prompt=prompt.fill(passages=render_passages(visible), claims=delimit_all(stated, "claim")),
        reply_model=VerifyReply,
        temperature=settings.temperature,
        seed=seed,
        language=language,
        passages=visible,
        question=rows[0]["question"],
        answer="\n".join(stated),
        batch=rows[0]["batch"],
        prompt_hash=prompt.hash,
    )


def _groups(rows: Iterable[PairClaimRow], passages: dict[str, Passage]) -> Iterator[list[PairClaimRow]]:
    """Yield rows for one request: of one pair, with no more evidence than one request shows."""
    group: list[PairClaimRow] = []
    for row in rows:
        together = [*group, row]
        if group and (
            row["pair_id"] != group[0]["pair_id"]
            or len(together) > _MOST_CLAIMS
            or len(_evidence(together, passages)) > _MOST_PASSAGES
        ):
            yield group
            together = [row]
        group = together
    yield group


def _with_probe(claims: list[str], language: str, settings: VerificationSettings) -> list[str]:
    """Return the claims, with one that no passage states at a place that depends on them."""
    if not settings.probe_passages:
        return claims
    place = _probe_place(claims)
    return [*claims[:place], probe(language), *claims[place:]]


def _probe_place(claims: Sequence[str]) -> int:
    return hashlib.sha256("\n".join(claims).encode()).digest()[0] % (len(claims) + 1)


def _verdicts(
    rows: Sequence[PairClaimRow],
    request: Request[VerifyReply],
    reply: Reply[VerifyReply] | ModelError,
    settings: VerificationSettings,
    passages: dict[str, Passage],
) -> Iterator[dict[str, Any]]:
    """Yield the columns of `REPLIES` that a reply gives for each row of its request."""
    if isinstance(reply, ModelError):
        yield from ({"reason": reply.reason, "detail": str(reply)} for _ in rows)
        return
    replies: dict[int, ClaimReply | None] = {}
    for verdict in reply.value.verdicts:
        replies[verdict.claim] = None if verdict.claim in replies else verdict
    numbers = list(range(1, len(rows) + 1 + settings.probe_passages))
    obeys = False
    if settings.probe_passages:
        probed = replies.get(numbers.pop(_probe_place([_stated(row) for row in rows])))
        obeys = probed is None or probed.decision != "reject"
    for row, number in zip(rows, numbers, strict=True):
        claim_reply = replies.get(number)
        if claim_reply is None:
            yield {"reason": "no_verdict", "detail": "the reply does not decide this claim, or twice"}
            continue
        reason, detail = None, claim_reply.reasoning
        if claim_reply.decision == "accept":
            if _injected(row, passages):
                reason = INJECTION_IN_SOURCE
            elif obeys:
                reason = "probe_accepted"
            elif problem := _unfounded(row, claim_reply.quotes, request.passages):
                reason, detail = problem
        yield {
            "decision": claim_reply.decision,
            "reason": reason,
            "detail": detail,
            "quotes": claim_reply.quotes,
            "model": reply.model,
        }


def _unfounded(
    row: PairClaimRow, quotes: Sequence[str], visible: Sequence[Passage]
) -> tuple[str, str] | None:
    """Return reason and words where the quotes of an accept do not prove it; None where they do."""
    language = row["language"]
    stated_quotes = [quote for quote in quotes if quote.strip()]
    if not stated_quotes:
        return "no_quote", "accepted without naming a quote"
    headings = []
    for quote in stated_quotes:
        place = next(
            (passage for passage in visible if locate_quote(quote, passage.text, language=language)), None
        )
        if place is None:
            return "quote_not_found", f"not in the passages: {quote}"
        headings += [place.title, *place.section_path]
    missing = lacking(
        read(_stated(row), language),
        read("\n".join(stated_quotes), language),
        read("\n".join(headings), language),
    )
    return ("quote_lacks_words", f"not in the quotes: {', '.join(missing)}") if missing else None


def _evidence(rows: Sequence[PairClaimRow], passages: Mapping[str, Passage]) -> list[str]:
    pieces = (piece for row in rows for piece in (row["evidence_chunk_id"], row["second_evidence_chunk_id"]))
    return list(dict.fromkeys(piece for piece in pieces if piece is not None and piece in passages))


def _passages_shown(rows: Sequence[PairClaimRow], passages: Mapping[str, Passage]) -> list[Passage]:
    used = (chunk_id for chunk_id in rows[0]["used_chunk_ids"] if chunk_id in passages)
    ids = dict.fromkeys([*_evidence(rows, passages), *used])
    return [passages[chunk_id] for chunk_id in list(ids)[:_MOST_PASSAGES]]


def _injected(row: PairClaimRow, passages: Mapping[str, Passage]) -> bool:
    return (
        hold_injections(_passages_shown([row], passages))
        or is_injection(_stated(row))
        or is_injection(row["question"])
    )


def _stated(row: PairClaimRow) -> str:
    """Return the claim as it is understood alone; a fragment follows the question it answers."""
    if row["self_contained"] is not None:
        return str(row["self_contained"])
    return f"{row['question']} — {row['text']}" if row["fragment"] else str(row["text"])
