"""Answers: each kept question is answered from its retrieved passages only, with citations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.generation.guard import Relevance
from qa_pipeline.generation.questions import is_quoted
from qa_pipeline.llm.base import LanguageModel, Reply, Request, maker, makers
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import PartName, delimit, load_prompt, refusal, render_passages
from qa_pipeline.records import (
    AnswerReply,
    AnswerStyle,
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
from qa_pipeline.storage.rows import CitationStruct, KeptQuestionRow, PairRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline.text.refusals import coverage_of
from qa_pipeline.verification.outcomes import FLAWED

STYLE_PARTS: Mapping[AnswerStyle, PartName] = {
    "short": "style_short",
    "sentence": "style_sentence",
    "long_form": "style_long_form",
    "steps": "style_steps",
}

Guard = Callable[[Sequence[Question], Sequence[Sequence[Passage]]], list[Relevance]]
"""(rows of the questions table, passages of each) -> whether each question may be answered from them."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The passages of a question that an answer may be drafted from, by their places.

    `validated` says that they were looked at: then none of them is a refusal. `error` is why they could
    not be.
    """

    places: Sequence[int]
    validated: bool = False
    error: ModelError | None = None

    @property
    def stops(self) -> bool:
        """Return whether no answer may be drafted."""
        return self.error is not None or (self.validated and not self.places)


Select = Callable[[Sequence[KeptQuestionRow], Mapping[str, Passage]], list[Selection]]
"""(rows of the questions table, passages by id) -> which passages of each may be used."""


def keep_all(rows: Sequence[KeptQuestionRow], passages: Mapping[str, Passage]) -> list[Selection]:
    """Use all that was retrieved."""
    return [Selection(range(len(row["passage_ids"]))) for row in rows]


def _only(row: KeptQuestionRow, selection: Selection) -> KeptQuestionRow:
    """Return the row with the chosen passages alone."""
    scores = row["passage_scores"]
    return {
        **row,
        "passage_ids": [row["passage_ids"][place] for place in selection.places],
        "passage_scores": scores and [scores[place] for place in selection.places],
    }


def let_all_pass(rows: Sequence[Question], passages: Sequence[Sequence[Passage]]) -> list[Relevance]:
    """Leave it to the prompt of the answer."""
    return [Relevance("prompt") for _ in rows]


def draft_answers(
    questions: pl.DataFrame,
    chunks: pl.DataFrame,
    model: LanguageModel,
    settings: GenerationSettings,
    llm: LLMSettings,
    *,
    select: Select = keep_all,
    guard: Guard = let_all_pass,
    previous: pl.DataFrame | None = None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Answer every kept question from its passages; one that the guard stops gets one refusal.

    An answer that was written with its question is the first draft of it, and costs no call, while the chunks
    that it quotes are among the passages.

    A pair of `previous` is kept while the passages it rests on, prompt and model are the same, and the guard
    decides the same of it; a draft that failed is asked again. `select` says which of the retrieved passages
    may be used. Further drafts of a question differ in the seed alone.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    accepted = questions.filter(pl.col("status") == "kept")
    passages = passages_by_id(chunks)
    owners = dict(chunks.select("chunk_id", "document_id").iter_rows())
    rows = list(typed_rows(accepted, KeptQuestionRow))
    chosen = select(rows, passages)
    requests = [
        (row, answer_request(row, [passages[i] for i in row["passage_ids"]], settings, llm))
        for row in (_only(row, selection) for row, selection in zip(rows, chosen, strict=True))
    ]
    texts = dict(chunks.select("chunk_id", "text").iter_rows())
    earlier = _by_question(previous, model.name)
    relevances = _relevances(requests, earlier, settings, guard)
    relevances = [
        Relevance("validation", passes=False, error=selection.error) if selection.stops else relevance
        for selection, relevance in zip(chosen, relevances, strict=True)
    ]
    drafts = [
        (row, number, replace(request, seed=llm.seed + number - 1), relevance)
        for (row, request), relevance in zip(requests, relevances, strict=True)
        for number in range(1, 1 + (settings.drafts_per_question if relevance.passes else 1))
    ]
    written = [
        _written(row, texts) if number == 1 and relevance.passes else None
        for row, number, _, relevance in drafts
    ]
    earlier_pairs = [
        None if reply else earlier.get((row["question_id"], number))
        for reply, (row, number, _, _) in zip(written, drafts, strict=True)
    ]
    earlier_pairs = [
        _refreshed(pair, row, owners) if pair is not None and _same(pair, row, request, relevance) else None
        for pair, (row, _, request, relevance) in zip(earlier_pairs, drafts, strict=True)
    ]
    to_draft = [
        request
        for pair, reply, (_, _, request, relevance) in zip(earlier_pairs, written, drafts, strict=True)
        if pair is None and reply is None and relevance.passes
    ]
    replies = iter(complete_all(model, to_draft, workers=llm.workers, notify=notify))
    pairs = []
    for pair, reply, (row, number, request, relevance) in zip(earlier_pairs, written, drafts, strict=True):
        made = pair
        if reply is not None:
            asked = replace(request, prompt_hash=row["prompt_hash"])
            made = _pair(row, number, settings, asked, reply, row["model"], owners)
        elif made is None:
            drafted = next(replies) if relevance.passes else _stopped(row, relevance)
            made = _pair(row, number, settings, request, drafted, model.name, owners)
        pairs.append(_with_guard(made, relevance))
    return PAIRS.frame(pairs)


def _written(row: KeptQuestionRow, texts: Mapping[str, str]) -> Reply[AnswerReply] | None:
    """Return the answer that came with a question; None without one, or where a quoted chunk is not shown."""
    answer, quotes = row["drafted_answer"], row["drafted_quotes"]
    if answer is None or not quotes:
        return None
    visible = list(enumerate(row["passage_ids"], start=1))
    targets = [(number, chunk_id) for number, chunk_id in visible if chunk_id in row["target_chunk_ids"]]
    citations = [
        DraftCitation(passage=number, quote=quote)
        for quote in quotes
        for number, chunk_id in targets
        if is_quoted(quote, texts[chunk_id])
    ]
    if len({citation.passage for citation in citations}) < len(row["target_chunk_ids"]):
        return None
    value = AnswerReply(citations=citations, answer=answer, coverage="full")
    return Reply(value=value, raw="", model="")


def _stopped(row: KeptQuestionRow, relevance: Relevance) -> Reply[AnswerReply] | ModelError:
    """Return the reply in the place of an answer that was not asked for."""
    if relevance.error is not None:
        return relevance.error
    refused = AnswerReply(coverage="none", answer=refusal(row["language"]), used_chunks=[], citations=[])
    return Reply(value=refused, raw="", model=relevance.model)


def _guard_passed(relevance: Relevance) -> bool | None:
    return None if relevance.error else relevance.passes


def _with_guard(pair: PairRow, relevance: Relevance) -> PairRow:
    return {
        **pair,
        "guarded_by": relevance.decided_by,
        "guard_similarity": relevance.similarity,
        "guard_passed": _guard_passed(relevance),
        "guard_confidence": relevance.confidence,
        "guard_reasoning": relevance.reasoning,
    }


def answer_request(
    row: TypedQuestion, passages: list[Passage], settings: GenerationSettings, llm: LLMSettings
) -> Request[AnswerReply]:
    """Return the request to answer a question; `row` is its row of the questions table."""
    prompt = load_prompt(row["language"], "answer", llm)
    prompt = prompt.with_constant(row["language"], STYLE_PARTS[settings.style_of(row["question_type"])])
    return Request(
        role="answer",
        system=prompt.system,
        prompt=prompt.fill(
            passages=render_passages(passages),
            question=delimit(row["question"]),
        ),
        reply_model=AnswerReply,
        temperature=settings.temperature,
        seed=llm.seed,
        language=row["language"],
        passages=tuple(passages),
        question=row["question"],
        batch=row["batch"],
        prompt_hash=prompt.hash,
    )


def _by_question(previous: pl.DataFrame | None, model: str) -> dict[tuple[str, int], PairRow]:
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
    requests: Sequence[tuple[KeptQuestionRow, Request[AnswerReply]]],
    earlier: Mapping[tuple[str, int], PairRow],
    settings: GenerationSettings,
    guard: Guard,
) -> list[Relevance]:
    """Return the guard's decision on each question; unchanged questions are not asked again."""
    relevances: dict[int, Relevance] = {}
    for place, (row, request) in enumerate(requests):
        pair = earlier.get((row["question_id"], 1))
        if pair is not None and settings.guard.asks_a_model and pair["guarded_by"] == "llm":
            similar, least = pair["guard_similarity"], settings.guard.threshold
            if _unchanged(pair, row, request) and (least is None or (similar or -1.0) >= least):
                relevances[place] = Relevance(
                    "llm",
                    similar,
                    passes=pair["guard_passed"] is True,
                    confidence=pair["guard_confidence"],
                    reasoning=pair["guard_reasoning"],
                )
    rest = [place for place in range(len(requests)) if place not in relevances]
    judged = guard([requests[place][0] for place in rest], [requests[place][1].passages for place in rest])
    relevances |= dict(zip(rest, judged, strict=True))
    return [relevances[place] for place in range(len(requests))]


