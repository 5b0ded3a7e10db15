"""Select the candidates of a release, and assign a split to each."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from qa_pipeline.errors import ReleaseError
from qa_pipeline.publishing.candidates import DUPLICATE, JOINS_SPLITS, KEYS, REASONS, Candidates
from qa_pipeline.publishing.keys import PLACED, codes
from qa_pipeline.publishing.manifest import DATA, PLACES, Manifest, latest_release, read_manifest
from qa_pipeline.publishing.splits import ITEM_KEYS, assign_splits
from qa_pipeline.settings.verification import ReleaseSettings
from qa_pipeline.storage.parquet import row_groups


@dataclass(frozen=True, slots=True)
class Earlier:
    """The previous release.

    Args:
        manifest: its manifest, unset before the first release.
        rows: hashes of its row ids.
        places: the split of each key, a PLACED frame.
    """

    manifest: Manifest | None
    rows: pl.Series
    places: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Selection:
    """The split or rejection reason of each candidate, and the split of each key.

    Args:
        rows: code, split and reason (null for a released row).
        places: keys of this release and earlier releases, a PLACED frame.
        names: names of the splits that have rows.
    """

    rows: pl.DataFrame
    places: pl.DataFrame
    names: tuple[str, ...]


def read_earlier_release(releases: Path) -> Earlier:
    """Return the parts of the previous release that influence this one.

    Raises:
        ReleaseError: it is damaged.
    """
    last = latest_release(releases)
    if last is None:
        return Earlier(None, pl.Series([], dtype=pl.UInt64()), pl.DataFrame(schema=PLACED))
    manifest = read_manifest(last)
    for name, file in manifest.files.items():
        path = last / name
        if not path.is_file() or path.stat().st_size != file.size:
            raise ReleaseError(
                f"{last} is damaged ({name}), and what it holds decides of the next release; restore it from "
                f"a copy, or delete that folder"
            )
    files = (last / DATA / f"{split}.parquet" for split in manifest.splits)
    parts = [codes(part["pair_id"]) for file in files for part in row_groups(file, ["pair_id"])]
    rows = pl.concat([pl.Series([], dtype=pl.UInt64()), *parts])
    return Earlier(manifest, rows, pl.read_parquet((last / PLACES).read_bytes()))


def select_rows(candidates: Candidates, before: Earlier, settings: ReleaseSettings) -> Selection:
    """Drop repeated rows, and assign a split to each remaining row.

    Among equal rows the selection prefers a row of the previous release, then the highest composite score,
    then the smallest hash. So the order of batches does not matter.
    """
    rows = candidates.rows.with_row_index("item").with_columns(
        is_old=pl.col("code").is_in(before.rows.implode())
    )
    ranked = rows.filter(pl.col("reason").is_null()).sort(
        "is_old", "composite", "code", descending=[True, True, False], nulls_last=True
    )
    repeats = ranked.filter(~pl.col("said").is_first_distinct())["item"]
    duplicate = pl.lit(DUPLICATE, REASONS)
    rows = rows.with_columns(
        reason=pl.when(pl.col("item").is_in(repeats.implode())).then(duplicate).otherwise("reason")
    )
    names = tuple(dict.fromkeys([*settings.splits, *before.places["split"].unique().sort()]))
    keys = _item_keys(candidates, rows.filter(pl.col("reason").is_null())["item"], before.places, names)
    numbers = assign_splits(keys, rows["language"], [settings.splits.get(name, 0.0) for name in names])
    split = pl.Series("split", names).gather(numbers)
    is_open = pl.col("reason").is_null()
    selected = rows.with_columns(split).select(
        "code",
        split=pl.when(is_open).then("split"),
        reason=pl.when(is_open & pl.col("split").is_null())
        .then(pl.lit(JOINS_SPLITS, REASONS)).otherwise("reason").cast(pl.String()),
    )  # fmt: skip
    of_items = selected.with_row_index("item").drop_nulls("split").select("item", "split")
    now = keys.join(of_items, on="item").select("key", "split")
    # a document without rows gets the split of its near duplicates
    group = pl.col("other_key")
    members = pl.concat([candidates.joins, candidates.joins.select(group.alias("key"), group)]).unique()
    groups = members.join(now, on="key").unique("other_key").select("other_key", "split")
    joined = members.join(groups, on="other_key").select("key", "split")
    places = pl.concat([before.places.select(PLACED.names()), now, joined])
    filled = set(selected["split"].drop_nulls().unique())
    return Selection(
        selected,
        places.unique("key", keep="first", maintain_order=True).sort("key"),
        tuple(name for name in names if name in filled),
    )


def _item_keys(
    candidates: Candidates, open_rows: pl.Series, places: pl.DataFrame, names: tuple[str, ...]
) -> pl.DataFrame:
    """Return the keys of the remaining rows, and an item for each pair of near-duplicate documents."""
    joins = candidates.joins.with_row_index("item", offset=candidates.rows.height)
    pairs = [joins.select("item", key=name) for name in ("key", "other_key")]
    keys = candidates.keys.filter(pl.col("item").is_in(open_rows.implode()))
    numbers = {name: number for number, name in enumerate(names)}
    earlier = places.select("key", known=pl.col("split").replace_strict(numbers, return_dtype=pl.Int8()))
    return (
        pl.concat([keys, *(pair.cast(KEYS) for pair in pairs)])
        .join(earlier, on="key", how="left", maintain_order="left")
        .select(ITEM_KEYS.names())
    )
