from collections import Counter
from collections.abc import Mapping

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.publishing.splits import ITEM_KEYS, assign_splits, shortcomings

SHARES = (0.8, 0.1, 0.1)
EVEN = (1.0, 1.0)
Rows = dict[str, set[int]]
Splits = dict[str, int | None]
KEY = st.integers(1, 12)
ROWS = st.dictionaries(
    st.integers(0, 30).map(lambda n: f"p{n:02}"), st.sets(KEY, min_size=1, max_size=3), max_size=15
)
EDGES = st.sets(st.tuples(KEY, KEY), max_size=4)


def assigned(
    rows: Mapping[str, set[int]],
    edges: set[tuple[int, int]] = frozenset(),  # type: ignore[assignment]
    placed: Mapping[int, int] | None = None,
    shares: tuple[float, ...] = EVEN,
    languages: Mapping[str, str] | None = None,
) -> Splits:
    """The split of each row; the keys of an edge stay together."""
    known, spoken = placed or {}, languages or {}
    items = [*rows.values(), *(set(edge) for edge in sorted(edges))]
    held = [(item, key, known.get(key)) for item, own in enumerate(items) for key in sorted(own)]
    keys = pl.DataFrame(held, ITEM_KEYS, orient="row")
    named = pl.Series([spoken.get(name, "en") for name in rows], dtype=pl.String())
    return dict(zip(rows, assign_splits(keys, named, shares).to_list(), strict=True))


def places(rows: Rows, splits: Splits, earlier: Mapping[int, int] | None = None) -> dict[int, int]:
    """Where each key stands from now on."""
    now = {key: split for name, split in splits.items() if split is not None for key in sorted(rows[name])}
    return {**(earlier or {}), **now}


def leaks(rows: Rows, edges: set[tuple[int, int]], splits: Splits) -> list[int]:
    """Keys, and joined keys, that stand in two splits."""
    of: dict[int, set[int]] = {}
    for name, split in splits.items():
        for key in rows[name] if split is not None else ():
            of.setdefault(key, set()).add(split or 0)
    joined = [one for one, other in edges if len(of.get(one, set()) | of.get(other, set())) > 1]
    return [key for key, held in of.items() if len(held) > 1] + joined


def documents(*sizes: int, language: str = "en") -> tuple[Rows, dict[str, str]]:
    """Rows of documents that share nothing, as many as said, and their language."""
    base = 10_000 * sum(map(ord, language))
    rows = {f"{language}{n}-{row}": {base + n} for n, size in enumerate(sizes) for row in range(size)}
    return rows, dict.fromkeys(rows, language)


def sizes_by_split(rows: Rows, splits: Splits) -> dict[int, list[int]]:
    """How many rows each document has, by split."""
    counted = Counter((splits[name], key) for name, keys in rows.items() for key in keys)
    sizes: dict[int, list[int]] = {}
    for (split, _), count in counted.items():
        if split is not None:
            sizes.setdefault(split, []).append(count)
    return sizes


@given(ROWS, EDGES)
def test_without_an_earlier_release_every_row_has_a_split_and_nothing_leaks(
    rows: Rows, edges: set[tuple[int, int]]
) -> None:
    splits = assigned(rows, edges)
    assert None not in splits.values()
    assert leaks(rows, edges, splits) == []


@given(ROWS, ROWS, EDGES)
def test_growth_moves_no_row_and_leaks_nothing(rows: Rows, more: Rows, edges: set[tuple[int, int]]) -> None:
    first = assigned(rows, edges)
    placed = places(rows, first)
    grown = {**more, **rows}
    second = assigned(grown, edges, placed)
    assert leaks(grown, edges, second) == []
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
    assert assigned(rows, placed={1: 0, 2: 1}) == {"a": 0, "b": 1, "c": None, "d": None, "e": None}


@pytest.mark.parametrize("split", [0, 1])
def test_what_is_nearly_the_same_as_a_document_without_rows_goes_where_that_was(split: int) -> None:
    assert assigned({"a": {5}, "b": {6}}, {(5, 4)}, {4: split})["a"] == split


def test_many_documents_come_out_in_the_shares_in_each_language_and_one_of_share_0_gets_none() -> None:
    swedish, own = documents(*[3] * 300, language="sv")
    german, other = documents(*[2] * 50, language="de")
    rows = {**swedish, **german}
    splits = assigned(rows, shares=(*SHARES, 0.0), languages=own | other)
    for language, count in (("sv", 900), ("de", 100)):
        held = Counter(split for name, split in splits.items() if name.startswith(language))
        assert [round(held[n] / count, 2) for n in range(4)] == pytest.approx([0.8, 0.1, 0.1, 0.0], abs=0.02)


def test_a_long_document_goes_to_the_largest_split_and_short_ones_are_measured_on() -> None:
    rows, _ = documents(300, 10, 10, 10, 10, 10)
    found = sizes_by_split(rows, assigned(rows, shares=SHARES))
    assert 300 in found[0]
    assert all(len(found[split]) >= 2 for split in (1, 2))


@pytest.mark.parametrize(("count", "splits"), [(1, {0}), (3, {0}), (5, {0, 1}), (9, {0, 1}), (10, {0, 1, 2})])
def test_with_too_few_documents_there_is_no_split_to_measure_on(count: int, splits: set[int]) -> None:
    rows, _ = documents(*[4] * count)
    found = sizes_by_split(rows, assigned(rows, shares=SHARES))
    assert found.keys() == splits
    assert all(len(held) >= 2 for split, held in found.items() if split)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=40))
def test_no_split_but_the_largest_is_one_document_nor_more_than_the_largest(sizes: list[int]) -> None:
    rows, _ = documents(*sizes)
    found = sizes_by_split(rows, assigned(rows, shares=SHARES))
    assert all(len(held) >= 2 for split, held in found.items() if split)
    assert 2 * sum(found[0]) >= sum(sizes)


def told(*counts: tuple[str, str, int]) -> pl.DataFrame:
    return pl.DataFrame(counts, {"split": pl.String, "path": pl.String, "rows": pl.Int64}, orient="row")


def test_what_the_splits_could_not_satisfy_is_said_with_what_helps() -> None:
    even = [("train", f"{n}.md", 40) for n in range(2)] + [("test", f"t{n}.md", 10) for n in range(2)]
    assert shortcomings(told(*even), ["train", "test"]) == []
    (missing,) = shortcomings(told(*even), ["train", "test", "dev"])
    assert all(word in missing for word in ("dev", "4 documents", "release.splits"))


def test_a_split_with_few_rows_or_mostly_those_of_one_document_is_named_with_what_helps() -> None:
    counts = told(("train", "a.md", 51), ("train", "b.md", 49), ("test", "c.md", 9), ("test", "d.md", 10))
    few, measured, dominated = shortcomings(counts, ["train", "test"])
    assert few.startswith("test has 19 rows")
    assert "release.splits" in few
    assert all(word in measured for word in ("10 of 19", "test", "d.md"))
    assert all(word in dominated for word in ("51 of 100", "train", "a.md"))
