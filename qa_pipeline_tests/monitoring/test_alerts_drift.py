import polars as pl
import pytest

from qa_pipeline.monitoring import alerts
from qa_pipeline.monitoring.alerts import (
    DRIFT,
    find_drift,
)
from qa_pipeline_tests.monitoring.scored import drawn, scored_rows


@pytest.fixture(autouse=True)
def reference_of_ten_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "REFERENCE_DAYS", 10)


def states(days: list[list[float]]) -> list[str]:
    found = find_drift(scored_rows(days))
    return found.filter(pl.col("metric") == "faithfulness")["state"].to_list()


def test_a_shift_is_reported_from_its_second_day_at_the_latest() -> None:
    days = drawn(30, 100, 0.95, seed=1) + drawn(20, 100, 0.8, seed=2) + drawn(10, 100, 0.95, seed=3)
    found = states(days)
    assert found[:10] == ["reference"] * 10
    assert set(found[10:30]) <= {"steady", "differs"}
    assert set(found[31:50]) == {"drift"}
    assert set(found[50:]) <= {"steady", "differs"}


def test_a_fall_to_nothing_is_reported_on_its_first_day() -> None:
    assert states([*drawn(20, 100, 0.95, seed=1), [0.0] * 100])[-1] == "drift"


def test_days_of_few_or_unknown_scores_are_not_tested_and_break_no_row_of_days() -> None:
    shifted = drawn(2, 100, 0.7, seed=2)
    few: list[list[float | None]] = [[0.0] * 5, [None] * 90]
    found = find_drift(scored_rows([*drawn(20, 100, 0.95, seed=1), *few, *shifted]))
    scores = found.filter(pl.col("metric") == "faithfulness")
    assert scores["state"].to_list()[20:22] == ["not enough rows"] * 2
    assert scores["p"][20] is None
    assert scores["differs"][20] is None


def test_equal_rows_give_equal_findings_in_any_order() -> None:
    rows = scored_rows(drawn(15, 60, 0.9, seed=1))
    found = find_drift(rows)
    assert found.schema == DRIFT
    assert found.equals(find_drift(rows.reverse()))
