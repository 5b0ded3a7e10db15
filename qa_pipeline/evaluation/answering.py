"""Answers made on the spot: rows that only ask are answered by a model, by our retrieval, or by a function.

Whatever answers may fail at a row: it then stays without an answer, with a reason, and is counted.
"""

import importlib
import queue
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.errors import InputError, ModelError, PermanentModelError, SettingsError, TableError
from qa_pipeline.evaluation.datasets.answered_questions import RagRow
from qa_pipeline.evaluation.datasets.labelled_files import Row, check
from qa_pipeline.generation.answers import answer_request, draft_answers
from qa_pipeline.generation.round_trip import recall_request
from qa_pipeline.llm.base import LanguageModel, Reply, ReplyT, Request, close_connections
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import passage_selection, relevance_guard
from qa_pipeline.prompts.loading import refusal
from qa_pipeline.records import (
    AnswerReply,
    Passage,
    ProgressCallback,
    RecallReply,
    TypedQuestion,
    no_progress,
)
from qa_pipeline.retrieval.search import Retriever
from qa_pipeline.retrieval.shard import load_shard_for
from qa_pipeline.settings.tree import Settings
from qa_pipeline.settings.verification import EvaluationSettings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.row_files import Fault
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS, QUESTIONS

BATCH = "evaluation"
"""For whom the calls are, in the store of replies."""
_MARKED = re.compile(r"\[\d{1,4}\] ([^\n]{1,2000})\n")
"""First line of a context with number, title and headings, as our training examples show passages."""
_BETWEEN_HEADINGS = " › "
FAILURES = pl.Schema({"id": pl.String(), "reason": pl.String(), "detail": pl.String()})
"""One row for each question that got no answer."""
_LONGEST = 100_000
"""Characters of an answer that is still one: a function that returns a file would fill the tables with it."""
_LONGEST_DETAIL = 300
"""Characters of an error that a row of failures shows; whole tracebacks would hide which rows failed."""
_MOST_LEFT = 4
"""Calls of a function that may hang at a time, for each that may run: each keeps a thread for good, and a
function that hangs so often is broken."""


@dataclass(frozen=True, slots=True)
class Made:
    """An answer and what came with it, not yet checked; None leaves what the row has.

    A stored reply took no known time.
    """

    answer: Any
    contexts: Any = None
    citations: Any = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A reason for a missing answer.

    The reason of a model error, or timed_out, raised, unusable, empty, too_long or not_asked.
    """

    reason: str
    detail: str


Answerer = Callable[[Sequence[Row], ProgressCallback], Sequence[Made | Unanswered]]
"""Rows of `RAG_ROWS` in; for each what became of its question. It raises nothing because of a row."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The rows in their order, answered where that went well; and `FAILURES`, in the same order."""

    rows: pl.DataFrame
    failures: pl.DataFrame


def chosen_answerer(how: str, resources: Resources) -> Answerer:
    """Return the answerer: `model` (of the settings), `corpus:BATCH` (of the output folder) or `function`.

    Raises:
        InputError: it is none of these, or the batch has no shard or chunks.
        SettingsError: the settings name no model, or no function that can be used.
        KeyRejectedError: the model needs a key.
    """
    kind, _, batch = how.partition(":")
    if how == "function":
        return function_answerer(resources.settings.evaluation)
    if how != "model" and not (kind == "corpus" and batch):
        raise InputError(f"answers come from model, corpus:BATCH or function, and not from {how!r}")
    if resources.generator is None:
        raise SettingsError("no model answers under these settings; set llm.provider, or pass --provider")
    if how == "model":
        return model_answerer(resources.generator, resources.settings)
    return corpus_answerer(resources, resources.generator, batch)


