"""Three further ways to question a verified pair: solved from its quotes, answered without them, found again.

(a) An independent model answers the question from the quotes of the proof alone, and should agree; only where
    a step that weighs decided a claim, since rules have read the others from their quotes.
(b) The model answers it from what it knows; if it can, the pair teaches it nothing (`memorised`).
(c) The search finds the proving chunk, and other chunks that hold the same quotes are further positives.

A question of two hops is answered from its proving chunks less one as well, and none should do.
Model calls are needed but for (c), and a last one compares what was said with the answer where words differ.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.llm.base import LanguageModel, Request, maker
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import delimit, delimit_all, load_prompt, render_passages
from qa_pipeline.records import (
    HOP_SCOPES,
    AnsweredQuestion,
    AnswerReply,
    CompareReply,
    Passage,
    ProgressCallback,
    Question,
    RecallReply,
    no_progress,
    passages_by_id,
)
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.rows import DraftedPairRow, RoundTripColumns
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import ROUND_TRIPS
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims, evidence_pieces, grounded_pairs

Asked = Literal["agrees", "memorised", "fewer_chunks_answer"]
"""Columns of what a model is asked."""


class QuotedPairRow(DraftedPairRow):
    """Hold a pair with the quotes of its proof, and what the search says of it."""

    evidence_chunk_id: list[str]
    evidence_quote: list[str]
    further_chunk_ids: list[str]
    is_in_doubt: bool


_PROVING = ("citation", "quotation")
"""Steps that accept a claim only where nothing sets it apart from its quote."""
_AGREES = {"same": True, "different": False, "unsure": None}
_ANSWERS: dict[Asked, Literal["solved_answer", "recalled_answer"]] = {
    "agrees": "solved_answer",
    "memorised": "recalled_answer",
}
"""Column of the answer that decides another column."""


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
    """Return a row for each generated pair that passed source verification.

    Args:
        pairs: PAIRS frame.
        claims: CLAIMS frame.
        claim_verdicts: CLAIM_VERDICTS frame.
        chunks: CHUNKS frame.
        accept_grounding: share of claims that must be supported.
        only_hops: whether the model is asked about questions of several hops alone.
        model: who solves and recalls; None leaves the rows with what the search alone says.
        llm: workers and seed.
        notify: called with the number of calls answered.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    generated = pairs.filter(pl.col("origin") == "generated", pl.col("coverage") != "none")
    passed = grounded_pairs(generated, claims, claim_verdicts, accept_grounding=accept_grounding)
    rows = _with_quotes(passed, claims, claim_verdicts, chunks)
    base: list[RoundTripColumns] = [
        {
            "pair_id": row["pair_id"],
            "batch": row["batch"],
            "target_rank": _rank(row),
            "further_chunk_ids": row["further_chunk_ids"],
            "status": "not_asked",
            "fewer_chunks_answer": True if 0 < len(set(row["evidence_chunk_id"])) < _hops(row) else None,
            "model": None if model is None else model.name,
        }
        for row in rows
    ]
    places = [place for place, row in enumerate(rows) if not only_hops or _hops(row) > 1]
    if model is not None:
        passages = passages_by_id(chunks)
        trips = _ask([rows[place] for place in places], passages, model, llm or LLMSettings(), notify)
        for place, trip in zip(places, trips, strict=True):
            base[place].update(trip)
    return ROUND_TRIPS.frame(base)


def _hops(row: QuotedPairRow) -> int:
    return (row["hops"] or 1) if row["question_type"] in HOP_SCOPES else 1


