"""Splits without leakage: what shares a key stays together, and stays where it was.

Rows that share a key, or whose keys are joined (documents that are nearly the same), form a component and
go into one split. A new component is drawn by the hash of its least key. Keys of the release before keep
their split, so that growth moves no row. A new row that would join two splits is left out.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

NOWHERE = -1
"""Instead of a split: the row would join two of them."""
UNKNOWN = -1
"""Instead of the split of a key: no release before had it."""
PART = pl.Schema({"row": pl.UInt32(), "key": pl.UInt64(), "known": pl.Int8()})

Ints = npt.NDArray[np.int64]
Splits = npt.NDArray[np.int8]
Labels = npt.NDArray[np.int32]
_GOLDEN, _FIRST, _SECOND = (
    np.uint64(constant) for constant in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def assign_splits(
    rows: int,
    parts: Iterable[pl.DataFrame],
    joins: pl.DataFrame,
    shares: Sequence[float],
    elsewhere: pl.DataFrame | None = None,
) -> Splits:
    """Give each row its split.

    Args:
        rows: how many there are; they are numbered from 0.
        parts: PART frames, which together hold each key of each row once, and each key in one of them;
            `known` is the number of the split that an earlier release had the key in, else `UNKNOWN`.
        joins: JOINS frame of `keys`, keys that must not be apart, as `groups_of` takes it.
        shares: share of each split among the components, relative to each other; 0 for one that gets none.
        elsewhere: key and known of joined keys that no row has now, and that an earlier release placed.

    Returns:
        For each row the number of its split or `NOWHERE`, which is also that of a row without a key. No key,
        and no pair of joined keys, is in two splits.
    """
    labels: Labels = np.arange(rows, dtype=np.int32)
    least = np.full(rows, np.iinfo(np.uint64).max, dtype=np.uint64)
    hashes = np.zeros(rows, dtype=np.uint64)
    new, keyed = np.zeros(rows, dtype=bool), np.zeros(rows, dtype=bool)
    groups = groups_of(joins)
    joined_keys = groups["key"].implode()
    joined = []
    for part in parts:
        ordered = part.sort("key", "row")
        row, key, seen_in = (ordered[name].to_numpy() for name in PART)
        np.minimum.at(least, row, key)
        keyed[row] = True
        new[row[seen_in == UNKNOWN]] = True
        placed = seen_in != UNKNOWN
        np.bitwise_or.at(hashes, row[placed], _bit(seen_in[placed]))
        starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if len(key) else np.zeros(0, np.int64)
        heads = np.repeat(row[starts], np.diff(np.r_[starts, len(key)]))
        labels = _merged(labels, row, heads)
        joined.append(ordered.filter(pl.col("key").is_in(joined_keys)))
    joined_parts = pl.concat([PART.to_frame(), *joined]).join(groups, on="key")
    first_of = pl.col("row").min().over("group")
    labels = _merged(labels, *(joined_parts.select("row", first_of.alias("first")).to_numpy().T))
    names, numbers = np.unique(labels, return_inverse=True)
    labels = numbers.astype(np.int32)
    anchor = np.full(len(names), np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(anchor, labels, least)
    known_to = np.zeros(len(names), dtype=np.uint64)
    np.bitwise_or.at(known_to, labels, hashes)
    if elsewhere is not None:
        first_rows = joined_parts.group_by("group").agg(pl.col("row").min())
        placed_elsewhere = elsewhere.join(groups, on="key").join(first_rows, on="group")
        np.bitwise_or.at(
            known_to, labels[placed_elsewhere["row"].to_numpy()], _bit(placed_elsewhere["known"].to_numpy())
        )
    drawn = _drawn(anchor, shares)
    split = drawn[labels]
    is_in_split = np.bitwise_count(known_to)[labels]
    split[is_in_split == 1] = _place(known_to)[labels][is_in_split == 1]
    torn = is_in_split > 1
    stays = torn & ~new & (np.bitwise_count(hashes) == 1)
    split[torn] = NOWHERE
    split[stays] = _place(hashes)[stays]
    split[_apart(joined_parts)] = NOWHERE
    split[~keyed] = NOWHERE
    return split


def unsatisfied(counts: Mapping[str, int], shares: Mapping[str, float]) -> list[str]:
    """Return what the splits could not satisfy, in words: an empty split, or shares far from the wanted.

    Args:
        counts: rows of each split.
        shares: those wanted, relative to each other.
    """
    problems = []
    rows = sum(counts.values())
    for name, share in shares.items():
        expected, actual = share / sum(shares.values()), counts.get(name, 0)
        if rows and (abs(actual / rows - expected) > TOLERANCE or not actual):
            problems.append(f"{name} has {actual} of {rows} rows, wanted was a share of {expected:.2f}")
    return problems


TOLERANCE = 0.05
"""The distance of a split's share from the wanted one that is not reported, for components are never cut."""
LARGEST_DOCUMENT_SHARE = 0.5
"""Share of a split's rows that may rest on one document: above a half, what the split teaches or measures is
mostly one document."""
FEWEST_ROWS = 20
"""Rows of a split from which nothing is said: Wilson's interval of a half is 0.3 to 0.7 there, and a share
measured on fewer hardly tells two models apart."""


