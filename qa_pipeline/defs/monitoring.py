"""Production as Dagster sees it: one asset of days, its checks, its job and its schedule.

It is there only where the settings name a folder of logs. It is no step of a batch, and its partitions are
days of UTC: `build_batch`, the sensors and the staleness of batches know nothing of it.
"""

import warnings
from datetime import date
from typing import Any

import dagster as dg
import polars as pl

from qa_pipeline.defs.base import OWNERS, ResourcesParam
from qa_pipeline.defs.metadata import table_metadata
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.evaluation.datasets.labelled_files import Labelled
from qa_pipeline.monitoring.alerts import Findings, findings
from qa_pipeline.monitoring.days import day_file, metric_scores, metrics_of, read_days, score_day
from qa_pipeline.monitoring.drift import BY_LIKENESS
from qa_pipeline.monitoring.logs import Logs
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.versions import code_version
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.parquet import frame_hash

QUALITY = dg.AssetKey("production_quality")
POOL = "production"
LIMITS, DRIFT = "limits_hold", "no_drift"
MOST_SHOWN = 50
"""Rows of a table in the UI, which opens behind a click; all are counted."""


monitor_day = dg.define_asset_job(
    "monitor_day",
    selection=dg.AssetSelection.assets(QUALITY),
    description="Scores what the logs of production have of one day, and looks for alerts.",
)


def monitoring_definitions(settings: Settings) -> dg.Definitions:
    """Return the asset, its checks, job and schedule; nothing where the settings name no logs."""
    if settings.monitoring.logs is None:
        return dg.Definitions()
    days = dg.DailyPartitionsDefinition(start_date=settings.monitoring.first_day.isoformat())
    return dg.Definitions(
        assets=[build_quality(settings, days)],
        jobs=[monitor_day],
        schedules=[dg.build_schedule_from_partitioned_job(monitor_day, hour_of_day=0, minute_of_hour=30)],
    )


def build_quality(settings: Settings, days: dg.DailyPartitionsDefinition) -> dg.AssetsDefinition:
    """Return the asset."""

    @dg.asset(
        key=QUALITY,
        description="One file of scores for each day of production, made from the logs of its answers. It "
        "holds no texts.",
        group_name="monitoring",
        kinds={"parquet"},
        partitions_def=days,
        pool=POOL,
        owners=OWNERS,
        check_specs=_check_specs(days),
        code_version=code_version(QUALITY.to_user_string(), settings),
    )
    def production_quality(
        context: dg.AssetExecutionContext, resources: ResourcesParam
    ) -> dg.MaterializeResult:
        day = date.fromisoformat(context.partition_key)
        chosen = resources.settings
        assert chosen.monitoring.logs is not None  # noqa: S101 - or this asset would not be there
        folder = resources.layout.monitoring
        try:
            logs = Logs(chosen.monitoring.logs)
            made = score_day(logs, day, metric_scores(chosen), folder)
        except QAPipelineError as error:
            raise dg.Failure(str(error), allow_retries=False) from error
        return dg.MaterializeResult(
            data_version=dg.DataVersion(frame_hash(made.items)),
            metadata={"file": dg.MetadataValue.path(str(day_file(folder, day))), **_metadata(made)},
            check_results=_check_results(resources, day),
        )

    return production_quality


def _metadata(made: Labelled) -> dict[str, Any]:
    """Return the facts of a day for the UI; means are plain numbers, drawn over the days."""
    means = made.items.select(metrics_of(made.items)).mean().row(0, named=True) if made.items.height else {}
    metadata: dict[str, Any] = {
        "dagster/partition_row_count": made.items.height,
        **{f"mean {name}": round(mean, 4) for name, mean in means.items() if mean is not None},
    }
    faults = made.left_out.group_by("reason").agg(pl.col("rows").sum()).sort("reason").rows()
    if faults:
        metadata["what the logs left out"] = table_metadata(("reason", "rows"), faults[:MOST_SHOWN])
    return metadata


def _check_specs(days: dg.DailyPartitionsDefinition) -> list[dg.AssetCheckSpec]:
    described = {
        LIMITS: "No mean of the day is beyond its limit by more than chance.",
        DRIFT: "Every metric of the day is what it was in the reference, as far as noise allows.",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.PreviewWarning)  # partitioned checks are in preview
        return [
            dg.AssetCheckSpec(name, asset=QUALITY, description=text, partitions_def=days)
            for name, text in described.items()
        ]


def _check_results(resources: Resources, day: date) -> list[dg.AssetCheckResult]:
    """Check the day: limits, which are errors, and drift, which is a warning."""
    levels = _findings(resources, day, day).levels
    drift = _findings(resources, None, day).drift.filter(pl.col("day") == day)
    beyond = levels.filter(pl.col("state").is_in(["alert", BY_LIKENESS]))
    moved = drift.filter(pl.col("state").is_in(["drift", "drifted", BY_LIKENESS]))
    return [
        _result(LIMITS, levels, beyond, dg.AssetCheckSeverity.ERROR),
        _result(DRIFT, drift, moved, dg.AssetCheckSeverity.WARN),
    ]


def _findings(resources: Resources, first: date | None, last: date) -> Findings:
    folder, settings = resources.layout.monitoring, resources.settings.monitoring
    try:
        return findings(read_days(folder, first, last), settings)
    except QAPipelineError as error:
        raise dg.Failure(str(error), allow_retries=False) from error


def _result(
    check: str, looked: pl.DataFrame, bad: pl.DataFrame, severity: dg.AssetCheckSeverity
) -> dg.AssetCheckResult:
    """Return a check of findings (`LEVELS` or `DRIFT`), which shows all that was measured."""
    columns = ("metric", "state", "message")
    table = table_metadata(columns, looked.select(columns).rows()[:MOST_SHOWN])
    more = f" (and {bad.height - 1} more)" if bad.height > 1 else ""
    return dg.AssetCheckResult(
        check_name=check,
        passed=not bad.height,
        severity=severity,
        description=f"{bad['message'][0]}{more}" if bad.height else "no alert",
        metadata={"alerts": bad.height, "looked at": table},
    )
