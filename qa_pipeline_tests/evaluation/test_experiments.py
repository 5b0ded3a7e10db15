import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.experiments import ab_decision, choose, record, rows_needed


@pytest.mark.parametrize(
    ("effect", "paired", "rows"),
    [
        (0.5, False, 64),
        (0.2, False, 394),
        (0.8, False, 26),
        (0.5, True, 34),
        (0.2, True, 199),
        (0.1, True, 787),
    ],
)
def test_rows_needed_are_those_of_the_published_tables(effect: float, paired: bool, rows: int) -> None:
    """Cohen 1988, two-sided at 0.05 with power 0.8; the paired ones as G*Power gives them."""
    assert rows_needed(effect, 1, paired=paired) == rows


@settings(deadline=None)
@given(st.floats(0.02, 3), st.floats(0.01, 3), st.booleans())
def test_more_is_needed_for_a_smaller_difference_and_more_power(
    difference: float, deviation: float, paired: bool
) -> None:
    usual = rows_needed(difference, deviation, paired=paired)
    assert usual is not None
    for harder in (
        rows_needed(difference / 2, deviation, paired=paired),
        rows_needed(difference, deviation, paired=paired, power=0.95),
        rows_needed(difference, deviation, paired=paired, significance=0.01),
    ):
        assert harder is not None
        assert harder >= usual >= 2


def test_so_many_rows_find_the_difference_as_often_as_asked() -> None:
    rows = rows_needed(0.05, 0.2, power=0.9)
    assert rows is not None
    samples = np.random.default_rng(0).normal(0.05, 0.2, (4000, rows))
    assert (ttest_1samp(samples, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.9, abs=0.015)


def test_a_difference_nobody_can_find_has_no_number_and_an_obvious_one_needs_two_rows() -> None:
    assert rows_needed(1e-9, 1) is None
    assert rows_needed(1e9, 1) == 2


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ({"difference": 0}, "difference"),
        ({"difference": float("nan")}, "difference"),
        ({"deviation": 0}, "deviation"),
        ({"deviation": float("inf")}, "deviation"),
        ({"power": 1}, "power"),
        ({"power": 0.01}, "power"),
        ({"significance": 0}, "significance"),
    ],
)
def test_numbers_without_a_meaning_are_refused(numbers: dict[str, float], told: str) -> None:
    given_numbers: dict[str, Any] = {"difference": 0.1, "deviation": 1, **numbers}
    with pytest.raises(InputError, match=told):
        rows_needed(**given_numbers)


@pytest.mark.parametrize(
    ("p", "effect", "decision", "why"),
    [
        (0.049, 0.101, "deploy", "below 0.05"),
        (0.05, 0.5, "keep", "chance"),
        (0.001, 0.1, "keep", "too little"),
        (0.001, -0.5, "keep", "not better"),
        (None, 0.5, "keep", "no test"),
        (0.001, None, "keep", "no test"),
    ],
)
def test_what_is_tried_is_deployed_only_if_surely_and_enough_better(
    p: float | None, effect: float | None, decision: str, why: str
) -> None:
    found = ab_decision({"p": p, "cohens_d": effect})
    assert found["decision"] == decision
    assert why in found["why"]


def test_the_same_file_gives_the_same_choice_and_the_next_one_is_drawn_anew(tmp_path: Path) -> None:
    first, second = (tmp_path / name / "trial.json" for name in "ab")
    chosen = [[choose(path, list("abcdef"))["chosen"] for _ in range(12)] for path in (first, second)]
    assert chosen[0] == chosen[1]
    assert len(set(chosen[0])) > 1
    assert first.read_bytes() == second.read_bytes()
    assert choose(tmp_path / "c" / "trial.json", list("abcdef"), seed=5)["choices"] == 1


def test_what_is_better_is_soon_tried_most(tmp_path: Path) -> None:
    path, shares = tmp_path / "trial.json", {"small": 0.6, "large": 0.9}
    drawn = np.random.default_rng(0)
    for _ in range(120):
        arm = choose(path, list(shares))["chosen"]
        right = bool(drawn.random() < shares[arm])
        record(path, arm, right=right, wrong=not right)
    found = choose(path)["arms"]
    tried = {name: one["right"] + one["wrong"] for name, one in found.items()}
    assert tried["large"] > 3 * tried["small"]
    assert found["large"]["best"] > 0.9
    assert sum(one["best"] for one in found.values()) == pytest.approx(1)


def test_a_configuration_can_join_and_keeps_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "trial.json"
    choose(path, ["a"])
    record(path, "a", right=3, wrong=1)
    arms = choose(path, ["a", "b"])["arms"]
    assert (arms["a"]["right"], arms["a"]["mean"], arms["b"]["right"]) == (3, 4 / 6, 0)


def test_what_is_recorded_at_the_same_time_is_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "trial.json"
    choose(path, ["a"])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: record(path, "a", right=1), range(40)))
    assert choose(path)["arms"]["a"]["right"] == 40


STATE: dict[str, Any] = {"format": 1, "seed": 0, "choices": 0, "arms": {"a": {"right": 1, "wrong": 0}}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        b"\xff",
        json.dumps({**STATE, "format": 2}).encode(),
        json.dumps({**STATE, "arms": {"a": {"right": -1, "wrong": 0}}}).encode(),
        json.dumps({**STATE, "arms": {"a": {"right": 1.5, "wrong": 0}}}).encode(),
        json.dumps({**STATE, "arms": {"\x1b[31m": {}}}).encode(),
        json.dumps({**STATE, "arms": {str(name): {} for name in range(101)}}).encode(),
        json.dumps({**STATE, "seed": -1}).encode(),
        json.dumps({**STATE, "more": 1}).encode(),
    ],
)
def test_a_file_that_is_no_trial_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "trial.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"trial\.json"):
        choose(path, ["a"])
    with pytest.raises(InputError, match=r"trial\.json"):
        record(path, "a", right=1)
    assert path.read_bytes() == content


def test_what_is_not_on_trial_is_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "trial.json"
    with pytest.raises(InputError, match="choose first"):
        record(path, "a", right=1)
    with pytest.raises(InputError, match="--arm"):
        choose(path)
    with pytest.raises(InputError, match="--arm"):
        choose(path, ["two words"])
    choose(path, ["a"])
    with pytest.raises(InputError, match="it has a"):
        record(path, "b", right=1)
    with pytest.raises(InputError, match="only grow"):
        record(path, "a", right=-1)
