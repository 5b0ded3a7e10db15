from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.active_learning import (
    Mix,
    choose_rows,
    next_rows,
    rating_disagreement,
    scorer_disagreement,
    uncertainty,
)
from qa_pipeline.evaluation.calibration.probabilities import FITS
from qa_pipeline.evaluation.statistics import Floats
from qa_pipeline.evaluation.stored_report import MetricFacts, StoredReport
from qa_pipeline_tests.evaluation.ratings import columns, rows

shares = st.floats(0, 1)
weights = st.tuples(shares, shares, shares, shares).filter(lambda mix: sum(mix) > 0.01)


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
    pool: dict[str, Any], mix: tuple[float, ...], count: int, seed: int
) -> None:
    found = choose_rows(count, Mix(*mix), seed=seed, **pool)
    assert found.equals(choose_rows(count, Mix(*mix), seed=seed, **pool))
    places = found["row"].to_list()
    assert len(places) == len(set(places)) == min(count, int((~pool["labelled"]).sum()))
    assert not pool["labelled"][places].any()
    assert found.select(pl.exclude("row").is_between(0, 1 + 1e-9).all()).row(0) == (True,) * 4


@given(pools(), weights, st.integers(1, 6))
def test_a_shorter_list_is_the_beginning_of_a_longer_one(
    pool: dict[str, Any], mix: tuple[float, ...], count: int
) -> None:
    assert choose_rows(count, Mix(*mix), **pool).equals(choose_rows(count + 3, Mix(*mix), **pool).head(count))


@given(pools(), st.integers(1, 12))
def test_by_uncertainty_alone_the_most_uncertain_come_first(pool: dict[str, Any], count: int) -> None:
    found = choose_rows(count, Mix(1, 0, 0, 0), **pool)
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
    found = choose_rows(6, Mix(0, 0, 1, 0), np.zeros(15), np.zeros(15), vectors, labelled)
    assert found["row"].to_list() == farthest_first(vectors, [0, 1], 6)


def test_copies_of_a_labelled_row_come_last() -> None:
    vectors = np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]])
    found = choose_rows(4, Mix(1, 1, 1, 0), np.ones(5), np.zeros(5), vectors, np.arange(5) == 0)
    assert found["row"][0] == 4
    assert found["diversity"].to_list() == [1.0, 0.0, 0.0, 0.0]


def test_without_a_difference_the_seed_decides() -> None:
    def order(seed: int) -> list[int]:
        same = np.full(20, 0.5)
        chosen = choose_rows(20, Mix(1, 1, 0, 0), same, same, same[:, None], np.zeros(20, dtype=bool), seed)
        return chosen["row"].to_list()

    assert order(1) == order(1) != order(2)


def test_by_chance_alone_every_row_is_as_likely_whatever_it_is_worth() -> None:
    worth = np.linspace(0, 1, 10)
    first = [
        choose_rows(1, Mix(0, 0, 0, 1), worth, worth, worth[:, None], np.zeros(10, dtype=bool), seed)["row"][
            0
        ]
        for seed in range(500)
    ]
    assert np.bincount(first, minlength=10) == pytest.approx(np.full(10, 50), abs=25)


def test_a_probability_of_a_half_is_most_uncertain_and_so_is_an_unknown_one() -> None:
    found = uncertainty(np.array([0.5, 0.0, 1.0, 0.75, np.nan]))
    assert found.tolist() == [1.0, 0.0, 0.0, 0.5, 1.0]


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


def test_disagreement_of_ratings_is_largest_where_every_category_is_said_as_often() -> None:
    found = rating_disagreement(columns(["1112", "1221", "1112"]))
    assert found == pytest.approx([0, 0.918, 0.918, 0.918], abs=1e-3)
    assert rating_disagreement(columns(["11", "12"])) == pytest.approx([0, 1])


@pytest.mark.parametrize(
    "mix", [(0, 0, 0, 0), (-1, 1, 1, 0), (float("nan"), 1, 1, 0), (float("inf"), 0, 0, 0)]
)
def test_a_mix_of_nothing_or_less_is_refused(mix: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="weights of the mix"):
        Mix(*mix)


