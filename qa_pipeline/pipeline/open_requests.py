"""What a run of a batch would still have to ask."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import polars as pl
import sqlalchemy as sa

from qa_pipeline.generation.answers import answer_request
from qa_pipeline.generation.multihop import link_chunks
from qa_pipeline.generation.questions import (
    passed_over,
    plan_requests,
    question_request,
    standalone_request,
    still_valid,
)
from qa_pipeline.llm.base import FAKE, Request
from qa_pipeline.llm.budget.tokens import request_tokens
from qa_pipeline.llm.store.schema import REPLIES
from qa_pipeline.pipeline import stages
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.records import Passage, Role, index_text, passages_by_id
from qa_pipeline.retrieval.search import WordIndex, terms
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.parquet import read_earlier
from qa_pipeline.storage.rows import KeptQuestionRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import ASSESSMENTS, PAIRS, QUESTIONS, VERDICTS
from qa_pipeline.verification.judging import judge_request
from qa_pipeline.verification.llm_splitting import split_request
from qa_pipeline.verification.llm_verifier import claims_request

SAMPLED = 100
"""Chunks of a batch for which later requests are built; their mean stands for all."""
_QUESTION, _STATEMENT = 90, 160
"""Characters of a likely question, and of a likely answer or claim: words of the passage stand for them."""
_KEYS_AT_ONCE = 500
"""Keys of requests looked up in one query: SQLite limits the variables of a query."""


class QuestionDraftRow(KeptQuestionRow):
    """Hold a question with the number of its draft, from 1."""

    draft: int


class Requests:
    """The requests of one batch, given its CHUNKS frame."""

    def __init__(self, chunks: pl.DataFrame, settings: Settings, batch: str) -> None:
        self._settings = settings
        self._batch = batch
        self._chunks = chunks
        self._passages = passages_by_id(chunks)
        left_out = passed_over(chunks, settings.generation)
        self.asked_ids = [chunk_id for chunk_id in self._passages if chunk_id not in left_out]
        self._ids = list(self._passages)
        self._index = WordIndex([_terms(passage) for passage in self._passages.values()])

    @property
    def language(self) -> str | None:
        """Return the language of most chunks; None without any."""
        counts = Counter(passage.language for passage in self._passages.values())
        return min(counts, key=lambda language: (-counts[language], language)) if counts else None

    def passages(self, chunk_ids: Sequence[str]) -> list[Passage] | None:
        """Return the passages of these chunks; None where one of them is gone."""
        known_passages = [self._passages.get(chunk_id) for chunk_id in chunk_ids]
        return None if None in known_passages else [passage for passage in known_passages if passage]

    def questions(self, previous: pl.DataFrame) -> dict[tuple[str, ...], Request[Any]]:
        """Return the open requests for questions about chunks, alone or joined, for the present model."""
        settings, llm = self._settings.generation, self._settings.llm
        accepted = [
            row
            for name in previous["model"].unique(maintain_order=True)
            for row in still_valid(previous, self._chunks, settings, llm, (name,))
        ]
        planned = plan_requests(
            self._chunks,
            accepted,
            settings,
            llm,
            batch=self._batch,
            links=link_chunks(self._chunks),
        )
        return {ids: plan.request for ids, plan in planned.items()}

    def _question(self, chunk_id: str) -> Request[Any]:
        llm, generation = self._settings.llm, self._settings.generation
        types = list(generation.mix.weights)[: generation.questions_per_chunk]
        return question_request([self._passages[chunk_id]], types, generation, llm, self._batch)

    def answer(self, row: QuestionDraftRow, passages: list[Passage]) -> Request[Any]:
        """Return the request to answer a question; `row` is its row, and has the number of the draft."""
        llm = self._settings.llm
        llm = llm.model_copy(update={"seed": llm.seed + row["draft"] - 1})
        return answer_request(row, passages, self._settings.generation, llm)

    def likely_tokens(self, role: Role) -> float:
        """Return a stage's estimated prompt tokens: the mean over some chunks, always the same ones."""
        sample = self.asked_ids
        if len(sample) > SAMPLED:
            sample = random.Random(0).sample(sample, SAMPLED)  # noqa: S311 - no secret
        return fmean(request_tokens(self._likely(role, chunk_id)) for chunk_id in sample) if sample else 0.0

    def _likely(self, role: Role, chunk_id: str) -> Request[Any]:
        """Return a request that a stage may make about the chunk."""
        passage, settings = self._passages[chunk_id], self._settings
        row = self._row(passage)
        match role:
            case "standalone":
                return standalone_request(row, [passage], settings.llm)
            case "answer" | "solve" | "guard":
                return self.answer(row, [self._passages[passage_id] for passage_id in self._around(chunk_id)])
            case "split":
                sentences = [row["text"], row["answer"]]  # as many as an answer that is worth splitting has
                return split_request(row, sentences, self._passages, settings.verification, settings.llm)
            case "verify":
                return claims_request([row], self._passages, settings.verification, settings.llm)
            case "judge" | "recall" | "compare":
                return judge_request(row, self._passages, settings.judging, settings.llm)
            case _:
                return self._question(chunk_id)

    def _row(self, passage: Passage) -> Any:
        """Return what requests read of a question, pair or claim about a passage, whichever they are of."""
        words = " ".join(passage.text.split())
        return {
            "batch": self._batch,
            "language": passage.language,
            "question_type": "fact_single",
            "draft": 1,
            "question": words[:_QUESTION],
            "answer": words[:_STATEMENT],
            "text": words[:_STATEMENT],
            "fragment": False,
            "self_contained": None,
            "evidence_chunk_id": passage.chunk_id,
            "second_evidence_chunk_id": None,
            "evidence_chunk_ids": [passage.chunk_id],
            "used_chunk_ids": [],
        }

    def _around(self, chunk_id: str) -> list[str]:
        """Return the chunk and its nearest others by words, as many as a draft may read."""
        top_k = self._settings.retrieval.top_k
        ranked = [self._ids[place] for place in self._index.rank(_terms(self._passages[chunk_id]), top_k)]
        return list(dict.fromkeys([chunk_id, *ranked]))[:top_k]


