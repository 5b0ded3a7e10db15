from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.gate import GoldenSet, Limits, gate
from qa_pipeline_tests.evaluation.stored_reports import Scores, continuous, stored
from qa_pipeline_tests.evaluation.test_gate_golden import criteria

BEFORE: dict[str, list[Any]] = {"faithfulness": continuous(60), "grounding": continuous(60, seed=1)}


def held(
    tmp_path: Path, now: Scores, before: Scores | None = None, limits: Limits | None = None, **how: Any
) -> dict[str, Any]:
    current = stored(tmp_path / "current", now, **how)
    baseline = stored(tmp_path / "baseline", before or BEFORE, documents=how.get("documents", 10))
    return gate(current, baseline, limits)


def outcomes(found: Mapping[str, Any]) -> dict[str, str]:
    return {one["name"]: one["outcome"] for one in found["checks"]}


def less(values: list[float], by: float) -> list[float]:
    """Every score lower by about this, never equally."""
    return [max(0.0, score - by * (0.8 + 0.1 * (row % 5))) for row, score in enumerate(values)]


def test_a_critical_metric_may_lose_less_than_another(tmp_path: Path) -> None:
    found = held(tmp_path, {name: less(values, 0.03) for name, values in BEFORE.items()})
    assert outcomes(found) == {"faithfulness": "failed", "grounding": "passed"}
    assert not found["passed"]
    named = Limits(critical=("grounding",))
    found = held(tmp_path, {name: less(values, 0.03) for name, values in BEFORE.items()}, limits=named)
    assert outcomes(found) == {"faithfulness": "passed", "grounding": "failed"}


def test_a_large_loss_fails_and_a_gain_never_does(tmp_path: Path) -> None:
    now = {
        "faithfulness": [min(1.0, score + 0.1) for score in BEFORE["faithfulness"]],
        "grounding": less(BEFORE["grounding"], 0.1),
    }
    found = held(tmp_path, now)
    assert outcomes(found) == {"faithfulness": "passed", "grounding": "failed"}


def test_from_none_at_all_any_rise_that_is_not_chance_fails(tmp_path: Path) -> None:
    none = {"fabricated_citations": [0.0] * 60}
    few = {"fabricated_citations": [1.0] * 1 + [0.0] * 59}
    many = {"fabricated_citations": [float(row % 3 == 0) for row in range(60)]}
    assert outcomes(held(tmp_path / "1", few, none)) == {"fabricated_citations": "within_noise"}
    assert outcomes(held(tmp_path / "2", many, none)) == {"fabricated_citations": "failed"}


def test_a_loss_that_chance_alone_would_make_passes(tmp_path: Path) -> None:
    shaken = [
        min(1.0, score + (0.1 if row % 2 else -0.15)) for row, score in enumerate(BEFORE["faithfulness"])
    ]
    found = held(tmp_path, {**BEFORE, "faithfulness": shaken})
    check = next(one for one in found["checks"] if one["name"] == "faithfulness")
    assert (check["outcome"], found["passed"]) == ("within_noise", True)


def test_scores_that_are_unknown_now_fail_the_gate(tmp_path: Path) -> None:
    """A judge that gives up on hard rows would else raise the mean."""
    now = {**BEFORE, "faithfulness": [None] * 5 + BEFORE["faithfulness"][5:]}
    found = held(tmp_path, now)
    unknown = next(one for one in found["checks"] if one["kind"] == "unknown")
    assert (unknown["name"], unknown["outcome"]) == ("faithfulness", "failed")
    assert unknown["detail"].startswith("5 of 60 rows")
    gone = held(tmp_path, {**BEFORE, "faithfulness": [None] * 60})
    assert outcomes(gone)["faithfulness"] == "failed"


def test_a_critical_metric_of_another_version_makes_the_baseline_unusable(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="faithfulness"):
        held(tmp_path, BEFORE, versions={"faithfulness": "2"})
    with pytest.raises(InputError, match="faithfulness"):
        held(tmp_path, {"grounding": BEFORE["grounding"]})
    found = held(tmp_path, BEFORE, versions={"grounding": "2"})
    assert list(found["excluded"]) == ["grounding"]
    assert outcomes(found) == {"faithfulness": "passed"}