def _same(
    pair: PairRow, question: KeptQuestionRow, request: Request[AnswerReply], relevance: Relevance
) -> bool:
    """Return whether the earlier answer still rests on its passages and prompt, and the guard lets it stand.

    A full answer rests on the passages it uses. A partial answer or a refusal rests on all that were
    retrieved, since it states what they lack.
    """
    if _guard_passed(relevance) != pair["guard_passed"]:
        return False
    if pair["coverage"] != "full" or not pair["used_chunk_ids"] or _cites_unknown_passage(pair):
        return _unchanged(pair, question, request)
    is_retrieved = set(pair["used_chunk_ids"]) <= set(question["passage_ids"])
    return is_retrieved and bool(pair["prompt_hash"] == request.prompt_hash)


def _cites_unknown_passage(pair: PairRow) -> bool:
    return any(citation["chunk_id"] is None for citation in pair["citations"])


def _refreshed(pair: PairRow, question: KeptQuestionRow, owners: Mapping[str, str]) -> PairRow:
    """Return the earlier pair with what is retrieved now, and its citations in the documents of now."""
    numbers = {chunk_id: number for number, chunk_id in enumerate(question["passage_ids"], start=1)}
    citations: list[CitationStruct] = [
        citation
        if citation["chunk_id"] is None
        else {
            **citation,
            "raw": f"[c{numbers[citation['chunk_id']]}]",
            "document_id": owners[citation["chunk_id"]],
        }
        for citation in pair["citations"]
    ]
    return {
        **pair,
        "difficulty": question["difficulty"],
        "passage_ids": question["passage_ids"],
        "passage_scores": question["passage_scores"],
        "citations": citations,
    }


