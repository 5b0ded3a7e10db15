"""Labelled rows for calibration: files in, each row with its source, its claims and all their scores out."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from qa_pipeline.curation.decisions import EDITED, applied, read_decisions
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets.grounding_items import ITEMS, Item, Premise
from qa_pipeline.evaluation.datasets.labelled_files import Row, read_file
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.storage.hashes import hash_file, hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import frame_hash, read_table
from qa_pipeline.storage.tables import CHUNKS, CLAIMS, PAIRS
from qa_pipeline.verification.verify import Means, Statement, verify


@dataclass(frozen=True)
class LabelledFile:
    """A file of labelled rows: `items` has id, language, question, context, answer, label and group_id."""

    path: Path
    sha256: str
    items: pl.DataFrame

    @property
    def name(self) -> str:
        """Return the set's name: the file's without its ending."""
        return self.path.stem


@dataclass(frozen=True)
class LabelledRows:
    """Scored rows of one or more files.

    `rows` has set, group (a number), order, label and pair_id, in the order in
    which rows are drawn; `claims` is a claims table of the pairs.
    """

    rows: pl.DataFrame
    claims: pl.DataFrame


def read_complete(path: Path) -> LabelledFile:
    """Read a file of grounding rows, or of premises and hypotheses, all of whose rows can be used.

    Raises:
        InputError: it cannot be read, lacks a column, or a row cannot be used.
    """
    read = read_file(path, lambda columns: Premise if "premise" in columns else Item)
    for row in read.left_out.iter_rows(named=True):
        raise InputError(f"{path}, row {row['first_row']}: {row['detail']}; correct or remove such rows")
    return LabelledFile(path, hash_file(path), read.items)


def score_rows(resources: Resources, file: LabelledFile) -> LabelledRows:
    """Give every row its claims with all local scores; rows of equal texts share them."""
    rows = file.items.select("answer", "context", "language", "question").iter_rows()
    statements = [
        Statement(answer, tuple(context), language, question or "")
        for answer, context, language, question in rows
    ]
    means = Means(resources.settings.verification, resources.embedder, resources.entailment)
    claims = verify(statements, means).claims
    return LabelledRows(_drawn_order(file, [statement.statement_id for statement in statements]), claims)


def _drawn_order(file: LabelledFile, pair_ids: Sequence[str]) -> pl.DataFrame:
    """Return the order in which one row of a source is drawn: that of a hash."""
    groups = [f"{file.name}\x1f{group}" for group in file.items["group_id"]]
    parts = zip(groups, file.items["id"], map(str, range(file.items.height)), strict=True)
    return pl.DataFrame(
        {
            "set": [file.name] * file.items.height,
            "group": groups,
            "order": [hash_parts("row", *part) for part in parts],
            "label": file.items["label"] == 1,
            "pair_id": list(pair_ids),
        }
    ).sort("order")


def together(scored: Sequence[LabelledRows]) -> LabelledRows:
    """Return the rows of several files as one; a statement in two files is scored alike and counted once."""
    rows = pl.concat([part.rows for part in scored])
    claims = pl.concat([part.claims for part in scored])
    numbered = rows.with_columns(group=pl.col("group").rank("dense").cast(pl.Int64()))
    return LabelledRows(numbered.sort("order"), claims.unique("claim_id", maintain_order=True))


QUALITY = "quality"
"""The beginning of a reason of rejection that says nothing about the sources."""


def decided_rows(layout: Layout) -> LabelledFile:
    """Return the decisions of an output folder that stand: accepted is supported, rejected is not.

    Left out are edits, refusals, pairs without evidence, and rejections whose reason begins with "quality".

    Raises:
        InputError: there is none.
        TableError: tables or decisions cannot be read.
    """
    rows = [row for path in layout.tables(PAIRS.name) for row in _rows(layout, path.stem)]
    if not rows:
        raise InputError(f"no decision in {layout.out} says whether an answer is supported")
    items = pl.DataFrame(rows, schema=ITEMS)
    return LabelledFile(layout.out / "decisions", frame_hash(items), items)


def _rows(layout: Layout, batch: str) -> list[Row]:
    decisions = read_decisions(layout.decisions(batch))
    if not decisions.height:
        return []
    pairs = read_table(layout.table(PAIRS.name, batch), PAIRS)
    claims = read_table(layout.table(CLAIMS.name, batch), CLAIMS)
    texts = dict(read_table(layout.table(CHUNKS.name, batch), CHUNKS).select("chunk_id", "text").iter_rows())
    standing = applied(decisions, pairs, claims).filter(
        pl.col("decision") != EDITED,
        ~pl.col("why").str.to_lowercase().str.starts_with(QUALITY).fill_null(value=False)
        | (pl.col("decision") == "accepted"),
    )
    of_pair = {row["pair_id"]: row for row in pairs.iter_rows(named=True)}
    of_claims: dict[str, list[Row]] = defaultdict(list)
    for row in claims.join(standing, on="pair_id", how="semi").iter_rows(named=True):
        of_claims[row["pair_id"]].append(row)
    rows = []
    for decision in standing.iter_rows(named=True):
        mine = [
            row for row in of_claims[decision["pair_id"]] if decision["claim_id"] in (None, row["claim_id"])
        ]
        rows += _row(decision, of_pair[decision["pair_id"]], mine, texts)
    return rows


def _row(decision: Row, pair: Row, claims: list[Row], texts: dict[str, str]) -> list[Row]:
    pieces = [row["evidence_chunk_id"] for row in claims]
    context = [texts[chunk_id] for chunk_id in dict.fromkeys(pieces) if chunk_id in texts]
    if not context:
        return []
    claim = claims[0] if decision["claim_id"] else None
    return [
        {
            "id": decision["decision_id"],
            "language": pair["language"],
            "question": pair["question"],
            "context": context,
            "answer": pair["answer"] if claim is None else claim["self_contained"] or claim["text"],
            "label": int(decision["decision"] == "accepted"),
            "group_id": claims[0]["evidence_document_id"] or decision["pair_id"],
        }
    ]
