"""Three further ways to question a verified pair: solved from its quotes, answered without them, found again.

(a) An independent model answers the question from the quotes of the proof alone, and should agree.
(b) The model answers it from what it knows; if it can, the pair teaches it nothing (`memorised`).
(c) The search finds the proving chunk, and other chunks that hold the same quotes are further positives.

The first two ask a model, and a third call compares what it said with the answer where the words differ.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.llm.base import LanguageModel, Reply, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import delimit, delimit_all, load_prompt, render_passages
from qa_pipeline.records import (
    AnswerReply,
    CompareReply,
    Passage,
    ProgressCallback,
    RecallReply,
    no_progress,
    passages_by_id,
)
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.tables import ROUND_TRIPS
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims, evidence_pieces, grounded_pairs

Row = dict[str, Any]
_AGREES = {"same": True, "different": False, "unsure": None}


def make_round_trips(
    pairs: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
    chunks: pl.DataFrame,
    *,
    accept_grounding: float,
    model: LanguageModel | None = None,
    llm: LLMSettings | None = None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """A row for each generated pair that passed source verification.

    Args:
        pairs: PAIRS frame.
        claims: CLAIMS frame.
        claim_verdicts: CLAIM_VERDICTS frame.
        chunks: CHUNKS frame.
        accept_grounding: share of claims that must be supported.
        model: who solves and recalls; None leaves the rows with what the search alone says.
        llm: workers and seed.
        notify: called with the number of calls answered.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    own = pairs.filter(pl.col("origin") == "generated", pl.col("coverage") != "none")
    passed = grounded_pairs(own, claims, claim_verdicts, accept_grounding=accept_grounding)
    rows = _with_quotes(passed, claims, claim_verdicts, chunks)
    base = [
        {
            **{name: row[name] for name in ("pair_id", "batch", "target_rank", "further_chunk_ids")},
            "status": "not_asked",
            "model": None if model is None else model.name,
        }
        for row in rows
    ]
    if model is None:
        return ROUND_TRIPS.frame(base)
    settings, passages = llm or LLMSettings(), passages_by_id(chunks)
    solving = [_solve(row, passages, settings) for row in rows]
    recalling = [recall_request(row, settings) for row in rows]
    solved = complete_all(model, solving, workers=settings.workers, notify=notify)
    recalled = complete_all(model, recalling, workers=settings.workers, notify=notify)
    found = [
        {**made, **_said(row, solution, memory)}
        for made, row, solution, memory in zip(base, rows, solved, recalled, strict=True)
    ]
    _compare(rows, found, model, settings)
    return ROUND_TRIPS.frame(found)


def _with_quotes(
    pairs: pl.DataFrame, claims: pl.DataFrame, claim_verdicts: pl.DataFrame, chunks: pl.DataFrame
) -> list[Row]:
    """The pairs with the quotes of their proof, the rank of its first chunk and what else holds them all."""
    proofs = (
        decided_claims(claims, claim_verdicts)
        .filter(pl.col("verdict") == SUPPORTED)
        .select("claim_id", "pair_id")
        .join(evidence_pieces(claims, claim_verdicts), on="claim_id", maintain_order="left_right")
        .filter(pl.col("evidence_chunk_id").is_not_null())
        .unique(["pair_id", "evidence_chunk_id", "evidence_quote"], maintain_order=True)
    )
    quotes = proofs.group_by("pair_id", maintain_order=True).agg("evidence_chunk_id", "evidence_quote")
    rows = pairs.join(quotes, on="pair_id", how="left", maintain_order="left").with_columns(
        pl.col("evidence_chunk_id", "evidence_quote").fill_null([])
    )
    beside = (
        pairs.select("pair_id", chunk_id="passage_ids")
        .explode("chunk_id")
        .join(chunks.select("chunk_id", "text"), on="chunk_id", maintain_order="left")
    )
    held = beside.join(proofs.select("pair_id", "evidence_chunk_id", "evidence_quote"), on="pair_id")
    whole = (
        held.group_by("pair_id", "chunk_id", maintain_order=True)
        .agg(
            holds=pl.col("text").str.contains(pl.col("evidence_quote"), literal=True).all(),
            own=(pl.col("chunk_id") == pl.col("evidence_chunk_id")).any(),
        )
        .filter("holds", ~pl.col("own"))
        .group_by("pair_id", maintain_order=True)
        .agg(further_chunk_ids="chunk_id")
    )
    joined = rows.join(whole, on="pair_id", how="left", maintain_order="left").with_columns(
        pl.col("further_chunk_ids").fill_null([])
    )
    return [{**row, "target_rank": _rank(row)} for row in joined.iter_rows(named=True)]


