"""The job of a batch, the nightly schedule for unfinished batches, and the removal of old runs."""

from datetime import UTC, datetime, timedelta

import dagster as dg

from qa_pipeline.curation.withdrawals import withdrawn_batches
from qa_pipeline.defs.assets import BATCH_ASSETS, training_examples
from qa_pipeline.defs.base import ENDED, PARTITION, PARTITIONS_NAME, ResourcesParam, document_batches

build_batch = dg.define_asset_job(
    "build_batch",
    selection=dg.AssetSelection.assets(*BATCH_ASSETS),
    description="Builds everything of one batch, from its files to its training examples.",
    # By default all assets of a run share a process, with one embedding model in memory.
    # `execution: {config: {multiprocess: {}}}` in the Launchpad starts a process per asset.
    executor_def=dg.multi_or_in_process_executor,
    config={"execution": {"config": {"in_process": {}}}},
)


@dg.schedule(
    job=build_batch,
    cron_schedule="0 2 * * *",
    description="Runs each batch once a night that is missing or failed; a batch that a gate blocked waits "
    "until its files or decisions change.",
)
def nightly(
    context: dg.ScheduleEvaluationContext, resources: ResourcesParam
) -> list[dg.RunRequest] | dg.SkipReason:
    """Request a run of each missing or failed batch, with lower priority than runs of people."""
    batches = context.instance.get_dynamic_partitions(PARTITIONS_NAME)
    status = context.instance.get_status_by_partition(training_examples.key, batches, document_batches) or {}
    withdrawn = withdrawn_batches(resources.layout)
    blocked = {name for name, tombstone in withdrawn.items() if tombstone.reason == "gate_failed"}
    night = context.scheduled_execution_time.date().isoformat()
    requests = [
        dg.RunRequest(partition_key=batch, run_key=f"{batch} {night}", tags={"dagster/priority": "-10"})
        for batch in batches
        if status.get(batch) in (None, dg.AssetPartitionStatus.FAILED) and batch not in blocked
    ]
    if not requests:
        return dg.SkipReason(f"no batch is missing or failed; {len(blocked)} are blocked by a gate")
    return requests


class Retention(dg.Config):
    """The time for which replaced runs are kept."""

    days: float = 30


@dg.op
def purge_old_runs(context: dg.OpExecutionContext, config: Retention) -> None:
    """Delete old runs whose batch was built completely later.

    Other runs are kept, since they record the origin of the present tables.
    """
    instance, latest = context.instance, datetime.now(UTC) - timedelta(days=config.days)
    old = set(instance.get_run_ids(dg.RunsFilter(statuses=ENDED, updated_before=latest)))
    rebuilt: set[str] = set()
    for run in instance.get_runs(dg.RunsFilter(statuses=ENDED)):  # the latest first
        batch = run.tags.get(PARTITION)
        if batch in rebuilt and run.run_id in old:
            instance.delete_run(run.run_id)
        if batch and _builds_whole_batch(run):
            rebuilt.add(batch)


def _builds_whole_batch(run: dg.DagsterRun) -> bool:
    """Return True if a run succeeded and made every asset itself."""
    if run.root_run_id is not None or run.status != dg.DagsterRunStatus.SUCCESS:
        return False
    if run.asset_selection:
        return {asset.key for asset in BATCH_ASSETS} <= run.asset_selection
    return run.job_name == build_batch.name


@dg.job(description="Deletes runs that ended more than 30 days ago and whose batch was built whole since.")
def purge_runs() -> None:
    """Delete old runs, which Dagster keeps forever."""
    purge_old_runs()


weekly_purge = dg.ScheduleDefinition(name="weekly_purge", job=purge_runs, cron_schedule="0 6 * * 0")
