"""The job that builds one batch, and the schedule that runs it at night where there is work."""

import time

import dagster as dg

from qa_pipeline.defs.base import PARTITION, PARTITIONS_NAME, TICK_SECONDS
from qa_pipeline.defs.batch_runs import (
    BUILD_BATCH,
    MOST_REQUESTS,
    NIGHT_PRIORITY,
    NIGHT_TAG,
    REASON_TAG,
    fail_orphaned_runs,
    running_batches,
)
from qa_pipeline.defs.staleness import Finding, Steps, blocked_message, examine_batches
from qa_pipeline.pipeline.resources import Resources

TICKS = 36
"""Ticks of a night: each begins at another part of the corpus, so every batch has its turn."""

build_batch = dg.define_asset_job(
    BUILD_BATCH,
    selection=dg.AssetSelection.all() - dg.AssetSelection.groups("publishing", "monitoring"),
    description="Builds everything of one batch, from its files to its training examples.",
)


def nightly_schedule(steps: Steps) -> dg.ScheduleDefinition:
    """Return a schedule that runs the batches with work left and no others."""

    @dg.schedule(
        job_name=BUILD_BATCH,
        name="nightly",
        cron_schedule="*/5 2-4 * * *",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Builds every batch once a night that is new, changed or left unfinished; a batch that a "
        "gate blocked waits until something changes.",
    )
    def nightly(
        context: dg.ScheduleEvaluationContext, resources: dg.ResourceParam[Resources]
    ) -> list[dg.RunRequest] | dg.SkipReason:
        fail_orphaned_runs(context.instance)
        moment = context.scheduled_execution_time
        night, tick = moment.date().isoformat(), (moment.hour * 12 + moment.minute // 5) % TICKS
        found = examine_tonight(context.instance, resources, steps, night, tick)
        blocked = blocked_message(found)
        if blocked:
            context.log.info(blocked)
        requests = [
            dg.RunRequest(
                run_key=f"{batch} {night}",
                partition_key=batch,
                tags={REASON_TAG: finding.due, NIGHT_TAG: night, **NIGHT_PRIORITY},
            )
            for batch, finding in found.items()
            if finding.due
        ][:MOST_REQUESTS]
        nothing = f"{len(found)} batches looked at; the others are running or were requested tonight"
        return requests or dg.SkipReason("; ".join(filter(None, [nothing, blocked])))

    return nightly


def examine_tonight(
    instance: dg.DagsterInstance, resources: Resources, steps: Steps, night: str, tick: int
) -> dict[str, Finding]:
    """Return what the batches need that have no run, of this night or unended.

    Other code or settings are no reason: over a whole corpus that is a decision, taken by hand.
    """
    tonight = instance.get_runs(dg.RunsFilter(tags={NIGHT_TAG: night}))
    busy = running_batches(instance) | {run.tags[PARTITION] for run in tonight if PARTITION in run.tags}
    names = sorted(set(instance.get_dynamic_partitions(PARTITIONS_NAME)) - busy)
    start = len(names) * tick // TICKS
    return examine_batches(
        instance,
        resources,
        steps,
        names[start:] + names[:start],
        compare_code=False,
        until=time.monotonic() + TICK_SECONDS,
    )
