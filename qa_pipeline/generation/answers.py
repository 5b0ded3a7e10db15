"""Answers: each kept question is answered from its retrieved passages only, with citations."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.generation.guard import Relevance
from qa_pipeline.llm.base import LanguageModel, Reply, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import delimit, load_prompt, refusal, render_passages
from qa_pipeline.records import (
    AnswerReply,
    DraftCitation,
    Passage,
    ProgressCallback,
    no_progress,
    passages_by_id,
)
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.tables import PAIRS
from qa_pipeline.verification.outcomes import FLAWED

TAKEN_OVER = (
    "batch", "question_id", "question", "language", "question_type", "passage_ids", "passage_scores",
)  # fmt: skip
"""Columns a pair has from its question."""

Row = dict[str, Any]
Guard = Callable[[Sequence[Row], Sequence[Sequence[Passage]]], list[Relevance]]
"""(rows of the questions table, passages of each) -> whether each question may be answered from them."""


def let_all_pass(rows: Sequence[Row], passages: Sequence[Sequence[Passage]]) -> list[Relevance]:
    """Leave it to the prompt of the answer."""
    return [Relevance("prompt") for _ in rows]


def draft_answers(
    questions: pl.DataFrame,
    chunks: pl.DataFrame,
    model: LanguageModel,
    settings: GenerationSettings,
    llm: LLMSettings,
    *,
    guard: Guard = let_all_pass,
    previous: pl.DataFrame | None = None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Answer every kept question from its passages; one that the guard stops gets a refusal.

    A pair of `previous` is kept while its question has the same passages, prompt and model, and the guard
    decides the same of it; a draft that failed is asked again.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    kept = questions.filter(pl.col("status") == "kept")
    passages = passages_by_id(chunks)
    owners = dict(chunks.select("chunk_id", "document_id").iter_rows())
    asked = [
        (row, answer_request(row, [passages[i] for i in row["passage_ids"]], settings, llm.seed))
        for row in kept.iter_rows(named=True)
    ]
    relevances = guard([row for row, _ in asked], [request.passages for _, request in asked])
    earlier = _by_question(previous, model.name)
    still = [
        row["question_id"] in earlier and _same(earlier[row["question_id"]], row, request, relevance)
        for (row, request), relevance in zip(asked, relevances, strict=True)
    ]
    to_draft = [
        request
        for (_, request), known, relevance in zip(asked, still, relevances, strict=True)
        if not known and relevance.passes
    ]
    replies = iter(complete_all(model, to_draft, workers=llm.workers, notify=notify))
    pairs = []
    for (row, request), known, relevance in zip(asked, still, relevances, strict=True):
        if known:
            pairs.append(earlier[row["question_id"]])
        else:
            reply = next(replies) if relevance.passes else _stopped(row, relevance)
            pairs.append(_pair(row, request, reply, model.name, owners) | _guarded(relevance))
    return PAIRS.frame(pairs)


def _stopped(row: Row, relevance: Relevance) -> Reply[AnswerReply] | ModelError:
    """What stands in the place of an answer that was not asked for."""
    if relevance.error is not None:
        return relevance.error
    refused = AnswerReply(coverage="none", answer=refusal(row["language"]), used_chunks=[], citations=[])
    return Reply(value=refused, raw="", model="")


def _guarded(relevance: Relevance) -> Row:
    return {
        "guarded_by": relevance.decided_by,
        "guard_similarity": relevance.similarity,
        "guard_passed": None if relevance.error else relevance.passes,
    }


def answer_request(
    row: Row, passages: list[Passage], settings: GenerationSettings, seed: int
) -> Request[AnswerReply]:
    """What a question is answered with; `row` is its row of the questions table."""
    prompt = load_prompt(row["language"], "answer", settings.prompts)
    return Request(
        role="answer",
        system=prompt.system,
        prompt=prompt.fill(
            passages=render_passages(passages),
            question=delimit(row["question"]),
        ),
        reply_model=AnswerReply,
        temperature=settings.temperature,
        seed=seed,
        language=row["language"],
        passages=tuple(passages),
        question=row["question"],
        batch=row["batch"],
        prompt_hash=prompt.hash,
    )


def _by_question(previous: pl.DataFrame | None, model: str) -> dict[str, Row]:
    if previous is None:
        return {}
    usable = previous.filter(
        pl.col("origin") == "generated",
        pl.col("status").is_in(["drafted", FLAWED]),
        pl.col("generator") == model,
    )
    return {row["question_id"]: row for row in usable.iter_rows(named=True)}


def _same(pair: Row, question: Row, request: Request[AnswerReply], relevance: Relevance) -> bool:
    """Whether the passages, the prompt and the guard's decision are those of the earlier answer."""
    same_passages = pair["passage_ids"] == question["passage_ids"]
    same_prompt = bool(pair["prompt_hash"] == request.prompt_hash)
    return same_passages and same_prompt and _guarded(relevance).items() <= pair.items()


def _pair(
    question: Row,
    request: Request[AnswerReply],
    reply: Reply[AnswerReply] | ModelError,
    model: str,
    owners: dict[str, str],
) -> Row:
    base: Row = {
        **{name: question[name] for name in TAKEN_OVER},
        "origin": "generated",
        "used_chunk_ids": [],
        "citations": [],
        "generator": model,
        "prompt_hash": request.prompt_hash,
    }
    if isinstance(reply, ModelError):
        failure = {"status": "failed", "reason": reply.reason, "detail": str(reply)}
        return {**base, **failure, "pair_id": _pair_id(base, reply.reason)}
    draft = reply.value
    return {
        **base,
        "answer": draft.answer,
        "coverage": draft.coverage,
        "used_chunk_ids": _used(draft, question["passage_ids"]),
        "citations": [_citation(one, question["passage_ids"], owners) for one in draft.citations],
        "status": "drafted",
        "pair_id": _pair_id(base, draft.model_dump_json()),
    }


def _used(draft: AnswerReply, passage_ids: list[str]) -> list[str]:
    """Chunks of the passage numbers named, each once; a number that was never shown names none."""
    numbers = [*draft.used_chunks, *(citation.passage for citation in draft.citations)]
    valid = [number for number in numbers if 1 <= number <= len(passage_ids)]
    return list(dict.fromkeys(passage_ids[number - 1] for number in valid))


def _citation(citation: DraftCitation, passage_ids: list[str], owners: dict[str, str]) -> Row:
    shown = citation.passage <= len(passage_ids)
    chunk_id = passage_ids[citation.passage - 1] if shown else None
    return {
        "raw": f"passage {citation.passage}",
        "document_id": owners[chunk_id] if chunk_id is not None else None,
        "chunk_id": chunk_id,
        "quote": citation.quote,
        "resolution": "chunk" if shown else "unknown_passage",
    }


def _pair_id(row: Row, reply: str) -> str:
    parts = [row["question_id"], *row["passage_ids"], row["prompt_hash"], row["generator"], reply]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]
