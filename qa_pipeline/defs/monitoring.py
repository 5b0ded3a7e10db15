"""Production quality as a daily asset (UTC), if the settings name a log folder, and alerts on failed runs."""

from datetime import date

import dagster as dg
import polars as pl

from qa_pipeline.defs import steps
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.monitoring.alerts import NOT_DECIDED, find_drift, find_levels, notify
from qa_pipeline.monitoring.days import Logs, day_file, metric_scores, metrics_of, read_days, score_day
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.parquet import frame_hash

QUALITY = "production_quality"
LIMITS, DRIFT = "limits_hold", "no_drift"
DAYS = dg.DailyPartitionsDefinition(start_date="2026-01-01")  # UTC


@dg.asset(
    group_name="monitoring",
    kinds={"parquet"},
    partitions_def=DAYS,
    pool="production",
    owners=steps.OWNERS,
    check_specs=[
        steps.partitioned_check(LIMITS, QUALITY, DAYS, "Means of the day are beyond a limit only by chance."),
        steps.partitioned_check(DRIFT, QUALITY, DAYS, "Metrics differ from the reference only by chance."),
    ],
)
def production_quality(
    context: dg.AssetExecutionContext, resources: steps.ResourcesParam
) -> dg.MaterializeResult:
    """Score each day of production from its logs; texts stay in the logs."""
    day, folder = date.fromisoformat(context.partition_key), resources.layout.monitoring
    settings = resources.settings
    try:
        scored = score_day(Logs(settings.monitoring.logs), day, metric_scores(settings), folder)
        levels = find_levels(read_days(folder, first=day, last=day), settings.monitoring)
        drifts = find_drift(read_days(folder, last=day)).filter(pl.col("day") == day)
    except QAPipelineError as error:
        raise dg.Failure(str(error), allow_retries=False) from error
    answers = scored.items
    means = answers.select(metrics_of(answers)).mean().to_dicts()[0] if answers.height else {}
    return dg.MaterializeResult(
        data_version=dg.DataVersion(frame_hash(answers)),
        metadata={
            "file": dg.MetadataValue.path(str(day_file(folder, day))),
            "dagster/partition_row_count": answers.height,
            "left out of the logs": steps.frame_table(scored.left_out),
            **steps.plotted({f"mean {name}": mean for name, mean in means.items()}),
        },
        check_results=[
            _result(LIMITS, levels, ["alert", NOT_DECIDED], dg.AssetCheckSeverity.ERROR),
            _result(DRIFT, drifts, ["drift"], dg.AssetCheckSeverity.WARN),
        ],
    )


def _result(
    check: str, findings: pl.DataFrame, failing_states: list[str], severity: dg.AssetCheckSeverity
) -> dg.AssetCheckResult:
    """Return a check that lists the first findings, and fails if any has a failing state."""
    failing = findings.filter(pl.col("state").is_in(failing_states))
    return dg.AssetCheckResult(
        check_name=check,
        passed=not failing.height,
        severity=severity,
        description="; ".join(failing["message"].head(steps.MOST_SHOWN)) or "no alert",
        metadata={"findings": steps.frame_table(findings.select("metric", "state", "message"))},
    )


monitor_day = dg.define_asset_job(
    "monitor_day",
    selection=[production_quality],
    description="Scores the answers of one day from the logs of production, and looks for alerts.",
)


def monitoring_definitions(settings: Settings) -> dg.Definitions:
    """Return the asset with its checks, job and schedule; empty without `monitoring.logs`."""
    if settings.monitoring.logs is None:
        return dg.Definitions()
    return dg.Definitions(
        assets=[steps.versioned(production_quality, settings)],
        jobs=[monitor_day],
        schedules=[dg.build_schedule_from_partitioned_job(monitor_day, hour_of_day=0, minute_of_hour=30)],
    )


@dg.run_failure_sensor(
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Sends a message about each run that failed to monitoring.alerts.urls.",
)
def alerts(context: dg.RunFailureSensorContext, resources: steps.ResourcesParam) -> None:
    """Send batch and step of a failed run; the message never contains text of documents."""
    run = context.dagster_run
    if run.tags.get("dagster/will_retry") == "true":
        return  # the last try sends the message
    failed_steps = ", ".join(str(event.step_key) for event in context.get_step_failure_events())
    subject = run.tags.get(steps.PARTITION) or run.job_name  # the batch, if the run is for one
    message = f"{subject}: failed at {failed_steps or 'its start'} (run {run.run_id[:8]})"
    try:
        notify(resources.settings.monitoring.alerts.urls, f"qa_pipeline: {run.job_name} failed", message)
    except QAPipelineError as error:
        raise dg.Failure(str(error)) from None
