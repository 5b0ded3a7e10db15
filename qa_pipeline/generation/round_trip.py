"""Solve verified pairs again: a model answers the question from the quotes of the proof alone.

Its answer should agree. This step is skipped if verbatim rules decided all claims, since they have already
compared the claims with their quotes. A two-hop question is also answered from each proving chunk alone,
which should fail. A last call compares answers in other words.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.generation.requests import request_about
from qa_pipeline.llm.base import LanguageModel, Request, complete_all, maker
from qa_pipeline.prompts.loading import delimit, delimit_all, load_prompt
from qa_pipeline.records import (
    HOP_SCOPES,
    AnswerReply,
    CompareReply,
    Passage,
    ProgressCallback,
    Question,
    no_progress,
    passages_by_id,
)
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.table_schema import DraftedPairRow, RoundTripColumns, typed_rows
from qa_pipeline.storage.tables import ROUND_TRIPS
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims, evidence_passages, grounded_pairs

ComparisonColumn = Literal["agrees", "fewer_chunks_answer"]
"""Columns: the quotes give the pair's answer again, as they should; so does a single of several chunks."""


class QuotedPairRow(DraftedPairRow):
    """A pair with its quotes and their chunks. It is in doubt if a claim was not decided verbatim."""

    evidence_chunk_ids: list[str]  # one for each quote
    evidence_quotes: list[str]
    is_in_doubt: bool


_PROVING = ("citation", "quotation")  # steps that accept a claim only if it matches its quote verbatim
_AGREES = {"same": True, "different": False, "unsure": None}


@dataclass(slots=True)
class RoundTrip:
    """A pair that is asked again: its table row, and the agreement of its answers so far."""

    pair: QuotedPairRow
    columns: RoundTripColumns
    agreements: dict[ComparisonColumn, list[bool | None]] = field(default_factory=lambda: defaultdict(list))
    in_other_words: list[tuple[ComparisonColumn, str]] = field(default_factory=list)  # for a model to compare

    @property
    def is_multi_hop(self) -> bool:
        """Return True if the question was written about several passages, and should need them all."""
        return self.pair["question_type"] in HOP_SCOPES and (self.pair["hops"] or 1) > 1

    def fail(self, error: ModelError) -> None:
        """Record that the model could not be asked."""
        self.columns |= {"status": "failed", "reason": error.reason, "detail": str(error)}

    def set_comparisons(self) -> None:
        """Set each comparison column: True if any answer agrees, else None if any is unsure, else False."""
        for column, agreements in self.agreements.items():
            self.columns[column] = True in agreements or (None if None in agreements else False)


