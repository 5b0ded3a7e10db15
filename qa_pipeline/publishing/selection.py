"""Selection: which candidates of a release stay, which stand for others, and which split each goes into."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.documents.reading import FORGOTTEN
from qa_pipeline.errors import ReleaseError
from qa_pipeline.publishing.candidates import Candidates
from qa_pipeline.publishing.keys import NARROW_GROUP, between, codes, ranges, rows_of
from qa_pipeline.publishing.manifest import PLACES, Manifest, latest_release, read_manifest, row_groups_of
from qa_pipeline.publishing.splits import NOWHERE, PART, UNKNOWN, assign_splits, groups_of
from qa_pipeline.settings.verification import ReleaseSettings
from qa_pipeline.storage.parquet import appended_parquet, row_groups

PLACED = pl.Schema({"key": pl.UInt64(), "split": pl.String()})
DUPLICATE, JOINS_SPLITS = "duplicate_across_batches", "joins_splits"
REASONS = pl.Enum((DUPLICATE, JOINS_SPLITS, FORGOTTEN))
"""The reasons why an accepted row is not released."""
_HELD = pl.Schema({"code": pl.UInt64(), "version": pl.Int32()})


@dataclass(frozen=True, slots=True)
class Earlier:
    """The release before.

    Args:
        folder: its place; None before the first.
        manifest: what it says of itself.
        rows: code of each of its rows, and the version of the release that first held it.
    """

    folder: Path | None
    manifest: Manifest | None
    rows: pl.DataFrame

    @property
    def keys(self) -> Path | None:
        """Return the file of the keys and where they stand."""
        return self.folder and self.folder / PLACES


@dataclass(frozen=True, slots=True)
class Selection:
    """The splits of a release, and the split or reason of each candidate.

    Args:
        names: of the splits; those of earlier releases that are wanted no more keep their rows.
        rows: code, version (of the release that first held it), split, reason (null for a released row) and
            instead (the pair_id that stands for one that repeats another).
    """

    names: tuple[str, ...]
    rows: pl.DataFrame


def read_earlier_release(releases: Path) -> Earlier:
    """Return what the previous release holds, as far as it decides about this one.

    Raises:
        ReleaseError: it is damaged.
    """
    last = latest_release(releases)
    if last is None:
        return Earlier(None, None, _HELD.to_frame())
    manifest = read_manifest(last)
    for name, file in manifest.files.items():
        path = last / name
        if not path.is_file() or path.stat().st_size != file.size:
            raise ReleaseError(
                f"{last} is damaged ({name}), and what it holds decides of the next release; restore it from "
                f"a copy, or delete that folder"
            )
    parts = [
        part.select(codes(part["pair_id"]).alias("code"), "version")
        for part in row_groups_of(last, manifest.splits, ["pair_id", "version"])
    ]
    rows = pl.concat([_HELD.to_frame(), *parts]).unique("code", maintain_order=True)
    return Earlier(last, manifest, rows)


def select_rows(
    candidates: Candidates, before: Earlier, settings: ReleaseSettings, version: int, keys_file: Path
) -> Selection:
    """Leave rows out, give the others their splits, and write where each key stands from now on.

    Args:
        candidates: the candidates.
        before: the release before.
        settings: of releases.
        version: of the release that is made.
        keys_file: of that release, which also tells the places of earlier keys.
    """
    notes = candidates.folder / "rows.parquet"
    rows = pl.read_parquet(notes, columns=["row", "code", "said", "forgotten"])
    rows = rows.join(before.rows, on="code", how="left", maintain_order="left")
    rows = rows.with_columns(reason=pl.when("forgotten").then(pl.lit(FORGOTTEN, REASONS)))
    rows = rows.join(_repeats(notes, rows), on="row", how="left", maintain_order="left")
    is_repeat = pl.col("instead").is_not_null()
    rows = rows.with_columns(reason=pl.when(is_repeat).then(pl.lit(DUPLICATE, REASONS)).otherwise("reason"))
    names = tuple(dict.fromkeys((*settings.splits, *(before.manifest.splits if before.manifest else ()))))
    is_open = rows["reason"].is_null().to_numpy()
    split = assign_splits(
        candidates.count,
        _key_parts(candidates, before, names, is_open),
        candidates.joins,
        [settings.splits.get(name, 0.0) for name in names],
        _placed_before(candidates.joins, before, names),
    )
    _write_keys(keys_file, candidates, before, names, np.where(is_open, split, NOWHERE).astype(np.int8))
    place = pl.Series("place", split)
    joins_splits = pl.col("reason").is_null() & (place == NOWHERE)
    selected = rows.select(
        "code",
        pl.col("version").fill_null(version),
        pl.Series("split", names).gather(place.clip(0)).alias("split"),
        reason=pl.when(joins_splits).then(pl.lit(JOINS_SPLITS, REASONS)).otherwise("reason").cast(pl.String),
        instead="instead",
    )
    return Selection(names, selected)


def _placed_before(joins: pl.DataFrame, before: Earlier, names: Sequence[str]) -> pl.DataFrame:
    """Return places in the previous release of documents that nearly equal another: key, known."""
    keys = groups_of(joins).select("key")
    parts = row_groups(before.keys) if before.keys else ()
    placed = [_numbered(part.join(keys, on="key", how="semi"), names) for part in parts]
    return pl.concat([PART.to_frame().select("key", "known"), *placed])


def _elsewhere(
    groups: pl.DataFrame, parts: Iterator[pl.DataFrame], split: npt.NDArray[np.int8]
) -> pl.DataFrame:
    """Return places of the documents of each group: key and known, which is the number of the split."""
    rows = pl.concat([PART.to_frame(), *(part.join(groups, on="key", how="semi") for part in parts)])
    placed = rows.select("key", known=pl.Series(split[rows["row"].to_numpy()], dtype=pl.Int8()))
    of_group = groups.join(placed, on="key").unique("group", keep="first").select("group", "known")
    return groups.join(of_group, on="group").select("key", "known")


def _repeats(notes: Path, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows whose question and answer another row has, with the pair_id that stands for them.

    The best was in the release before, else has the highest composite score, then the smallest id: the order
    of batches never matters.
    """
    is_twice = pl.col("reason").is_null() & (pl.len().over("said", pl.col("reason").is_null()) > 1)
    twice = rows.filter(is_twice).select("row", "said", is_new=pl.col("version").is_null())
    scored = [part.join(twice, on="row") for part in row_groups(notes, ["row", "pair_id", "composite"])]
    ranked = pl.concat(scored).sort(
        "is_new", "composite", "pair_id", descending=[False, True, False], nulls_last=True
    )
    best = ranked.with_columns(instead=pl.col("pair_id").first().over("said"))
    return best.filter(pl.col("pair_id") != pl.col("instead")).select("row", "instead")


