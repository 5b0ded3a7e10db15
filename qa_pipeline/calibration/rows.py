"""Labelled rows for calibration: read from files or decisions, with their claims and scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from qa_pipeline.curation.decisions import EDITED, applied, read_decisions
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.labelled_files import ITEMS, Item, read_file
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.storage.hashes import hash_file, hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import frame_hash, read_table
from qa_pipeline.storage.tables import CHUNKS, CLAIMS, PAIRS
from qa_pipeline.verification.verify import Means, Statement, verify

QUALITY = "quality"
"""Prefix of reasons of rejection that do not concern the sources."""


@dataclass(frozen=True)
class LabelledFile:
    """A file of labelled rows (`labelled_files.ITEMS`)."""

    path: Path
    sha256: str
    items: pl.DataFrame


@dataclass(frozen=True)
class LabelledRows:
    """Scored rows (group as a number, label and pair_id, in random order) and the table of their claims."""

    rows: pl.DataFrame
    claims: pl.DataFrame


def read_all_rows(path: Path) -> LabelledFile:
    """Read a labelled file, whose rows may also be premises and hypotheses, and refuse unusable rows.

    Raises:
        InputError: the file or a row of it cannot be used.
    """
    read = read_file(path, Item)
    if not read.left_out.is_empty():
        row = read.left_out.row(0, named=True)
        raise InputError(f"{path}, row {row['first_row']}: {row['detail']}; correct or remove such rows")
    return LabelledFile(path, hash_file(path), read.items)


def score_rows(resources: Resources, files: Sequence[LabelledFile]) -> LabelledRows:
    """Add the claims of each row with all local scores; rows of equal texts share them."""
    items = pl.concat(
        [
            file.items.with_columns(file=pl.lit(f"{index} {file.path.name}"))
            for index, file in enumerate(files)
        ]
    )
    texts = items.select("answer", "context", "language", "question").iter_rows()
    statements = [
        Statement(answer, tuple(context), language, question or "")
        for answer, context, language, question in texts
    ]
    means = Means(resources.settings.verification, resources.embedder, resources.entailment)
    keys = items.select("file", "group_id", "id").iter_rows()
    order = [hash_parts("row", *key, str(place)) for place, key in enumerate(keys)]
    rows = items.select(
        group=pl.struct("file", "group_id").rank("dense").cast(pl.Int64()),
        label=pl.col("label") == 1,
        pair_id=pl.Series([statement.statement_id for statement in statements]),
        order=pl.Series(order),
    )
    return LabelledRows(rows.sort("order").drop("order"), verify(statements, means).claims)


def decided_rows(layout: Layout) -> LabelledFile:
    """Return the valid decisions of an output folder as labels: accepted is supported, rejected is not.

    Edits, refusals, pairs without evidence, and rejections for "quality" are omitted.

    Raises:
        InputError: there is no such decision.
        TableError: tables or decisions cannot be read.
    """
    items = pl.concat(
        [ITEMS.to_frame(), *(_decided(layout, path.stem) for path in layout.tables(PAIRS.name))]
    )
    if items.is_empty():
        raise InputError(f"no decision in {layout.out} says whether an answer is supported")
    return LabelledFile(layout.out / "decisions", frame_hash(items), items)


def _decided(layout: Layout, batch: str) -> pl.DataFrame:
    decisions = read_decisions(layout.decisions(batch))
    if decisions.is_empty():
        return ITEMS.to_frame()
    pairs, claims, chunks = (
        read_table(layout.table(table.name, batch), table) for table in (PAIRS, CLAIMS, CHUNKS)
    )
    is_rejected = pl.col("decision") == "rejected"
    says_quality = pl.col("why").str.to_lowercase().str.starts_with(QUALITY).fill_null(value=False)
    standing = applied(decisions, pairs, claims).filter(
        pl.col("decision") != EDITED, ~(is_rejected & says_quality)
    )
    proofs = claims.select(
        "pair_id",
        chunk_id="evidence_chunk_id",
        group_id="evidence_document_id",
        of_claim="claim_id",
        statement=pl.coalesce("self_contained", "text"),
    ).join(chunks.select("chunk_id", passage="text"), on="chunk_id", maintain_order="left")
    of_pair = pl.col("claim_id").is_null()
    rows = (
        standing.select("decision_id", "decision", "pair_id", "claim_id")
        .join(pairs.select("pair_id", "language", "question", "answer"), on="pair_id")
        .join(proofs, on="pair_id", maintain_order="left_right")
        .filter(of_pair | (pl.col("claim_id") == pl.col("of_claim")))
        .group_by(pl.col("decision_id").alias("id"), maintain_order=True)
        .agg(
            pl.col("language", "question", "group_id").first(),
            context=pl.col("passage").unique(maintain_order=True),
            answer=pl.when(of_pair).then("answer").otherwise("statement").first(),
            label=(~is_rejected).first().cast(pl.Int8()),
        )
    )
    return pl.DataFrame(rows.to_dicts(), schema=ITEMS)