def narrow_splits(documents: pl.DataFrame) -> list[str]:
    """Return in words which splits have few rows, or mostly rows of one document, and what to do.

    Args:
        documents: split, path of the document that a row rests on first, and rows.
    """
    problems = []
    largest = documents.sort("split", "rows", "path", descending=[False, True, False], nulls_last=True)
    totals = pl.col("rows").sum().over("split").alias("total")
    for split, path, rows, total in largest.with_columns(totals).unique("split", maintain_order=True).rows():
        if total < FEWEST_ROWS:
            problems.append(
                f"{split} has {total} rows: what is measured on fewer than {FEWEST_ROWS} is uncertain by "
                "more than 0.2 either way; add documents, or raise its share in release.splits"
            )
        if path is not None and rows / total > LARGEST_DOCUMENT_SHARE:
            problems.append(
                f"{rows} of {total} rows of {split} rest on {path}, a share of {rows / total:.2f}: it "
                "teaches or measures mostly that; add documents, or set training.max_examples_per_document"
            )
    return problems


def _merged(labels: Labels, rows: Ints, others: Ints) -> Labels:
    """Return the labels after these rows were joined."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = labels[rows], labels[others]
    apart = ends[0] != ends[1]
    if not apart.any():
        return labels
    edges = (np.ones(int(apart.sum()), dtype=np.int8), (ends[0][apart], ends[1][apart]))
    _, labels_found = connected_components(coo_array(edges, shape=(len(labels), len(labels))), directed=False)
    merged: Labels = labels_found.astype(np.int32)[labels]
    return merged


def _bit(splits: npt.NDArray[np.int8]) -> npt.NDArray[np.uint64]:
    return np.left_shift(np.uint64(1), splits.astype(np.uint64))


def _place(bits: npt.NDArray[np.uint64]) -> Splits:
    """Return the number of the lowest split."""
    lowest = bits & (~bits + np.uint64(1))
    return np.bitwise_count(lowest - np.uint64(1)).astype(np.int8)


def _drawn(anchor: npt.NDArray[np.uint64], shares: Sequence[float]) -> Splits:
    """Return a split of each component by a hash of its least key (splitmix64), in proportion to shares."""
    mixed = anchor + _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    place = ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) / 2**53
    bounds = np.cumsum(shares) / np.sum(shares)
    last = int(np.flatnonzero(np.asarray(shares) > 0)[-1])
    return np.minimum(np.searchsorted(bounds, place, side="right"), last).astype(np.int8)


def _apart(pairs: pl.DataFrame) -> Ints:
    """Return rows whose key is in another split than a key it is joined to now.

    It happens where the limit of near duplicates was changed between two releases. Those of the split that
    comes first go, which is the one to train on.
    """
    last = pl.col("known").max().over("group")
    rows = pairs.filter(pl.col("known") != UNKNOWN, pl.col("known") < last)["row"]
    return rows.to_numpy().astype(np.int64)


def groups_of(joins: pl.DataFrame) -> pl.DataFrame:
    """Return which keys must stay together: key and group.

    Args:
        joins: JOINS frame of `keys`, whose other key is the same for all that are joined.
    """
    members = joins.select("key", group="other_key")
    heads = members.select(key="group", group="group")
    return pl.concat([members, heads]).unique().sort("group", "key")
