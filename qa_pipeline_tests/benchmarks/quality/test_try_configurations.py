import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qa_pipeline.errors import InputError
from qa_pipeline_tests.benchmarks.conftest import RunMain
from qa_pipeline_tests.benchmarks.quality.try_configurations import choose, main, record


def test_a_trial_is_begun_recorded_and_continued(tmp_path: Path, run_main: RunMain) -> None:
    trial = tmp_path / "trial.json"
    begun = run_main(main, "choose", trial, "--arm", "small", "--arm", "large")
    assert begun["chosen"] in ("small", "large")
    recorded = run_main(main, "record", trial, "large", "--right", "40", "--wrong", "1")
    assert recorded == {"large": {"right": 40, "wrong": 1}}
    run_main(main, "record", trial, "small", "--wrong", "30")
    assert run_main(main, "choose", trial)["chosen"] == "large"
    with pytest.raises(SystemExit, match="no configuration 'huge'"):
        run_main(main, "record", trial, "huge", "--right", "1")


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
    with pytest.raises(InputError, match="begin with choose"):
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