def _unchanged(pair: PairRow, question: KeptQuestionRow, request: Request[AnswerReply]) -> bool:
    same_passages = pair["passage_ids"] == question["passage_ids"]
    return same_passages and bool(pair["prompt_hash"] == request.prompt_hash)


def _pair(
    question: KeptQuestionRow,
    number: int,
    settings: GenerationSettings,
    request: Request[AnswerReply],
    reply: Reply[AnswerReply] | ModelError,
    model: str,
    owners: Mapping[str, str],
) -> PairRow:
    """Return the row of one draft of an answer; `number` is its place among the drafts, from 1."""
    pair: PairRow = {
        **dict.fromkeys(PAIRS.schema, None),  # type: ignore[typeddict-item]
        "batch": question["batch"],
        "question_id": question["question_id"],
        "question": question["question"],
        "language": question["language"],
        "question_type": question["question_type"],
        "difficulty": question["difficulty"],
        "hops": len(question["target_chunk_ids"]),
        "passage_ids": question["passage_ids"],
        "passage_scores": question["passage_scores"],
        "draft": number,
        "answer_style": settings.style_of(question["question_type"]),
        "origin": "generated",
        "used_chunk_ids": [],
        "citations": [],
        "generator": maker(model, reply),
        "prompt_hash": request.prompt_hash,
        "status": "drafted",
    }
    if isinstance(reply, ModelError):
        pair["status"], pair["reason"], pair["detail"] = "failed", reply.reason, str(reply)
    else:
        draft, shown = reply.value, question["passage_ids"]
        pair["answer"] = draft.answer
        pair["coverage"] = coverage_of(draft.answer, draft.coverage)
        pair["used_chunk_ids"] = _used(draft, shown)
        pair["citations"] = [_citation(citation, shown, owners) for citation in draft.citations]
    pair["pair_id"] = _pair_id(pair)
    return pair


def _used(draft: AnswerReply, passage_ids: list[str]) -> list[str]:
    """Return the chunks of the passage numbers named, each once; an unknown number names none."""
    numbers = [*draft.used_chunks, *(citation.passage for citation in draft.citations)]
    valid = [number for number in numbers if 1 <= number <= len(passage_ids)]
    return list(dict.fromkeys(passage_ids[number - 1] for number in valid))


def _citation(citation: DraftCitation, passage_ids: list[str], owners: Mapping[str, str]) -> CitationStruct:
    is_shown = citation.passage <= len(passage_ids)
    chunk_id = passage_ids[citation.passage - 1] if is_shown else None
    return {
        "raw": f"[c{citation.passage}]",
        "document_id": owners[chunk_id] if chunk_id is not None else None,
        "chunk_id": chunk_id,
        "quote": citation.quote,
        "number": None,
        "resolution": "chunk" if is_shown else "unknown_passage",
    }


def _pair_id(row: PairRow) -> str:
    """Return the hash of question, answer and the chunks in use; an unused passage is no part of it."""
    cited = [[citation["chunk_id"] or citation["raw"], citation["quote"]] for citation in row["citations"]]
    used = sorted(row["used_chunk_ids"])
    outcome = [row["reason"], row["answer"], row["coverage"], used, cited]
    parts = [row["question_id"], row["prompt_hash"], row["generator"], row["draft"], *outcome]
    return hash_json(parts)[:32]
