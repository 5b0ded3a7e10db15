"""The launcher of runs where the code location is a gRPC server: it notices when that server has ended."""

import dagster as dg
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher.base import CheckRunHealthResult, WorkerStatus
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import deserialize_value


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