def report(size: int = 40, lower: tuple[str, ...] = ("hallucination",)) -> StoredReport:
    score = np.arange(size) / size
    ids = [f"r{place}" for place in range(size)]
    texts = {"id": ids, "group": ids, "query": ids, "answer": ids}
    scores = {"faithfulness": score, "hallucination": 1 - score, "relevance": np.nan}
    metrics = {
        name: MetricFacts(version=1, direction="lower" if name in lower else "higher", range=(0, 1))
        for name in scores
    }
    return StoredReport(Path("report"), "d", "0" * 64, metrics, pl.DataFrame({**texts, **scores}))


def rated_rows(*said: tuple[int, str, str]) -> pl.DataFrame:
    return rows(*((f"r{place}", who, rating) for place, who, rating in said))


def labels_of(places: range, right_from: int) -> list[tuple[int, str, str]]:
    """Two annotators who agree, and err in every fifth row."""
    return [
        (place, who, "yes" if (place >= right_from) != (place % 5 == 0) else "no")
        for place in places
        for who in ("anna", "ben")
    ]


def test_the_probability_is_the_calibrated_one_where_there_are_labels_enough() -> None:
    """All labels say that rows are right from 0.75 on, so that rows near 0.5 are no longer uncertain."""
    ratings = rated_rows(*labels_of(range(0, 40, 2), 30))
    by_uncertainty = Mix(1, 0, 0, 0)
    found, told = next_rows(report(), ratings, by_uncertainty, count=5, metric="faithfulness", resamples=50)
    assert told["calibration"]["items"] == told["labelled"] == 20
    assert (found["faithfulness"] > 0.55).all()
    few = rated_rows(*labels_of(range(0, 8, 2), 4))
    found, told = next_rows(report(), few, by_uncertainty, count=5, metric="faithfulness")
    assert told["calibration"] is None
    assert found["faithfulness"].is_between(0.44, 0.56).all()


def test_the_calibration_is_of_the_kind_that_is_asked_for() -> None:
    """Isotonic regression is sure where all labels beyond are of one kind; a logistic curve never is."""
    labelled = [(place, "yes" if place >= 20 else "no") for place in range(0, 40, 2)]
    said = [(place, who, rating) for place, rating in labelled for who in ("anna", "ben")]
    sure = {}
    for fit in FITS:
        found, _ = next_rows(
            report(), rated_rows(*said), Mix(1, 0, 0, 0), count=20, metric="faithfulness", fit=fit
        )
        sure[fit] = (found["uncertainty"] == 0).sum()
    assert sure == {"logistic": 0, "isotonic": 19}


def test_a_metric_that_is_better_when_lower_agrees_with_its_opposite() -> None:
    for lower, disagreement in ((("hallucination",), 0), ((), 1)):
        found, _ = next_rows(
            report(lower=lower),
            rated_rows((0, "anna", "yes")),
            Mix(),
            count=40,
            metric="faithfulness",
            against=["hallucination"],
        )
        assert found["disagreement"].max() == pytest.approx(disagreement)


def test_gold_ratings_decide_and_rows_without_consensus_are_asked_for_again() -> None:
    said = [(0, "gold", "no"), (0, "anna", "yes"), (0, "ben", "yes"), (1, "anna", "yes"), (1, "ben", "no")]
    said.append((99, "anna", "no"))
    found, told = next_rows(report(), rated_rows(*said), Mix(), count=40, metric="faithfulness")
    assert (told["labelled"], told["right"], told["without_consensus"], told["beside"]) == (1, 0, 1, 1)
    assert "r0" not in found["id"]
    assert found.filter(id="r1")["disagreement"].item() == 1


def test_a_metric_that_is_unknown_everywhere_leaves_every_row_uncertain() -> None:
    ratings = rated_rows(*labels_of(range(30), 15))
    found, told = next_rows(report(), ratings, Mix(), count=10, metric="relevance", against=["faithfulness"])
    assert told["calibration"] is None
    assert found["uncertainty"].to_list() == [1.0] * 10
    assert found["disagreement"].to_list() == [0.0] * 10
