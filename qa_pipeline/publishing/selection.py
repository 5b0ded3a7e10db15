"""Select the candidates of a release, and assign a split to each."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from qa_pipeline.curation.batch_gates import batch_gates
from qa_pipeline.curation.gate import release_floor
from qa_pipeline.curation.withdrawals import forgotten_documents, withdrawn_batches
from qa_pipeline.documents.reading import FORGOTTEN
from qa_pipeline.errors import CorpusError, ReleaseError, TableError
from qa_pipeline.pipeline.report import read_tables
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.publishing.manifest import DATA, SPLIT_KEYS, Manifest, latest_release, read_manifest
from qa_pipeline.publishing.rows import OPTIONAL, candidate_rows
from qa_pipeline.publishing.splits import (
    ITEM_KEYS,
    KEY_SPLITS,
    assign_splits,
    codes,
    near_duplicates,
    new_documents,
    row_keys,
    wording_codes,
)
from qa_pipeline.settings.tree import Settings
from qa_pipeline.settings.verification import ReleaseSettings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table, row_groups
from qa_pipeline.storage.tables import DOCUMENTS, TRAINING_EXAMPLES, VERDICTS

DUPLICATE, JOINS_SPLITS = "duplicate_across_batches", "joins_splits"
REASONS = pl.Enum((DUPLICATE, JOINS_SPLITS, FORGOTTEN))
"""Reasons why an accepted row is not released."""
ROWS = pl.Schema(
    {
        "code": pl.UInt64(),
        "wording": pl.UInt64(),
        "composite": pl.Float64(),
        "language": pl.Categorical(),
        "reason": REASONS,
    }
)
"""A row for each candidate: hashes of its id (`code`) and of its words, and why it is not released, if so."""
KEYS = pl.Schema({"item": pl.UInt32(), "key": pl.UInt64()})
"""A row for each key of a candidate, which `item` numbers. A key is the hash of a document, question or
answer; candidates that share a key get the same split."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The rows that may be released, numbered across all batches.

    Args:
        rows: a ROWS frame.
        keys: the keys of rows, a KEYS frame.
        batches: index of the first row and number of rows of each batch, sorted by batch name.
        left_out: reason for each batch without rows.
        duplicate_groups: near-duplicate documents, a DUPLICATE_GROUPS frame.
        lacking: optional columns that are null in every row.
    """

    rows: pl.DataFrame
    keys: pl.DataFrame
    batches: dict[str, tuple[int, int]]
    left_out: dict[str, str]
    duplicate_groups: pl.DataFrame
    lacking: list[str]


def gather(resources: Resources) -> Candidates:
    """Collect the accepted rows of each batch that is not withdrawn and has no `_exclusion`."""
    layout, settings = resources.layout, resources.settings
    batches: dict[str, tuple[int, int]] = {}
    left_out: dict[str, str] = {}
    withdrawn, forgotten = withdrawn_batches(layout), sorted(forgotten_documents(layout))
    used_columns: set[str] = set()
    rows_before = 0  # number of rows of earlier batches, as rows are numbered across batches
    rows, keys = [pl.DataFrame(schema=ROWS)], [pl.DataFrame(schema=KEYS)]
    for path in layout.tables(VERDICTS.name):
        batch = path.stem
        try:
            tables = read_tables(layout, batch)
        except (TableError, CorpusError) as error:
            left_out[batch] = str(error).replace(f"{layout.out}/", "")  # a release hides local paths
            continue
        exclusion = "it is withdrawn" if batch in withdrawn else _exclusion(tables, settings)
        if exclusion is not None:
            left_out[batch] = exclusion
            continue
        accepted = candidate_rows(tables)
        # the release counts the rows that it leaves out, so a forgotten row stays a candidate with a reason
        is_forgotten = pl.col("documents").list.set_intersection(forgotten).list.len() > 0
        candidates = accepted.with_columns(
            codes(accepted["pair_id"]).alias("code"),
            wording_codes(accepted).alias("wording"),
            reason=pl.when(is_forgotten).then(pl.lit(FORGOTTEN, REASONS)),
        )
        rows.append(candidates.select(ROWS.names()).cast(ROWS))
        keys.append(row_keys(accepted).select(item=rows_before + pl.col("row"), key="key").cast(KEYS))
        used_columns.update(name for name in OPTIONAL if accepted[name].null_count() < accepted.height)
        batches[batch] = rows_before, accepted.height
        rows_before += accepted.height
    for batch, tombstone in withdrawn.items():
        # forgetting a document deletes the tables of its batches, so the loop above does not find them
        if tombstone.reason == "document_forgotten" and batch not in left_out:
            left_out[batch] = tombstone.message()
    groups = near_duplicates(_documents(layout, batches))
    lacking = [name for name in OPTIONAL if name not in used_columns]
    return Candidates(pl.concat(rows), pl.concat(keys), batches, left_out, groups, lacking)


def _documents(layout: Layout, batches: Iterable[str]) -> Iterator[pl.DataFrame]:
    """Yield hash and text of the documents of each batch; repeated documents are skipped."""
    seen: set[int] = set()
    columns = ("content_sha256", "text")
    for batch in batches:
        texts = read_table(layout.table(DOCUMENTS.name, batch), DOCUMENTS, columns).drop_nulls()
        yield new_documents(texts.unique("content_sha256", keep="first", maintain_order=True), seen)


def _exclusion(tables: Mapping[str, pl.DataFrame], settings: Settings) -> str | None:
    """Return the reason to exclude a batch: a failed gate or `release_floor`, or no training examples."""
    gates = batch_gates(tables, settings.quality)
    floor_tables = {name: tables[name] for name in ("claims", "claim_verdicts", "verdicts")}
    gates += release_floor(**floor_tables, settings=settings.release)
    failed = next((gate for gate in gates if gate.blocking and not gate.passed), None)
    if failed is not None:
        return f"{failed.name}: {failed.detail}"
    return None if TRAINING_EXAMPLES.name in tables else "it has no training examples; run it again"


@dataclass(frozen=True, slots=True)
class Earlier:
    """The previous release.

    Args:
        manifest: its manifest, unset before the first release.
        pair_codes: hashes of the ids of its pairs.
        key_splits: the split of each key, a KEY_SPLITS frame.
    """

    manifest: Manifest | None
    pair_codes: pl.Series
    key_splits: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Selection:
    """The split or rejection reason of each candidate, and the split of each key.

    Args:
        rows: code, split and reason (null for a released row).
        key_splits: keys of this release and earlier releases, a KEY_SPLITS frame.
        split_names: names of the splits that have rows.
    """

    rows: pl.DataFrame
    key_splits: pl.DataFrame
    split_names: tuple[str, ...]


def read_earlier_release(releases: Path) -> Earlier:
    """Return the parts of the previous release that influence the next; raises a ReleaseError for damage."""
    last = latest_release(releases)
    if last is None:
        return Earlier(None, pl.Series([], dtype=pl.UInt64()), pl.DataFrame(schema=KEY_SPLITS))
    manifest = read_manifest(last)
    for name, file in manifest.files.items():
        path = last / name
        if not path.is_file() or path.stat().st_size != file.size:
            raise ReleaseError(
                f"{last} is damaged ({name}), and the next release depends on it; restore it from a copy, or "
                "delete that folder"
            )
    files = (last / DATA / f"{split}.parquet" for split in manifest.splits)
    parts = [codes(part["pair_id"]) for file in files for part in row_groups(file, ["pair_id"])]
    pair_codes = pl.concat([pl.Series([], dtype=pl.UInt64()), *parts])
    key_splits = pl.read_parquet((last / SPLIT_KEYS).read_bytes())  # also from an object store
    return Earlier(manifest, pair_codes, key_splits)


def select_rows(candidates: Candidates, earlier: Earlier, settings: ReleaseSettings) -> Selection:
    """Mark repeated rows with a reason, and assign a split to each remaining row."""
    rows = _mark_duplicates(candidates.rows.with_row_index("item"), earlier.pair_codes)
    # splits of the settings first; a split of an earlier release keeps its rows without getting new ones
    split_names = tuple(dict.fromkeys([*settings.splits, *earlier.key_splits["split"].unique().sort()]))
    is_remaining = pl.col("reason").is_null()
    # without the keys of repeated and forgotten rows, which therefore get no split
    keys = _item_keys(candidates, rows.filter(is_remaining)["item"], earlier.key_splits, split_names)
    shares = [settings.splits.get(name, 0.0) for name in split_names]
    split_numbers = assign_splits(keys, rows["language"], shares)  # indices of split_names, or null
    rows = rows.with_columns(pl.Series("split", split_names).gather(split_numbers))
    joins_splits = is_remaining & pl.col("split").is_null()
    reason = pl.when(joins_splits).then(pl.lit(JOINS_SPLITS, REASONS)).otherwise("reason")
    selected = rows.select("code", "split", reason=reason.cast(pl.String()))
    key_splits = _extend_key_splits(earlier.key_splits, keys, selected["split"], candidates.duplicate_groups)
    filled = set(selected["split"].drop_nulls())
    return Selection(selected, key_splits, tuple(name for name in split_names if name in filled))


def _mark_duplicates(rows: pl.DataFrame, released_codes: pl.Series) -> pl.DataFrame:
    """Set the reason of all but the preferred row of each wording (question and answer) in a ROWS frame.

    A row of the previous release is preferred, whose code (hash of pair_id) is in `released_codes`, then the
    highest composite score, then the smallest code. So the order of batches does not matter.
    """
    ranked = (
        rows.filter(pl.col("reason").is_null())
        .with_columns(was_released=pl.col("code").is_in(released_codes.implode()))
        .sort("was_released", "composite", "code", descending=[True, True, False], nulls_last=True)
    )
    repeats = ranked.filter(~pl.col("wording").is_first_distinct())["item"]
    is_repeat = pl.col("item").is_in(repeats.implode())
    return rows.with_columns(reason=pl.when(is_repeat).then(pl.lit(DUPLICATE, REASONS)).otherwise("reason"))


def _extend_key_splits(
    earlier: pl.DataFrame, keys: pl.DataFrame, splits: pl.Series, groups: pl.DataFrame
) -> pl.DataFrame:
    """Add the splits of rows and near duplicates to the splits of earlier releases, sorted by key.

    The frames are KEY_SPLITS, ITEM_KEYS and DUPLICATE_GROUPS; `splits` has the split of each row, or null.
    For example, near-duplicate documents with the keys 5 and 7 are the group (key 7, head 5). If a row of
    train cites document 5, both keys get train.
    """
    split_of_items = pl.DataFrame({"split": splits}).with_row_index("item").drop_nulls("split")
    row_key_splits = keys.join(split_of_items, on="item").select("key", "split")
    heads = groups.select(key="head", head="head").unique()  # a head is a member of its own group
    members = pl.concat([groups, heads])
    # all members get the split of their group's rows, the first by name if these are in several
    group_splits = members.join(row_key_splits, on="key").group_by("head").agg(pl.col("split").min())
    member_key_splits = members.join(group_splits, on="head").select("key", "split")
    # the first split of a key counts: that of an earlier release, of a row, or of its group
    key_splits = pl.concat([earlier.select(KEY_SPLITS.names()), row_key_splits, member_key_splits])
    return key_splits.unique("key", keep="first", maintain_order=True).sort("key")


def _item_keys(
    candidates: Candidates, remaining: pl.Series, key_splits: pl.DataFrame, split_names: tuple[str, ...]
) -> pl.DataFrame:
    """Return the ITEM_KEYS of the `remaining` rows and of near-duplicate documents.

    `earlier_split` is an index of `split_names`; null for a key without a split in `key_splits`.
    """
    # a row of `duplicate_groups` is a document (key) and the first of its group (head); as keys of one item
    # they get the same split
    pairs = candidates.duplicate_groups.with_row_index("item", offset=candidates.rows.height)
    keys_of_pairs = [pairs.select("item", key=name).cast(KEYS) for name in ("key", "head")]
    keys_of_rows = candidates.keys.filter(pl.col("item").is_in(remaining.implode()))
    index_of_split = {name: index for index, name in enumerate(split_names)}
    earlier_split = pl.col("split").replace_strict(index_of_split, return_dtype=pl.Int8())
    earlier_splits = key_splits.select("key", earlier_split=earlier_split)
    return (
        pl.concat([keys_of_rows, *keys_of_pairs])
        .join(earlier_splits, on="key", how="left", maintain_order="left")
        .select(ITEM_KEYS.names())
    )
