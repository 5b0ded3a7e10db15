"""Candidates of a release: the accepted rows of all batches that pass their gates.

Each row is kept as a few numbers, so that memory stays small.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from qa_pipeline.curation.gates.gates import batch_gates
from qa_pipeline.curation.gates.release import release_floor
from qa_pipeline.curation.withdrawals import forgotten_documents, withdrawn_batches
from qa_pipeline.documents.near_duplicates import NEAR_DUPLICATE_SIMILARITY
from qa_pipeline.documents.reading import FORGOTTEN
from qa_pipeline.errors import CorpusError, TableError
from qa_pipeline.pipeline.report import read_tables
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.publishing.keys import codes, near_duplicates, new_documents, row_keys, said_codes
from qa_pipeline.publishing.rows import OPTIONAL, candidate_rows
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import DOCUMENTS, TRAINING_EXAMPLES, VERDICTS

DUPLICATE, JOINS_SPLITS = "duplicate_across_batches", "joins_splits"
REASONS = pl.Enum((DUPLICATE, JOINS_SPLITS, FORGOTTEN))
"""Reasons why an accepted row is not released."""
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
    """The rows that may be released, numbered across all batches.

    Args:
        rows: a ROWS frame.
        keys: the keys of rows, a KEYS frame.
        batches: index of the first row and number of rows of each batch, sorted by batch name.
        left_out: reason for each batch without rows.
        joins: pairs of near-duplicate documents, a JOINS frame.
        lacking: optional columns that are null in every row.
    """

    rows: pl.DataFrame
    keys: pl.DataFrame
    batches: dict[str, tuple[int, int]]
    left_out: dict[str, str]
    joins: pl.DataFrame
    lacking: list[str]


def gather(resources: Resources) -> Candidates:
    """Collect the accepted rows of each batch that passes its gates and the release floor."""
    layout, settings = resources.layout, resources.settings
    batches: dict[str, tuple[int, int]] = {}
    left_out: dict[str, str] = {}
    withdrawn, forgotten = withdrawn_batches(layout), sorted(forgotten_documents(layout))
    valued: set[str] = set()
    count = 0
    rows, keys = [pl.DataFrame(schema=ROWS)], [pl.DataFrame(schema=KEYS)]
    for path in layout.tables(VERDICTS.name):
        batch = path.stem
        try:
            tables = read_tables(layout, batch)
        except (TableError, CorpusError) as error:
            left_out[batch] = str(error).replace(f"{layout.out}/", "")  # a release hides local paths
            continue
        refusal = "it is withdrawn" if batch in withdrawn else _refusal(tables, settings)
        if refusal is not None:
            left_out[batch] = refusal
            continue
        of_batch = candidate_rows(tables)
        is_forgotten = pl.col("documents").list.set_intersection(forgotten).list.len() > 0
        reason = pl.when(is_forgotten).then(pl.lit(FORGOTTEN, REASONS))
        noted = of_batch.with_columns(
            codes(of_batch["pair_id"]).alias("code"), said_codes(of_batch).alias("said"), reason=reason
        )
        rows.append(noted.select(ROWS.names()).cast(ROWS))
        keys.append(row_keys(of_batch).select(item=count + pl.col("place"), key="key").cast(KEYS))
        valued.update(name for name in OPTIONAL if of_batch[name].null_count() < of_batch.height)
        batches[batch] = count, of_batch.height
        count += of_batch.height
    for batch, stone in withdrawn.items():
        if stone.reason == "document_forgotten" and batch not in left_out:  # it has no tables left
            left_out[batch] = stone.message()
    joins = near_duplicates(_documents(layout, batches), NEAR_DUPLICATE_SIMILARITY)
    lacking = [name for name in OPTIONAL if name not in valued]
    return Candidates(pl.concat(rows), pl.concat(keys), batches, left_out, joins, lacking)


def _documents(layout: Layout, batches: Iterable[str]) -> Iterator[pl.DataFrame]:
    """Yield hash and text of the documents of each batch; repeated documents are skipped."""
    seen: set[int] = set()
    columns = ("content_sha256", "text")
    for batch in batches:
        texts = read_table(layout.table(DOCUMENTS.name, batch), DOCUMENTS, columns).drop_nulls()
        yield new_documents(texts.unique("content_sha256", keep="first", maintain_order=True), seen)


def _refusal(tables: Mapping[str, pl.DataFrame], settings: Settings) -> str | None:
    """Return why a batch is not released: a failed blocking gate, or missing training examples."""
    gates = batch_gates(tables, settings.quality)
    measured = {name: tables[name] for name in ("claims", "claim_verdicts", "verdicts")}
    gates += release_floor(**measured, settings=settings.release)
    failed = next((gate for gate in gates if gate.blocking and not gate.passed), None)
    if failed is not None:
        return f"{failed.name}: {failed.detail}"
    return None if TRAINING_EXAMPLES.name in tables else "it has no training examples; run it again"
