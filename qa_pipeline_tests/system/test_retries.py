"""A run whose worker is killed is taken up again by the daemon, from the step it had reached."""

import os
import re
import signal
from pathlib import Path

import dagster as dg
import pytest

from qa_pipeline_tests.defs.project import Project
from qa_pipeline_tests.system.servers import Servers
from qa_pipeline_tests.system.test_backfill import NAMES

pytestmark = pytest.mark.slow


@pytest.mark.timeout(1800)
def test_a_killed_worker_is_replaced_and_the_run_of_a_batch_that_cannot_be_read_is_not(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path, dg.DagsterInstance.ephemeral())
    for batch in ("killed", "bad"):
        project.write(batch)
    project.write("bad", "this is no pair", file="pairs.parquet")
    servers = Servers(tmp_path)
    with servers.webserver(), servers.daemon():
        servers.wait(lambda: servers.registered() == {"killed", "bad"}, "the sensor registers both batches")
        servers.backfill(NAMES, ["bad"])
        servers.backfill(NAMES, ["killed"])
        with dg.DagsterInstance.from_config(str(servers.home)) as instance:
            servers.wait(lambda: worker_of(instance, "killed") is not None, "a worker starts")
            os.kill(worker_of(instance, "killed") or 0, signal.SIGKILL)
            servers.wait(
                lambda: servers.runs()["killed"] == ["SUCCESS", "FAILURE"], "another worker ends the run"
            )
        servers.wait(lambda: servers.runs()["bad"] == ["FAILURE"], "the other run fails, and once")


def worker_of(instance: dg.DagsterInstance, batch: str) -> int | None:
    """Return the process of the run of a batch, once it has begun its first step."""
    begun = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED], tags={"dagster/partition": batch})
    for run in instance.get_runs(begun):
        messages = " ".join(entry.user_message or "" for entry in instance.all_logs(run.run_id))
        if process := re.search(r"pid: (\d+)", messages):
            return int(process[1])
    return None