def _ask(
    rows: Sequence[QuotedPairRow],
    passages: Mapping[str, Passage],
    model: LanguageModel,
    llm: LLMSettings,
    notify: ProgressCallback,
) -> list[RoundTripColumns]:
    """Return the model's answer to each question, and its comparison with the pair's answer."""
    attempts = [
        (place, question, context)
        for place, row in enumerate(rows)
        for question, context in _attempts(row, passages)
    ]
    requests: list[Request[Any]] = [
        recall_request(rows[place], llm)
        if question == "memorised"
        else solve_request(rows[place], context, llm)
        for place, question, context in attempts
    ]
    replies = complete_all(model, requests, workers=llm.workers, notify=notify)
    trips: list[RoundTripColumns] = [{"status": "checked"} for _ in rows]
    answers_of_rows: list[list[tuple[Asked, str]]] = [[] for _ in rows]
    outcomes: list[dict[Asked, list[bool | None]]] = [defaultdict(list) for _ in rows]
    for (place, question, _), reply in zip(attempts, replies, strict=True):
        if isinstance(reply, ModelError):
            trips[place] = {"status": "failed", "reason": reply.reason, "detail": str(reply)}
            continue
        trips[place]["model"] = maker(model.name, reply)
        answer = _answer(reply.value)
        if question in _ANSWERS:
            trips[place][_ANSWERS[question]] = answer
        if answer is None or _same(answer, rows[place]["answer"]):
            outcomes[place][question].append(answer is not None)
        else:
            answers_of_rows[place].append((question, answer))
    _compare(rows, trips, answers_of_rows, outcomes, model, llm)
    for trip, outcome in zip(trips, outcomes, strict=True):
        if trip["status"] != "failed":
            for name, agreements in outcome.items():
                trip[name] = True if True in agreements else None if None in agreements else False
    return trips


def _attempts(
    row: QuotedPairRow, passages: Mapping[str, Passage]
) -> Iterator[tuple[Asked, Sequence[Passage]]]:
    """Yield what a model is asked about a pair, and what it sees."""
    if row["is_in_doubt"]:
        yield "agrees", _quoted(row, passages)
    yield "memorised", ()
    hops, chunks = _hops(row), [passages[chunk_id] for chunk_id in dict.fromkeys(row["evidence_chunk_id"])]
    if 1 < hops <= len(chunks):
        yield from (("fewer_chunks_answer", fewer) for fewer in combinations(chunks, hops - 1))


def _with_quotes(
    pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame, chunks: pl.DataFrame
) -> list[QuotedPairRow]:
    """The pairs with the quotes of their proof, and what else holds them all."""
    proofs = (
        decided_claims(claims, claim_verdicts)
        .filter(pl.col("verdict") == SUPPORTED)
        .select("claim_id", "pair_id")
        .join(evidence_pieces(claims, claim_verdicts), on="claim_id", maintain_order="left_right")
        .filter(pl.col("evidence_chunk_id").is_not_null())
        .unique(["pair_id", "evidence_chunk_id", "evidence_quote"], maintain_order=True)
    )
    quotes = proofs.group_by("pair_id", maintain_order=True).agg("evidence_chunk_id", "evidence_quote")
    doubts = claim_verdicts.filter(~pl.col("decided_by").is_in(_PROVING)).select("pair_id").unique()
    rows = pairs.join(quotes, on="pair_id", how="left", maintain_order="left").with_columns(
        pl.col("evidence_chunk_id", "evidence_quote").fill_null([]),
        is_in_doubt=pl.col("pair_id").is_in(doubts["pair_id"].implode()),
    )
    with_quotes = (
        pairs.select("pair_id", chunk_id="passage_ids")
        .explode("chunk_id")
        .join(chunks.select("chunk_id", "text"), on="chunk_id", maintain_order="left")
    )
    proved = with_quotes.join(proofs.select("pair_id", "evidence_chunk_id", "evidence_quote"), on="pair_id")
    quoted = (
        proved.group_by("pair_id", "chunk_id", maintain_order=True)
        .agg(
            holds=pl.col("text").str.contains(pl.col("evidence_quote"), literal=True).all(),
            own=(pl.col("chunk_id") == pl.col("evidence_chunk_id")).any(),
        )
        .filter("holds", ~pl.col("own"))
        .group_by("pair_id", maintain_order=True)
        .agg(further_chunk_ids="chunk_id")
    )
    joined = rows.join(quoted, on="pair_id", how="left", maintain_order="left").with_columns(
        pl.col("further_chunk_ids").fill_null([])
    )
    return list(typed_rows(joined, QuotedPairRow))


