"""The Dagster side of `qa-pipeline run --dagster`: the instance of DAGSTER_HOME, and outcomes in common words.

What belongs here: translating between the command line and `launch.py`. What does not: running (launch)
and printing (`console.py`).
"""

import os
from collections.abc import Sequence
from pathlib import Path

import dagster as dg

from qa_pipeline.batch import BatchOutcome, Watch
from qa_pipeline.defs.launch import BatchRun, materialize_batches
from qa_pipeline.defs.progress import StepEvent
from qa_pipeline.errors import SettingsError
from qa_pipeline.settings import Settings


def run_on_instance(settings: Settings, batches: Sequence[str], watch: Watch) -> list[BatchOutcome]:
    """Bring batches up to date as partitions of the instance at DAGSTER_HOME.

    Raises:
        SettingsError: DAGSTER_HOME does not name a folder.
    """
    home = os.environ.get("DAGSTER_HOME")
    if not home or not Path(home).is_dir():
        raise SettingsError(
            "DAGSTER_HOME must name the folder of a Dagster instance; make demo and make ui use data/dagster"
        )

    def on_step(event: StepEvent) -> None:
        if event.state == "started":
            watch(event.batch, event.step)

    with dg.DagsterInstance.get() as instance:
        return [_outcome(run) for run in materialize_batches(settings, batches, instance, on_step=on_step)]


def _outcome(run: BatchRun) -> BatchOutcome:
    error = f"step {run.failed_step}: {run.error}" if run.error else None
    gates = tuple(
        f"{'' if check.blocking else 'warning: '}{check.name}: {check.detail}" for check in run.failed_checks
    )
    return BatchOutcome(run.batch, run.outcome, error, gates)
