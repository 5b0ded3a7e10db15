"""Decide borderline claims with a language model, in one call for claims about the same passages.

The model's reasoning is stored only for people. An accept counts only with quotes that are in the passages.
They must contain the figures and negation of the claim (`deciding.unfounded`). Each request also asks about a
false claim, the probe. A model that accepts it may not have read the passages.
"""

import hashlib
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
from qa_pipeline.verification.deciding import (
    REPLIES,
    borderline,
    decide_claims,
    find_quote,
    scores_of_other_models,
    unfounded,
)
from qa_pipeline.verification.falsehoods import probe_of
from qa_pipeline.verification.sources import Source, sources_of

_log = logging.getLogger(__name__)
_MOST_PASSAGES = 5
"""Maximum passages in a request, as many as an answer is drafted from. More would be a distraction."""


class PairClaimRow(ClaimRow):
    """A claim with the question, language and chunks of its pair."""

    question: str
    language: str
    used_chunk_ids: list[str]


def verify_claims(
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    settings: VerificationSettings,
    *,
    model: LanguageModel | None = None,
    llm: LLMSettings | None = None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Decide the claims of a batch locally, and the borderline claims with a model if given.

    Raises:
        PermanentModelError: the model cannot answer further requests.
    """
    sources = {} if model is None else sources_of(documents, chunks)
    drafted = pairs.filter(pl.col("origin") == "generated")["pair_id"]
    llm = llm or LLMSettings()
    return decide_with_model(claims, pairs, sources, settings, model, llm, drafted=drafted, notify=notify)


def decide_with_model(
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    sources: Mapping[str, Source],
    settings: VerificationSettings,
    model: LanguageModel | None,
    llm: LLMSettings,
    *,
    drafted: Collection[str] = (),
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Decide claims locally, then ask the model, if given, about the open claims.

    If every claim must be supported, the model is not asked about `drafted` pairs with a rejected claim.
    """
    if count := scores_of_other_models(claims, settings.fitted):
        _log.warning("%d scores of entailment are of another model than the thresholds; unused", count)
    local = decide_claims(claims, pairs, settings)
    if model is None:
        return local
    open_claims = borderline(claims, local)
    if settings.accept_grounding == 1:
        rejected = local.filter(pl.col("verdict").is_in(["unsupported", "contradicted"]))["pair_id"]
        hopeless = set(rejected).intersection(drafted)
        open_claims = open_claims.filter(~pl.col("pair_id").is_in(list(hopeless)))
    replies = ask_verifier(open_claims, pairs, sources, model, settings, llm, notify=notify)
    return decide_claims(claims, pairs, settings, replies)


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
    injections are cut out. An accept carries a reason, and a person decides, if

    - its request contains an injection (`injection_in_source`);
    - the model also accepted the probe among the claims (`probe_accepted`);
    - the quote is missing, or is not in the passages (`no_quote`, `quote_not_found`);
    - the quote lacks a number, date or identifier of the claim (`quote_lacks_figure`), or its negation
      (`quote_lacks_negation`).
    """
    pair_columns = pairs.select("pair_id", "question", "language", "used_chunk_ids")
    with_pairs = claims.join(pair_columns, on="pair_id", maintain_order="left")
    calls = [_call(group, sources, settings, llm) for group in _groups(with_pairs, sources)]
    requests = {call.request.key: call.request for call in calls}
    outcomes = complete_all(model, list(requests.values()), workers=llm.workers, notify=notify)
    replies = dict(zip(requests, outcomes, strict=True))
    verdicts: dict[str, dict[str, Any]] = {}
    for call in calls:
        columns = _verdicts(call, replies[call.request.key], sources)
        verdicts |= zip((row["claim_id"] for row in call.rows), columns, strict=True)
    rows = [{"claim_id": claim_id, **verdicts[claim_id]} for claim_id in claims["claim_id"]]
    return pl.DataFrame(rows, schema=REPLIES)


@dataclass(frozen=True, slots=True)
class _Call:
    """Claims that share a request. `probe` is the number of the false claim among them."""

    rows: Sequence[PairClaimRow]
    request: Request[VerifyReply]
    probe: int


def _passages(rows: Sequence[PairClaimRow], sources: Mapping[str, Source]) -> list[Passage]:
    """Return the passages for claims: evidence, candidates in turn, then chunks used by the pairs."""
    evidence = (row["evidence_chunk_id"] for row in rows)
    in_turn = chain.from_iterable(zip_longest(*(row["candidate_chunk_ids"] or () for row in rows)))
    used = chain.from_iterable(row["used_chunk_ids"] for row in rows)
    chunk_ids = dict.fromkeys(chain(evidence, in_turn, used))
    known = [sources[chunk_id] for chunk_id in chunk_ids if chunk_id is not None and chunk_id in sources]
    return [source.passage for source in known[:_MOST_PASSAGES]]


def _contains_injections(rows: Sequence[PairClaimRow], sources: Mapping[str, Source]) -> bool:
    """Return True if claims, their questions or their passages contain an injection."""
    texts = chain.from_iterable((_stated(row), row["question"]) for row in rows)
    return hold_injections(_passages(rows, sources)) or any(map(is_injection, texts))


def _placed(quote: str, passages: Sequence[Passage], sources: Mapping[str, Source]) -> dict[str, Any]:
    """Return a quote with its position in the document, or alone if the position is unknown."""
    match = find_quote(quote, passages)
    if match is None:
        return {"quote": quote}
    source = sources[match.passage.chunk_id]
    if match.passage.text != source.passage.text:  # an injection was cut out of it
        return {"quote": quote}
    return source.placed(match.start, match.end)


def _call(
    rows: Sequence[PairClaimRow],
    sources: Mapping[str, Source],
    settings: VerificationSettings,
    llm: LLMSettings,
) -> _Call:
    """Build the request about claims, with the probe at a position drawn from their texts."""
    language = rows[0]["language"]
    prompt = load_prompt(language, "verify", llm)
    passages = tuple(map(redact_injections, _passages(rows, sources)))
    claims = [_stated(row) for row in rows]
    position = hashlib.sha256("\n".join(claims).encode()).digest()[0] % (len(claims) + 1)
    # the probe takes the question of the claim at this index, and is a fragment if that claim is
    neighbour = rows[min(position, len(rows) - 1)]
    probe: PairClaimRow = {
        **neighbour,
        "text": probe_of(passages, claims, language).text,
        "self_contained": None,
    }
    request_rows = [*rows[:position], probe, *rows[position:]]
    parts: list[tuple[str, str]] = []
    for number, row in enumerate(request_rows, start=1):
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
        answer="\n".join(map(_stated, request_rows)),
        batch=rows[0]["batch"],
        prompt_hash=prompt.hash,
    )
    return _Call(rows, request, position + 1)


def _groups(claims: pl.DataFrame, sources: Mapping[str, Source]) -> list[list[PairClaimRow]]:
    """Return the rows of each request, in the order of their first rows.

    Claims of one pair stay together, and join earlier pairs with exactly the same passages. A pair with an
    injection gets its own request, so that it cannot affect other pairs.
    """
    groups: list[list[PairClaimRow]] = []
    last_group: dict[tuple[str, ...], list[PairClaimRow]] = {}  # by language, batch and passages
    for pair_rows in _split_by_pair(typed_rows(claims, PairClaimRow), sources):
        texts = sorted(passage.text for passage in _passages(pair_rows, sources))
        key = (pair_rows[0]["language"], pair_rows[0]["batch"], *texts)
        group = last_group.get(key)
        if _contains_injections(pair_rows, sources):
            groups.append(pair_rows)
        elif group is not None and len(group) + len(pair_rows) <= MOST_CLAIMS:
            group += pair_rows
        else:
            groups.append(pair_rows)
            last_group[key] = pair_rows
    return groups


def _split_by_pair(
    rows: Iterable[PairClaimRow], sources: Mapping[str, Source]
) -> Iterator[list[PairClaimRow]]:
    """Yield rows of a pair, with at most as much evidence as a request shows."""
    group: list[PairClaimRow] = []
    for row in rows:
        is_other_pair = bool(group) and row["pair_id"] != group[0]["pair_id"]
        evidence = {member["evidence_chunk_id"] for member in (*group, row)} & sources.keys()
        if is_other_pair or len(group) == MOST_CLAIMS or len(evidence) > _MOST_PASSAGES:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _by_number(reply: VerifyReply) -> dict[int, ClaimReply | None]:
    """Return the reply about each claim, or None if the reply decides it twice."""
    replies: dict[int, ClaimReply | None] = {}
    for verdict in reply.verdicts:
        replies[verdict.claim] = None if verdict.claim in replies else verdict
    return replies


def _verdicts(
    call: _Call, reply: Reply[VerifyReply] | ModelError, sources: Mapping[str, Source]
) -> Iterator[dict[str, Any]]:
    """Yield the columns of `REPLIES` for each row of a request."""
    same: dict[str, Any] = {"prompt_hash": call.request.prompt_hash}
    if isinstance(reply, ModelError):
        yield from ({**same, "reason": reply.reason, "detail": str(reply)} for _ in call.rows)
        return
    replies = _by_number(reply.value)
    is_injected = _contains_injections(call.rows, sources)
    probe_reply = replies.get(call.probe)
    rejects_probe = probe_reply is not None and probe_reply.decision == "reject"
    numbers = (number for number in range(1, len(call.rows) + 2) if number != call.probe)
    for row, number in zip(call.rows, numbers, strict=False):
        claim_reply = replies.get(number)
        if claim_reply is None:
            yield {**same, "reason": "no_verdict", "detail": "the reply does not decide this claim, or twice"}
            continue
        reason, detail = None, claim_reply.reasoning
        if claim_reply.decision == "accept":
            claim = read(row["self_contained"] or row["text"], row["language"])
            question = read(row["question"], row["language"])
            if is_injected:
                reason = INJECTION_IN_SOURCE
            elif not rejects_probe:
                reason = "probe_accepted"
            elif problem := unfounded(claim, question, claim_reply.quotes, call.request.passages):
                reason, detail = problem
        yield {
            **same,
            "decision": claim_reply.decision,
            "reason": reason,
            "detail": detail,
            "quotes": [_placed(quote, call.request.passages, sources) for quote in claim_reply.quotes],
            "model": reply.model,
        }


def _stated(row: PairClaimRow) -> str:
    """Return the wording of a claim that can be understood alone. A fragment follows its question."""
    if row["self_contained"] is not None:
        return row["self_contained"]
    return f"{row['question']} — {row['text']}" if row["fragment"] else row["text"]
