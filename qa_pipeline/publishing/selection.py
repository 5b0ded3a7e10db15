"""Selection: which candidates of a release stay, which stand for others, and which split each goes into."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.documents.reading import FORGOTTEN
from qa_pipeline.errors import ReleaseError
from qa_pipeline.publishing.candidates import ROWS, Candidates
from qa_pipeline.publishing.contamination import IN_EVALUATION
from qa_pipeline.publishing.keys import NARROW_GROUP, between, codes, ranges
from qa_pipeline.publishing.manifest import (
    DATA,
    Manifest,
    latest_release,
    manifest_of,
    newest_keys,
    read_manifest,
)
from qa_pipeline.publishing.splits import NOWHERE, PART, UNKNOWN, assign_splits, groups_of
from qa_pipeline.settings.verification import ReleaseSettings
from qa_pipeline.storage.parquet import appended_parquet, row_groups

PLACED = pl.Schema({"key": pl.UInt64(), "split": pl.String()})
DUPLICATE, JOINS_SPLITS = "duplicate_across_batches", "joins_splits"
KEPT = ""
REASONS = (KEPT, DUPLICATE, JOINS_SPLITS, IN_EVALUATION, FORGOTTEN)
"""The reasons why an accepted row is not released; the first is that of a released row."""

Reasons = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Earlier:
    """The release before.

    Args:
        folder: its place; None before the first, and where all are yanked.
        manifest: what it says of itself.
        keys: file of the keys and where they stand, in it or in a later one that is yanked.
        splits: names that this file uses.
        codes: of its rows, ascending.
        versions: the release that first held each of them.
    """

    folder: Path | None
    manifest: Manifest | None
    keys: Path | None
    splits: tuple[str, ...]
    codes: npt.NDArray[np.uint64]
    versions: npt.NDArray[np.int32]

    def version_of(self, row_codes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
        """Return the release that first held each of these rows; 0 for a new one."""
        if not len(self.codes):
            return np.zeros(len(row_codes), dtype=np.int32)
        place = np.minimum(np.searchsorted(self.codes, row_codes), len(self.codes) - 1)
        return np.where(self.codes[place] == row_codes, self.versions[place], 0).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Selection:
    """The outcome of the selection for each candidate.

    Args:
        names: of the splits; those of earlier releases that are wanted no more keep their rows.
        split: number of the split of each row, or `NOWHERE`.
        reason: number in `REASONS`.
        instead: row and the pair_id that stands for it, of those that repeat another.
        beside: key and split of documents without a row that are nearly the same as one which has some.
    """

    names: tuple[str, ...]
    split: npt.NDArray[np.int8]
    reason: Reasons
    instead: pl.DataFrame
    elsewhere: pl.DataFrame


def read_earlier_release(releases: Path) -> Earlier:
    """Return what the previous release holds, as far as it decides about this one.

    Raises:
        ReleaseError: it is damaged.
    """
    last, keys = latest_release(releases), newest_keys(releases)
    splits = tuple(manifest_of(keys.parent).splits) if keys else ()
    if last is None:
        return Earlier(None, None, keys, splits, np.zeros(0, np.uint64), np.zeros(0, np.int32))
    manifest = read_manifest(last)
    for name, file in manifest.files.items():
        path = last / name
        if not path.is_file() or path.stat().st_size != file.size:
            raise ReleaseError(
                f"{last} is damaged ({name}), and what it holds decides of the next release; restore it from "
                f"a copy, or yank it"
            )
    key_arrays, versions = [np.zeros(0, np.uint64)], [np.zeros(0, np.int32)]
    for name in manifest.splits:
        for part in row_groups(last / DATA / f"{name}.parquet", ["pair_id", "version"]):
            key_arrays.append(codes(part["pair_id"]).to_numpy())
            versions.append(part["version"].to_numpy())
    together = np.concatenate(key_arrays)
    order = np.argsort(together)
    return Earlier(last, manifest, keys, splits, together[order], np.concatenate(versions)[order])


def select_rows(candidates: Candidates, before: Earlier, settings: ReleaseSettings) -> Selection:
    """Leave rows out and give the others their splits."""
    reason: Reasons = np.zeros(candidates.count, dtype=np.int8)
    notes = candidates.folder / "rows.parquet"
    dropped = {"in_evaluation": IN_EVALUATION} if settings.on_evaluation == "drop" else {}
    for column, why in {**dropped, "forgotten": FORGOTTEN}.items():
        rows = pl.scan_parquet(notes).filter(column).select("row").collect()
        reason[rows["row"].to_numpy()] = REASONS.index(why)
    instead = _repeats(notes, candidates.count, reason, before)
    reason[instead["row"].to_numpy()] = REASONS.index(DUPLICATE)
    names = (*settings.splits, *(name for name in before.splits if name not in settings.splits))
    strata = _strata(notes, candidates.count, settings.stratify)
    split = assign_splits(
        candidates.count,
        _key_parts(candidates, before, names, reason == 0),
        candidates.joins,
        [settings.splits.get(name, 0.0) for name in names],
        strata,
        _placed_before(candidates.joins, before, names),
    )
    reason[(split == NOWHERE) & (reason == 0)] = REASONS.index(JOINS_SPLITS)
    is_kept = reason == REASONS.index(KEPT)
    elsewhere = _elsewhere(groups_of(candidates.joins), _key_parts(candidates, before, names, is_kept), split)
    return Selection(names, split, reason, instead, elsewhere)


def _placed_before(joins: pl.DataFrame, before: Earlier, names: Sequence[str]) -> pl.DataFrame:
    """Return places in the previous release of documents that nearly equal another: key, known."""
    keys = groups_of(joins).select("key")
    places = ranges(rows_of(before.keys)) if before.keys else []
    placed = [_known_keys(before, *place, names).join(keys, on="key", how="semi") for place in places]
    return pl.concat([PART.to_frame().select("key", "known"), *placed])


def _elsewhere(
    groups: pl.DataFrame, parts: Iterator[pl.DataFrame], split: npt.NDArray[np.int8]
) -> pl.DataFrame:
    """Return places of the documents of each group: key and known, which is the number of the split."""
    parts_of_groups = [part.join(groups, on="key", how="semi").unique("key", keep="first") for part in parts]
    rows = pl.concat([PART.to_frame(), *parts_of_groups])
    placed = rows.select("key", known=pl.Series(split[rows["row"].to_numpy()], dtype=pl.Int8()))
    of_group = groups.join(placed, on="key").unique("group", keep="first").select("group", "known")
    return groups.join(of_group, on="group").select("key", "known")


def _repeats(notes: Path, count: int, reason: Reasons, before: Earlier) -> pl.DataFrame:
    """Return rows whose question and answer another row has, with the pair_id that stands for them.

    The best was in the release before, else has the highest composite score, then the smallest id: the order
    of batches never matters.
    """
    repeated = [pl.DataFrame(schema={"row": ROWS["row"], "instead": pl.String()})]
    for first, last in ranges(count):
        part = between(notes, "said", first, last)
        open_rows = part.filter(pl.Series(reason[part["row"].to_numpy()] == 0))
        twice = open_rows.filter(pl.len().over("said") > 1)
        new = before.version_of(twice["code"].to_numpy()) == 0
        ranked = twice.with_columns(pl.Series("new", new)).sort(
            "new", "composite", "pair_id", descending=[False, True, False], nulls_last=True
        )
        best = ranked.with_columns(instead=pl.col("pair_id").first().over("said"))
        repeated.append(best.filter(pl.col("pair_id") != pl.col("instead")).select("row", "instead"))
    return pl.concat(repeated).sort("row")


def _strata(notes: Path, count: int, columns: Sequence[str]) -> npt.NDArray[np.int32] | None:
    """Return the number of each row's stratum; None where none are wanted."""
    if not columns:
        return None
    kinds = pl.scan_parquet(notes).select("row", pl.struct(columns).rank("dense").alias("kind")).collect()
    strata = np.zeros(count, dtype=np.int32)
    strata[kinds["row"].to_numpy()] = kinds["kind"].to_numpy() - 1
    return strata


