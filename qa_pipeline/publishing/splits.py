"""Splits without leakage: what shares anything stays together, and stays where it was.

A row carries keys: its documents, its question, its answer. Rows that share a key, or whose keys are joined
(documents that are nearly the same), form a component and go into one split, drawn by the hash of the
component's first key. Keys of the release before keep their split, so that growth moves no row. A new row
that would join two splits is left out: it belongs to both.
"""

import hashlib
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

KEYS = pl.Schema({"pair_id": pl.String(), "key": pl.String()})
JOINS = pl.Schema({"key": pl.String(), "other_key": pl.String()})
PLACED = pl.Schema({"key": pl.String(), "split": pl.String()})
JOINS_SPLITS = "joins_splits"

Codes = npt.NDArray[np.int64]


def assign_splits(
    keys: pl.DataFrame, joins: pl.DataFrame, ratios: Mapping[str, float], earlier: pl.DataFrame
) -> pl.DataFrame:
    """Give each row its split.

    Args:
        keys: KEYS frame; each row has a key at least.
        joins: JOINS frame, keys that must not be apart.
        ratios: share of each split among the components, above 0; relative to each other.
        earlier: PLACED frame of the release before; empty without one.

    Returns:
        pair_id, split and component, in the order of the ids; a row that would join two splits has the split
        null. No key, and no pair of joined keys, is in two splits.
    """
    placed = dict(earlier.iter_rows())
    order = {name: place for place, name in enumerate(ratios)}
    apart = _apart(joins, placed, order)
    together = _components(keys, joins)
    named = together.with_columns(
        known=pl.col("key").replace_strict(placed, default=None, return_dtype=pl.String())
    )
    component = named.group_by("component").agg(
        pl.col("key").min().alias("anchor"),
        pl.col("known").drop_nulls().unique().sort().alias("splits"),
    )
    drawn = component.with_columns(
        pl.Series("drawn", [_drawn(anchor, ratios) for anchor in component["anchor"]], pl.String())
    )
    of_row = (
        keys.join(named, on="key")
        .group_by("pair_id")
        .agg(
            pl.col("component").first(),
            own=pl.col("known").drop_nulls().unique(),
            new=pl.col("known").null_count() > 0,
            apart=pl.col("key").is_in(list(apart)).any(),
        )
    )
    one = pl.col("splits").list.len() == 1
    free = pl.col("splits").list.len() == 0
    stays = ~pl.col("new") & (pl.col("own").list.len() == 1)
    split = (
        pl.when(pl.col("apart"))
        .then(pl.lit(None, pl.String()))
        .when(free)
        .then("drawn")
        .when(one)
        .then(pl.col("splits").list.first())
        .when(stays)
        .then(pl.col("own").list.first())
    )
    return (
        of_row.join(drawn, on="component").select("pair_id", split=split, component="anchor").sort("pair_id")
    )


def placed_keys(keys: pl.DataFrame, splits: pl.DataFrame, earlier: pl.DataFrame) -> pl.DataFrame:
    """Where each key stands from now on: those of this release, and those of earlier ones that are gone.

    Args:
        keys: KEYS frame.
        splits: what `assign_splits` gave.
        earlier: PLACED frame of the release before.
    """
    now = keys.join(splits.drop_nulls("split"), on="pair_id").select("key", "split")
    return pl.concat([now, earlier]).unique("key", keep="first", maintain_order=True).sort("key")


def _components(keys: pl.DataFrame, joins: pl.DataFrame) -> pl.DataFrame:
    """The component of each key: key, component."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names = pl.concat([keys["key"], joins["key"], joins["other_key"]]).unique().sort()
    code = pl.DataFrame({"key": names}).with_row_index("code")
    first = keys.join(keys.group_by("pair_id").agg(anchor=pl.col("key").min()), on="pair_id")
    edges = pl.concat(
        [
            first.select("key", other_key="anchor"),
            joins.select("key", "other_key"),
        ]
    )
    coded = edges.join(code, on="key").join(
        code.rename({"key": "other_key", "code": "other"}), on="other_key"
    )
    ends = (coded["code"].to_numpy(), coded["other"].to_numpy())
    graph = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(len(names), len(names)))
    _, labels = connected_components(graph, directed=False)
    return pl.DataFrame({"key": names, "component": pl.Series(labels, dtype=pl.Int64())})


def _apart(joins: pl.DataFrame, placed: Mapping[str, str], order: Mapping[str, int]) -> set[str]:
    """Keys whose rows must go since they stand in another split than a key they are joined to now.

    It happens where the limit of near duplicates was changed between two releases. Those of the split that
    comes first in the ratios go, which is the one to train on.
    """
    found = set()
    for key, other in joins.iter_rows():
        splits = (placed.get(key), placed.get(other))
        if None not in splits and splits[0] != splits[1]:
            found.add(min((key, other), key=lambda one: (order.get(placed[one], len(order)), one)))
    return found


def _drawn(anchor: str, ratios: Mapping[str, float]) -> str:
    """A split by the hash of a key, in proportion to the ratios."""
    place = int.from_bytes(hashlib.sha256(anchor.encode()).digest()[:8]) / 2**64 * sum(ratios.values())
    for name, ratio in ratios.items():
        place -= ratio
        if place < 0:
            return name
    return list(ratios)[-1]
