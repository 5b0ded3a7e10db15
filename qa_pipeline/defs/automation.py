"""The sensor that starts runs of new and changed batches.

It is an ordinary sensor and no `AutomationCondition`, because those see only what changes after their first
tick: batches registered or edited before the sensor was turned on were never run (Dagster 1.13.27). Here the
cursor is the last report of `corpus` that was looked at, and without a cursor all of them are looked at.

The key of a run is its batch and the report that gave the reason, and Dagster starts a key only once. So a
batch that failed is not run again before its files change or the nightly schedule runs.
"""

import time

import dagster as dg
from pydantic import BaseModel

from qa_pipeline.defs.base import PARTITIONS_NAME, TICK_SECONDS, latest_ids
from qa_pipeline.defs.batch_runs import (
    BUILD_BATCH,
    MOST_REQUESTS,
    NIGHT_PRIORITY,
    REASON_TAG,
    running_batches,
)
from qa_pipeline.defs.corpus import CORPUS
from qa_pipeline.defs.staleness import Steps, blocked_message, examine_batches
from qa_pipeline.pipeline.resources import Resources


class Looked(BaseModel):
    """The sensor's memory: the last report looked at, and batches to look at again when their run ended."""

    last: int = 0
    again: list[str] = []


def automation_sensor(steps: Steps) -> dg.SensorDefinition:
    """Return a sensor that requests a batch once for each report of new content that leaves work to do."""

    @dg.sensor(
        job_name=BUILD_BATCH,
        name="automation_sensor",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Starts runs of new and changed batches, each batch once, also of those that were so "
        "before it was turned on. Off until turned on: runs may cost money.",
    )
    def automation(
        context: dg.SensorEvaluationContext, resources: dg.ResourceParam[Resources]
    ) -> dg.SensorResult:
        until = time.monotonic() + TICK_SECONDS
        instance, looked = context.instance, Looked.model_validate_json(context.cursor or "{}")
        unseen = dg.AssetRecordsFilter(CORPUS, after_storage_id=looked.last)
        reports = instance.fetch_materializations(unseen, limit=MOST_REQUESTS, ascending=True).records
        batches = sorted({*looked.again, *(str(report.partition_key) for report in reports)})
        ready = set(instance.get_dynamic_partitions(PARTITIONS_NAME)) - running_batches(instance)
        going = [batch for batch in batches if batch in ready][:MOST_REQUESTS]
        found = examine_batches(instance, resources, steps, going, compare_code=False, until=until)
        numbers = latest_ids(instance, CORPUS, going) if going else {}
        requests = [
            dg.RunRequest(
                run_key=f"{batch}:{numbers.get(batch, 0)}",
                partition_key=batch,
                tags={REASON_TAG: finding.due, **NIGHT_PRIORITY},
            )
            for batch, finding in found.items()
            if finding.due
        ]
        if blocked := blocked_message(found):
            context.log.info(blocked)
        after = Looked(
            last=reports[-1].storage_id if reports else looked.last, again=sorted({*batches} - found.keys())
        )
        nothing = f"{len(found)} new or changed batches looked at, none needs a run now"
        return dg.SensorResult(
            run_requests=requests,
            cursor=after.model_dump_json(),
            skip_reason=None if requests else "; ".join(filter(None, [nothing, blocked])),
        )

    return automation