def _key_parts(
    candidates: Candidates, before: Earlier, names: Sequence[str], is_kept: npt.NDArray[np.bool_]
) -> Iterator[pl.DataFrame]:
    """Yield the keys of the rows that are kept, in ranges: PART frames."""
    notes = candidates.folder / "keys.parquet"
    for first, last in ranges(rows_of(notes)):
        part = between(notes, "key", first, last)
        part_rows = part.filter(pl.Series(is_kept[part["row"].to_numpy()]))
        yield (
            part_rows.join(_known_keys(before, first, last, names), on="key", how="left")
            .with_columns(pl.col("known").fill_null(UNKNOWN))
            .select(PART.names())
        )


def _known_keys(before: Earlier, first: int, last: int, names: Sequence[str]) -> pl.DataFrame:
    """Return the places of the keys of a range in the previous release: key, known."""
    if before.keys is None:
        return pl.DataFrame(schema={"key": pl.UInt64(), "known": pl.Int8()})
    number = {name: place for place, name in enumerate(names)}
    placed = between(before.keys, "key", first, last)
    return placed.select("key", known=pl.col("split").replace_strict(number, return_dtype=pl.Int8()))


def rows_of(file: Path) -> int:
    """Return how many rows a Parquet file has."""
    import pyarrow.parquet as pq

    return int(pq.read_metadata(file).num_rows)