def answer_rows(rows: pl.DataFrame, answerer: Answerer, notify: ProgressCallback = no_progress) -> Answered:
    """Answer the rows that have no answer; the others are left as they are.

    Args:
        rows: `RAG_ROWS`, further columns too.
        answerer: see `chosen_answerer`.
        notify: hears how many questions are done.
    """
    unanswered = rows.filter(pl.col("answer").is_null()).rows(named=True)
    made, failed = {}, []
    for row, reply in zip(unanswered, answerer(unanswered, notify), strict=True):
        checked = _checked(reply, row) if isinstance(reply, Made) else reply
        if isinstance(checked, Unanswered):
            failed.append((row["id"], checked.reason, checked.detail))
        else:
            made[row["id"]] = checked
    filled = [{**row, **made.get(row["id"], {})} for row in rows.iter_rows(named=True)]
    failures = pl.DataFrame(failed, schema=FAILURES, orient="row")
    return Answered(pl.DataFrame(filled, schema=rows.schema), failures)


def _checked(made: Made, row: Row) -> Row | Unanswered:
    """Return what an answer changes of its row, checked like rows of data sets."""
    values = {"answer": made.answer, "contexts": made.contexts, "citations": made.citations}
    read = check({**values, "query": row["query"], "language": row["language"]}, RagRow)
    if isinstance(read, Fault):
        return Unanswered("unusable", read.detail)
    if not (read["answer"] or "").strip():
        return Unanswered("empty", "the answer is empty")
    if len(read["answer"]) > _LONGEST:
        return Unanswered("too_long", f"{len(read['answer'])} characters, at most {_LONGEST} are an answer")
    valid = {name: read[name] for name in values if read[name] is not None}
    return valid if made.seconds is None else {**valid, "seconds": made.seconds}


class _Enduring:
    """A model of which an error that ends a run becomes that of each further request.

    It notes the seconds that replies took, by question.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.name = model.name
        self.seconds: dict[str | None, float | None] = {}
        self._model = model
        self._stopped: ModelError | None = None

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Ask the model, unless it cannot answer any more.

        Raises:
            ModelError: never a permanent one.
        """
        if self._stopped is None:
            try:
                reply = await self._model.complete(request)
            except PermanentModelError as error:
                self._stopped = ModelError(str(error))
                self._stopped.reason = error.reason
            else:
                self.seconds[request.question] = _seconds(reply)
                return reply
        raise self._stopped

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await close_connections(self._model)


def model_answerer(model: LanguageModel, settings: Settings) -> Answerer:
    """Return an answerer that asks a model with the contexts of a row, else with the question alone.

    The prompts are those of drafting and of recall: contexts are data between delimiters they cannot close.
    """

    def answer(rows: Sequence[Row], notify: ProgressCallback) -> Sequence[Made | Unanswered]:
        requests: list[Request[Any]] = [_request(row, settings) for row in rows]
        replies = complete_all(_Enduring(model), requests, workers=settings.llm.workers, notify=notify)
        return [
            Unanswered(reply.reason, str(reply)) if isinstance(reply, ModelError) else _read(reply, row)
            for row, reply in zip(rows, replies, strict=True)
        ]

    return answer


def _request(row: Row, settings: Settings) -> Request[Any]:
    fields: TypedQuestion = {
        "question": row["query"],
        "language": row["language"],
        "question_type": row["category"],
        "batch": BATCH,
    }
    passages = [passage for _, passage in _passages(row)]
    if not passages:
        return recall_request(fields, settings.llm)
    return answer_request(fields, passages, settings.generation, settings.llm)


def _passages(row: Row) -> list[tuple[Row, Passage]]:
    """Return the contexts that have text, with what a model reads of each."""
    passages = []
    for context in row["contexts"] or []:
        if (context["text"] or "").strip():
            marked = _MARKED.match(context["text"])
            title, *headings = marked[1].split(_BETWEEN_HEADINGS) if marked else [""]
            text = context["text"][marked.end() if marked else 0 :]
            name = f"{context['document'] or ''}-{context['rank']}"
            passage = Passage(name, title, tuple(headings), text, row["language"])
            passages.append((context, passage))
    return passages


def _read(reply: Reply[AnswerReply | RecallReply], row: Row) -> Made:
    value, seconds = reply.value, _seconds(reply)
    if isinstance(value, RecallReply):
        return Made(value.answer or refusal(row["language"]), seconds=seconds)
    documents = [context["document"] for context, _ in _passages(row)]
    citations = [
        {
            "raw": f"[c{citation.passage}]",
            "document": documents[citation.passage - 1] if citation.passage <= len(documents) else None,
            "quote": citation.quote,
        }
        for citation in value.citations
    ]
    return Made(value.answer, citations=citations, seconds=seconds)