def _key_parts(
    candidates: Candidates, before: Earlier, names: Sequence[str], is_open: npt.NDArray[np.bool_]
) -> Iterator[pl.DataFrame]:
    """Yield the keys of the rows that are not left out, in ranges: PART frames."""
    notes = candidates.folder / "keys.parquet"
    for first, last in ranges(rows_of(notes)):
        part = between(notes, "key", first, last)
        open_rows = part.filter(pl.Series(is_open[part["row"].to_numpy()]))
        placed = open_rows.join(_known_keys(before, first, last, names), on="key", how="left")
        yield placed.with_columns(pl.col("known").fill_null(UNKNOWN)).select(PART.names())


def _known_keys(before: Earlier, first: int, last: int, names: Sequence[str]) -> pl.DataFrame:
    """Return the places of the keys of a range in the previous release: key, known."""
    if before.keys is None:
        return PART.to_frame().select("key", "known")
    return _numbered(between(before.keys, "key", first, last), names)


def _numbered(placed: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return keys with the number of their split: key, known."""
    numbers = {name: number for number, name in enumerate(names)}
    return placed.select("key", known=pl.col("split").replace_strict(numbers, return_dtype=pl.Int8()))


def _write_keys(
    file: Path, candidates: Candidates, before: Earlier, names: Sequence[str], split: npt.NDArray[np.int8]
) -> None:
    """Write the split of each key: those of this release, and those of earlier ones that have no row now."""
    is_released = split != NOWHERE
    groups = groups_of(candidates.joins)
    elsewhere = _elsewhere(groups, _key_parts(candidates, before, names, is_released), split)
    bounds = ranges(rows_of(candidates.folder / "keys.parquet"))
    parts = _key_parts(candidates, before, names, is_released)
    with appended_parquet(file, PLACED, NARROW_GROUP) as write:
        for (first, last), part in zip(bounds, parts, strict=True):
            now = part.select("key", known=pl.Series(split[part["row"].to_numpy()]))
            in_range = pl.col("key").is_between(pl.lit(first, pl.UInt64()), pl.lit(last, pl.UInt64()))
            known = _known_keys(before, first, last, names)
            placed = pl.concat([now, known, elsewhere.filter(in_range)])
            first_places = placed.unique("key", keep="first", maintain_order=True).sort("key")
            write(first_places.select("key", split=pl.Series(names).gather(first_places["known"])))
