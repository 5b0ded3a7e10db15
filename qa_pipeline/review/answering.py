"""Questions of people looked up and answered over a finished batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from qa_pipeline.errors import InputError, TableError
from qa_pipeline.evaluation.datasets.labelled_files import Row
from qa_pipeline.generation.answers import draft_answers
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import passage_selection, relevance_guard
from qa_pipeline.retrieval.search import Retriever
from qa_pipeline.retrieval.shard import load_shard_for
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS, QUESTIONS


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
    batch: str,
) -> pl.DataFrame:
    """Draft an answer to the query of each row from what was retrieved; return pairs in their order.

    Args:
        resources: settings and models.
        generator: the model that answers.
        searchable: the batch.
        rows: query, language and category (may be None).
        retrieved: chunk id and score for each row, best first.
        batch: for whom the calls are, in the store of replies.

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
    )


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
                "model": batch,
            }
            for place, (row, passages) in enumerate(zip(rows, retrieved, strict=True))
        ]
    )