def _seconds(reply: Reply[Any]) -> float | None:
    """Return the seconds that the calls of a reply took; None of a stored one."""
    return sum(call.seconds for call in reply.calls) if reply.calls else None


@dataclass(frozen=True, slots=True)
class Searchable:
    """A batch of an output folder in which questions can be looked up."""

    documents: pl.DataFrame
    chunks: pl.DataFrame
    retriever: Retriever

    def retrieve(self, rows: Sequence[Row]) -> list[list[tuple[str, float]]]:
        """Return chunk id and score for the query of each row, best first."""
        return self.retriever.retrieve([row["query"] for row in rows], [row["language"] for row in rows])


def open_batch(resources: Resources, layout: Layout, batch: str) -> Searchable:
    """Open a batch for questions.

    Args:
        resources: settings and models.
        layout: the output folder that holds the batch.
        batch: its name.

    Raises:
        InputError: the folder holds no such batch.
        IndexMismatchError: the shard belongs to another embedding model.
    """
    try:
        chunks, documents = (
            read_table(layout.table(table.name, batch), table) for table in (CHUNKS, DOCUMENTS)
        )
        place = layout.index(batch)
        shard = load_shard_for(resources.embedder, place.read_bytes(), str(place))
    except (TableError, OSError) as error:
        raise InputError(
            f"{layout.out} holds no batch {batch!r} that can be searched ({error}); run qa-pipeline run first"
        ) from error
    retrieval = resources.settings.retrieval
    return Searchable(
        documents, chunks, Retriever(chunks, shard, resources.embedder, retrieval, resources.reranker)
    )


