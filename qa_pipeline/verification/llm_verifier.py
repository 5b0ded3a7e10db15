"""Borderline claims decided by a language model, those about the same passages in one call.

Which claims are borderline and what a reply means is `deciding.py`. The model's reasoning is kept as a detail
for people; it decides nothing. An accept is taken only with quotes that are in the passages and hold the
figures and the negation of the claim (`model_quotes.py`).
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import LanguageModel, Reply, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import Delimited, load_prompt, render_passages
from qa_pipeline.records import (
    ClaimReply,
    Passage,
    ProgressCallback,
    VerifyReply,
    no_progress,
    passages_by_id,
    verify_reply,
)
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.rows import ClaimRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.text.injection import INJECTION_IN_SOURCE, hold_injections, is_injection, redact_injections
from qa_pipeline.text.reading import read
from qa_pipeline.verification.deciding import (
    NOT_TRUSTED,
    REPLIES,
    borderline,
    decide_claims,
    scores_of_other_models,
)
from qa_pipeline.verification.falsehoods import probe_of
from qa_pipeline.verification.model_quotes import find_quote, unfounded
from qa_pipeline.verification.sources import Source, sources_of

_log = logging.getLogger(__name__)
_MOST_PASSAGES = 5
"""Passages of one request, as many as an answer is drafted from: more dilute what each claim is read with."""
_TRIAL = 3
"""Requests after which a model that accepted the false claim of each is not asked again in the batch."""
_MOST_CLAIMS = 8
"""Claims of one request: enough for nearly every answer, few enough to be read one by one."""


class PairClaimRow(ClaimRow):
    """Hold a claim with what its pair says of it."""

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
    """Decide all claims locally, and have a model, where there is one, decide the borderline ones.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    if count := scores_of_other_models(claims, settings.fitted):
        _log.warning("%d scores of entailment are of another model than the thresholds; unused", count)
    local = decide_claims(claims, pairs, settings)
    if model is None:
        return local
    replies = ask_verifier(
        borderline(claims, local),
        pairs,
        passages_by_id(chunks),
        sources_of(documents, chunks),
        model,
        settings,
        llm or LLMSettings(),
        notify=notify,
    )
    return decide_claims(claims, pairs, settings, replies)