def make_round_trips(
    pairs: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
    chunks: pl.DataFrame,
    *,
    accept_grounding: float,
    only_hops: bool = False,
    model: LanguageModel | None = None,
    llm: LLMSettings | None = None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Return a row for each generated pair that passed source verification (a ROUND_TRIPS frame).

    `accept_grounding` is the share of claims that must be supported. With `only_hops` the model is only asked
    about questions of several hops. Raises a PermanentModelError if it cannot answer further requests.
    """
    generated = pairs.filter(pl.col("origin") == "generated", pl.col("coverage") != "none")
    passed = grounded_pairs(generated, claims, claim_verdicts, accept_grounding=accept_grounding)
    trips = [
        RoundTrip(pair, {"pair_id": pair["pair_id"], "batch": pair["batch"], "status": "not_asked"})
        for pair in _with_quotes(passed, claims, claim_verdicts)
    ]
    for trip in trips:
        # a flaw of a multi-hop question: a single chunk has all quotes, so the other is not needed
        has_needless_hop = trip.is_multi_hop and len(set(trip.pair["evidence_chunk_ids"])) == 1
        trip.columns["fewer_chunks_answer"] = True if has_needless_hop else None  # None: not known yet
        trip.columns["model"] = None if model is None else model.name
    if model is not None:
        to_ask = [trip for trip in trips if trip.is_multi_hop or not only_hops]
        llm = llm or LLMSettings()
        # both change the trips: they collect `agreements`, or set the status to "failed"
        _ask(to_ask, passages_by_id(chunks), model, llm, notify)
        _compare(to_ask, model, llm)
        for trip in to_ask:
            if trip.columns["status"] != "failed":
                trip.set_comparisons()  # from the agreements
    return ROUND_TRIPS.frame([trip.columns for trip in trips])


def _with_quotes(
    pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame
) -> list[QuotedPairRow]:
    """Return the pairs with the distinct quotes of their supported claims, in claim order."""
    quotes = (  # a row for each quote of a pair
        decided_claims(claims, claim_verdicts)
        .filter(pl.col("verdict") == SUPPORTED)
        .select("claim_id", "pair_id")
        .join(evidence_passages(claims, claim_verdicts), on="claim_id", maintain_order="left_right")
        .filter(pl.col("evidence_chunk_id").is_not_null())
        .unique(["pair_id", "evidence_chunk_id", "evidence_quote"], maintain_order=True)
    )
    quotes_by_pair = quotes.group_by("pair_id", maintain_order=True).agg(
        evidence_chunk_ids="evidence_chunk_id", evidence_quotes="evidence_quote"
    )
    doubtful_ids = claim_verdicts.filter(~pl.col("decided_by").is_in(_PROVING))["pair_id"].unique()
    rows = pairs.join(quotes_by_pair, on="pair_id", how="left", maintain_order="left").with_columns(
        pl.col("evidence_chunk_ids", "evidence_quotes").fill_null([]),
        is_in_doubt=pl.col("pair_id").is_in(doubtful_ids.implode()),
    )
    return list(typed_rows(rows, QuotedPairRow))


def _ask(
    trips: Sequence[RoundTrip],
    passages: Mapping[str, Passage],
    model: LanguageModel,
    llm: LLMSettings,
    notify: ProgressCallback,
) -> None:
    """Ask for an answer to each question, and record which answers match the pair verbatim."""
    attempts = [(trip, *attempt) for trip in trips for attempt in _attempts(trip, passages, llm)]
    for trip in trips:
        trip.columns["status"] = "checked"
    replies = complete_all(model, [request for _, _, request in attempts], workers=llm.workers, notify=notify)
    for (trip, column, _), reply in zip(attempts, replies, strict=True):
        if isinstance(reply, ModelError):
            trip.fail(reply)
            continue
        trip.columns["model"] = maker(model.name, reply)
        answer = None if reply.value.coverage == "none" else reply.value.answer
        if column == "agrees":  # the answer from all quotes
            trip.columns["solved_answer"] = answer
        if answer is None:
            trip.agreements[column].append(False)
        elif pl.select(normalised(pl.lit(answer)) == normalised(pl.lit(trip.pair["answer"]))).item():
            trip.agreements[column].append(True)
        else:
            trip.in_other_words.append((column, answer))


def _attempts(
    trip: RoundTrip, passages: Mapping[str, Passage], llm: LLMSettings
) -> Iterator[tuple[ComparisonColumn, Request[AnswerReply]]]:
    """Yield the requests to answer a question again.

    A pair in doubt (with a claim that was not decided verbatim) is asked about with its quotes alone, which
    should give the same answer ("agrees"). A question of several hops (passages) is asked about each chunk
    alone, which should not suffice ("fewer_chunks_answer").
    """
    pair = trip.pair
    chunk_ids, language = pair["evidence_chunk_ids"], pair["language"]
    if pair["is_in_doubt"]:
        quotes = zip(chunk_ids, pair["evidence_quotes"], strict=True)
        proofs = [replace(passages[chunk_id], text=quote, language=language) for chunk_id, quote in quotes]
        yield "agrees", solve_request(pair, proofs, llm)
    chunks = [passages[chunk_id] for chunk_id in dict.fromkeys(chunk_ids)]
    if trip.is_multi_hop and len(chunks) > 1:
        for chunk in chunks:
            yield "fewer_chunks_answer", solve_request(pair, [chunk], llm)


def _compare(trips: Sequence[RoundTrip], model: LanguageModel, llm: LLMSettings) -> None:
    """Ask the model to compare answers in other words with the pair's answer, in one call for each pair."""
    open_trips = [trip for trip in trips if trip.in_other_words and trip.columns["status"] != "failed"]
    requests = [
        compare_request(trip.pair, [answer for _, answer in trip.in_other_words], llm) for trip in open_trips
    ]
    for trip, reply in zip(open_trips, complete_all(model, requests, workers=llm.workers), strict=True):
        if isinstance(reply, ModelError):
            trip.fail(reply)
            continue
        agreement_of = {item.answer: item.agreement for item in reply.value.comparisons}  # by answer number
        for number, (column, _) in enumerate(trip.in_other_words, start=1):
            trip.agreements[column].append(_AGREES[agreement_of.get(number, "unsure")])


def solve_request(row: Question, visible: Sequence[Passage], llm: LLMSettings) -> Request[AnswerReply]:
    """Return the request to answer a question from the visible passages."""
    prompt = load_prompt(row["language"], "answer", llm)
    return request_about(row, "solve", prompt, AnswerReply, llm, visible, label="text")


def compare_request(row: DraftedPairRow, answers: Sequence[str], llm: LLMSettings) -> Request[CompareReply]:
    """Return the request to compare answers with the answer of the pair."""
    prompt = load_prompt(row["language"], "compare", llm)
    reference, others = delimit(row["answer"], "reference"), delimit_all(answers, "answer")
    return request_about(
        row, "compare", prompt, CompareReply, llm, answer=row["answer"], reference=reference, answers=others
    )
