from typing import Any

import polars as pl
import pytest

from qa_pipeline.errors import InputError
from qa_pipeline.monitoring.alerts import DRIFT, LEVELS, alerts_of, find_levels
from qa_pipeline.settings.tree import AlertSettings, MonitoringSettings
from qa_pipeline_tests.monitoring.scored import FIRST, scored_rows


def limits(**changed: Any) -> MonitoringSettings:
    """Settings of one limit, below 0.85, by the day."""
    given = {"below": {"faithfulness": 0.85}, "above": {}, **changed}
    return MonitoringSettings(alerts=AlertSettings(**given))


ONLY, HOURLY = limits(), limits(below={"grounding": 0.85})


def as_grounding(rows: pl.DataFrame) -> pl.DataFrame:
    """Rename the scores, for a metric that is tested per hour."""
    return rows.rename(lambda name: name.replace("faithfulness", "grounding"))


def levels(rows: pl.DataFrame, settings: MonitoringSettings = ONLY) -> list[dict[str, Any]]:
    found = find_levels(rows, settings)
    assert found.schema == LEVELS
    return found.to_dicts()


def alerts(rows: pl.DataFrame, settings: MonitoringSettings = ONLY) -> list[dict[str, Any]]:
    return alerts_of(find_levels(rows, settings), DRIFT.to_frame())


def states(rows: pl.DataFrame, settings: MonitoringSettings = ONLY) -> list[str]:
    return [one["state"] for one in levels(rows, settings)]


def test_a_clear_fall_alerts_and_what_noise_explains_does_not() -> None:
    fallen, unsure, fine = [0.6, 0.7] * 100, [0.5, 1.0, 1.0] * 20, [0.9, 1.0] * 100
    found = levels(scored_rows([fallen, unsure, fine]))
    assert [one["state"] for one in found] == ["alert", "uncertain", "fine"]
    assert found[0]["high"] < 0.85
    assert (found[0]["day"], found[0]["hour"]) == (FIRST, None)


def test_unknown_scores_are_no_rows() -> None:
    assert states(scored_rows([[0.0] * 19 + [None] * 100])) == ["not enough rows"]


def test_one_bad_hour_alerts_though_its_day_is_fine() -> None:
    day = [1.0] * 600 + [0.2] * 60 + [1.0] * 600
    assert states(scored_rows([day])) == ["fine"]
    found = levels(as_grounding(scored_rows([day])), HOURLY)
    assert [one["hour"] for one in found if one["state"] == "alert"] == [10]
    assert [one["hour"] for one in found] == [*range(21)]


def test_rows_without_a_time_count_in_their_day_and_in_no_hour() -> None:
    rows = scored_rows([[0.2] * 50]).with_columns(time=pl.lit(None, pl.Datetime("us", "UTC")))
    assert states(rows) == ["alert"]
    assert states(as_grounding(rows), HOURLY) == []


def test_errors_alert_above_their_limit() -> None:
    rows = scored_rows([[1.0] * 200, [1.0] * 200])
    failing = (pl.col("day") > FIRST) & (pl.int_range(pl.len()) % 5 == 0)
    rows = rows.with_columns(errors=failing.cast(pl.Float64()))
    assert states(rows, limits(below={}, above={"errors": 0.05})) == ["fine", "alert"]


def test_a_metric_outside_0_and_1_cannot_have_a_limit() -> None:
    with pytest.raises(InputError, match="faithfulness"):
        levels(scored_rows([[7.0] * 30]))


def test_the_promised_limits_alert_without_any_setting() -> None:
    bad = {"faithfulness": 0.8, "grounding": 0.7, "context_precision": 0.3}
    spread = (pl.int_range(pl.len()) % 3 - 1) / 50
    rows = scored_rows([[1.0] * 900]).with_columns(
        (value + spread).alias(name) for name, value in bad.items()
    )
    rows = rows.with_columns(errors=(pl.int_range(pl.len()) % 4 == 0).cast(pl.Float64()))
    told = alerts(rows, MonitoringSettings())
    assert {(one["metric"], one["hour"] is None) for one in told} == {
        ("faithfulness", True),
        ("grounding", False),
        ("context_precision", True),
        ("errors", True),
    }


def by_likeness(rows: pl.DataFrame, likeness: int, rules: int) -> pl.DataFrame:
    steps = ["quotation"] * rules + ["similarity"] * likeness
    return rows.with_columns(faithfulness_decided_by=pl.lit(steps))


@pytest.mark.parametrize("score", [0.0, 0.9, 1.0])
def test_a_figure_that_likeness_alone_decided_is_told_as_not_decided_good_or_bad(score: float) -> None:
    rows = by_likeness(scored_rows([[score] * 100]), likeness=3, rules=1)
    assert states(rows) == ["not decided"]
    assert [alert["kind"] for alert in alerts(rows)] == ["undecided"]


def test_the_hours_of_a_day_that_are_not_decided_are_one_alert() -> None:
    rows = by_likeness(scored_rows([[0.1] * 300]), likeness=1, rules=0)
    assert len(alerts(as_grounding(rows), HOURLY)) == 1


def test_figures_mostly_decided_by_rules_raise_alerts() -> None:
    (one,) = alerts(by_likeness(scored_rows([[0.1] * 100]), likeness=1, rules=1))
    assert (one["kind"], one["decided_by"]) == ("level", "likeness 50 %, rules 50 %")


def test_a_limit_of_a_metric_without_scores_is_shown_as_not_enough_rows() -> None:
    assert states(scored_rows([[1.0] * 30]), limits(below={"grounding": 0.8})) == ["not enough rows"]
    both = limits(below={"grounding": 0.8}, above={"grounding": 0.99})
    assert states(scored_rows([[1.0] * 30]), both) == ["not enough rows"] * 2


def test_the_limits_are_those_of_the_specification() -> None:
    limits = AlertSettings()
    assert limits.below == {"faithfulness": 0.85, "grounding": 0.80, "context_precision": 0.5}
    assert limits.above == {"errors": 0.05}
