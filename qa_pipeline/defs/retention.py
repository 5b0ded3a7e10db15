"""The job that deletes old runs, which Dagster itself keeps for ever."""

from datetime import UTC, datetime, timedelta

import dagster as dg

from qa_pipeline.defs.base import latest_ids, parts_of

ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


class Retention(dg.Config):
    """Set how long runs are kept."""

    days: float = 30
    """Days after which a run that has ended is deleted, unless it made a table of today."""


def purge(instance: dg.DagsterInstance, before: datetime) -> int:
    """Delete runs that ended before a time, but for those that made what is now the latest of a batch.

    The versions they recorded say which batch is due: without them it would count as never built.

    Returns:
        Runs deleted.
    """
    holders = set()
    for key in instance.all_asset_keys():
        last = instance.get_latest_materialization_event(key)
        holders |= {last.run_id} if last else set()
        for part in parts_of(list(latest_ids(instance, key).values())):
            numbered = dg.AssetRecordsFilter(key, storage_ids=part)
            records = instance.fetch_materializations(numbered, limit=len(part)).records
            holders |= {record.run_id for record in records}
    old = set(instance.get_run_ids(dg.RunsFilter(statuses=ENDED, updated_before=before))) - holders
    for run_id in old:
        instance.delete_run(run_id)
        instance.compute_log_manager.delete_logs(prefix=[run_id])
    return len(old)


@dg.op
def purge_old_runs(context: dg.OpExecutionContext, config: Retention) -> None:
    """Delete them and say how many."""
    deleted = purge(context.instance, datetime.now(UTC) - timedelta(days=config.days))
    context.log.info(f"{deleted} runs deleted")


@dg.job(
    description="Deletes runs that ended more than some days ago (30), but for those that made what is now "
    "the latest of each batch."
)
def purge_runs() -> None:
    """Delete old runs."""
    purge_old_runs()


weekly_purge = dg.ScheduleDefinition(
    name="weekly_purge",
    job=purge_runs,
    cron_schedule="0 6 * * 0",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Deletes old runs each week, so that the database of the instance stays small.",
)
