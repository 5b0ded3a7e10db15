"""The sensor that tells people of failed runs and of checks that do not hold, in one message a tick.

One message for all: a night over thousands of batches may fail in hundreds of them. Its cursor is the last
event it reported of, stored only when a place took the message, so that none is lost while a server is down.
"""

from collections.abc import Iterable

import dagster as dg
from pydantic import BaseModel

from qa_pipeline.defs.base import PARTITION
from qa_pipeline.defs.checks import BLOCKED_TAG
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.monitoring.notifications import notify
from qa_pipeline.settings.monitoring import AlertSettings

MOST_RUNS = 500
"""Runs looked at in a tick: reading the checks of one takes some milliseconds."""
MOST_LINES = 20
"""Lines of a message, which a person must be able to read; the rest is counted."""
RETRIED_TAG = "dagster/will_retry"
"""On a failed run that the daemon starts anew; it is told of when that one fails too."""


class Reported(BaseModel):
    """The number of the last event of each kind that a message told of; None before the first tick."""

    failure: int | None = None
    success: int | None = None


def alerts_sensor(settings: AlertSettings) -> dg.SensorDefinition:
    """Return the sensor; it runs where the settings name a place for messages."""

    @dg.sensor(
        name="alerts",
        minimum_interval_seconds=300,
        default_status=dg.DefaultSensorStatus.RUNNING if settings.urls else dg.DefaultSensorStatus.STOPPED,
        description="Sends one message about the runs that failed and the checks that did not hold since the "
        "last one, to monitoring.alerts.urls.",
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        if not settings.urls:
            return dg.SkipReason("monitoring.alerts.urls names no place for messages")
        reported, instance = Reported.model_validate_json(context.cursor or "{}"), context.instance
        failures = _ended(instance, dg.DagsterEventType.RUN_FAILURE, reported.failure)
        successes = _ended(instance, dg.DagsterEventType.RUN_SUCCESS, reported.success)
        after = Reported(
            failure=_last(failures, reported.failure), success=_last(successes, reported.success)
        )
        if reported == Reported():  # what was before it was turned on is no news
            return dg.SensorResult(
                cursor=after.model_dump_json(), skip_reason="tells of what happens from now on"
            )
        failed = _lines(instance, failures, failed=True)
        doubtful = _lines(instance, successes, failed=False)
        if not failed and not doubtful:
            return dg.SensorResult(
                cursor=after.model_dump_json(), skip_reason="no run failed, all checks hold"
            )
        title = f"qa_pipeline: {len(failed)} runs failed, {len(doubtful)} have checks that do not hold"
        lines = [*failed, *doubtful]
        more = [f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
        try:
            missed = notify(settings.urls, title, "\n".join([*lines[:MOST_LINES], *more]))
        except QAPipelineError as error:
            raise dg.Failure(str(error)) from None  # the cursor stays, and the next tick tells of them
        if missed:
            context.log.warning(f"not delivered to {', '.join(missed)} of monitoring.alerts.urls")
        return dg.SensorResult(cursor=after.model_dump_json(), skip_reason=title)

    return alerts


def _ended(
    instance: dg.DagsterInstance, kind: dg.DagsterEventType, after: int | None
) -> list[dg.EventLogRecord]:
    """Return the events of runs that ended after one, in order; without one the last of all."""
    since = dg.RunStatusChangeRecordsFilter(kind, after_storage_id=after)  # type: ignore[arg-type]
    limit = 1 if after is None else MOST_RUNS
    return list(instance.fetch_run_status_changes(since, limit=limit, ascending=after is not None).records)


def _last(events: list[dg.EventLogRecord], before: int | None) -> int:
    return events[-1].storage_id if events else before or 0


def _lines(instance: dg.DagsterInstance, events: Iterable[dg.EventLogRecord], *, failed: bool) -> list[str]:
    """Return a line for each run that people should know of: names only, never what documents say."""
    lines = []
    for event in events:
        run = instance.get_run_by_id(event.run_id)
        if run is None or run.tags.get(RETRIED_TAG) == "true":
            continue
        checks = _failed_checks(instance, run.run_id)
        if failed or checks:
            what = run.tags.get(PARTITION, run.job_name)
            gates = run.tags.get(BLOCKED_TAG)
            reason = f"blocked by {gates}" if gates else f"checks {', '.join(checks)}" if checks else "failed"
            lines.append(f"{what}: {reason} (run {run.run_id[:8]})")
    return lines


def _failed_checks(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    kind = dg.DagsterEventType.ASSET_CHECK_EVALUATION
    events = (entry.dagster_event for entry in instance.all_logs(run_id, of_type=kind))
    evaluations = (event.asset_check_evaluation_data for event in events if event is not None)
    return [
        f"{evaluation.asset_key.to_user_string()}: {evaluation.check_name}"
        for evaluation in evaluations
        if not evaluation.passed
    ]
