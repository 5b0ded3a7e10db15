"""What run monitoring is told of a run: whether the code server that started it still has its process."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher.base import WorkerStatus
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import serialize_value

from qa_pipeline.defs.batch_runs import BUILT_BY_TAG, HOST_TAG
from qa_pipeline.defs.run_launcher import WatchedRunLauncher

RUN = dg.DagsterRun(job_name="build_batch", run_id="r1")


class CodeServer:
    """What a code server answers; None where it does not."""

    def __init__(self, runs: set[str] | None) -> None:
        self.runs = runs

    def can_cancel_execution(self, request: CanCancelExecutionRequest) -> str:
        if self.runs is None:
            raise DagsterUserCodeUnreachableError("no route")
        return serialize_value(CanCancelExecutionResult(can_cancel=request.run_id in self.runs))


def status(monkeypatch: pytest.MonkeyPatch, server: CodeServer | None) -> WorkerStatus:
    launcher = WatchedRunLauncher()

    def client_of(run_id: str) -> Any:
        assert run_id == RUN.run_id
        return server

    monkeypatch.setattr(launcher, "_get_grpc_client_for_termination", client_of)
    assert launcher.supports_check_run_worker_health
    return launcher.check_run_worker_health(RUN).status


def test_a_run_whose_process_the_server_has_is_running(monkeypatch: pytest.MonkeyPatch) -> None:
    assert status(monkeypatch, CodeServer({"r1", "r2"})) == WorkerStatus.RUNNING


def test_a_run_that_the_server_does_not_know_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert status(monkeypatch, CodeServer({"r2"})) == WorkerStatus.FAILED


def test_a_run_is_waited_for_while_no_server_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert status(monkeypatch, CodeServer(None)) == WorkerStatus.RUNNING


def test_a_run_that_no_server_started_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert status(monkeypatch, None) == WorkerStatus.FAILED


def health(instance: dg.DagsterInstance, run: dg.DagsterRun) -> WorkerStatus:
    """What monitoring is told where the launcher itself finds no worker."""
    watched = WatchedRunLauncher()
    watched.register_instance(instance)
    return watched.check_run_worker_health(run).status


def test_a_run_of_a_batch_is_alive_with_the_run_that_builds_it_and_one_of_the_command_line_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = dg.DagsterInstance.ephemeral(tempdir=str(tmp_path))
    monkeypatch.setattr(
        WatchedRunLauncher, "_get_grpc_client_for_termination", lambda _, run_id: CodeServer({"alive"})
    )
    for run_id, state in (("alive", dg.DagsterRunStatus.STARTED), ("gone", dg.DagsterRunStatus.FAILURE)):
        instance.add_run(dg.DagsterRun("build_batches", run_id=run_id, status=state))
    expected = {"alive": WorkerStatus.RUNNING, "gone": WorkerStatus.FAILED, "purged": WorkerStatus.FAILED}
    for builder, worker in expected.items():
        tags = {BUILT_BY_TAG: builder, HOST_TAG: "elsewhere"}
        assert health(instance, dg.DagsterRun("build_batch", run_id="r1", tags=tags)) == worker
    typed = dg.DagsterRun("build_batch", run_id="r1", tags={HOST_TAG: "elsewhere"})
    assert health(instance, typed) == WorkerStatus.RUNNING
