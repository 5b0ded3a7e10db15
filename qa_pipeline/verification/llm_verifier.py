"""Decide borderline claims with a language model, in one call for claims about the same passages.

The model's reasoning is stored only for people. Each request also asks about a false claim, the probe. A
model that accepts it may not have read the passages.
"""

import hashlib
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import LanguageModel, Reply, Request, complete_all
from qa_pipeline.prompts.loading import Delimited, load_prompt, render_passages
from qa_pipeline.records import MOST_CLAIMS, ClaimReply, Passage, ProgressCallback, VerifyReply, no_progress
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.table_schema import ClaimRow, typed_rows
from qa_pipeline.text.injection import INJECTION_IN_SOURCE, hold_injections, is_injection, redact_injections
from qa_pipeline.text.reading import read
from qa_pipeline.verification import deciding
from qa_pipeline.verification.falsehoods import probe_of
from qa_pipeline.verification.sources import Source

_log = logging.getLogger(__name__)
_MOST_PASSAGES = 5  # passages in a request, as many as an answer is drafted from; more would distract


class PairClaimRow(ClaimRow):
    """A claim with the question, language and chunks of its pair."""

    question: str
    language: str
    used_chunk_ids: list[str]


def verify_claims(
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    sources: Mapping[str, Source],
    settings: VerificationSettings,
    *,
    model: LanguageModel | None = None,
    llm: LLMSettings | None = None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Decide claims locally, then ask the model, if given, about the open claims.

    `sources` are read only for the model. If every claim must be supported, a generated pair with a rejected
    claim is lost, so the model is not asked about it. Imported pairs still get a verdict for every claim.

    Raises:
        PermanentModelError: the model cannot answer further requests.
    """
    if count := deciding.scores_of_other_models(claims, settings.fitted):
        _log.warning("%d scores of entailment are of another model than the thresholds; unused", count)
    local = deciding.decide_claims(claims, pairs, settings)
    if model is None:
        return local
    open_claims = deciding.borderline(claims, local)
    if settings.accept_grounding == 1:
        rejected_ids = local.filter(pl.col("verdict").is_in(["unsupported", "contradicted"]))["pair_id"]
        is_rejected = pl.col("pair_id").is_in(rejected_ids.implode())
        rejected_pairs = pairs.filter(pl.col("origin") == "generated", is_rejected)
        open_claims = open_claims.join(rejected_pairs, on="pair_id", how="anti", maintain_order="left")
    replies = ask_verifier(open_claims, pairs, sources, model, settings, llm or LLMSettings(), notify=notify)
    return deciding.decide_claims(claims, pairs, settings, replies)


def ask_verifier(
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    sources: Mapping[str, Source],
    model: LanguageModel,
    settings: VerificationSettings,
    llm: LLMSettings,
    *,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Ask a model about every claim and return the replies in order. A failed reply is a row with its reason.

    Claims about the same passages are asked about together, each with its question. Equal requests are sent
    once. The request shows the evidence, then the other candidates, then the chunks that the pair used. Their
    injections are cut out. An accept has a reason, so that a person decides, if the request contains an
    injection, the model does not reject the probe, or the quotes are not enough (`deciding.unfounded`).
    """
    pair_columns = pairs.select("pair_id", "question", "language", "used_chunk_ids")
    with_pairs = claims.join(pair_columns, on="pair_id", maintain_order="left")
    groups = _group_by_passages(typed_rows(with_pairs, PairClaimRow), sources)
    calls = [_build_call(group, sources, settings, llm) for group in groups]
    requests_by_key = {call.request.key: call.request for call in calls}
    replies = complete_all(model, list(requests_by_key.values()), workers=llm.workers, notify=notify)
    replies_by_key = dict(zip(requests_by_key, replies, strict=True))
    columns_by_claim: dict[str, dict[str, Any]] = {}
    for call in calls:
        columns = _reply_columns(call, replies_by_key[call.request.key], sources)
        columns_by_claim |= zip((row["claim_id"] for row in call.rows), columns, strict=True)
    rows = [{"claim_id": claim_id, **columns_by_claim[claim_id]} for claim_id in claims["claim_id"]]
    return pl.DataFrame(rows, schema=deciding.REPLIES)


@dataclass(frozen=True, slots=True)
class _Call:
    """Claims that share a request. `probe_number` is the number of the false claim among them, from 1."""

    rows: Sequence[PairClaimRow]
    request: Request[VerifyReply]
    probe_number: int


def _passages(rows: Sequence[PairClaimRow], sources: Mapping[str, Source]) -> list[Passage]:
    """Return the passages for claims: evidence, candidates in turn, then chunks used by the pairs."""
    evidence = (row["evidence_chunk_id"] for row in rows)
    # the first candidate of every claim, then the second of every claim
    in_turn = chain.from_iterable(zip_longest(*(row["candidate_chunk_ids"] or () for row in rows)))
    used = chain.from_iterable(row["used_chunk_ids"] for row in rows)
    distinct: dict[str, Passage] = {}
    for chunk_id in dict.fromkeys(chain(evidence, in_turn, used)):
        if chunk_id is not None and chunk_id in sources:
            passage = sources[chunk_id].passage
            distinct.setdefault(_visible(passage), passage)
    return list(distinct.values())[:_MOST_PASSAGES]


def _visible(passage: Passage) -> str:
    """Return the text of a passage in a request, with its headings."""
    return "\n".join((passage.title, *passage.section_path, passage.text))


def _contains_injections(rows: Sequence[PairClaimRow], sources: Mapping[str, Source]) -> bool:
    """Return True if claims, their questions or their passages contain an injection."""
    texts = chain.from_iterable((_stated(row), row["question"]) for row in rows)
    return hold_injections(_passages(rows, sources)) or any(map(is_injection, texts))


def _build_call(
    rows: list[PairClaimRow], sources: Mapping[str, Source], settings: VerificationSettings, llm: LLMSettings
) -> _Call:
    """Build the request about claims, with the probe at an index drawn from their texts."""
    language = rows[0]["language"]
    prompt = load_prompt(language, "verify", llm)
    passages = tuple(map(redact_injections, _passages(rows, sources)))
    claims = [_stated(row) for row in rows]
    probe_index = hashlib.sha256("\n".join(claims).encode()).digest()[0] % (len(claims) + 1)
    # the probe has the question of the claim after it, or else of the last claim
    neighbour = rows[min(probe_index, len(rows) - 1)]
    probe: PairClaimRow = {**neighbour, "text": probe_of(passages, claims, language), "self_contained": None}
    rows_with_probe = [*rows[:probe_index], probe, *rows[probe_index:]]
    parts: list[tuple[str, str]] = []  # labels and texts
    for number, row in enumerate(rows_with_probe, start=1):
        parts += [(f"question-{number}", row["question"]), (f"claim-{number}", _stated(row))]
    request = Request(
        role="verify",
        system=prompt.system,
        prompt=prompt.fill(passages=render_passages(passages), claims=Delimited(tuple(parts))),
        reply_model=VerifyReply,
        temperature=settings.temperature,
        language=language,
        passages=passages,
        question=rows[0]["question"],
        answer="\n".join(map(_stated, rows_with_probe)),
        batch=rows[0]["batch"],
        prompt_hash=prompt.hash,
    )
    return _Call(rows, request, probe_number=probe_index + 1)


def _group_by_passages(
    rows: Iterable[PairClaimRow], sources: Mapping[str, Source]
) -> Iterator[list[PairClaimRow]]:
    """Yield the rows of each request: claims of a batch and language with the same passages."""
    groups: dict[tuple[str, ...], list[PairClaimRow]] = defaultdict(list)
    for row in rows:
        # a pair with an injection gets its own requests, so that it cannot affect other pairs
        own_pair = row["pair_id"] if _contains_injections([row], sources) else ""
        texts = sorted(map(_visible, _passages([row], sources)))
        groups[row["language"], row["batch"], own_pair, *texts].append(row)
    for group in groups.values():
        yield from (group[start : start + MOST_CLAIMS] for start in range(0, len(group), MOST_CLAIMS))


def _reply_columns(
    call: _Call, reply: Reply[VerifyReply] | ModelError, sources: Mapping[str, Source]
) -> Iterator[dict[str, Any]]:
    """Yield the columns of `REPLIES` except `claim_id` for each row of a call."""
    prompt_hash, passages = call.request.prompt_hash, call.request.passages
    if isinstance(reply, ModelError):
        for _ in call.rows:
            yield {"prompt_hash": prompt_hash, "reason": reply.reason, "detail": str(reply)}
        return
    by_number: dict[int, ClaimReply | None] = {}  # None for a claim that is decided twice
    for claim_reply in reply.value.verdicts:
        by_number[claim_reply.claim] = None if claim_reply.claim in by_number else claim_reply
    is_injected = _contains_injections(call.rows, sources)
    probe_reply = by_number.get(call.probe_number)
    rejects_probe = probe_reply is not None and probe_reply.decision == "reject"
    numbers = range(1, len(call.rows) + 2)  # of the claims and the probe
    row_replies = [by_number.get(number) for number in numbers if number != call.probe_number]
    for row, row_reply in zip(call.rows, row_replies, strict=True):
        if row_reply is None:
            detail = "the reply does not decide this claim, or twice"
            yield {"prompt_hash": prompt_hash, "reason": "no_verdict", "detail": detail}
            continue
        reason, detail = None, row_reply.reasoning  # an accept with a reason is not trusted
        if row_reply.decision == "accept":
            claim = read(row["self_contained"] or row["text"], row["language"])
            question = read(row["question"], row["language"])
            if is_injected:
                reason = INJECTION_IN_SOURCE
            elif not rejects_probe:  # also if the probe has no clear verdict
                reason = "probe_accepted"
            elif problem := deciding.unfounded(claim, question, row_reply.quotes, passages):
                reason, detail = problem
        yield {
            "prompt_hash": prompt_hash,
            "decision": row_reply.decision,
            "reason": reason,
            "detail": detail,
            "quotes": [_quote_columns(quote, passages, sources) for quote in row_reply.quotes],
            "model": reply.model,
        }


def _quote_columns(quote: str, passages: Sequence[Passage], sources: Mapping[str, Source]) -> dict[str, Any]:
    """Return a quote with its position in the document (`Source.evidence`), or alone if that is unknown."""
    match = deciding.find_quote(quote, passages)
    if match is not None:
        passage, span = match
        source = sources[passage.chunk_id]
        # otherwise the model read a gap in place of an injection, which moves the offsets after it
        if passage.text == source.passage.text:
            return source.evidence(span.start, span.end)
    return {"quote": quote}


def _stated(row: PairClaimRow) -> str:
    """Return the wording of a claim that can be understood alone. A fragment follows its question."""
    if row["self_contained"] is not None:
        return row["self_contained"]
    return f"{row['question']} — {row['text']}" if row["fragment"] else row["text"]
