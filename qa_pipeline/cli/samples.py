"""Pairs of a run in full beside their sources, for a first look."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.curation.reasons import in_words
from qa_pipeline.pipeline.report import read_tables
from qa_pipeline.storage.layout import Layout

SAMPLES = 5
"""Pairs of either kind: few enough to be read after each run."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A pair for the screen.

    `source` is path, headings and page, `quote` the evidence of its first claim, and `why` is empty for
    accepted ones.
    """

    pair_id: str
    question: str
    answer: str
    quote: str
    source: str
    verdict: str
    why: str


def sample_pairs(layout: Layout, batches: Sequence[str], *, accepted: bool) -> list[Sample]:
    """Return at most `SAMPLES` pairs of these batches, accepted ones or others, the same ones every time.

    They come from several batches, and in each from several documents or have several reasons.
    """
    is_wanted = (pl.col("verdict") == "accepted") == accepted
    order = pl.int_range(pl.len()).over("path" if accepted else "reason")
    rows = pl.concat(
        _pairs(layout, batch)
        .filter(is_wanted)
        .sort(order, maintain_order=True)
        .head(SAMPLES)
        .with_columns(turn=pl.int_range(pl.len()))
        for batch in batches[:SAMPLES]
    )
    return [
        _sample(row) for row in rows.sort("turn", maintain_order=True).head(SAMPLES).iter_rows(named=True)
    ]


def all_pairs(layout: Layout, batch: str) -> list[Sample]:
    """Return every pair of a batch but known-answer ones, in the order of its table."""
    return [_sample(row) for row in _pairs(layout, batch).iter_rows(named=True)]


def _sample(row: dict[str, Any]) -> Sample:
    page = "" if row["page_first"] is None else f", page {row['page_first']}"
    is_accepted = row["verdict"] == "accepted"
    return Sample(
        row["pair_id"],
        row["question"] or "(no question)",
        row["answer"] or "(no answer)",
        row["evidence_quote"] or "",
        " › ".join([f"{row['batch']}/{row['path'] or ''}", *(row["section_path"] or ())]) + page,
        row["verdict"],
        "" if is_accepted else in_words(row["reason"], row["detail"] or ""),
    )


def _pairs(layout: Layout, batch: str) -> pl.DataFrame:
    """Return the pairs with their verdict and the passage that proves them."""
    tables = read_tables(layout, batch)
    is_known = pl.col("expected_verdict").is_not_null()
    verdicts = tables["verdicts"].filter(~is_known).select("pair_id", "verdict", "reason", "detail")
    evidence = pl.col("evidence_chunk_id", "evidence_quote").drop_nulls().first()
    proofs = tables["claims"].sort("position").group_by("pair_id").agg(evidence)
    paths = tables["documents"].select("document_id", "path")
    passages = tables["chunks"].select("chunk_id", "document_id", "section_path", "page_first")
    used, retrieved = pl.col("used_chunk_ids").list.first(), pl.col("passage_ids").list.first()
    return (
        tables["pairs"]
        .select("pair_id", "batch", "question", "answer", "used_chunk_ids", "passage_ids")
        .join(verdicts, on="pair_id")
        .join(proofs, on="pair_id", how="left", maintain_order="left")
        .with_columns(chunk_id=pl.coalesce("evidence_chunk_id", used, retrieved))
        .join(passages.join(paths, on="document_id"), on="chunk_id", how="left", maintain_order="left")
    )
