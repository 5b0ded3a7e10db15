"""Build the Dagster code location from all definitions."""

import dagster as dg

from qa_pipeline.defs.assets import BATCH_ASSETS, corpus
from qa_pipeline.defs.base import versioned
from qa_pipeline.defs.corpus import corpus_sensor
from qa_pipeline.defs.jobs import build_batch, nightly, purge_runs, weekly_purge
from qa_pipeline.defs.monitoring import alerts, monitoring_definitions
from qa_pipeline.defs.release import nightly_release, publish_job, release, release_verifies
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings


def build_definitions(settings: Settings, *, resources: Resources | None = None) -> dg.Definitions:
    """Build the code location, without reading the environment or files.

    By default a step builds the models of the settings when it first needs them.
    """
    definitions = dg.Definitions(
        assets=[corpus, *(versioned(asset, settings) for asset in (*BATCH_ASSETS, release))],
        asset_checks=[release_verifies],
        jobs=[build_batch, publish_job, purge_runs],
        schedules=[nightly, nightly_release, weekly_purge],
        sensors=[corpus_sensor, *([alerts] if settings.monitoring.alerts.urls else [])],
        resources={"resources": resources or Resources(settings)},
        executor=dg.in_process_executor,
    )
    return dg.Definitions.merge(definitions, monitoring_definitions(settings))
