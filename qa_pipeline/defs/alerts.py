"""The sensor that tells people of each run that failed."""

import dagster as dg

from qa_pipeline.curation.withdrawals import tombstone_of
from qa_pipeline.defs.base import PARTITION, ResourcesParam
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.monitoring.notifications import notify
from qa_pipeline.settings.monitoring import AlertSettings


def alerts_of(settings: AlertSettings) -> list[dg.SensorDefinition]:
    """Return the sensor; none where the settings name no place for messages."""
    if not settings.urls:
        return []

    @dg.run_failure_sensor(
        name="alerts",
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Sends a message about each run that failed to monitoring.alerts.urls.",
    )
    def alerts(context: dg.RunFailureSensorContext, resources: ResourcesParam) -> None:
        run = context.dagster_run
        if run.tags.get("dagster/will_retry") == "true":
            return  # told of when that one fails too
        batch = run.tags.get(PARTITION, "")
        stone = tombstone_of(resources.layout, batch) if batch else None
        gates = f", blocked by {', '.join(stone.details)}" if stone and stone.reason == "gate_failed" else ""
        steps = ", ".join(str(event.step_key) for event in context.get_step_failure_events())
        # names only, never what documents say
        message = f"{batch or run.job_name}: failed at {steps or 'its start'}{gates} (run {run.run_id[:8]})"
        try:
            missed = notify(settings.urls, f"qa_pipeline: {run.job_name} failed", message)
        except QAPipelineError as error:
            raise dg.Failure(str(error)) from None
        if missed:
            context.log.warning(f"not delivered to {', '.join(missed)} of monitoring.alerts.urls")

    return [alerts]
