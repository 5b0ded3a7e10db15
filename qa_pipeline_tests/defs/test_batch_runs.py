"""Which batches are at work, and runs whose process is gone."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from qa_pipeline.defs.batch_runs import HOST_TAG, PROCESS_TAG, fail_orphaned_runs, running_batches

STARTED, FAILED = dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.FAILURE


@pytest.fixture
def instance(tmp_path: Path) -> dg.DagsterInstance:
    return dg.DagsterInstance.ephemeral(tempdir=str(tmp_path))


def add_run(instance: dg.DagsterInstance, batch: str, status: dg.DagsterRunStatus, **tags: str) -> str:
    """Record a run; its id."""
    run = dg.DagsterRun("build_batch", status=status, tags={"dagster/partition": batch, **tags})
    instance.add_run(run)
    return run.run_id


def test_a_batch_is_running_while_a_run_of_it_has_not_ended(instance: dg.DagsterInstance) -> None:
    add_run(instance, "b1", STARTED)
    add_run(instance, "b2", dg.DagsterRunStatus.SUCCESS)
    add_run(instance, "b3", dg.DagsterRunStatus.NOT_STARTED)
    instance.add_run(dg.DagsterRun("publish_release", status=STARTED))
    assert running_batches(instance) == {"b1", "b3"}


def test_a_run_of_the_command_line_fails_when_its_process_on_this_machine_is_gone(
    instance: dg.DagsterInstance,
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    here = {HOST_TAG: socket.gethostname(), PROCESS_TAG: str(process.pid)}
    gone = add_run(instance, "b1", STARTED, **here)
    elsewhere = add_run(instance, "b2", STARTED, **(here | {HOST_TAG: "another machine"}))
    alive = add_run(instance, "b3", STARTED, **(here | {PROCESS_TAG: str(os.getpid())}))
    fail_orphaned_runs(instance)
    statuses = {run.run_id: run.status for run in instance.get_runs()}
    assert statuses == {gone: FAILED, elsewhere: STARTED, alive: STARTED}
