"""Signals that a language model finds: contradicted contexts, relevant sentences, back questions, conflicts.

A reply that failed, or that cannot be used, leaves its row unknown. So does an injection in the texts that
were shown: what a model says then is not taken at its word, and here no person decides in its place.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, islice

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.evaluation.signals.base import Row
from qa_pipeline.generation.round_trip import compare_request
from qa_pipeline.llm.base import LanguageModel, ReplyT, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import (
    PromptName,
    delimit,
    delimit_all,
    load_prompt,
    render_passages,
)
from qa_pipeline.records import (
    AnsweredQuestion,
    BackQuestionsReply,
    CompareReply,
    ConflictReply,
    ContextReply,
    GroundednessReply,
    Passage,
    RelevanceReply,
)
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.text.injection import hold_injections, is_injection, redact_injections

MOST_CONTEXTS = 20
"""Contexts that stand in one request; with more of them a figure that needs all at once is unknown, since
their pairs grow with the square."""
QUESTIONS = 3
"""Questions asked back from an answer: their mean is steadier than one, and all come with one call."""


def ask_contradictions(rows: pl.DataFrame, model: LanguageModel, llm: LLMSettings) -> list[list[Row]]:
    """Ask which contexts contradict the answer ({contradicted}, null if unsure)."""
    requests = [
        [contradiction_request(row, passage, llm) for passage in _passages(row)]
        for row in rows.iter_rows(named=True)
    ]
    replies = iter(_replies(chain.from_iterable(requests), model, llm))
    verdicts = {"yes": True, "no": False}
    return [
        [
            {"contradicted": None if reply is None else verdicts.get(reply.contradicts)}
            for reply in islice(replies, len(of_row))
        ]
        for of_row in requests
    ]


def ask_relevance(
    rows: pl.DataFrame, sentences: Sequence[Sequence[Sequence[str]]], model: LanguageModel, llm: LLMSettings
) -> list[list[list[bool | None]]]:
    """Ask which sentences of each context help to answer the question, one request a context."""
    requests = [
        relevance_request(row, texts, llm) if texts else None
        for row, of_row in zip(rows.iter_rows(named=True), sentences, strict=True)
        for texts in of_row
    ]
    replies = iter(_replies(requests, model, llm))
    return [[_marks(next(replies), len(texts)) for texts in of_row] for of_row in sentences]


def _marks(reply: RelevanceReply | None, count: int) -> list[bool | None]:
    numbers = range(1, count + 1)
    if reply is None or any(number not in numbers for number in reply.relevant):
        return [None] * count
    return [number in reply.relevant for number in numbers]


def ask_back_questions(
    rows: pl.DataFrame, model: LanguageModel, llm: LLMSettings
) -> list[tuple[list[str], bool] | None]:
    """Ask for the questions that each answer answers, and whether it commits itself to nothing."""
    requests = [back_questions_request(row, llm) for row in rows.iter_rows(named=True)]
    answered: list[tuple[list[str], bool] | None] = []
    for reply in _replies(requests, model, llm):
        if reply is None:
            answered.append(None)
            continue
        questions = [question for question in reply.questions if question.strip()][:QUESTIONS]
        answered.append((questions, reply.noncommittal) if questions or reply.noncommittal else None)
    return answered


def ask_conflicts(rows: pl.DataFrame, model: LanguageModel, llm: LLMSettings) -> list[list[Row] | None]:
    """Ask whether the contexts contradict one another and, if so, whether the answer deals with it."""
    rows_with_passages = [(row, _passages(row)) for row in rows.iter_rows(named=True)]
    requests = [
        conflict_request(row, passages, llm) if 1 < len(passages) <= MOST_CONTEXTS else None
        for row, passages in rows_with_passages
    ]
    conflicts: list[list[Row] | None] = []
    replies = _replies(requests, model, llm)
    for (_, passages), reply in zip(rows_with_passages, replies, strict=True):
        if reply is not None:
            conflicts.append([{"handled": reply.handled}] if reply.contradict else [])
        else:
            conflicts.append([] if len(passages) < 2 else None)
    return conflicts


def ask_groundedness(rows: pl.DataFrame, model: LanguageModel, llm: LLMSettings) -> list[float | None]:
    """Ask how far the contexts ground each answer, 0 to 1; None with too many of them to be shown."""
    requests = [
        groundedness_request(row, passages, llm) if len(passages) <= MOST_CONTEXTS else None
        for row in rows.iter_rows(named=True)
        for passages in [_passages(row)]
    ]
    replies = _replies(requests, model, llm)
    return [None if reply is None else reply.groundedness for reply in replies]


def ask_meanings(rows: pl.DataFrame, model: LanguageModel, llm: LLMSettings) -> list[list[int] | None]:
    """Return the group of same meaning of each sample; None where one comparison is unsure or failed.

    All are compared with the first of the first group, those that differ with the first of them, and so on.
    """
    sampled = rows.rows(named=True)
    groups: list[list[int] | None] = [[-1] * len(row["samples"]) for row in sampled]
    while unfinished := [at for at, of_row in enumerate(groups) if of_row and -1 in of_row]:
        requests = [_comparison(sampled[at], groups[at] or [], llm) for at in unfinished]
        for at, reply in zip(unfinished, _replies(requests, model, llm), strict=True):
            groups[at] = _with_group(groups[at] or [], reply)
    return groups


def _comparison(row: Row, groups: Sequence[int], llm: LLMSettings) -> Request[CompareReply] | None:
    """Return the request to compare the first sample without a group with the others, if there are any."""
    first, *others = (sample for sample, group in zip(row["samples"], groups, strict=True) if group < 0)
    pair: AnsweredQuestion = {
        "language": row["language"],
        "question": row["query"],
        "answer": first,
        "batch": "",
    }
    return compare_request(pair, others, llm) if others else None


def _with_group(groups: Sequence[int], reply: CompareReply | None) -> list[int] | None:
    """Return the groups with a new one: the first sample without any, and those said to mean the same."""
    first, *others = (at for at, group in enumerate(groups) if group < 0)
    comparisons = [] if reply is None else reply.comparisons
    by_number = {comparison.answer: comparison.agreement for comparison in comparisons}
    agreements = [by_number.get(number) for number in range(1, len(others) + 1)]
    if not {*agreements} <= {"same", "different"}:
        return None
    same = {first, *(at for at, agreement in zip(others, agreements, strict=True) if agreement == "same")}
    return [max(groups) + 1 if at in same else group for at, group in enumerate(groups)]


def contradiction_request(row: Row, passage: Passage, llm: LLMSettings) -> Request[ContextReply]:
    """Return the request that asks whether one context contradicts the answer of its row."""
    return _request(row, "contradicts", ContextReply, [passage], llm)


def relevance_request(row: Row, sentences: Sequence[str], llm: LLMSettings) -> Request[RelevanceReply]:
    """Return the request that asks which sentences of one context help to answer the question."""
    passage = Passage("context-1", "", (), "\n".join(sentences), row["language"])
    return _request(row, "relevant_sentences", RelevanceReply, [passage], llm, sentences)


def back_questions_request(row: Row, llm: LLMSettings) -> Request[BackQuestionsReply]:
    """Return the request that asks which questions the answer of a row answers."""
    return _request(row, "back_questions", BackQuestionsReply, [], llm)


def conflict_request(row: Row, passages: Sequence[Passage], llm: LLMSettings) -> Request[ConflictReply]:
    """Return the request that asks whether contexts contradict one another and the answer deals with it."""
    return _request(row, "conflict", ConflictReply, passages, llm)


def groundedness_request(
    row: Row, passages: Sequence[Passage], llm: LLMSettings
) -> Request[GroundednessReply]:
    """Return the request that asks how far contexts ground the answer of their row."""
    return _request(row, "groundedness", GroundednessReply, passages, llm)


def _request(
    row: Row,
    name: PromptName,
    reply_model: type[ReplyT],
    passages: Sequence[Passage],
    llm: LLMSettings,
    sentences: Sequence[str] = (),
) -> Request[ReplyT]:
    prompt = load_prompt(row["language"], name, llm)
    texts = {"question": row["query"], "answer": row["answer"], "reference": row["reference"] or ""}
    texts = {label: text for label, text in texts.items() if label in prompt.placeholders}
    values = {label: delimit(text, label) for label, text in texts.items()}
    if "passages" in prompt.placeholders:
        values["passages"] = render_passages([redact_injections(passage) for passage in passages])
    if "sentences" in prompt.placeholders:
        values["sentences"] = delimit_all(sentences, "sentence")
    return Request(
        role="evaluate",
        system=prompt.system,
        prompt=prompt.fill(**values),
        reply_model=reply_model,
        temperature=0.0,
        seed=llm.seed,
        language=row["language"],
        passages=tuple(passages),
        question=texts.get("question"),
        answer=texts.get("answer"),
        prompt_hash=prompt.hash,
    )


def _passages(row: Row) -> list[Passage]:
    return [
        Passage(f"context-{at}", context["document"] or "", (), context["text"] or "", row["language"])
        for at, context in enumerate(row["contexts"], start=1)
    ]


def _replies(
    requests: Iterable[Request[ReplyT] | None], model: LanguageModel, llm: LLMSettings
) -> list[ReplyT | None]:
    """Return the reply to each request, equal ones asked once; None where it failed or is not believed."""
    keys, distinct = [], {}
    for request in requests:
        keys.append(None if request is None else request.key)
        if request is not None:
            distinct[request.key] = request
    replies: dict[str | None, ReplyT] = {}
    outcomes = complete_all(model, list(distinct.values()), workers=llm.workers)
    for request, outcome in zip(distinct.values(), outcomes, strict=True):
        if not isinstance(outcome, ModelError) and not _injected(request):
            replies[request.key] = outcome.value
    return [replies.get(key) for key in keys]


def _injected(request: Request[ReplyT]) -> bool:
    texts = (request.question or "", request.answer or "")
    return hold_injections(request.passages) or any(map(is_injection, texts))
