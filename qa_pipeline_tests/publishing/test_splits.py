from collections.abc import Mapping

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.publishing.keys import JOINS
from qa_pipeline.publishing.splits import (
    FEWEST_ROWS,
    NOWHERE,
    PART,
    UNKNOWN,
    assign_splits,
    narrow_splits,
    unsatisfied,
)

SHARES = (0.8, 0.1, 0.1)
EVEN = (1.0, 1.0)
Rows = dict[str, set[int]]
KEY = st.integers(1, 12)
ROWS = st.dictionaries(
    st.integers(0, 30).map(lambda n: f"p{n:02}"), st.sets(KEY, min_size=1, max_size=3), max_size=15
)
EDGES = st.sets(st.tuples(KEY, KEY), max_size=4)


def starred(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The same groups of keys, each member joined to one head."""
    head: dict[int, int] = {}
    for one, other in sorted(edges):
        first, second = head.setdefault(one, one), head.setdefault(other, other)
        head = {key: first if old == second else old for key, old in head.items()}
    return {(key, first) for key, first in head.items() if key != first}


def assigned(
    rows: Mapping[str, set[int]],
    edges: set[tuple[int, int]] = frozenset(),  # type: ignore[assignment]
    placed: Mapping[int, int] | None = None,
    shares: tuple[float, ...] = EVEN,
) -> dict[str, int]:
    """The split of each row, its keys given in two parts."""
    known = placed or {}
    held = [(n, key, known.get(key, UNKNOWN)) for n, own in enumerate(rows.values()) for key in sorted(own)]
    part = pl.DataFrame(held, PART, orient="row")
    halves = [part.filter(pl.col("key") % 2 == half) for half in (0, 1)]
    joins = pl.DataFrame(sorted(starred(edges)), JOINS, orient="row")
    return dict(zip(rows, assign_splits(len(rows), halves, joins, shares).tolist(), strict=True))


def places(rows: Rows, splits: Mapping[str, int], earlier: Mapping[int, int] | None = None) -> dict[int, int]:
    """Where each key stands from now on."""
    now = {
        key: splits[name] for name, keys in rows.items() if splits[name] != NOWHERE for key in sorted(keys)
    }
    return {**(earlier or {}), **now}


def leaks(rows: Rows, edges: set[tuple[int, int]], splits: Mapping[str, int]) -> list[int]:
    """Keys, and joined keys, that stand in two splits."""
    of: dict[int, set[int]] = {}
    for name, keys in rows.items():
        for key in keys:
            if splits[name] != NOWHERE:
                of.setdefault(key, set()).add(splits[name])
    joined = [one for one, other in edges if len(of.get(one, set()) | of.get(other, set())) > 1]
    return [key for key, held in of.items() if len(held) > 1] + joined


@given(ROWS, EDGES)
def test_without_an_earlier_release_every_row_has_a_split_and_nothing_leaks(
    rows: Rows, edges: set[tuple[int, int]]
) -> None:
    splits = assigned(rows, edges)
    assert NOWHERE not in splits.values()
    assert leaks(rows, edges, splits) == []


@given(ROWS, ROWS, EDGES, EDGES)
def test_growth_moves_no_row_and_leaks_nothing(
    rows: Rows, more: Rows, edges: set[tuple[int, int]], later: set[tuple[int, int]]
) -> None:
    first = assigned(rows, edges)
    placed = places(rows, first)
    grown = {**more, **rows}
    second = assigned(grown, edges | later, placed)
    assert leaks(grown, edges | later, second) == []
    assert all(second[name] in (split, NOWHERE) for name, split in first.items())


@given(ROWS, ROWS, EDGES)
def test_new_rows_without_new_joins_of_old_keys_lose_no_old_row(
    rows: Rows, more: Rows, edges: set[tuple[int, int]]
) -> None:
    first = assigned(rows, edges)
    second = assigned({**more, **rows}, edges, places(rows, first))
    assert {name: second[name] for name in rows} == first


@given(ROWS, EDGES)
def test_the_same_again_changes_nothing(rows: Rows, edges: set[tuple[int, int]]) -> None:
    first = assigned(rows, edges)
    assert assigned(rows, edges, places(rows, first)) == first


@given(ROWS, EDGES, st.randoms())
def test_the_order_of_rows_does_not_matter(rows: Rows, edges: set[tuple[int, int]], lots: "object") -> None:
    names = list(rows)
    lots.shuffle(names)  # type: ignore[attr-defined]
    assert assigned({name: rows[name] for name in names}, edges) == assigned(rows, edges)


def test_a_row_that_would_join_two_splits_is_left_out_and_the_others_stay() -> None:
    rows = {"a": {1}, "b": {2}, "c": {1, 2}, "d": {1, 3}, "e": {2, 3}}
    assert assigned(rows, placed={1: 0, 2: 1}) == {"a": 0, "b": 1, "c": NOWHERE, "d": NOWHERE, "e": NOWHERE}


def test_of_documents_that_are_joined_later_those_to_train_on_go() -> None:
    rows = {"a": {1}, "b": {2}, "c": {3}}
    assert assigned(rows, {(1, 2)}, {1: 0, 2: 1, 3: 0}) == {"a": NOWHERE, "b": 1, "c": 0}


@pytest.mark.parametrize("split", [0, 1])
def test_what_is_nearly_the_same_as_a_document_without_rows_goes_where_that_was(split: int) -> None:
    part = pl.DataFrame([(0, 5, UNKNOWN), (1, 6, UNKNOWN)], PART, orient="row")
    joins = pl.DataFrame([(5, 4)], JOINS, orient="row")
    placed = pl.DataFrame({"key": [4], "known": [split]}, {"key": pl.UInt64(), "known": pl.Int8()})
    free = assign_splits(2, [part], joins, EVEN)
    found = assign_splits(2, [part], joins, EVEN, elsewhere=placed)
    assert found.tolist() == [split, free[1]]


def test_many_components_come_out_in_the_shares_and_one_of_share_0_gets_none() -> None:
    rows = {f"p{n}": {n * 7919} for n in range(4000)}
    splits = list(assigned(rows, shares=(*SHARES, 0.0)).values())
    assert [round(splits.count(n) / 4000, 1) for n in range(4)] == [0.8, 0.1, 0.1, 0.0]


def test_what_the_splits_could_not_satisfy_is_said() -> None:
    assert unsatisfied({"train": 80, "test": 20}, {"train": 0.8, "test": 0.2}) == []
    assert unsatisfied({"train": 80, "test": 20}, {"train": 0.5, "dev": 0.5}) == [
        "train has 80 of 100 rows, wanted was a share of 0.50",
        "dev has 0 of 100 rows, wanted was a share of 0.50",
    ]


def document_rows(**documents: tuple[str, str, int]) -> pl.DataFrame:
    return pl.DataFrame(
        list(documents.values()),
        schema={"split": pl.String, "path": pl.String, "rows": pl.Int64},
        orient="row",
    )


def test_a_split_with_few_rows_or_mostly_those_of_one_document_is_named_with_what_helps() -> None:
    counts = document_rows(
        a=("train", "a.md", 51), b=("train", "b.md", 49), c=("test", "c.md", 9), d=("test", "d.md", 10)
    )
    few, measured, dominated = narrow_splits(counts)
    assert few.startswith("test has 19 rows")
    assert "release.splits" in few
    assert all(word in measured for word in ("10 of 19", "test", "d.md"))
    assert all(word in dominated for word in ("51 of 100", "train", "a.md"))
    assert "training.max_examples_per_document" in dominated


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6))
def test_a_wide_split_is_not_named(sizes: list[int]) -> None:
    counts = document_rows(**{f"d{n}": ("train", f"{n}.md", size) for n, size in enumerate(sizes)})
    problems = narrow_splits(counts)
    is_few, is_narrow = sum(sizes) < FEWEST_ROWS, max(sizes) / sum(sizes) > 0.5
    assert len(problems) == is_few + is_narrow
    assert narrow_splits(counts.clear()) == []
