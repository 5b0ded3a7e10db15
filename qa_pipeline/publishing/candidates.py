"""Candidates of a release: the accepted rows of the batches whose gates hold, noted on disk.

Of a release nothing is held that grows with its rows but some bytes for each: what decides of a row lies in
files beside the release that is being made, and is read in ranges.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import polars as pl

from qa_pipeline.curation.gates.gates import batch_gates
from qa_pipeline.curation.gates.release import release_floor
from qa_pipeline.curation.withdrawals import forgotten_documents, withdrawn_batches
from qa_pipeline.documents.near_duplicates import NEAR_DUPLICATE_SIMILARITY
from qa_pipeline.errors import CorpusError, TableError
from qa_pipeline.pipeline.report import read_tables
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.publishing.keys import (
    BANDS,
    KEYS,
    NARROW_GROUP,
    SHINGLES,
    codes,
    near_duplicates,
    new_documents,
    row_keys,
    said_codes,
    sketches,
)
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.parquet import ROW_GROUP, appended_parquet
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import LAYOUTS, STRINGS, TRAINING_EXAMPLES, VERDICTS, column
from qa_pipeline.verification.outcomes import decided_claims

# of a claim: its text, the same as it is understood alone (null where it is already), who cut it (rules or
# model), its verdict, the step that decided, and the chunks cited for it
CLAIM = pl.Struct(
    {
        **dict.fromkeys(("text", "self_contained", "split_by", "verdict", "decided_by"), pl.String()),
        "chunk_ids": STRINGS,
    }
)
RELEASED = Table(
    "released",
    "One row per released pair.",
    ("pair_id",),
    (
        *TRAINING_EXAMPLES.columns,
        column("claims", pl.List(CLAIM), "Each claim of the answer, who cut and decided it, its citations."),
        column("documents", STRINGS, "Hashes of the documents it rests on; of a refusal those it was shown."),
        column("licences", STRINGS, "Licences of these documents; an unknown one is absent."),
        column("version", pl.Int32, "The release that first held the row."),
    ),
)  # fmt: skip
"""A row of `data/SPLIT.parquet`."""


class PassageRow(TypedDict):
    """Hold one passage of a release; its text may be that of its document."""

    chunk_id: str
    batch: str
    title: str
    language: str
    text: str
    section_path: list[str]
    repeat: int


PASSAGE_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("chunk_id", "batch", "content_sha256", "title", "language", "text"), pl.String()),
        "section_path": STRINGS,
        "start": pl.Int64(),
        "end": pl.Int64(),
        "repeat": pl.Int64(),
    }
)
"""A chunk that rows rest on or show; `repeat` is its number among equal ones, of which its id is made.

`text` is null where the text of its document is in the release.
"""
LEFT_OUT_SCHEMA = pl.Schema(dict.fromkeys(("pair_id", "batch", "reason", "instead"), pl.String()))
_SOURCE_COLUMNS = (
    *("content_sha256", "batch", "path", "title", "language", "source_uri", "licence", "text", "text_sha256"),
)
SOURCE_SCHEMA = pl.Schema(dict.fromkeys(_SOURCE_COLUMNS, pl.String()))
ROWS = pl.Schema(
    {
        "row": pl.UInt32(),
        "pair_id": pl.String(),
        "code": pl.UInt64(),
        "said": pl.UInt64(),
        "composite": pl.Float64(),
        "forgotten": pl.Boolean(),
    }
)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The rows that could be released, numbered over all batches, and where their notes lie.

    Args:
        folder: holds `rows.parquet` (ROWS) and `keys.parquet` (KEYS).
        batches: number of the first row of each batch, and how many it has, in the order of names.
        left_out: why a batch has none.
        joins: documents that are nearly the same: a JOINS frame.
    """

    folder: Path
    batches: dict[str, tuple[int, int]]
    left_out: dict[str, str]
    joins: pl.DataFrame

    @property
    def count(self) -> int:
        """Return how many rows there are."""
        return sum(count for _, count in self.batches.values())


def gather(resources: Resources, folder: Path) -> Candidates:
    """Check each batch by its gates and the release floor, and note what decides about its rows.

    Args:
        resources: of the run.
        folder: an empty one.

    Raises:
        OSError: the folder cannot be written.
    """
    layout, settings = resources.layout, resources.settings
    limit = NEAR_DUPLICATE_SIMILARITY
    batches: dict[str, tuple[int, int]] = {}
    left_out: dict[str, str] = {}
    withdrawn = withdrawn_batches(layout)
    seen: set[int] = set()
    forgotten = sorted(forgotten_documents(layout))
    rows, bands = 0, 0
    with ExitStack() as opened:
        note = {
            name: opened.enter_context(appended_parquet(folder / f"{name}.parquet", schema, group))
            for name, (schema, group) in _FILES.items()
        }
        for path in layout.tables(VERDICTS.name):
            batch = path.stem
            try:
                tables = read_tables(layout, batch)
            except (TableError, CorpusError) as error:
                left_out[batch] = str(error).replace(f"{layout.out}/", "")  # a release tells no places
                continue
            reason = "it is withdrawn" if batch in withdrawn else _refused(tables, settings)
            if reason is not None:
                left_out[batch] = reason
                continue
            released = released_rows(tables)
            noted = released.with_columns(
                codes(released["pair_id"]).alias("code"),
                said_codes(released).alias("said"),
                forgotten=pl.col("documents").list.set_intersection(forgotten).list.len() > 0,
                row=rows + pl.int_range(pl.len()),
            )
            note["rows"](noted)
            note["keys"](row_keys(released).with_columns(row=rows + pl.col("place")))
            texts = tables["documents"].drop_nulls(["content_sha256", "text"])
            texts = texts.unique("content_sha256", keep="first", maintain_order=True)
            banded, sets = sketches(new_documents(texts, seen), limit)
            bands += banded.height
            note["bands"](banded)
            note["shingles"](sets)
            batches[batch] = rows, released.height
            rows += released.height
    for batch, stone in withdrawn.items():
        if stone.reason == "document_forgotten" and batch not in left_out:  # it has no tables to look at
            left_out[batch] = stone.message()
    joins = near_duplicates(folder / "bands.parquet", folder / "shingles.parquet", bands, limit)
    return Candidates(folder, batches, left_out, joins)


