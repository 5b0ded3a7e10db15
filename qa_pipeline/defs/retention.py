"""The job that deletes old runs, which Dagster itself keeps for ever."""

from datetime import UTC, datetime, timedelta

import dagster as dg

from qa_pipeline.defs.assets import BATCH_ASSETS
from qa_pipeline.defs.base import BUILD_BATCH, PARTITION

ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


class Retention(dg.Config):
    """Set how long runs are kept."""

    days: float = 30
    """Days after which a run is deleted that a later one of the same batch replaced."""


def purge(instance: dg.DagsterInstance, before: datetime) -> int:
    """Delete runs that ended before a time and whose batch was built whole since.

    The records of the others say what the present tables were made from.

    Returns:
        Runs deleted.
    """
    old = set(instance.get_run_ids(dg.RunsFilter(statuses=ENDED, updated_before=before)))
    keys = {asset.key for asset in BATCH_ASSETS}
    rebuilt: set[str] = set()
    deleted = 0
    for run in instance.get_runs(dg.RunsFilter(statuses=ENDED)):  # the latest first
        batch = run.tags.get(PARTITION)
        if batch in rebuilt and run.run_id in old:
            instance.delete_run(run.run_id)
            deleted += 1
        is_whole = run.root_run_id is None and (
            keys <= run.asset_selection if run.asset_selection else run.job_name == BUILD_BATCH
        )
        if batch and is_whole and run.status == dg.DagsterRunStatus.SUCCESS:
            rebuilt.add(batch)
    return deleted


@dg.op
def purge_old_runs(context: dg.OpExecutionContext, config: Retention) -> None:
    """Delete them and say how many."""
    deleted = purge(context.instance, datetime.now(UTC) - timedelta(days=config.days))
    context.log.info(f"{deleted} runs deleted")


@dg.job(
    description="Deletes runs that ended more than some days ago (30) and whose batch was built whole since."
)
def purge_runs() -> None:
    """Delete old runs."""
    purge_old_runs()


weekly_purge = dg.ScheduleDefinition(
    name="weekly_purge",
    job=purge_runs,
    cron_schedule="0 6 * * 0",
    description="Deletes old runs each week, so that the database of the instance stays small.",
)
