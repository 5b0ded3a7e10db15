"""The runs that build batches: which go on, and those whose process is gone."""

import os
import socket

import dagster as dg

from qa_pipeline.defs.base import PARTITION

BUILD_BATCH = "build_batch"
REASON_TAG = "qa_pipeline/reason"
NIGHT_TAG = "qa_pipeline/night"
"""On a run that the schedule `nightly` requested: the date of the night."""
HOST_TAG, PROCESS_TAG = "qa_pipeline/host", "qa_pipeline/process"
"""On a run of the command line: where it runs."""
NOT_RETRIED = {"dagster/max_retries": "0"}
"""On a run that the daemon could not launch again."""
NIGHT_PRIORITY = {"dagster/priority": "-10"}
"""On a run that nobody waits for: those that people launch, at 0, leave the queue first."""
MOST_REQUESTS = 100
"""Runs requested in one tick; the next tick goes on."""

_UNENDED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def running_runs(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """Return the runs that are queued, starting or in progress."""
    return list(instance.get_runs(dg.RunsFilter(statuses=_UNENDED)))


def running_batches(instance: dg.DagsterInstance) -> set[str]:
    """Return the batches with a run that is queued, starting or in progress."""
    return {run.tags[PARTITION] for run in running_runs(instance) if PARTITION in run.tags}


def fail_orphaned_runs(instance: dg.DagsterInstance) -> None:
    """Mark runs of the command line as failed whose process on this machine is gone.

    Dagster watches only runs it launched itself, and a run that seems in progress keeps its batch from ever
    being requested again.
    """
    for run in running_runs(instance):
        if run.tags.get(HOST_TAG) == socket.gethostname() and not _alive(int(run.tags[PROCESS_TAG])):
            instance.report_run_failed(run, "The process that ran it is gone.")


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
