"""Sample pairs of a run in full, for a first look."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from qa_pipeline.curation.reasons import in_words
from qa_pipeline.pipeline.report import read_tables
from qa_pipeline.storage.layout import Layout

SAMPLES = 5
"""Pairs of either kind: few enough to be read after each run."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A pair for the screen; `source` is path, headings and page, and `why` is empty for accepted ones."""

    question: str
    answer: str
    source: str
    verdict: str
    why: str


def sample_pairs(layout: Layout, batches: Sequence[str], *, accepted: bool) -> list[Sample]:
    """Return at most `SAMPLES` pairs of these batches, accepted ones or others, the same ones every time.

    They come from several batches, and in each from several documents or have several reasons.
    """
    rows = pl.concat([_first_pairs(layout, batch, accepted=accepted) for batch in batches[:SAMPLES]])
    return [
        Sample(
            row["question"] or "(no question)",
            row["answer"] or "(no answer)",
            " › ".join([f"{row['batch']}/{row['path'] or ''}", *(row["section_path"] or ())])
            + ("" if row["page_first"] is None else f", page {row['page_first']}"),
            row["verdict"],
            "" if accepted else in_words(row["reason"], row["detail"] or ""),
        )
        for row in rows.sort("turn", maintain_order=True).head(SAMPLES).iter_rows(named=True)
    ]


def _first_pairs(layout: Layout, batch: str, *, accepted: bool) -> pl.DataFrame:
    """Return pairs with their verdict and the passage that proves them; `turn` is their rank in the batch."""
    tables = read_tables(layout, batch)
    is_wanted = pl.col("expected_verdict").is_null() & ((pl.col("verdict") == "accepted") == accepted)
    verdicts = tables["verdicts"].filter(is_wanted).select("pair_id", "verdict", "reason", "detail")
    evidence = pl.col("evidence_chunk_id").drop_nulls().first()
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
        .sort(pl.int_range(pl.len()).over("path" if accepted else "reason"), maintain_order=True)
        .head(SAMPLES)
        .with_columns(turn=pl.int_range(pl.len()))
    )