@pytest.mark.parametrize(
    ("scores", "bound", "outcome"),
    [([0.9] * 9, 0.9, "passed"), ([0.8] * 9, 0.9, "failed"), ([None] * 9, 0.5, "failed")],
)
def test_a_threshold_holds_without_a_baseline(
    tmp_path: Path, scores: list[float | None], bound: float, outcome: str
) -> None:
    found = gate(
        stored(tmp_path, {"faithfulness": scores}), limits=Limits(thresholds={"faithfulness": bound})
    )
    assert outcomes(found) == {"faithfulness": outcome}
    assert found["passed"] == (outcome == "passed")


def test_a_threshold_is_the_most_where_lower_is_better(tmp_path: Path) -> None:
    report = stored(tmp_path, {"hallucination": continuous(30, 0.2)})
    mean = report.rows["hallucination"].mean()
    assert isinstance(mean, float)
    (check,) = gate(report, limits=Limits(thresholds={"hallucination": mean - 0.001}))["checks"]
    assert check["outcome"] == "failed"
    (check,) = gate(report, limits=Limits(thresholds={"hallucination": mean + 0.2}))["checks"]
    assert check["outcome"] == "passed"


def test_a_gate_that_has_nothing_to_check_does_not_pass(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--baseline, --threshold or --golden"):
        gate(stored(tmp_path / "a", BEFORE))
    with pytest.raises(InputError):
        held(tmp_path, {"grounding": [None, None]}, {"grounding": [None, None]})


def golden(*bounds: tuple[str, str, float]) -> GoldenSet:
    return GoldenSet("golden", "1", "c" * 64, criteria(*bounds))


def test_only_golden_rows_that_newly_fail_fail_the_gate(tmp_path: Path) -> None:
    rows = golden(("r0", "faithfulness", 0.9), ("r1", "faithfulness", 0.9), ("r2", "faithfulness", 0.9))
    before = stored(tmp_path / "a", {"faithfulness": [1.0, 0.5, 1.0, 1.0]})
    same = stored(tmp_path / "b", {"faithfulness": [1.0, 0.4, 1.0, 1.0]})
    worse = stored(tmp_path / "c", {"faithfulness": [0.8, 0.5, 1.0, 1.0]})
    limits = Limits(drop=1, critical_drop=1)
    found = gate(same, before, limits, rows)
    assert found["passed"]
    assert found["checks"][-1]["detail"].startswith("2 of 3 rows")
    found = gate(worse, before, limits, rows)
    assert not found["passed"]
    assert outcomes(found)["r0"] == "failed"
    assert "r1" not in outcomes(found)
    assert found["golden"]["sha256"] == "c" * 64


def test_without_a_baseline_every_failing_golden_row_is_new(tmp_path: Path) -> None:
    found = gate(
        stored(tmp_path, {"faithfulness": [0.5]}),
        golden=golden(("r0", "faithfulness", 0.9), ("gone", "faithfulness", 0.9)),
    )
    assert outcomes(found) == {"golden": "failed", "r0": "failed", "gone": "failed"}


LIKENESS, RULES = {"similarity": 6, "quotation": 4}, {"similarity": 4, "quotation": 6}


def test_likeness_alone_neither_passes_nor_fails_what_is_critical_unless_asked(tmp_path: Path) -> None:
    worse = {name: less(values, 0.1) for name, values in BEFORE.items()}
    for now in (BEFORE, worse):
        found = held(tmp_path, now, decided_by=LIKENESS)
        assert outcomes(found)["faithfulness"] == "undecided"
    assert outcomes(found)["grounding"] == "failed"
    assert (held(tmp_path, BEFORE, decided_by=LIKENESS)["outcome"], found["outcome"]) == (
        "undecided",
        "failed",
    )
    asked = Limits(accept_likeness=True)
    assert held(tmp_path, BEFORE, limits=asked, decided_by=LIKENESS)["passed"]
    assert outcomes(held(tmp_path, worse, limits=asked, decided_by=LIKENESS))["faithfulness"] == "failed"


def test_without_a_model_some_likeness_leaves_a_figure_undecided_and_rules_alone_do_not(
    tmp_path: Path,
) -> None:
    assert held(tmp_path, BEFORE, decided_by=RULES)["outcome"] == "undecided"
    assert held(tmp_path, BEFORE, decided_by={"quotation": 6})["passed"]
    found = held(tmp_path, BEFORE, decided_by={**RULES, "llm": 10})
    assert found["passed"]
    assert {one["decided_by"] for one in found["checks"]} == {"model 50 %, rules 30 %, likeness 20 %"}