def ask_verifier(
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    passages: Mapping[str, Passage],
    sources: Mapping[str, Source],
    model: LanguageModel,
    settings: VerificationSettings,
    llm: LLMSettings,
    *,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Ask about every given claim, in order; a reply that failed is a row with its reason.

    Claims about the same passages are asked about together, each with its question; equal requests are sent
    once. The passages shown are those of the evidence, the other candidates, and then those the pair says it
    used, with gaps where they hold injections. An accept carries a reason, and a person decides, where

    - something in its request holds an injection (`injection_in_source`);
    - the model accepted the probe among the claims too (`probe_accepted`);
    - it names no quote, or one that is in none of the passages (`no_quote`, `quote_not_found`);
    - a number, date or identifier of the claim is missing there (`quote_lacks_figure`), or a negation
      (`quote_lacks_negation`).

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    if not claims.height:
        return pl.DataFrame(schema=REPLIES)
    with_pairs = claims.join(
        pairs.select("pair_id", "question", "language", "used_chunk_ids"),
        on="pair_id",
        maintain_order="left",
    )
    readable = _Readable(passages, sources)
    groups = _groups(typed_rows(with_pairs, PairClaimRow), readable)
    calls = [_call(group, readable, settings, llm) for group in groups]
    requests = {call.request.key: call.request for call in calls}
    replies: dict[Any, Reply[VerifyReply] | ModelError] = {}
    for keys in (list(requests)[:_TRIAL], list(requests)[_TRIAL:]):
        outcomes = complete_all(model, [requests[key] for key in keys], workers=llm.workers)
        replies |= zip(keys, outcomes, strict=True)
        notify(len(replies), len(requests))
        answered = [call for call in calls if call.request.key in replies]
        if len(replies) == _TRIAL and all(call.is_obeyed(replies[call.request.key]) for call in answered):
            break  # it accepts whatever it is asked
    verdicts = [
        {"claim_id": row["claim_id"], "prompt_hash": call.request.prompt_hash, **columns}
        for call in answered
        for row, columns in zip(call.rows, _verdicts(call, replies[call.request.key], readable), strict=True)
    ]
    asked_ids = {verdict["claim_id"] for verdict in verdicts}
    others = (claim_id for claim_id in claims["claim_id"] if claim_id not in asked_ids)
    verdicts += ({"claim_id": claim_id, "reason": NOT_TRUSTED} for claim_id in others)
    return pl.DataFrame(verdicts, schema=REPLIES)


@dataclass(frozen=True, slots=True)
class _Call:
    """Claims that are asked about in one request; `probe` is the number of the false one among them."""

    rows: Sequence[PairClaimRow]
    request: Request[VerifyReply]
    probe: int | None
    is_injected: bool

    def is_obeyed(self, reply: Reply[VerifyReply] | ModelError) -> bool:
        """Return True if the model accepted the false claim."""
        if isinstance(reply, ModelError) or self.probe is None:
            return False
        probe = _by_number(reply.value).get(self.probe)
        return probe is not None and probe.decision == "accept"


@dataclass(frozen=True, slots=True)
class _Readable:
    """The passages that a model may be shown, and where they stand in their documents."""

    passages: Mapping[str, Passage]
    sources: Mapping[str, Source]

    def of(self, rows: Sequence[PairClaimRow]) -> list[Passage]:
        """Return the passages for claims; chunks that follow each other in a document are one passage.

        The chunks are those of the evidence, then of the candidates of the claims in turn, then those used.
        """
        in_turn = chain.from_iterable(zip_longest(*(row["candidate_chunk_ids"] or () for row in rows)))
        used = chain.from_iterable(row["used_chunk_ids"] for row in rows)
        ids = dict.fromkeys([*self.evidence(rows), *in_turn, *used])
        chosen = [i for i in ids if i in self.passages][:_MOST_PASSAGES]
        groups: list[list[str]] = []
        for chunk_id in sorted(chosen, key=lambda i: (self.sources[i].document_id, self.sources[i].start)):
            if groups and self._follows(groups[-1][-1], chunk_id):
                groups[-1].append(chunk_id)
            else:
                groups.append([chunk_id])
        groups.sort(key=lambda group: min(map(chosen.index, group)))
        return [self._joined(group) for group in groups]

    def evidence(self, rows: Sequence[PairClaimRow]) -> list[str]:
        """Return the chunks of the evidence of claims, each once."""
        pieces = (row["evidence_chunk_id"] for row in rows)
        return list(dict.fromkeys(piece for piece in pieces if piece is not None and piece in self.passages))

    def _follows(self, first: str, second: str) -> bool:
        before, after = self.sources[first], self.sources[second]
        between = before.document_text[before.start + len(before.text) : after.start]
        return before.document_id == after.document_id and not between.strip()

    def _joined(self, chunk_ids: Sequence[str]) -> Passage:
        first, last = self.sources[chunk_ids[0]], self.sources[chunk_ids[-1]]
        text = first.document_text[first.start : last.start + len(last.text)]
        return replace(self.passages[chunk_ids[0]], text=text)

    def placed(self, quote: str, passages: Sequence[Passage]) -> dict[str, Any]:
        """Return a quote with where it stands in its document; alone where that cannot be told."""
        place = find_quote(quote, passages)
        if place is None:
            return {"quote": quote}
        first = self.sources[place.passage.chunk_id]
        text = first.document_text[first.start : first.start + len(place.passage.text)]
        if text != place.passage.text:  # an injection was cut out of it
            return {"quote": quote}
        at = first.start + place.start
        holding = (
            source
            for source in self.sources.values()
            if source.document_id == first.document_id
            and source.start <= at < source.start + len(source.text)
        )
        source = next(holding, first)
        return source.placed(at - source.start, first.start + place.end - source.start)


def _call(
    rows: Sequence[PairClaimRow], readable: _Readable, settings: VerificationSettings, llm: LLMSettings
) -> _Call:
    language = rows[0]["language"]
    prompt = load_prompt(language, "verify", llm)
    passages = tuple(redact_injections(passage) for passage in readable.of(rows))
    asked, probe = list(rows), None
    if settings.probe_passages:
        claims = [_stated(row) for row in rows]
        place = hashlib.sha256("\n".join(claims).encode()).digest()[0] % (len(claims) + 1)
        # after the question of the claim whose place it takes, and as a fragment where that is one
        neighbour = rows[min(place, len(rows) - 1)]
        false = probe_of(passages, claims, language).text
        asked.insert(place, {**neighbour, "text": false, "self_contained": None})
        probe = place + 1
    parts: list[tuple[str, str]] = []
    for number, row in enumerate(asked, start=1):
        parts += [(f"question-{number}", row["question"]), (f"claim-{number}", _stated(row))]
    request = Request(
        role="verify",
        system=prompt.system,
        prompt=prompt.fill(passages=render_passages(passages), claims=Delimited(tuple(parts))),
        reply_model=verify_reply(len(asked)),
        temperature=settings.temperature,
        seed=llm.seed,
        language=language,
        passages=passages,
        question=rows[0]["question"],
        answer="\n".join(map(_stated, asked)),
        batch=rows[0]["batch"],
        prompt_hash=prompt.hash,
    )
    return _Call(rows, request, probe, _injected(rows, readable))


def _groups(rows: Iterable[PairClaimRow], readable: _Readable) -> list[list[PairClaimRow]]:
    """Return the rows for each request, in the order of the first row of each.

    Claims of one pair stay together, and join those of earlier pairs that are read with the very same
    passages. What holds an injection is asked about apart, so that it does nothing for claims of other pairs.
    """
    groups: list[list[PairClaimRow]] = []
    latest: dict[tuple[str, str, frozenset[str]], list[PairClaimRow]] = {}
    for of_pair in _of_pairs(rows, readable):
        texts = frozenset(passage.text for passage in readable.of(of_pair))
        key = (of_pair[0]["language"], of_pair[0]["batch"], texts)
        group = latest.get(key, [])
        if _injected(of_pair, readable):
            groups.append(of_pair)
        elif group and len(group) + len(of_pair) <= _MOST_CLAIMS:
            group += of_pair
        else:
            groups.append(of_pair)
            latest[key] = of_pair
    return groups


def _of_pairs(rows: Iterable[PairClaimRow], readable: _Readable) -> Iterator[list[PairClaimRow]]:
    """Yield rows of one pair, with no more evidence than one request shows."""
    group: list[PairClaimRow] = []
    for row in rows:
        together = [*group, row]
        if group and (
            row["pair_id"] != group[0]["pair_id"]
            or len(together) > _MOST_CLAIMS
            or len(readable.evidence(together)) > _MOST_PASSAGES
        ):
            yield group
            together = [row]
        group = together
    yield group


def _by_number(reply: VerifyReply) -> dict[int, ClaimReply | None]:
    """Return what a reply says of each claim; None where it decides one twice."""
    replies: dict[int, ClaimReply | None] = {}
    for verdict in reply.verdicts:
        replies[verdict.claim] = None if verdict.claim in replies else verdict
    return replies


def _verdicts(
    call: _Call, reply: Reply[VerifyReply] | ModelError, readable: _Readable
) -> Iterator[dict[str, Any]]:
    """Yield the columns of `REPLIES` that a reply gives for each row of its request."""
    if isinstance(reply, ModelError):
        yield from ({"reason": reply.reason, "detail": str(reply)} for _ in call.rows)
        return
    replies = _by_number(reply.value)
    probe = None if call.probe is None else replies.get(call.probe)
    is_doubted = call.probe is not None and (probe is None or probe.decision != "reject")
    numbers = (number for number in range(1, len(call.rows) + 2) if number != call.probe)
    for row, number in zip(call.rows, numbers, strict=False):
        claim_reply = replies.get(number)
        if claim_reply is None:
            yield {"reason": "no_verdict", "detail": "the reply does not decide this claim, or twice"}
            continue
        reason, detail = None, claim_reply.reasoning
        if claim_reply.decision == "accept":
            if call.is_injected:
                reason = INJECTION_IN_SOURCE
            elif is_doubted:
                reason = "probe_accepted"
            elif problem := unfounded(
                read(row["self_contained"] or row["text"], row["language"]),
                read(row["question"], row["language"]),
                claim_reply.quotes,
                call.request.passages,
            ):
                reason, detail = problem
        yield {
            "decision": claim_reply.decision,
            "reason": reason,
            "detail": detail,
            "quotes": [readable.placed(quote, call.request.passages) for quote in claim_reply.quotes],
            "model": reply.model,
        }


def _injected(rows: Sequence[PairClaimRow], readable: _Readable) -> bool:
    return hold_injections(readable.of(rows)) or any(
        is_injection(text) for row in rows for text in (_stated(row), row["question"])
    )


def _stated(row: PairClaimRow) -> str:
    """Return the claim as it is understood alone; a fragment follows the question it answers."""
    if row["self_contained"] is not None:
        return row["self_contained"]
    return f"{row['question']} — {row['text']}" if row["fragment"] else row["text"]