def _rank(row: QuotedPairRow) -> int | None:
    """Return the rank of the proof's first chunk among the retrieved passages, from 1."""
    places = [row["passage_ids"].index(i) + 1 for i in row["evidence_chunk_id"] if i in row["passage_ids"]]
    return min(places, default=None)


def _quoted(row: QuotedPairRow, passages: Mapping[str, Passage]) -> Sequence[Passage]:
    """Return the quotes of the proof, without the rest of their chunks."""
    return [
        Passage(chunk_id, passages[chunk_id].title, passages[chunk_id].section_path, quote, row["language"])
        for chunk_id, quote in zip(row["evidence_chunk_id"], row["evidence_quote"], strict=True)
    ]


def solve_request(row: Question, visible: Sequence[Passage], llm: LLMSettings) -> Request[AnswerReply]:
    """Return the request to answer a question from what is visible."""
    prompt = load_prompt(row["language"], "answer", llm)
    return Request(
        role="solve",
        system=prompt.system,
        prompt=prompt.fill(passages=render_passages(visible), question=delimit(row["question"])),
        reply_model=AnswerReply,
        temperature=0.0,
        seed=llm.seed,
        language=row["language"],
        passages=tuple(visible),
        question=row["question"],
        batch=row["batch"],
        prompt_hash=prompt.hash,
    )


def recall_request(row: Question, llm: LLMSettings) -> Request[RecallReply]:
    """Return the request to answer the question alone."""
    prompt = load_prompt(row["language"], "recall", llm)
    return Request(
        role="recall",
        system=prompt.system,
        prompt=prompt.fill(question=delimit(row["question"], "question")),
        reply_model=RecallReply,
        temperature=0.0,
        seed=llm.seed,
        language=row["language"],
        question=row["question"],
        batch=row["batch"],
        prompt_hash=prompt.hash,
    )


def _answer(reply: AnswerReply | RecallReply) -> str | None:
    return None if isinstance(reply, AnswerReply) and reply.coverage == "none" else reply.answer


def _same(first: str, second: str) -> bool:
    folded = pl.DataFrame({"text": [first, second]}).select(normalised(pl.col("text")))["text"]
    return bool(folded[0] == folded[1])


def _compare(
    rows: Sequence[QuotedPairRow],
    trips: Sequence[RoundTripColumns],
    answers: Sequence[Sequence[tuple[Asked, str]]],
    outcomes: Sequence[dict[Asked, list[bool | None]]],
    model: LanguageModel,
    llm: LLMSettings,
) -> None:
    """Have what was said in other words compared with the answer, all of a pair in one call."""
    places = [place for place, trip in enumerate(trips) if answers[place] and trip["status"] == "checked"]
    requests = [
        compare_request(rows[place], [answer for _, answer in answers[place]], llm) for place in places
    ]
    for place, reply in zip(places, complete_all(model, requests, workers=llm.workers), strict=True):
        if isinstance(reply, ModelError):
            trips[place].update({"status": "failed", "reason": reply.reason, "detail": str(reply)})
            continue
        decided = {comparison.answer: comparison.agreement for comparison in reply.value.comparisons}
        for number, (question, _) in enumerate(answers[place], start=1):
            outcomes[place][question].append(_AGREES[decided.get(number, "unsure")])


def compare_request(row: AnsweredQuestion, answers: Sequence[str], llm: LLMSettings) -> Request[CompareReply]:
    """Return the request to compare the answers with that of the pair."""
    prompt = load_prompt(row["language"], "compare", llm)
    return Request(
        role="compare",
        system=prompt.system,
        prompt=prompt.fill(
            question=delimit(row["question"], "question"),
            reference=delimit(row["answer"], "reference"),
            answers=delimit_all(answers, "answer"),
        ),
        reply_model=CompareReply,
        temperature=0.0,
        seed=llm.seed,
        language=row["language"],
        question=row["question"],
        answer=row["answer"],
        batch=row["batch"],
        prompt_hash=prompt.hash,
    )
