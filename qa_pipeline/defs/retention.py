"""The job that deletes old runs and events, which Dagster itself keeps for ever."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import dagster as dg
import sqlalchemy as sa
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]

HOLDERS = sa.text("""
    SELECT DISTINCT run_id FROM event_logs WHERE id IN (
        SELECT max(id) FROM event_logs
        WHERE dagster_event_type IN ('ASSET_MATERIALIZATION', 'ASSET_OBSERVATION')
        GROUP BY asset_key, partition, dagster_event_type)""")
"""Runs that made what is now the latest of an asset and batch. Its versions say whether the batch is due:
without them it would count as never built."""

KEPT_TYPES = (
    "ASSET_MATERIALIZATION", "ASSET_OBSERVATION", "ASSET_MATERIALIZATION_PLANNED",
    "PIPELINE_START", "PIPELINE_SUCCESS", "PIPELINE_FAILURE", "PIPELINE_CANCELED",
)  # fmt: skip
"""Events of an old run that holds a latest one: 15 % of the bytes. The rest tells how its steps went."""

PROGRESS = sa.text(
    "DELETE FROM event_logs WHERE run_id = :run AND coalesce(dagster_event_type, '') NOT IN :kept"
).bindparams(sa.bindparam("kept", KEPT_TYPES, expanding=True))

OLD_CHECKS = sa.text("""
    DELETE FROM asset_check_executions WHERE run_id = :run AND EXISTS (
        SELECT 1 FROM asset_check_executions AS newer
        WHERE newer.asset_key = asset_check_executions.asset_key
        AND newer.check_name = asset_check_executions.check_name
        AND coalesce(newer.partition, '') = coalesce(asset_check_executions.partition, '')
        AND newer.id > asset_check_executions.id)""")
"""Results of checks that a later run has replaced."""


class Retention(dg.Config):
    """Set how long runs are kept."""

    days: float = 30
    """Days after which a run that has ended is deleted. One that made a table of today loses the
    events of its steps instead."""


def purge(instance: dg.DagsterInstance, before: datetime) -> tuple[int, int]:
    """Delete runs that ended before a time, and the events of those that must stay.

    The statements name tables of Dagster 1.13, which the requirements pin to its minor version; Postgres and
    SQLite both take them.

    Returns:
        Runs deleted, and runs that stay without the events of their steps.
    """
    events = cast("SqlEventLogStorage", instance.event_log_storage)  # Dagster has no others
    ended = dg.RunsFilter(statuses=ENDED, updated_before=before)
    with events.index_connection() as index:
        holders = {run_id for (run_id,) in index.execute(HOLDERS)}
    deleted = shortened = 0
    for run_id in instance.get_run_ids(ended):
        if run_id in holders:
            with events.run_connection(run_id) as run_events:
                shortened += bool(run_events.execute(PROGRESS, {"run": run_id}).rowcount)
        else:
            instance.delete_run(run_id)
            deleted += 1
        with events.index_connection() as index:
            index.execute(OLD_CHECKS, {"run": run_id})
        instance.compute_log_manager.delete_logs(prefix=[run_id])
        if isinstance(events, SqliteEventLogStorage):
            _shrink(events, run_id, is_deleted=run_id not in holders)
    return deleted, shortened


def _shrink(events: SqliteEventLogStorage, run_id: str, *, is_deleted: bool) -> None:
    """Give the space of deleted events back: SQLite keeps it, in a file a run."""
    if is_deleted:
        Path(events.path_for_shard(run_id)).unlink(missing_ok=True)
        return
    with events.run_connection(run_id) as run_events:
        run_events.execute(sa.text("VACUUM"))


@dg.op
def purge_old_runs(context: dg.OpExecutionContext, config: Retention) -> None:
    """Delete them and say how many."""
    deleted, shortened = purge(context.instance, datetime.now(UTC) - timedelta(days=config.days))
    context.log.info(f"{deleted} runs deleted; {shortened} stay, without the events of their steps")


@dg.job(
    description="Deletes runs that ended more than some days ago (30), but for the versions of what is "
    "now the latest of each batch."
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
