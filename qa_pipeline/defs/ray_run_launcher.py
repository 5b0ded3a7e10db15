"""The launcher of runs as jobs of a Ray cluster; apart, since it needs the extra `ray`."""

import dagster as dg
from dagster._core.launcher.base import CheckRunHealthResult
from dagster_ray import RayRunLauncher

from qa_pipeline.defs.run_launcher import health_of


class WatchedRayRunLauncher(RayRunLauncher):
    """Launch runs as dagster-ray does, and leave runs of batches alone that one of its jobs makes.

    dagster-ray (0.4.8) finds no job of these, which run monitoring takes for a lost worker.
    """

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Return whether the job that a run goes on in is there."""
        return health_of(run, self._run, super().check_run_worker_health)

    def _run(self, run_id: str) -> dg.DagsterRun | None:
        return self._instance.get_run_by_id(run_id)