def write_keys(file: Path, candidates: Candidates, before: Earlier, selection: Selection) -> None:
    """Write the split of each key: those of this release, and those of earlier ones that are gone."""
    names = pl.Series([*selection.names, None], dtype=pl.String())
    with appended_parquet(file, PLACED, NARROW_GROUP) as write:
        for part, (first, last) in zip(
            _key_parts(candidates, before, selection.names, selection.reason == 0),
            ranges(rows_of(candidates.folder / "keys.parquet")),
            strict=True,
        ):
            split = pl.Series("known", selection.split[part["row"].to_numpy()])
            now = part.select("key").with_columns(split)
            in_range = pl.col("key").is_between(pl.lit(first, pl.UInt64()), pl.lit(last, pl.UInt64()))
            elsewhere = selection.elsewhere.filter(in_range)
            placed = pl.concat([now, _known_keys(before, first, last, selection.names), elsewhere])
            first_places = placed.unique("key", keep="first", maintain_order=True).sort("key")
            write(first_places.select("key", split=names.gather(first_places["known"])))


def decided_rows(
    candidates: Candidates,
    before: Earlier,
    selection: Selection,
    batch: str,
    rows: pl.DataFrame,
    version: int,
) -> pl.DataFrame:
    """Return the rows of a batch with row, in_evaluation, version, split (of kept rows) and reason.

    Args:
        candidates: the candidates.
        before: the release before.
        selection: what becomes of the candidates.
        batch: its name.
        rows: as `released_rows` gives them.
        version: of the release that is made.

    Raises:
        ReleaseError: they are not those that were noted.
    """
    start, count = candidates.batches[batch]
    noted = pl.scan_parquet(candidates.folder / "rows.parquet").slice(start, count).collect()
    if not rows["pair_id"].equals(noted["pair_id"]):
        raise ReleaseError(f"batch {batch} was run while it was released; publish again")
    versions = before.version_of(noted["code"].to_numpy())
    splits = pl.Series(selection.names, dtype=pl.String())
    place = slice(start, start + count)
    return rows.with_columns(
        noted["row"],
        noted["in_evaluation"],
        pl.Series("version", np.where(versions == 0, version, versions), dtype=pl.Int32()),
        splits.gather(np.maximum(selection.split[place], 0)).alias("split"),
        pl.Series(REASONS).gather(selection.reason[place]).alias("reason"),
    )