def _terms(passage: Passage) -> list[str]:
    return terms(index_text(passage.section_path, passage.text), passage.language)


@dataclass(frozen=True, slots=True)
class OpenWork:
    """Requests that are known and not stored, and how much follows that is not known yet.

    `unknown_chunks` counts those whose questions are not known and `open_slots` these questions, `pairs`
    the pairs there are or will be from known questions and files; `verified` and `judged` of them are
    done.
    """

    questions: list[Request[Any]]
    answers: list[Request[Any]]
    unknown_chunks: int
    open_slots: int
    pairs: int
    verified: int
    judged: int


def open_work(
    resources: Resources, batch: str, requests: Requests, models: Mapping[Role, ModelSettings]
) -> OpenWork:
    """Compare what a run would ask with what lies in tables and store."""
    drafts = resources.settings.generation.drafts_per_question
    tables = (QUESTIONS, PAIRS, VERDICTS, ASSESSMENTS)
    earlier = (read_earlier(resources.layout.table(table.name, batch), table) for table in tables)
    questions, pairs, verdicts, assessments = (
        table.empty() if frame is None else frame for table, frame in zip(tables, earlier, strict=True)
    )
    questions = questions.filter(made_by("model", models.get("questions")))
    drafted = pairs.filter(pl.col("status") == "drafted", made_by("generator", models.get("answer")))
    open_questions = requests.questions(questions)
    unknown = list(open_questions.values())
    opened = {ids[0] for ids in open_questions}
    unopened = [chunk_id for chunk_id in requests.asked_ids if chunk_id not in opened]
    kept_questions = questions.filter(
        pl.col("status") == "kept", pl.col("target_chunk_ids").list.first().is_in(unopened)
    )
    drafts_wanted = pl.DataFrame({"draft": range(1, 1 + drafts)}, schema={"draft": pl.Int32()})
    planned = kept_questions.join(drafts_wanted, how="cross", maintain_order="left")
    unanswered = planned.filter(pl.col("drafted_answer").is_null() | (pl.col("draft") > 1)).join(
        drafted, on=["question_id", "draft"], how="anti", maintain_order="left"
    )
    answers = [
        requests.answer(row, passages)
        for row in typed_rows(unanswered, QuestionDraftRow)
        if (passages := requests.passages(row["passage_ids"])) is not None
    ]
    stored = stored_keys(resources, [request.key for request in (*unknown, *answers)], models.get("answer"))
    decided = pairs.join(verdicts, on="pair_id", how="semi")
    # a pair has been judged by this judge, or was stopped before
    judged = assessments.filter(pl.col("status") == "judged", made_by("judge", models.get("judge")))
    waiting = assessments.join(judged, on="pair_id", how="anti")
    files = stages.batch_files(resources, batch)
    file_pairs = stages.read_pairs_beside(files, resources.settings.pairs_file)
    return OpenWork(
        questions=[request for request in unknown if request.key not in stored],
        answers=[request for request in answers if request.key not in stored],
        unknown_chunks=len(unknown),
        open_slots=sum(request.limit for request in unknown),
        pairs=planned.height + len(file_pairs),
        verified=decided.height,
        judged=decided.join(waiting, on="pair_id", how="anti").height,
    )


def made_by(column: str, model: ModelSettings | None) -> pl.Expr:
    """Return whether this model made a row, wherever it is served; None stands for any model."""
    if model is None:
        return pl.lit(value=True)
    name = f"{model.provider}/{model.model}"
    made = pl.col(column).str.strip_prefix(FAKE)
    return (made == name) | made.str.starts_with(f"{name}@")


def stored_keys(resources: Resources, keys: Sequence[str], model: ModelSettings | None) -> set[str]:
    """Return those of these requests that have a stored reply of a model, wherever it is; None is any."""
    if not keys or (resources.settings.llm.store.url is None and not resources.layout.replies.is_file()):
        return set()

    def read(connection: sa.Connection) -> list[tuple[str, str]]:
        stored: list[tuple[str, str]] = []
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = REPLIES.c.request_key.in_(keys[start : start + _KEYS_AT_ONCE])
            rows = connection.execute(sa.select(REPLIES.c.request_key, REPLIES.c.asked_model).where(some))
            stored += [(key, name) for key, name in rows]
        return stored

    rows = pl.DataFrame(resources.models.database.read(read), schema=["key", "name"], orient="row")
    return set(rows.cast(pl.String()).filter(made_by("name", model))["key"])