_FILES = {
    "rows": (ROWS, ROW_GROUP),
    "keys": (KEYS, NARROW_GROUP),
    "bands": (BANDS, NARROW_GROUP),
    "shingles": (SHINGLES, ROW_GROUP),
}


def released_rows(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the training examples of accepted pairs, with composite, claims, documents and licences.

    Args:
        tables: of a batch, by name.
    """
    accepted = tables[VERDICTS.name].filter(pl.col("verdict") == "accepted").select("pair_id", "composite")
    examples = tables[TRAINING_EXAMPLES.name].join(accepted, on="pair_id", how="inner", maintain_order="left")
    rests_on = _rests_on(examples, tables).group_by("pair_id")
    documents = rests_on.agg(documents=pl.col("content_sha256").unique().sort())
    cut = tables["claims"].select("claim_id", "self_contained", "split_by", chunk_ids="candidate_chunk_ids")
    claims = (
        decided_claims(tables["claims"], tables["claim_verdicts"])
        .join(cut, on="claim_id")
        .join(tables["claim_verdicts"].select("claim_id", "decided_by"), on="claim_id", how="left")
        .sort("pair_id", "position", "claim_id")
        .group_by("pair_id", maintain_order=True)
        .agg(claims=pl.struct(field.name for field in CLAIM.fields))
    )
    return (
        examples.join(documents, on="pair_id", how="left", maintain_order="left")
        .join(claims, on="pair_id", how="left", maintain_order="left")
        .with_columns(
            pl.col("documents", "claims").fill_null([]),
            licences=pl.col("provenance").struct.field("licences"),
        )
    )


def named_passages(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the chunks that rows rest on, cite or show, each once: batch and chunk_id."""
    proving = pl.col("evidence").list.eval(pl.element().struct.field("chunk_id"))
    cited = pl.col("claims").list.eval(pl.element().struct.field("chunk_ids").explode())
    passage_lists = (pl.col("passages").struct.field(layout) for layout in LAYOUTS[1:])
    frames = (
        rows.select("batch", chunk_id=ids).explode("chunk_id", empty_as_null=True)
        for ids in (proving, cited, *passage_lists)
    )
    return pl.concat(frames).drop_nulls().unique(maintain_order=True)


def passages_of(rows: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the passages that rows name, in the order of the batch: a PASSAGE_SCHEMA frame."""
    same = pl.col("section_path").list.join("\x1f"), pl.col("text")
    contents = tables["documents"].select("document_id", "content_sha256")
    return (
        tables["chunks"]
        .with_columns(repeat=pl.int_range(pl.len()).over(same), start="char_start", end="char_end")
        .join(named_passages(rows), on="chunk_id", how="semi", maintain_order="left")
        .join(contents, on="document_id", how="left", maintain_order="left")
        .select(PASSAGE_SCHEMA.names())
    )


def documents_of(rows: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the documents that rows rest on, each text once, in the order of the batch."""
    hashes = rows.select(pl.col("documents").explode(empty_as_null=True).alias("content_sha256")).drop_nulls()
    return (
        tables["documents"]
        .join(hashes.unique(), on="content_sha256", how="semi", maintain_order="left")
        .unique("content_sha256", keep="first", maintain_order=True)
        .with_columns(pl.col("text").map_elements(hash_text, return_dtype=pl.String()).alias("text_sha256"))
    )


def _refused(tables: Mapping[str, pl.DataFrame], settings: Settings) -> str | None:
    """Return the reason why a batch is not released: a failed blocking gate, or no training examples."""
    gates = batch_gates(tables, settings.quality)
    measured = {name: tables[name] for name in ("pairs", "claims", "claim_verdicts", "verdicts")}
    gates += release_floor(**measured, settings=settings.release)
    failed = next((gate for gate in gates if gate.blocking and not gate.passed), None)
    if failed is not None:
        return f"{failed.name}: {failed.detail}"
    return None if TRAINING_EXAMPLES.name in tables else "it has no training examples; run it again"


def _rests_on(examples: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the documents each row rests on, for a refusal those it was shown: pair_id, content_sha256."""
    hashes = pl.col("evidence").list.eval(pl.element().struct.field("content_sha256"))
    proved = examples.select("pair_id", content_sha256=hashes).explode("content_sha256", empty_as_null=True)
    proved = proved.drop_nulls()
    sources = (
        tables["pairs"]
        .join(examples, on="pair_id", how="semi")
        .select("pair_id", chunk_id="passage_ids")
        .explode("chunk_id", empty_as_null=True)
        .join(tables["chunks"].select("chunk_id", "document_id"), on="chunk_id")
        .join(tables["documents"].select("document_id", "content_sha256"), on="document_id")
        .select("pair_id", "content_sha256")
    )
    return pl.concat([proved, sources.join(proved, on="pair_id", how="anti")])
