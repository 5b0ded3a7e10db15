"""Production as an asset of days: what it makes and shows, when its checks fail, and what it leaves alone."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from qa_pipeline.definitions import build_definitions
from qa_pipeline.defs import monitoring
from qa_pipeline.defs.monitoring import QUALITY, monitoring_definitions
from qa_pipeline.monitoring import alerts
from qa_pipeline.monitoring.days import Score
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.fakes import HashEmbedder


def scored_by(_: Settings) -> Score:
    """Answers are the scores of their faithfulness."""
    return lambda rows: rows.select(faithfulness=pl.col("answer").cast(pl.Float64(), strict=False))


class Production:
    """Logs, settings and an instance."""

    def __init__(self, folder: Path, instance: dg.DagsterInstance) -> None:
        self.logs = folder / "logs"
        self.logs.mkdir()
        self.settings = Settings(
            corpus=str(folder / "corpus"),
            out=folder / "out",
            monitoring={"logs": self.logs},
        )
        self.resources = Resources(self.settings, embedder=HashEmbedder())
        self.instance = instance

    def log(self, day: str, answers: Sequence[object], *, errors: int = 0) -> None:
        own = self.logs / day
        own.mkdir(exist_ok=True)
        rows: list[dict[str, Any]] = [{"query": "q", "answer": str(answer)} for answer in answers]
        rows += [{"error": "timeout"}] * errors
        lines = [json.dumps({"id": f"{day} {place}", **row}) for place, row in enumerate(rows)]
        (own / "a.jsonl").write_text("\n".join(lines))

    def definitions(self) -> dg.Definitions:
        own = dg.Definitions(resources={"resources": self.resources})
        return dg.Definitions.merge(own, monitoring_definitions(self.settings))

    def run(self, day: str) -> dg.ExecuteInProcessResult:
        job = self.definitions().resolve_job_def("monitor_day")
        return job.execute_in_process(instance=self.instance, partition_key=day, raise_on_error=False)


@pytest.fixture
def production(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Production]:
    monkeypatch.setattr(monitoring, "metric_scores", scored_by)
    monkeypatch.setattr(alerts, "REFERENCE_DAYS", 4)
    with dg.DagsterInstance.ephemeral() as instance:
        yield Production(tmp_path, instance)


def failed_checks(result: dg.ExecuteInProcessResult) -> dict[str, tuple[str, str]]:
    found = [one for one in result.get_asset_check_evaluations() if not one.passed]
    return {one.check_name: (one.severity.value, str(one.description)) for one in found}


def test_a_day_is_scored_kept_and_shown_and_equal_logs_give_the_same_data_version(
    production: Production,
) -> None:
    production.log("2026-03-01", [0.9, 1.0] * 15, errors=1)
    runs = [production.run("2026-03-01") for _ in range(2)]
    events = [run.asset_materializations_for_node(QUALITY)[0] for run in runs]
    assert [failed_checks(run) for run in runs] == [{}, {}]
    metadata = {name: of.value for name, of in events[0].metadata.items()}
    file = production.settings.out / "monitoring" / "2026-03-01.parquet"
    assert metadata["dagster/partition_row_count"] == pl.read_parquet(file).height == 31
    assert metadata["mean faithfulness"] == pytest.approx(0.95)
    assert len({(event.tags or {})["dagster/data_version"] for event in events}) == 1


def test_a_mean_beyond_its_limit_fails_the_check_with_an_error(production: Production) -> None:
    production.log("2026-03-01", [0.2, 0.4] * 15)
    (message,) = failed_checks(production.run("2026-03-01")).values()
    assert message[0] == "ERROR"
    assert all(word in message[1] for word in ("faithfulness", "2026-03-01", "0.300"))


def test_drift_fails_its_check_with_a_warning(production: Production) -> None:
    for day in range(1, 5):
        production.log(f"2026-03-0{day}", [0.9, 1.0] * 30)
        assert failed_checks(production.run(f"2026-03-0{day}")) == {}
    production.log("2026-03-05", [0.88, 0.9] * 30)
    found = failed_checks(production.run("2026-03-05"))
    assert [(name, severity) for name, (severity, _) in found.items()] == [("no_drift", "WARN")]
    assert all(word in found["no_drift"][1] for word in ("faithfulness", "2026-03-05", "0.950", "0.890"))


def test_logs_that_are_gone_fail_the_run_with_a_reason(production: Production) -> None:
    production.logs.rmdir()
    result = production.run("2026-03-01")
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert str(production.logs) in str(failure.step_failure_data.error)


def test_it_is_there_only_where_the_settings_name_logs_and_no_step_of_a_batch(
    production: Production, tmp_path: Path
) -> None:
    without = Settings(corpus=str(tmp_path / "corpus"), out=tmp_path / "out")
    assert not monitoring_definitions(without).assets
    watched = build_definitions(production.settings, resources=production.resources)
    dg.Definitions.validate_loadable(watched)
    job = watched.resolve_job_def("build_batch")
    assert dg.AssetKey(QUALITY) not in job.asset_layer.selected_asset_keys
    schedules = {one.name: one.default_status for one in watched.get_repository_def().schedule_defs}
    assert schedules["monitor_day_schedule"] == dg.DefaultScheduleStatus.STOPPED
