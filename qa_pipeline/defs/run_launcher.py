"""Tell run monitoring of runs whose code server ended, and of those that no launcher launched."""

from collections.abc import Callable

import dagster as dg
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher.base import CheckRunHealthResult, WorkerStatus
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import deserialize_value

from qa_pipeline.defs.batch_runs import BUILT_BY_TAG, HOST_TAG


def health_of(
    run: dg.DagsterRun,
    run_of: Callable[[str], dg.DagsterRun | None],
    check: Callable[[dg.DagsterRun], CheckRunHealthResult],
) -> CheckRunHealthResult:
    """Return whether the process of a run is there, also of one that no launcher launched.

    A launcher finds no worker of such a run, and monitoring would mark it as failed while it goes on. That of
    a batch which `build_batches` builds lives in the process of that run. That of the command line cannot be
    looked at from here; `fail_orphaned_runs` does so on its machine.

    Args:
        run: a run in progress.
        run_of: the run of an id.
        check: the launcher's own check of a run that it launched.
    """
    if BUILT_BY_TAG in run.tags:
        builder = run_of(run.tags[BUILT_BY_TAG])
        if builder is None or builder.is_finished:
            return CheckRunHealthResult(WorkerStatus.FAILED, "The run that built this batch has ended.")
        return check(builder)
    if HOST_TAG in run.tags:
        return CheckRunHealthResult(WorkerStatus.RUNNING)
    return check(run)


class WatchedRunLauncher(dg.DefaultRunLauncher):
    """Launch runs as processes of the code server, and tell run monitoring which of them are gone.

    Dagster's own (1.13.27) tells it nothing: runs of a code server that was killed or deployed anew stay in
    progress for ever, and with them their batches, which never run twice at a time.
    """

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Return true: that is what this class adds."""
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Return whether the process of a run is there."""
        return health_of(run, self._run, self._worker_health)

    def _run(self, run_id: str) -> dg.DagsterRun | None:
        return self._instance.get_run_by_id(run_id)

    def _worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Return whether the server that started a run still has its process.

        A server that does not answer may be about to: its runs are taken for alive until one answers in its
        place. Without a server no run could be started anew anyway.
        """
        client = self._get_grpc_client_for_termination(run.run_id)  # type: ignore[no-untyped-call]
        if client is None:
            return CheckRunHealthResult(WorkerStatus.FAILED, "It was started by no server.")
        try:
            answer = client.can_cancel_execution(CanCancelExecutionRequest(run_id=run.run_id))
        except DagsterUserCodeUnreachableError as error:
            return CheckRunHealthResult(WorkerStatus.RUNNING, f"The code server does not answer: {error}")
        if deserialize_value(answer, CanCancelExecutionResult).can_cancel:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, "The code server has ended since it started it.")