def draft_rows(
    resources: Resources,
    generator: LanguageModel,
    searchable: Searchable,
    rows: Sequence[Row],
    retrieved: Sequence[list[tuple[str, float]]],
    batch: str = BATCH,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Draft an answer to the query of each row from what was retrieved; return pairs in their order.

    Args:
        resources: settings and models.
        generator: the model that answers.
        searchable: the batch.
        rows: query, language and category (may be None).
        retrieved: chunk id and score for each row, best first.
        batch: for whom the calls are, in the store of replies.
        notify: hears how many answers are drafted.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    settings = resources.settings
    return draft_answers(
        _questions(rows, retrieved, batch),
        searchable.chunks,
        generator,
        settings.generation.model_copy(update={"drafts_per_question": 1}),
        settings.llm,
        select=passage_selection(resources),
        guard=relevance_guard(resources),
        notify=notify,
    )


def corpus_answerer(resources: Resources, generator: LanguageModel, batch: str) -> Answerer:
    """Return an answerer that runs our own retrieval and answering over a batch of the output folder.

    The contexts of the rows become the passages found.

    Raises:
        InputError: the folder holds no such batch.
        IndexMismatchError: the shard belongs to another embedding model.
    """
    searchable = open_batch(resources, resources.layout, batch)
    paths = dict(searchable.documents.select("document_id", "path").iter_rows())
    of_chunk = {
        name: {"text": text, "document": paths[owner]}
        for name, owner, text in searchable.chunks.select("chunk_id", "document_id", "text").iter_rows()
    }

    def answer(rows: Sequence[Row], notify: ProgressCallback) -> Sequence[Made | Unanswered]:
        enduring = _Enduring(generator)
        retrieved = searchable.retrieve(rows)
        pairs = draft_rows(resources, enduring, searchable, rows, retrieved, notify=notify)
        return [
            _drafted(pair, passages, of_chunk, paths, enduring.seconds.get(pair["question"]))
            for pair, passages in zip(pairs.iter_rows(named=True), retrieved, strict=True)
        ]

    return answer


def _questions(rows: Sequence[Row], retrieved: Sequence[list[tuple[str, float]]], batch: str) -> pl.DataFrame:
    """Return the queries as questions with their passages."""
    return QUESTIONS.frame(
        [
            {
                "question_id": str(place),
                "batch": batch,
                "question": row["query"],
                "question_type": row["category"] or "imported",
                "target_chunk_ids": [name for name, _ in passages[:1]],
                "passage_ids": [name for name, _ in passages],
                "passage_scores": [score for _, score in passages],
                "language": row["language"],
                "status": "kept",
                "prompt_hash": "",
                "model": BATCH,
            }
            for place, (row, passages) in enumerate(zip(rows, retrieved, strict=True))
        ]
    )


def _drafted(
    pair: Row,
    passages: Sequence[tuple[str, float]],
    of_chunk: Mapping[str, Row],
    paths: Mapping[str, str],
    seconds: float | None,
) -> Made | Unanswered:
    if pair["status"] != "drafted":
        return Unanswered(pair["reason"] or "failed", pair["detail"] or "no answer was drafted")
    contexts = [
        {**of_chunk[name], "rank": rank, "score": score}
        for rank, (name, score) in enumerate(passages, start=1)
    ]
    citations = [
        {"raw": citation["raw"], "document": paths.get(citation["document_id"]), "quote": citation["quote"]}
        for citation in pair["citations"]
    ]
    return Made(pair["answer"], contexts, citations, seconds)


Function = Callable[[str, list[Row] | None], object]
"""The user's: the question and its contexts (text, document, rank, score) in; a text or a mapping out."""


def function_answerer(settings: EvaluationSettings) -> Answerer:
    """Return an answerer that calls the function which the settings, never data, name.

    A call that takes too long is left alone, its thread ending with the process. Where many hang at a time,
    nothing more is asked.

    Raises:
        SettingsError: none is named, or it cannot be used.
    """
    function = _imported(settings.answer_function)

    def answer(rows: Sequence[Row], notify: ProgressCallback) -> Sequence[Made | Unanswered]:
        calls = _Calls(function, settings.answer_seconds, _MOST_LEFT * settings.answer_workers)
        with ThreadPoolExecutor(settings.answer_workers) as pool:
            answers = []
            for reply in pool.map(calls.of, rows):
                answers.append(reply)
                notify(len(answers), len(rows))
            return answers

    return answer


def _imported(spec: str | None) -> Function:
    if spec is None:
        raise SettingsError(
            "no function answers under these settings; set evaluation.answer_function to module:function"
        )
    module, _, name = spec.partition(":")
    where = f"evaluation.answer_function: {spec}"
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise SettingsError(f"{where} cannot be imported: {error}; is it on the Python path?") from error
    if not callable(function):
        raise SettingsError(f"{where} is no function")
    return function  # type: ignore[no-any-return]


class _Calls:
    """Calls of a function, each in a thread that is left when its time is over."""

    def __init__(self, function: Function, seconds: float, most_left: int) -> None:
        self._function, self._seconds, self._most_left = function, seconds, most_left
        self._left: list[threading.Thread] = []

    def of(self, row: Row) -> Made | Unanswered:
        """Return the answer to a row's question."""
        hanging = sum(thread.is_alive() for thread in self._left)
        if hanging >= self._most_left:
            return Unanswered("not_asked", f"{hanging} calls hang; nothing more is asked")
        ended: queue.SimpleQueue[Made | Unanswered] = queue.SimpleQueue()
        # the interpreter does not wait for a daemon, as it would for a thread of a pool
        thread = threading.Thread(target=lambda: ended.put(self._call(row)), daemon=True)
        thread.start()
        try:
            return ended.get(timeout=self._seconds)
        except queue.Empty:
            self._left.append(thread)
            return Unanswered("timed_out", f"no answer in {self._seconds:g} seconds")

    def _call(self, row: Row) -> Made | Unanswered:
        contexts = None if row["contexts"] is None else [dict(context) for context in row["contexts"]]
        began = time.perf_counter()
        try:
            value = self._function(row["query"], contexts)
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises is told of its row
            return Unanswered("raised", f"{type(error).__name__}: {error}"[:_LONGEST_DETAIL])
        seconds = time.perf_counter() - began
        if isinstance(value, str):
            return Made(value, seconds=seconds)
        if not isinstance(value, Mapping):
            return Unanswered("unusable", f"it returned {type(value).__name__}, and no text or mapping")
        return Made(value.get("answer"), value.get("contexts"), value.get("citations"), seconds)