def _rank(row: Row) -> int | None:
    """Place, from 1, of the first chunk of the proof among the passages that were retrieved."""
    places = [row["passage_ids"].index(i) + 1 for i in row["evidence_chunk_id"] if i in row["passage_ids"]]
    return min(places, default=None)


def _solve(row: Row, passages: dict[str, Passage], llm: LLMSettings) -> Request[AnswerReply]:
    """The question beside the quotes of its proof, and nothing else of their chunks."""
    prompt = load_prompt(row["language"], "answer")
    shown = tuple(
        Passage(chunk_id, passages[chunk_id].title, passages[chunk_id].section_path, quote, row["language"])
        for chunk_id, quote in zip(row["evidence_chunk_id"], row["evidence_quote"], strict=True)
    )
    return Request(
        role="solve",
        system=prompt.system,
        prompt=prompt.fill(passages=render_passages(shown), question=delimit(row["question"])),
        reply_model=AnswerReply,
        temperature=0.0,
        seed=llm.seed,
        language=row["language"],
        passages=shown,
        question=row["question"],
        batch=row["batch"],
        prompt_hash=prompt.hash,
    )


def recall_request(row: Row, llm: LLMSettings) -> Request[RecallReply]:
    """The question alone."""
    prompt = load_prompt(row["language"], "recall")
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


def _said(
    row: Row, solved: Reply[AnswerReply] | ModelError, recalled: Reply[RecallReply] | ModelError
) -> Row:
    """What the model answered, and what that says where no comparison is needed; an unknown is null."""
    if isinstance(solved, ModelError):
        return {"status": "failed", "reason": solved.reason, "detail": str(solved)}
    if isinstance(recalled, ModelError):
        return {"status": "failed", "reason": recalled.reason, "detail": str(recalled)}
    solution = None if solved.value.coverage == "none" else solved.value.answer
    memory = recalled.value.answer
    return {
        "status": "checked",
        "solved_answer": solution,
        "agrees": _known(solution, row["answer"]),
        "recalled_answer": memory,
        "memorised": _known(memory, row["answer"]),
    }


def _known(said: str | None, answer: str) -> bool | None:
    """Whether what was said is the answer, where that needs no comparison of meaning."""
    return False if said is None else _same(said, answer) or None


def _same(first: str, second: str) -> bool:
    folded = pl.DataFrame({"text": [first, second]}).select(normalised(pl.col("text")))["text"]
    return bool(folded[0] == folded[1])


def _compare(rows: Sequence[Row], found: Sequence[Row], model: LanguageModel, llm: LLMSettings) -> None:
    """Have what was said in other words compared with the answer, both answers of a pair in one call."""
    open_ones = []
    for row, one in zip(rows, found, strict=True):
        unknown = [
            (verdict, one[said])
            for verdict, said in (("agrees", "solved_answer"), ("memorised", "recalled_answer"))
            if one["status"] == "checked" and one[verdict] is None and one[said] is not None
        ]
        if unknown:
            open_ones.append((row, one, unknown))
    requests = [compare_request(row, [said for _, said in unknown], llm) for row, _, unknown in open_ones]
    replies = complete_all(model, requests, workers=llm.workers)
    for (_, one, unknown), reply in zip(open_ones, replies, strict=True):
        if isinstance(reply, ModelError):
            one |= {"status": "failed", "reason": reply.reason, "detail": str(reply)}
            continue
        decided = {comparison.answer: comparison.agreement for comparison in reply.value.comparisons}
        for number, (verdict, _) in enumerate(unknown, start=1):
            one[verdict] = _AGREES[decided.get(number, "unsure")]


def compare_request(row: Row, answers: Sequence[str], llm: LLMSettings) -> Request[CompareReply]:
    """The answers beside that of the pair."""
    prompt = load_prompt(row["language"], "compare")
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
