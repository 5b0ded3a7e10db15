"""The job of a batch, the schedule that goes on with unfinished ones, and the definitions of both."""

import dagster as dg

from qa_pipeline.curation.withdrawals import withdrawn_batches
from qa_pipeline.defs.assets import BATCH_ASSETS, corpus
from qa_pipeline.defs.base import BUILD_BATCH, PARTITIONS_NAME, ResourcesParam, document_batches, versioned
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.storage.tables import TRAINING_EXAMPLES

NIGHT_PRIORITY = {"dagster/priority": "-10"}
"""Below 0, the priority of runs that people launch, so that these leave the queue first."""


build_batch = dg.define_asset_job(
    BUILD_BATCH,
    selection=dg.AssetSelection.assets(*BATCH_ASSETS),
    description="Builds everything of one batch, from its files to its training examples.",
    # One process, with one embedding model in memory, makes all assets of a run.
    # `execution: {config: {multiprocess: {}}}` in the Launchpad gives each asset a process.
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
    """Request a run of each missing or failed batch."""
    batches = context.instance.get_dynamic_partitions(PARTITIONS_NAME)
    examples = dg.AssetKey(TRAINING_EXAMPLES.name)
    status = context.instance.get_status_by_partition(examples, batches, document_batches) or {}
    stones = withdrawn_batches(resources.layout)
    blocked = {name for name, stone in stones.items() if stone.reason == "gate_failed"}
    night = context.scheduled_execution_time.date().isoformat()
    unfinished = (None, dg.AssetPartitionStatus.FAILED)
    due = [batch for batch in batches if status.get(batch) in unfinished and batch not in blocked]
    if not due:
        nothing = f"of {len(batches)} batches none is missing or failed"
        return dg.SkipReason(f"{nothing}; {len(blocked)} are blocked by a gate")
    return [
        dg.RunRequest(partition_key=batch, run_key=f"{batch} {night}", tags=NIGHT_PRIORITY) for batch in due
    ]


def batch_definitions(resources: Resources) -> dg.Definitions:
    """Return the assets of a batch, their job, and the settings and models that they use."""
    return dg.Definitions(
        assets=[corpus, *(versioned(asset, resources.settings) for asset in BATCH_ASSETS)],
        jobs=[build_batch],
        resources={"resources": resources},
        executor=dg.in_process_executor,
    )
