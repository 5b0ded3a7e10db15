from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.active_learning import (
    CHOSEN,
    Floats,
    Mix,
    choose_rows,
    rating_disagreement,
    scorer_disagreement,
    uncertainty,
)
from qa_pipeline_tests.evaluation.ratings import columns

shares = st.floats(0, 1)
weights = st.tuples(shares, shares, shares).filter(lambda mix: sum(mix) > 0.01)


@st.composite
def pools(draw: st.DrawFn) -> dict[str, Any]:
    size = draw(st.integers(1, 12))
    drawn = np.random.default_rng(draw(st.integers(0, 999)))
    return {
        "uncertain": drawn.random(size),
        "disputed": drawn.random(size),
        "vectors": drawn.normal(size=(size, 3)),
        "labelled": drawn.random(size) < 0.3,
    }


@given(pools(), weights, st.integers(0, 20), st.integers(0, 3))
def test_rows_are_chosen_once_without_labelled_ones_and_alike_each_time(
    pool: dict[str, Any], mix: tuple[float, float, float], count: int, seed: int
) -> None:
    found = choose_rows(count, Mix(*mix), seed=seed, **pool)
    assert found.equals(choose_rows(count, Mix(*mix), seed=seed, **pool))
    assert found.schema == CHOSEN
    rows = found["row"].to_list()
    assert len(rows) == len(set(rows)) == min(count, int((~pool["labelled"]).sum()))
    assert not pool["labelled"][rows].any()
    assert found.select(pl.exclude("row").is_between(0, 1 + 1e-9).all()).row(0) == (True,) * 4


@given(pools(), weights, st.integers(1, 6))
def test_a_shorter_list_is_the_beginning_of_a_longer_one(
    pool: dict[str, Any], mix: tuple[float, float, float], count: int
) -> None:
    assert choose_rows(count, Mix(*mix), **pool).equals(choose_rows(count + 3, Mix(*mix), **pool).head(count))


@given(pools(), st.integers(1, 12))
def test_by_uncertainty_alone_the_most_uncertain_come_first(pool: dict[str, Any], count: int) -> None:
    found = choose_rows(count, Mix(1, 0, 0), **(pool | {"vectors": None}))
    best = np.sort(pool["uncertain"][~pool["labelled"]])[::-1][:count]
    assert found["uncertainty"].to_list() == best.tolist()


def farthest_first(vectors: Floats, labelled: list[int], count: int) -> list[int]:
    """The definition, distance by distance."""
    near, found = list(labelled), []
    for _ in range(count):
        left = [row for row in range(len(vectors)) if row not in near]
        distances = [min(float(np.linalg.norm(vectors[row] - vectors[one])) for one in near) for row in left]
        found.append(left[int(np.argmax(distances))])
        near.append(found[-1])
    return found


@given(st.integers(0, 999))
def test_by_diversity_alone_the_farthest_come_first(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    vectors, labelled = drawn.normal(size=(15, 4)), np.arange(15) < 2
    found = choose_rows(6, Mix(0, 0, 1), np.zeros(15), np.zeros(15), vectors, labelled)
    assert found["row"].to_list() == farthest_first(vectors, [0, 1], 6)


def test_copies_of_a_labelled_row_come_last() -> None:
    vectors = np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]])
    found = choose_rows(4, Mix(), np.ones(5), np.zeros(5), vectors, np.arange(5) == 0)
    assert found["row"][0] == 4
    assert found["diversity"].to_list() == [1.0, 0.0, 0.0, 0.0]


def test_without_a_difference_the_seed_decides() -> None:
    def order(seed: int) -> list[int]:
        same = np.full(20, 0.5)
        chosen = choose_rows(20, Mix(1, 1, 0), same, same, None, np.zeros(20, dtype=bool), seed)
        return chosen["row"].to_list()

    assert order(1) == order(1) != order(2)


def test_a_probability_at_the_threshold_is_most_uncertain_and_so_is_an_unknown_one() -> None:
    found = uncertainty(np.array([0.5, 0.0, 1.0, 0.75, np.nan]))
    assert found.tolist() == [1.0, 0.0, 0.0, 0.5, 1.0]
    assert uncertainty(np.array([0.8, 0.0, 1.0]), 0.8) == pytest.approx([1.0, 0.0, 0.75])


@given(st.integers(0, 99))
def test_disagreement_of_scorers_knows_ranks_and_no_scales(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(20, 3))
    found = scorer_disagreement(scores)
    assert found.min() >= 0
    assert found.max() <= 1
    assert scorer_disagreement(scores * [1, 100, 0.01] + 5) == pytest.approx(found)
    assert scorer_disagreement(scores[:, [0, 0, 0]]) == pytest.approx(np.zeros(20))


def test_scorers_that_order_rows_the_other_way_round_dispute_the_ends() -> None:
    up = np.arange(5.0)
    assert scorer_disagreement(np.column_stack([up, -up])).tolist() == [1.0, 0.5, 0.0, 0.5, 1.0]
    unknown = np.column_stack([up, np.where(up < 4, np.nan, 1)])
    assert scorer_disagreement(unknown)[:4].tolist() == [0.0] * 4
    assert scorer_disagreement(np.zeros((3, 0))).tolist() == [0.0] * 3


def test_disagreement_of_ratings_is_largest_where_every_category_is_said_as_often() -> None:
    found = rating_disagreement(columns(["1112", "1221", "1112"]))
    assert found == pytest.approx([0, 0.918, 0.918, 0.918], abs=1e-3)
    assert rating_disagreement(columns(["11", "12"])) == pytest.approx([0, 1])


@pytest.mark.parametrize("mix", [(0, 0, 0), (-1, 1, 1), (float("nan"), 1, 1), (float("inf"), 0, 0)])
def test_a_mix_of_nothing_or_less_is_refused(mix: tuple[float, float, float]) -> None:
    with pytest.raises(InputError, match="weights of the mix"):
        Mix(*mix)


def test_diversity_without_vectors_or_with_broken_ones_is_refused() -> None:
    pool = np.ones(3), np.ones(3)
    with pytest.raises(InputError, match="needs vectors"):
        choose_rows(1, Mix(), *pool, None, np.zeros(3, dtype=bool))
    with pytest.raises(InputError, match="not finite"):
        choose_rows(1, Mix(), *pool, np.array([[1.0], [np.nan], [2.0]]), np.zeros(3, dtype=bool))
