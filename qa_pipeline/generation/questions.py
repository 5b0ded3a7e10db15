"""Questions: each chunk is asked for some, and each question must find its own chunk again."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl

from qa_pipeline.chunking.repeats import NEAR_DUPLICATE, REPEATED_BLOCK
from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import LanguageModel, Reply, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import load_prompt, render_passages
from qa_pipeline.records import Passage, ProgressCallback, QuestionsReply, no_progress, passages_by_id
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.tables import QUESTIONS

Retrieve = Callable[[Sequence[str], Sequence[str]], list[list[tuple[str, float]]]]
"""(questions, languages) -> chunk ids and scores for each question, best first."""

Row = dict[str, Any]


def write_questions(
    chunks: pl.DataFrame,
    model: LanguageModel,
    retrieve: Retrieve,
    settings: GenerationSettings,
    llm: LLMSettings,
    *,
    batch: str,
    previous: pl.DataFrame | None = None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Ask every chunk for questions and keep those that retrieve the chunk they were written for.

    Rows of `previous` stand as they are while the chunks they name still exist, whatever has been added
    to the batch since: they were paid for, and new neighbours do not make them wrong. Chunks whose
    earlier reply could not be used are asked again.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    passages = passages_by_id(chunks)
    requests = {
        chunk_id: question_request(passage, settings, llm.seed, batch)
        for chunk_id, passage in passages.items()
    }
    kept = _still_valid(previous, requests, model.name)
    left_out = passed_over(chunks, settings)
    kept = [row for row in kept if row["target_chunk_ids"][0] not in left_out]
    answered = {row["target_chunk_ids"][0] for row in kept} | set(left_out)
    open_ids = [chunk_id for chunk_id in requests if chunk_id not in answered]
    replies = complete_all(model, [requests[i] for i in open_ids], workers=llm.workers, notify=notify)
    written = [
        row
        for chunk_id, reply in zip(open_ids, replies, strict=True)
        for row in _rows(passages[chunk_id], requests[chunk_id], reply, model.name, batch)
    ]
    _retrieve_passages(written, retrieve)
    not_asked = [
        _not_asked(requests[chunk_id], reason, model.name, batch) for chunk_id, reason in left_out.items()
    ]
    rows = _in_chunk_order(kept + written + not_asked, passages)
    return QUESTIONS.frame(_decide(rows, round_trip=settings.require_round_trip))


def passed_over(chunks: pl.DataFrame, settings: GenerationSettings) -> dict[str, str]:
    """Chunks that are not asked, since others say the same, with the reason."""
    reasons = [
        reason
        for reason, left_out in (
            (NEAR_DUPLICATE, settings.skip_near_duplicates),
            (REPEATED_BLOCK, settings.skip_repeated_blocks),
        )
        if left_out
    ]
    marked = chunks.filter(pl.col("repeats").is_in(reasons))
    return dict(marked.select("chunk_id", "repeats").iter_rows())


def question_request(
    passage: Passage, settings: GenerationSettings, seed: int, batch: str
) -> Request[QuestionsReply]:
    """What a chunk is asked for questions with."""
    prompt = load_prompt(passage.language, "questions")
    return Request(
        role="questions",
        system=prompt.system,
        prompt=prompt.fill(passages=render_passages([passage]), limit=str(settings.questions_per_chunk)),
        reply_model=QuestionsReply,
        temperature=settings.temperature,
        seed=seed,
        language=passage.language,
        passages=(passage,),
        limit=settings.questions_per_chunk,
        batch=batch,
        prompt_hash=prompt.hash,
    )


def _still_valid(
    previous: pl.DataFrame | None, requests: dict[str, Request[QuestionsReply]], model: str
) -> list[Row]:
    """Earlier rows whose chunk, retrieved passages, prompt and model are all still the same."""
    if previous is None:
        return []
    was_asked = pl.col("question").is_not_null() & (pl.col("status") != "failed")
    usable = previous.filter(was_asked, pl.col("model") == model)
    rows = [row for row in usable.iter_rows(named=True) if row["target_chunk_ids"][0] in requests]
    changed = {row["target_chunk_ids"][0] for row in rows if not _unchanged(row, requests)}
    # All questions of a chunk stand or fall together: they came from one reply.
    return [row for row in rows if row["target_chunk_ids"][0] not in changed]


def _unchanged(row: Row, requests: dict[str, Request[QuestionsReply]]) -> bool:
    same_prompt = requests[row["target_chunk_ids"][0]].prompt_hash == row["prompt_hash"]
    return same_prompt and all(chunk_id in requests for chunk_id in row["passage_ids"])


def _rows(
    passage: Passage,
    request: Request[QuestionsReply],
    reply: Reply[QuestionsReply] | ModelError,
    model: str,
    batch: str,
) -> list[Row]:
    base = _base(passage, request, model, batch)
    if isinstance(reply, ModelError):
        failure = {"status": "failed", "reason": reply.reason, "detail": str(reply)}
        return [{**base, **failure, "question_id": _question_id(base, "")}]
    return [
        {
            **base,
            "question_id": _question_id(base, draft.question),
            "question": draft.question,
            "question_type": draft.question_type,
            "status": "kept",
        }
        for draft in reply.value.questions[: request.limit]
    ]


def _not_asked(request: Request[QuestionsReply], reason: str, model: str, batch: str) -> Row:
    base = _base(request.passages[0], request, model, batch)
    return {**base, "status": "dropped", "reason": reason, "question_id": _question_id(base, reason)}


def _base(passage: Passage, request: Request[QuestionsReply], model: str, batch: str) -> Row:
    return {
        "batch": batch,
        "target_chunk_ids": [passage.chunk_id],
        "passage_ids": [],
        "language": passage.language,
        "prompt_hash": request.prompt_hash,
        "model": model,
    }


def _question_id(row: Row, question: str) -> str:
    parts = [row["batch"], *row["target_chunk_ids"], question, row["prompt_hash"], row["model"]]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]


def _retrieve_passages(rows: list[Row], retrieve: Retrieve) -> None:
    asked = [row for row in rows if row["status"] == "kept"]
    found = retrieve([row["question"] for row in asked], [row["language"] for row in asked])
    for row, passages in zip(asked, found, strict=True):
        row["passage_ids"] = [chunk_id for chunk_id, _ in passages]
        row["passage_scores"] = [score for _, score in passages]


def _in_chunk_order(rows: list[Row], passages: Iterable[str]) -> list[Row]:
    """Order by chunk and, within one, as written: the same whether rows are old or new."""
    place = {chunk_id: number for number, chunk_id in enumerate(passages)}
    return sorted(rows, key=lambda row: place[row["target_chunk_ids"][0]])


def _decide(rows: list[Row], *, round_trip: bool) -> list[Row]:
    """Keep or drop each question, earlier ones included: what was a repeat may now stand alone.

    A question that does not find its own chunk would be answered from elsewhere, or not at all.
    """
    seen: set[str] = set()
    unique = {row["question_id"]: row for row in rows}
    for row in unique.values():
        if row.get("question") is None:  # the reply failed, or the chunk was not asked
            continue
        text = " ".join(row["question"].casefold().split())
        if round_trip and row["target_chunk_ids"][0] not in row["passage_ids"]:
            row.update(status="dropped", reason="round_trip_failed")
        elif text in seen:
            row.update(status="dropped", reason="repeated_question")
        else:
            row.update(status="kept", reason=None)
            seen.add(text)
    return list(unique.values())
