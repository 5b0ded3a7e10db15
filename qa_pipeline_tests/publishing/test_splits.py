from collections.abc import Mapping

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.publishing.splits import JOINS, KEYS, PLACED, assign_splits, placed_keys

RATIOS = {"train": 0.8, "validation": 0.1, "test": 0.1}
EVEN = {"train": 1.0, "test": 1.0}
KEY = st.sampled_from([f"k{n}" for n in range(12)])
ROWS = st.dictionaries(
    st.integers(0, 30).map(lambda n: f"p{n:02}"), st.sets(KEY, min_size=1, max_size=3), max_size=15
)
EDGES = st.sets(st.tuples(KEY, KEY), max_size=4)


def keys_of(rows: Mapping[str, set[str]]) -> pl.DataFrame:
    return pl.DataFrame([(i, k) for i, ks in rows.items() for k in sorted(ks)], KEYS, orient="row")


def joins_of(edges: set[tuple[str, str]]) -> pl.DataFrame:
    return pl.DataFrame(sorted(edges), JOINS, orient="row")


def leaks(keys: pl.DataFrame, joins: pl.DataFrame, splits: pl.DataFrame) -> int:
    """Keys, and joined keys, that stand in two splits."""
    placed = keys.join(splits.drop_nulls("split"), on="pair_id").select("key", "split").unique()
    twice = placed.group_by("key").len().filter(pl.col("len") > 1).height
    other = placed.rename({"key": "other_key", "split": "other"})
    joined = joins.join(placed, on="key").join(other, on="other_key")
    return twice + joined.filter(pl.col("split") != pl.col("other")).height


@given(ROWS, EDGES)
def test_without_an_earlier_release_every_row_has_a_split_and_nothing_leaks(
    rows: dict[str, set[str]], edges: set[tuple[str, str]]
) -> None:
    keys, joins = keys_of(rows), joins_of(edges)
    splits = assign_splits(keys, joins, EVEN, PLACED.to_frame())
    assert splits["pair_id"].to_list() == sorted(rows)
    assert splits["split"].null_count() == 0
    assert leaks(keys, joins, splits) == 0


@given(ROWS, ROWS, EDGES, EDGES)
def test_growth_moves_no_row_and_leaks_nothing(
    rows: dict[str, set[str]],
    more: dict[str, set[str]],
    edges: set[tuple[str, str]],
    later: set[tuple[str, str]],
) -> None:
    keys, joins = keys_of(rows), joins_of(edges)
    first = assign_splits(keys, joins, EVEN, PLACED.to_frame())
    placed = placed_keys(keys, first, PLACED.to_frame())
    grown, joined = keys_of({**more, **rows}), joins_of(edges | later)
    second = assign_splits(grown, joined, EVEN, placed)
    assert leaks(grown, joined, second) == 0
    both = first.join(second, on="pair_id", suffix="_then")
    moved = both.filter(pl.col("split_then").is_not_null(), pl.col("split") != pl.col("split_then"))
    assert moved.is_empty()


@given(ROWS, ROWS, EDGES)
def test_new_rows_without_new_joins_of_old_keys_lose_no_old_row(
    rows: dict[str, set[str]], more: dict[str, set[str]], edges: set[tuple[str, str]]
) -> None:
    keys, joins = keys_of(rows), joins_of(edges)
    first = assign_splits(keys, joins, EVEN, PLACED.to_frame())
    placed = placed_keys(keys, first, PLACED.to_frame())
    second = assign_splits(keys_of({**more, **rows}), joins, EVEN, placed)
    kept = second.join(first.select("pair_id"), on="pair_id", how="semi")
    assert kept.select("pair_id", "split").equals(first.select("pair_id", "split"))


@given(ROWS, EDGES)
def test_the_same_again_changes_nothing(rows: dict[str, set[str]], edges: set[tuple[str, str]]) -> None:
    keys, joins = keys_of(rows), joins_of(edges)
    first = assign_splits(keys, joins, EVEN, PLACED.to_frame())
    placed = placed_keys(keys, first, PLACED.to_frame())
    assert assign_splits(keys, joins, EVEN, placed).equals(first)
    assert placed_keys(keys, first, placed).equals(placed)


def test_a_row_that_would_join_two_splits_is_left_out_and_the_others_stay() -> None:
    earlier = pl.DataFrame({"key": ["k1", "k2"], "split": ["train", "test"]})
    keys = keys_of({"a": {"k1"}, "b": {"k2"}, "c": {"k1", "k2"}, "d": {"k1", "k3"}, "e": {"k2", "k3"}})
    splits = assign_splits(keys, JOINS.to_frame(), RATIOS, earlier)
    assert dict(splits.select("pair_id", "split").iter_rows()) == {
        "a": "train",
        "b": "test",
        "c": None,
        "d": None,
        "e": None,
    }


def test_many_components_come_out_in_the_ratios() -> None:
    keys = keys_of({f"p{n:04}": {f"document:{n}"} for n in range(4000)})
    counts = assign_splits(keys, JOINS.to_frame(), RATIOS, PLACED.to_frame())["split"].value_counts()
    assert all(abs(count / 4000 - RATIOS[name]) < 0.02 for name, count in counts.iter_rows())
