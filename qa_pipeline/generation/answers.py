"""Answer each kept question from its retrieved passages only, with citations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.generation.guard import Relevance
from qa_pipeline.generation.requests import is_quoted, request_about
from qa_pipeline.llm.base import LanguageModel, Reply, Request, complete_all, maker, makers
from qa_pipeline.prompts.loading import load_prompt, refusal
from qa_pipeline.records import (
    AnswerReply,
    DraftCitation,
    Passage,
    ProgressCallback,
    Question,
    TypedQuestion,
    no_progress,
    passages_by_id,
)
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.hashes import hash_json
from qa_pipeline.storage.table_schema import CitationStruct, KeptQuestionRow, PairRow, typed_rows
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline.text.refusals import coverage_of
from qa_pipeline.verification.outcomes import FLAWED

Guard = Callable[[Sequence[Question], Sequence[Sequence[Passage]]], list[Relevance]]
"""(rows of the questions table, passages of each) -> the decision on each question."""
Select = Callable[[Sequence[KeptQuestionRow], Mapping[str, Passage]], list[list[int] | ModelError]]
"""(rows of the questions table, passages by id) -> indexes of the usable passages of each question."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer to be drafted. `relevance` is the guard's decision, and `number` counts drafts from 1."""

    row: KeptQuestionRow
    request: Request[AnswerReply]
    relevance: Relevance
    number: int = 1

    @property
    def guard_passed(self) -> bool | None:
        """Return the guard's decision, or None if it could not be asked."""
        return None if self.relevance.error else self.relevance.passes


