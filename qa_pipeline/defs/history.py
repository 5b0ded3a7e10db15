"""What Dagster has on record about a batch.

What belongs here: the version tags Dagster writes on every materialization, reading the latest ones, and
which runs have not ended. What does not: judging them (`currency.py`).
"""

import hashlib
import os
import socket
from collections.abc import Mapping

import dagster as dg

# Dagster's own tag names; it documents them and exports no constants for them.
DATA_VERSION = "dagster/data_version"
CODE_VERSION = "dagster/code_version"
INPUT_VERSION = "dagster/input_data_version/"
PARTITION = "dagster/partition"

HOST_TAG, PROCESS_TAG = "qa_pipeline/host", "qa_pipeline/process"
"""On a run of the command line: where it runs."""


def latest_tags(instance: dg.DagsterInstance, key: dg.AssetKey, batch: str) -> Mapping[str, str]:
    """Tags of the latest materialization of a batch; empty when there is none."""
    record = latest_record(instance, key, batch)
    event = record.asset_materialization if record else None
    return (event.tags or {}) if event else {}


def latest_record(instance: dg.DagsterInstance, key: dg.AssetKey, batch: str) -> dg.EventLogRecord | None:
    """The latest materialization of a batch."""
    wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[batch])
    return next(iter(instance.fetch_materializations(wanted, limit=1).records), None)


def as_input(version: str | None) -> str | None:
    """A data version as Dagster records it with the step made from it.

    For partitioned inputs it records a hash of the versions of all partitions read; here that is always one.
    """
    return None if version is None else hashlib.sha256(version.encode()).hexdigest()


def running_batches(instance: dg.DagsterInstance) -> set[str]:
    """Batches with a run that is queued, starting or in progress."""
    unended = dg.RunsFilter(
        statuses=[
            dg.DagsterRunStatus.QUEUED,
            dg.DagsterRunStatus.NOT_STARTED,
            dg.DagsterRunStatus.STARTING,
            dg.DagsterRunStatus.STARTED,
            dg.DagsterRunStatus.CANCELING,
        ]
    )
    return {run.tags[PARTITION] for run in instance.get_runs(unended) if PARTITION in run.tags}


def bury_dead_runs(instance: dg.DagsterInstance) -> None:
    """Mark runs as failed that a process on this machine began and did not live to end.

    Nothing else would: Dagster watches only runs it launched itself, and a run that seems in progress keeps
    the automation from ever requesting its batch again.
    """
    going = dg.RunsFilter(
        statuses=[dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED],
        tags={HOST_TAG: socket.gethostname()},
    )
    for run in instance.get_runs(going):
        if not _alive(int(run.tags[PROCESS_TAG])):
            instance.report_run_failed(run, "The process that ran it is gone.")


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
