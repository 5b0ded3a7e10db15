"""Candidates of a release: the accepted rows of the batches whose gates hold, some bytes for each."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from qa_pipeline.curation.gates.gates import batch_gates
from qa_pipeline.curation.gates.release import release_floor
from qa_pipeline.curation.withdrawals import forgotten_documents, withdrawn_batches
from qa_pipeline.documents.near_duplicates import NEAR_DUPLICATE_SIMILARITY
from qa_pipeline.documents.reading import FORGOTTEN
from qa_pipeline.errors import CorpusError, TableError
from qa_pipeline.pipeline.report import read_tables
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.publishing.keys import (
    BANDS,
    SHINGLES,
    codes,
    near_duplicates,
    new_documents,
    row_keys,
    said_codes,
    sketches,
)
from qa_pipeline.publishing.rows import OPTIONAL, candidate_rows
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.parquet import appended_parquet
from qa_pipeline.storage.tables import TRAINING_EXAMPLES, VERDICTS

DUPLICATE, JOINS_SPLITS, LACKS_LAYOUT = "duplicate_across_batches", "joins_splits", "lacks_layout"
REASONS = pl.Enum((DUPLICATE, JOINS_SPLITS, LACKS_LAYOUT, FORGOTTEN))
"""The reasons why an accepted row is not released."""
ROWS = pl.Schema(
    {
        "code": pl.UInt64(),
        "said": pl.UInt64(),
        "composite": pl.Float64(),
        "language": pl.Categorical(),
        "reason": REASONS,
    }
)
KEYS = pl.Schema({"item": pl.UInt32(), "key": pl.UInt64()})


@dataclass(frozen=True, slots=True)
class Candidates:
    """The rows that could be released, numbered over all batches.

    Args:
        rows: a ROWS frame.
        keys: the keys of rows: a KEYS frame.
        batches: number of the first row of each batch, and how many it has, in the order of names.
        left_out: why a batch has none.
        joins: documents that are nearly the same: a JOINS frame.
        lacking: optional columns without a value.
    """

    rows: pl.DataFrame
    keys: pl.DataFrame
    batches: dict[str, tuple[int, int]]
    left_out: dict[str, str]
    joins: pl.DataFrame
    lacking: list[str]


def gather(resources: Resources) -> Candidates:
    """Check each batch by its gates and the release floor, and note what decides about its rows.

    Raises:
        OSError: no temporary file can be written.
    """
    layout, settings = resources.layout, resources.settings
    batches: dict[str, tuple[int, int]] = {}
    left_out: dict[str, str] = {}
    withdrawn, forgotten = withdrawn_batches(layout), sorted(forgotten_documents(layout))
    seen: set[int] = set()
    valued: set[str] = set()
    count = 0
    rows, keys, bands = [pl.DataFrame(schema=ROWS)], [pl.DataFrame(schema=KEYS)], [pl.DataFrame(schema=BANDS)]
    with tempfile.TemporaryDirectory() as folder:
        sets = Path(folder) / "shingles"
        with appended_parquet(sets, SHINGLES) as note_sets:
            for path in layout.tables(VERDICTS.name):
                batch = path.stem
                try:
                    tables = read_tables(layout, batch)
                except (TableError, CorpusError) as error:
                    left_out[batch] = str(error).replace(f"{layout.out}/", "")  # a release tells no places
                    continue
                refusal = "it is withdrawn" if batch in withdrawn else _refusal(tables, settings)
                if refusal is not None:
                    left_out[batch] = refusal
                    continue
                of_batch = candidate_rows(tables, settings.release.layout)
                is_forgotten = pl.col("documents").list.set_intersection(forgotten).list.len() > 0
                reason = (
                    pl.when(is_forgotten).then(pl.lit(FORGOTTEN, REASONS))
                    .when(pl.col("messages").is_null()).then(pl.lit(LACKS_LAYOUT, REASONS))
                )  # fmt: skip
                noted = of_batch.with_columns(
                    codes(of_batch["pair_id"]).alias("code"),
                    said_codes(of_batch).alias("said"),
                    reason=reason,
                )
                rows.append(noted.select(ROWS.names()).cast(ROWS))
                keys.append(row_keys(of_batch).select(item=count + pl.col("place"), key="key"))
                texts = tables["documents"].drop_nulls(["content_sha256", "text"])
                texts = texts.unique("content_sha256", keep="first", maintain_order=True)
                banded, shingled = sketches(new_documents(texts, seen), NEAR_DUPLICATE_SIMILARITY)
                bands.append(banded)
                note_sets(shingled)
                valued.update(name for name in OPTIONAL if of_batch[name].null_count() < of_batch.height)
                batches[batch] = count, of_batch.height
                count += of_batch.height
        joins = near_duplicates(pl.concat(bands), sets, NEAR_DUPLICATE_SIMILARITY)
    for batch, stone in withdrawn.items():
        if stone.reason == "document_forgotten" and batch not in left_out:  # it has no tables to look at
            left_out[batch] = stone.message()
    lacking = [name for name in OPTIONAL if name not in valued]
    return Candidates(pl.concat(rows), pl.concat(keys), batches, left_out, joins, lacking)


def _refusal(tables: Mapping[str, pl.DataFrame], settings: Settings) -> str | None:
    """Return the reason why a batch is not released: a failed blocking gate, or no training examples."""
    gates = batch_gates(tables, settings.quality)
    measured = {name: tables[name] for name in ("pairs", "claims", "claim_verdicts", "verdicts")}
    gates += release_floor(**measured, settings=settings.release)
    failed = next((gate for gate in gates if gate.blocking and not gate.passed), None)
    if failed is not None:
        return f"{failed.name}: {failed.detail}"
    return None if TRAINING_EXAMPLES.name in tables else "it has no training examples; run it again"
