"""Signals that a language model finds: contradicted contexts, relevant sentences, back questions, conflicts.

A reply that failed, or that cannot be used, leaves its row unknown. So does an injection in the texts that
were shown: what a model says then is not taken at its word, and here no person decides in its place.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.evaluation.signals.base import Row
from qa_pipeline.generation.round_trip import compare_request
from qa_pipeline.llm.base import LanguageModel, ReplyT, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import (
    Delimited,
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

T = TypeVar("T")
MOST_CONTEXTS = 20
"""Contexts that stand in one request; with more of them a figure that needs all at once is unknown, since
their pairs grow with the square."""


def ask_contradictions(rows: pl.DataFrame, model: LanguageModel, llm: LLMSettings) -> list[list[Row]]:
    """Return whether each context contradicts the answer ({contradicted}, null where unsure)."""
    pairs = [
        (place, contradiction_request(row, passage, llm))
        for place, row in enumerate(rows.iter_rows(named=True))
        for passage in _passages(row)
    ]
    verdicts = {"yes": True, "no": False, "unsure": None}
    return _by_row(
        rows,
        pairs,
        _replies([request for _, request in pairs], model, llm),
        lambda reply, _: {"contradicted": None if reply is None else verdicts[reply.contradicts]},
    )


def ask_relevance(
    rows: pl.DataFrame, sentences: Sequence[Sequence[Sequence[str]]], model: LanguageModel, llm: LLMSettings
) -> list[list[list[bool | None]] | None]:
    """Return whether each sentence of each context helps to answer the question, one request a context.

    Args:
        rows: query, language and, where it is known, reference.
        sentences: of each context of each row.
        model: who is asked.
        llm: workers and seed.
    """
    requests = [
        (place, relevance_request(row, texts, llm))
        for place, row in enumerate(rows.iter_rows(named=True))
        for texts in sentences[place]
        if texts
    ]
    counts = iter([len(texts) for of_row in sentences for texts in of_row if texts])

    def marked(reply: RelevanceReply | None, _: object) -> list[bool | None]:
        numbers = range(1, next(counts) + 1)
        if reply is None or any(number not in numbers for number in reply.relevant):
            return [None] * len(numbers)
        return [number in reply.relevant for number in numbers]

    marks = _by_row(rows, requests, _replies([request for _, request in requests], model, llm), marked)
    relevant: list[list[list[bool | None]] | None] = []
    for of_row, texts in zip(marks, sentences, strict=True):
        marks_of_row = iter(of_row)
        relevant.append([next(marks_of_row) if text else [] for text in texts])
    return relevant


def ask_back_questions(
    rows: pl.DataFrame, model: LanguageModel, llm: LLMSettings
) -> list[BackQuestionsReply | None]:
    """Return the questions that each answer answers; None where the reply failed or holds none."""
    requests = [back_questions_request(row, llm) for row in rows.iter_rows(named=True)]
    replies = _replies(requests, model, llm)
    return [
        None
        if reply is None or not (reply.noncommittal or any(q.strip() for q in reply.questions))
        else reply
        for reply in replies
    ]


def ask_conflicts(rows: pl.DataFrame, model: LanguageModel, llm: LLMSettings) -> list[list[Row] | None]:
    """Return whether the contexts contradict one another and, if so, whether the answer deals with it."""
    conflicts = [
        (place, conflict_request(row, passages, llm))
        for place, row in enumerate(rows.iter_rows(named=True))
        if 1 < len(passages := _passages(row)) <= MOST_CONTEXTS
    ]
    conflicts_of_rows: list[list[Row] | None] = [
        [] if len(contexts) < 2 else None for contexts in rows["contexts"].to_list()
    ]
    replies = _replies([request for _, request in conflicts], model, llm)
    for (place, _), reply in zip(conflicts, replies, strict=True):
        if reply is not None:
            conflicts_of_rows[place] = [{"handled": reply.handled}] if reply.contradict else []
    return conflicts_of_rows


def ask_groundedness(rows: pl.DataFrame, model: LanguageModel, llm: LLMSettings) -> list[float | None]:
    """Return how far the contexts ground each answer, 0 to 1; None with too many of them to be shown."""
    requests = [
        (place, groundedness_request(row, passages, llm))
        for place, row in enumerate(rows.iter_rows(named=True))
        if len(passages := _passages(row)) <= MOST_CONTEXTS
    ]
    ratings: list[float | None] = [None] * rows.height
    replies = _replies([request for _, request in requests], model, llm)
    for (place, _), reply in zip(requests, replies, strict=True):
        ratings[place] = None if reply is None else reply.groundedness
    return ratings


def ask_meanings(rows: pl.DataFrame, model: LanguageModel, llm: LLMSettings) -> list[list[int] | None]:
    """Return the group of same meaning of each sample; None where one comparison is unsure or failed.

    All are compared with the first of the first group, those that differ with the first of them, and so on.
    """
    sampled = rows.select("query", "language", "samples").rows(named=True)
    groups: list[list[int] | None] = [[-1] * len(row["samples"]) for row in sampled]
    open_rows = list(range(len(sampled)))
    while open_rows:
        comparisons: list[tuple[int, list[int]]] = []
        for place in open_rows:
            group_numbers = groups[place] or []
            ungrouped = [at for at, group in enumerate(group_numbers) if group < 0]
            if ungrouped:
                group_numbers[ungrouped[0]] = max(group_numbers) + 1
                comparisons.append((place, ungrouped))
        comparisons_left = [(place, ungrouped) for place, ungrouped in comparisons if len(ungrouped) > 1]
        requests = [_comparison(sampled[place], ungrouped, llm) for place, ungrouped in comparisons_left]
        for (place, ungrouped), reply in zip(comparisons_left, _replies(requests, model, llm), strict=True):
            groups[place] = _grouped(groups[place] or [], ungrouped, reply)
        open_rows = [place for place, _ in comparisons_left if groups[place] is not None]
    return groups


def _comparison(row: Row, ungrouped: Sequence[int], llm: LLMSettings) -> Request[CompareReply]:
    samples = row["samples"]
    pair: AnsweredQuestion = {
        "language": row["language"],
        "question": row["query"],
        "answer": samples[ungrouped[0]],
        "batch": "",
    }
    return compare_request(pair, [samples[at] for at in ungrouped[1:]], llm)


def _grouped(
    group_numbers: list[int], ungrouped: Sequence[int], reply: CompareReply | None
) -> list[int] | None:
    """Return the groups, with those added that are said to mean the same as the first ungrouped sample."""
    agreements_said = (
        {} if reply is None else {comparison.answer: comparison.agreement for comparison in reply.comparisons}
    )
    agreements = [agreements_said.get(number) for number in range(1, len(ungrouped))]
    if any(agreement_word not in ("same", "different") for agreement_word in agreements):
        return None
    for at, agreement in zip(ungrouped[1:], agreements, strict=True):
        if agreement == "same":
            group_numbers[at] = group_numbers[ungrouped[0]]
    return group_numbers


def contradiction_request(row: Row, passage: Passage, llm: LLMSettings) -> Request[ContextReply]:
    """Return the request that asks whether one context contradicts the answer of its row."""
    texts = {"question": row["query"], "answer": row["answer"]}
    return _request(row, "contradicts", ContextReply, texts, [passage], llm)


def relevance_request(row: Row, sentences: Sequence[str], llm: LLMSettings) -> Request[RelevanceReply]:
    """Return the request that asks which sentences of one context help to answer the question."""
    texts = {"question": row["query"], "reference": row["reference"] or ""}
    passage = Passage("context-1", "", (), "\n".join(sentences), row["language"])
    further = {"sentences": delimit_all(sentences, "sentence")}
    return _request(row, "relevant_sentences", RelevanceReply, texts, [passage], llm, further)


def back_questions_request(row: Row, llm: LLMSettings) -> Request[BackQuestionsReply]:
    """Return the request that asks which questions the answer of a row answers."""
    return _request(row, "back_questions", BackQuestionsReply, {"answer": row["answer"]}, [], llm)


def conflict_request(row: Row, passages: Sequence[Passage], llm: LLMSettings) -> Request[ConflictReply]:
    """Return the request that asks whether contexts contradict one another and the answer deals with it."""
    texts = {"question": row["query"], "answer": row["answer"]}
    return _request(row, "conflict", ConflictReply, texts, passages, llm)


def groundedness_request(
    row: Row, passages: Sequence[Passage], llm: LLMSettings
) -> Request[GroundednessReply]:
    """Return the request that asks how far contexts ground the answer of their row."""
    texts = {"question": row["query"], "answer": row["answer"]}
    return _request(row, "groundedness", GroundednessReply, texts, passages, llm)


def _request(
    row: Row,
    name: PromptName,
    reply_model: type[ReplyT],
    texts: Mapping[str, str],
    passages: Sequence[Passage],
    llm: LLMSettings,
    further: Mapping[str, Delimited] | None = None,
) -> Request[ReplyT]:
    prompt = load_prompt(row["language"], name, llm)
    values = {label: delimit(text, label) for label, text in texts.items()} | dict(further or {})
    if "passages" in prompt.placeholders:
        values["passages"] = render_passages([redact_injections(passage) for passage in passages])
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
    requests: Sequence[Request[ReplyT]], model: LanguageModel, llm: LLMSettings
) -> list[ReplyT | None]:
    """Return the reply to each request, equal ones asked once; None where it failed or is not believed."""
    distinct = {request.key: request for request in requests}
    outcomes = complete_all(model, list(distinct.values()), workers=llm.workers)
    replies = dict(zip(distinct, outcomes, strict=True))
    return [
        None if isinstance(reply := replies[request.key], ModelError) or _injected(request) else reply.value
        for request in requests
    ]


def _injected(request: Request[ReplyT]) -> bool:
    texts = [text for text in (request.question, request.answer) if text]
    return hold_injections(request.passages) or any(is_injection(text) for text in texts)


def _by_row(
    rows: pl.DataFrame,
    requests: Iterable[tuple[int, Request[ReplyT]]],
    replies: Sequence[ReplyT | None],
    read: Callable[[ReplyT | None, Request[ReplyT]], T],
) -> list[list[T]]:
    """Return what is read from the replies, in lists of each row."""
    by_row: list[list[T]] = [[] for _ in range(rows.height)]
    for (place, request), reply in zip(requests, replies, strict=True):
        by_row[place].append(read(reply, request))
    return by_row
