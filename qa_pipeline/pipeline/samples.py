"""A few pairs of a run in full: what a person looks at first."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from qa_pipeline.curation.reasons import in_words
from qa_pipeline.errors import CorpusError, TableError
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import CHUNKS, CLAIMS, DOCUMENTS, PAIRS, VERDICTS

SAMPLES = 5
"""Pairs of either kind: few enough to be read after each run."""
_TABLES = (DOCUMENTS, CHUNKS, PAIRS, CLAIMS, VERDICTS)
_ID = re.compile(r"\b[0-9a-f]{12,32}\b")


@dataclass(frozen=True, slots=True)
class Sample:
    """A pair for the screen; `source` is path, headings and page, and `why` is empty for accepted ones."""

    question: str
    answer: str
    source: str
    verdict: str
    why: str


def sample_pairs(layout: Layout, batches: Sequence[str], *, accepted: bool) -> list[Sample]:
    """Pick some pairs: from several batches, and in each from several documents or for several reasons.

    Args:
        layout: the output folder.
        batches: those that have such pairs.
        accepted: whether to take accepted pairs or the others; known-answer pairs are never taken.

    Returns:
        At most `SAMPLES`, the same ones every time.
    """
    columns = [_samples_of(layout, batch, accepted=accepted) for batch in batches[:SAMPLES]]
    turns = [row for turn in range(SAMPLES) for rows in columns for row in rows[turn : turn + 1]]
    return turns[:SAMPLES]


def _samples_of(layout: Layout, batch: str, *, accepted: bool) -> list[Sample]:
    try:
        documents, chunks, pairs, claims, verdicts = (
            read_table(layout.table(table.name, batch), table) for table in _TABLES
        )
    except (TableError, CorpusError):  # the report names the batch and what is wrong with its tables
        return []
    is_sampled = pl.col("expected_verdict").is_null() & ((pl.col("verdict") == "accepted") == accepted)
    proof = claims.sort("position").group_by("pair_id").agg(pl.col("evidence_chunk_id").drop_nulls().first())
    places = chunks.join(documents.select("document_id", "path"), on="document_id").select(
        "chunk_id", "path", "section_path", "page_first"
    )
    used, passages = pl.col("used_chunk_ids").list.first(), pl.col("passage_ids").list.first()
    kind = "path" if accepted else "reason"
    rows = (
        pairs.select("pair_id", "question", "answer", "used_chunk_ids", "passage_ids")
        .join(verdicts.filter(is_sampled).select("pair_id", "verdict", "reason", "detail"), on="pair_id")
        .join(proof, on="pair_id", how="left", maintain_order="left")
        .with_columns(chunk_id=pl.coalesce("evidence_chunk_id", used, passages))
        .join(places, on="chunk_id", how="left", maintain_order="left")
        .sort(pl.int_range(pl.len()).over(kind), maintain_order=True)
        .head(SAMPLES)
    )
    paths = [*documents.select("document_id", "path").rows(), *places.select("chunk_id", "path").rows()]

    def with_path(match: re.Match[str]) -> str:
        return next((path for prefix, path in paths if prefix.startswith(match[0])), match[0])

    return [
        Sample(
            row["question"] or "(no question)",
            row["answer"] or "(no answer)",
            _source(batch, row["path"], row["section_path"], row["page_first"]),
            row["verdict"],
            "" if accepted else in_words(row["reason"], _ID.sub(with_path, row["detail"] or "")),
        )
        for row in rows.iter_rows(named=True)
    ]


def _source(batch: str, path: str | None, headings: Sequence[str] | None, page: int | None) -> str:
    """Return the place of a passage: the path below the corpus, its headings, its page."""
    if path is None:
        return f"{batch}, no passage"
    parts = [f"{batch}/{path}", *(headings or ())]
    return " › ".join(parts) + (f", page {page}" if page is not None else "")
