"""The Dagster side of `qa-pipeline run --dagster`: the instance at DAGSTER_HOME.

What belongs here: finding the instance. What does not: running (`launch.py`) and printing (`console.py`).
"""

import os
from collections.abc import Sequence
from pathlib import Path

import dagster as dg

from qa_pipeline.batch import BatchOutcome, Watch
from qa_pipeline.defs.launch import materialize_batches
from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.tree import Settings


def run_on_instance(settings: Settings, batches: Sequence[str], watch: Watch) -> list[BatchOutcome]:
    """Bring batches up to date as partitions of the instance at DAGSTER_HOME.

    Raises:
        SettingsError: DAGSTER_HOME does not name a folder.
        PermanentModelError: the model can answer no further request; what was answered is stored.
    """
    home = os.environ.get("DAGSTER_HOME")
    if not home or not Path(home).is_dir():
        raise SettingsError(
            "DAGSTER_HOME must name the folder of a Dagster instance; make demo and make ui use data/dagster"
        )
    with dg.DagsterInstance.get() as instance:
        return materialize_batches(settings, batches, instance, watch)