def draft_answers(
    questions: pl.DataFrame,
    chunks: pl.DataFrame,
    model: LanguageModel,
    settings: GenerationSettings,
    llm: LLMSettings,
    *,
    select: Select | None = None,
    guard: Guard | None = None,
    previous: pl.DataFrame | None = None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Answer every kept question from its passages. A question that the guard stops gets a single refusal.

    An answer that came with its question is the first draft and costs no call, if all chunks that the
    question is about are among the passages. Further drafts of a question differ only in the seed. A pair of
    `previous` is kept if its passages, prompt, model and guard decision are unchanged. Failed drafts are
    asked again. `select` chooses the usable passages. Raises a PermanentModelError if the model cannot answer
    further requests.
    """
    passages = passages_by_id(chunks)
    rows = list(typed_rows(questions.filter(pl.col("status") == "kept"), KeptQuestionRow))
    selections = None if select is None else select(rows, passages)
    if selections is not None:
        rows = [_with_selected(row, selection) for row, selection in zip(rows, selections, strict=True)]
    requests = [answer_request(row, [passages[i] for i in row["passage_ids"]], settings, llm) for row in rows]
    earlier = _by_question(previous, model.name)
    relevances = _relevances(rows, requests, selections, guard)
    drafts = [
        Draft(row, replace(request, seed=number - 1), relevance, number)
        for row, request, relevance in zip(rows, requests, relevances, strict=True)
        for number in range(1, 1 + (settings.drafts_per_question if relevance.passes else 1))
    ]
    ready = [_made_without_call(draft, earlier, passages, settings, model.name) for draft in drafts]
    to_ask = [draft.request for draft, pair in zip(drafts, ready, strict=True) if pair is None]
    replies = iter(complete_all(model, to_ask, workers=llm.workers, notify=notify))
    pairs = [
        _with_guard(pair or _pair(draft, settings, next(replies), model.name, passages), draft)
        for draft, pair in zip(drafts, ready, strict=True)
    ]
    return PAIRS.frame(pairs)


def _with_selected(row: KeptQuestionRow, selection: Sequence[int] | ModelError) -> KeptQuestionRow:
    """Return the row with only the selected passages, or without passages if the selection failed."""
    indices = () if isinstance(selection, ModelError) else selection
    scores = row["passage_scores"]
    return {
        **row,
        "passage_ids": [row["passage_ids"][index] for index in indices],
        "passage_scores": None if scores is None else [scores[index] for index in indices],
    }


def answer_request(
    row: TypedQuestion, passages: list[Passage], settings: GenerationSettings, llm: LLMSettings
) -> Request[AnswerReply]:
    """Return the request to answer the question of a row."""
    style = f"style_{settings.style_of(row['question_type'])}"
    prompt = load_prompt(row["language"], "answer", llm).with_part(row["language"], style)
    # the label "text" is part of the prompt: with another label, stored answers would be asked for again
    return request_about(
        row, "answer", prompt, AnswerReply, llm, passages, label="text", temperature=settings.temperature
    )


def _by_question(previous: pl.DataFrame | None, model: str) -> dict[tuple[str, int], PairRow]:
    """Return the pairs that a model drafted earlier, by question id and number of the draft."""
    if previous is None:
        return {}
    usable = previous.filter(
        pl.col("origin") == "generated",
        pl.col("status").is_in(["drafted", FLAWED]),
        pl.col("generator").is_in(makers(model)),
    )
    return {
        (row["question_id"], row["draft"]): row
        for row in typed_rows(usable, PairRow)
        if row["question_id"] is not None and row["draft"] is not None
    }


def _relevances(
    rows: Sequence[KeptQuestionRow],
    requests: Sequence[Request[AnswerReply]],
    selections: Sequence[Sequence[int] | ModelError] | None,
    guard: Guard | None,
) -> list[Relevance]:
    """Return the decision on each question.

    An empty or failed selection of passages rejects a question, and the guard decides on the others. Without
    a guard they pass, and the prompt of the answer decides.
    """
    relevance_of: dict[int, Relevance] = {}  # by index of the row
    for index, selection in enumerate(selections or ()):
        error = selection if isinstance(selection, ModelError) else None
        if error or not selection:
            relevance_of[index] = Relevance("validation", passes=False, error=error)
    rest = [index for index in range(len(rows)) if index not in relevance_of]
    if guard is not None:
        decided = guard([rows[index] for index in rest], [requests[index].passages for index in rest])
        relevance_of |= dict(zip(rest, decided, strict=True))
    return [relevance_of.get(index, Relevance("prompt")) for index in range(len(rows))]


def _made_without_call(
    draft: Draft,
    earlier: Mapping[tuple[str, int], PairRow],
    passages: Mapping[str, Passage],
    settings: GenerationSettings,
    model: str,
) -> PairRow | None:
    """Return a pair written with its question, answered before or stopped by the guard, else None."""
    row, is_stopped = draft.row, not draft.relevance.passes
    if draft.number == 1 and not is_stopped and (written := _answer_of_question(row, passages)):
        # the prompt of the questions wrote this answer
        prompted = replace(draft, request=replace(draft.request, prompt_hash=row["prompt_hash"]))
        return _pair(prompted, settings, written, row["model"], passages)
    pair = earlier.get((row["question_id"], draft.number))
    if pair is not None and _is_reusable(pair, draft):
        return _refreshed(pair, row, passages)
    if not is_stopped:
        return None  # the draft needs a call
    refused = AnswerReply(coverage="none", answer=refusal(row["language"]), citations=[])
    # a guard that failed to decide stops the question too; its error makes the pair fail
    reply = draft.relevance.error or Reply(value=refused, raw="", model=draft.relevance.model)
    return _pair(draft, settings, reply, model, passages)


def _answer_of_question(row: KeptQuestionRow, passages: Mapping[str, Passage]) -> Reply[AnswerReply] | None:
    """Return the answer that came with a question, if all target chunks are among the passages and quoted."""
    answer, quotes = row["drafted_answer"], row["drafted_quotes"]
    if answer is None or not quotes:
        return None
    # only the target chunks are cited, by their number among the passages
    numbered = enumerate(row["passage_ids"], start=1)
    targets = [(number, chunk_id) for number, chunk_id in numbered if chunk_id in row["target_chunk_ids"]]
    citations = [
        DraftCitation(passage=number, quote=quote)
        for quote in quotes
        for number, chunk_id in targets
        if is_quoted(quote, passages[chunk_id].text)
    ]
    if len({citation.passage for citation in citations}) < len(row["target_chunk_ids"]):
        return None
    return Reply(value=AnswerReply(citations=citations, answer=answer, coverage="full"), raw="", model="")


def _is_reusable(pair: PairRow, draft: Draft) -> bool:
    """Return True if an earlier answer has unchanged passages, prompt and guard decision.

    A full answer depends on the passages it uses. A partial answer or a refusal depends on all retrieved
    passages, since it states gaps in them.
    """
    if pair["guard_passed"] != draft.guard_passed or pair["prompt_hash"] != draft.request.prompt_hash:
        return False
    used_ids, passage_ids = pair["used_chunk_ids"], draft.row["passage_ids"]
    # a citation without a chunk has a number that no shown passage has, so `used_ids` may be incomplete
    is_resolved = all(citation["chunk_id"] for citation in pair["citations"])
    if pair["coverage"] == "full" and used_ids and is_resolved:
        return set(used_ids) <= set(passage_ids)
    return pair["passage_ids"] == passage_ids


def _refreshed(pair: PairRow, question: KeptQuestionRow, passages: Mapping[str, Passage]) -> PairRow:
    """Return the earlier pair with the current passages, and its citations numbered after them."""
    passage_ids = question["passage_ids"]
    number_of = {chunk_id: number for number, chunk_id in enumerate(passage_ids, start=1)}
    citations = [
        citation
        if citation["chunk_id"] is None  # it is unresolved
        else _citation(citation["quote"], number_of[citation["chunk_id"]], passage_ids, passages)
        for citation in pair["citations"]
    ]
    return {
        **pair,
        "difficulty": question["difficulty"],
        "passage_ids": passage_ids,
        "passage_scores": question["passage_scores"],
        "citations": citations,
    }


def _pair(
    draft: Draft,
    settings: GenerationSettings,
    reply: Reply[AnswerReply] | ModelError,
    model: str,
    passages: Mapping[str, Passage],
) -> PairRow:
    """Return the row of a draft from its reply, or from the failure of the model."""
    question = draft.row
    copied = ("batch", "question_id", "question", "language", "question_type", "difficulty")
    pair: PairRow = {
        **dict.fromkeys(PAIRS.schema, None),  # type: ignore[typeddict-item]
        **{name: question[name] for name in (*copied, "passage_ids", "passage_scores")},
        "hops": len(question["target_chunk_ids"]),
        "draft": draft.number,
        "answer_style": settings.style_of(question["question_type"]),
        "origin": "generated",
        "used_chunk_ids": [],
        "citations": [],
        "generator": maker(model, reply),
        "prompt_hash": draft.request.prompt_hash,
        "status": "drafted",
    }
    if isinstance(reply, ModelError):
        pair["status"], pair["reason"], pair["detail"] = "failed", reply.reason, str(reply)
    else:
        value, passage_ids = reply.value, question["passage_ids"]
        # offline rules and replies in plain text set `used_chunks`, as they may use a passage without a quote
        numbers = [*value.used_chunks, *(citation.passage for citation in value.citations)]  # from 1
        pair["answer"] = value.answer
        pair["coverage"] = coverage_of(value.answer, value.coverage)
        used = [passage_ids[number - 1] for number in numbers if 1 <= number <= len(passage_ids)]
        pair["used_chunk_ids"] = list(dict.fromkeys(used))
        pair["citations"] = [
            _citation(citation.quote, citation.passage, passage_ids, passages) for citation in value.citations
        ]
    pair["pair_id"] = _pair_id(pair)
    return pair


def _citation(
    quote: str | None, number: int, passage_ids: Sequence[str], passages: Mapping[str, Passage]
) -> CitationStruct:
    """Return a citation of passage `number`, counted from 1, of the passages that the model read."""
    chunk_id = passage_ids[number - 1] if number <= len(passage_ids) else None
    return {
        "raw": f"[c{number}]",
        "document_id": None if chunk_id is None else passages[chunk_id].document_id,
        "chunk_id": chunk_id,
        "quote": quote,
        "number": None,  # only imported answers number their sources
        "resolution": "unknown_passage" if chunk_id is None else "chunk",
    }


def _pair_id(row: PairRow) -> str:
    """Return a hash of question, answer and used chunks. Unused passages are not included."""
    cited = [[citation["chunk_id"] or citation["raw"], citation["quote"]] for citation in row["citations"]]
    used = sorted(row["used_chunk_ids"])
    outcome = [row["reason"], row["answer"], row["coverage"], used, cited]
    parts = [row["question_id"], row["prompt_hash"], row["generator"], row["draft"], *outcome]
    return hash_json(parts)[:32]


def _with_guard(pair: PairRow, draft: Draft) -> PairRow:
    relevance = draft.relevance
    return {
        **pair,
        "guarded_by": relevance.decided_by,
        "guard_similarity": relevance.similarity,
        "guard_passed": draft.guard_passed,
        "guard_confidence": relevance.confidence,
        "guard_reasoning": relevance.reasoning,
    }
