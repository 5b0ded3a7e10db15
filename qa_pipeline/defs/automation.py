"""The sensor that starts runs of new and changed batches.

It is an ordinary sensor and no `AutomationCondition`, because those see only what changes after their first
tick: batches registered or edited before the sensor was turned on were never run (Dagster 1.13.27). Here the
cursor is the last report of `corpus` that was looked at, and without a cursor all of them are looked at.

Nothing is requested twice: the cursor is past what was requested, and the key of a run is its batches and the
reports that gave the reason, and Dagster starts a key only once. So a batch that failed is not run again
before its files change or the nightly schedule runs.
"""

import dagster as dg
from pydantic import BaseModel

from qa_pipeline.defs.base import PARTITIONS_NAME, TICK_SECONDS, latest_ids
from qa_pipeline.defs.batch_runs import job_requested, run_requests, running_batches
from qa_pipeline.defs.corpus import CORPUS
from qa_pipeline.defs.staleness import Steps, remembered_work
from qa_pipeline.pipeline.resources import Resources


class Looked(BaseModel):
    """The sensor's memory: the last report looked at, and batches to look at again when their run ended."""

    last: int = 0
    again: list[str] = []


def automation_sensor(steps: Steps, batches_per_run: int) -> dg.SensorDefinition:
    """Return a sensor that requests a batch once for each report of new content that leaves work to do."""

    @dg.sensor(
        job_name=job_requested(batches_per_run),
        name="automation_sensor",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Starts runs of new and changed batches, each batch once, also of those that were so "
        "before it was turned on. Off until turned on: runs may cost money.",
    )
    def automation(
        context: dg.SensorEvaluationContext, resources: dg.ResourceParam[Resources]
    ) -> dg.SensorResult | dg.SkipReason:
        instance, looked = context.instance, Looked.model_validate_json(context.cursor or "{}")
        unseen = dg.AssetRecordsFilter(CORPUS, after_storage_id=looked.last)
        amounts = resources.settings.automation
        reports = instance.fetch_materializations(unseen, limit=amounts.max_examined, ascending=True).records
        batches = sorted({*looked.again, *(str(report.partition_key) for report in reports)})
        ready = set(instance.get_dynamic_partitions(PARTITIONS_NAME)) - running_batches(instance)
        going = [batch for batch in batches if batch in ready][: amounts.max_examined]
        work = remembered_work(
            instance,
            resources,
            steps,
            going,
            most=amounts.max_examined,
            enough=len(going),
            seconds=TICK_SECONDS,
        )
        due = dict(list(work.due.items())[: amounts.max_requests * batches_per_run])
        numbers = latest_ids(instance, CORPUS, due) if due else {}
        requests = run_requests(due, batches_per_run, lambda batch: f"{batch} {numbers.get(batch, 0)}")
        later = work.unexamined | work.due.keys() - due.keys()
        again = sorted({*batches} - {*going} | later)
        if work.blocked:
            context.log.info(work.blocked_message())
        waiting = f"; {len(again)} in progress or left for later are looked at again" if again else ""
        message = f"{len(batches)} new or changed batches looked at, none needs a run now{waiting}"
        message = "; ".join(filter(None, [message, work.blocked_message()]))
        after = Looked(last=reports[-1].storage_id if reports else looked.last, again=again)
        return dg.SensorResult(
            run_requests=requests,
            cursor=after.model_dump_json(),
            skip_reason=None if requests else message,
        )

    return automation
