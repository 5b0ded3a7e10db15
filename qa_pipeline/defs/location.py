"""Everything the Dagster code location holds, listed in one place."""

import dagster as dg

from qa_pipeline.defs.alerts import alerts_sensor
from qa_pipeline.defs.assets import build_assets
from qa_pipeline.defs.automation import automation_sensor
from qa_pipeline.defs.corpus import corpus_sensor
from qa_pipeline.defs.launch import batch_definitions
from qa_pipeline.defs.monitoring import monitoring_definitions
from qa_pipeline.defs.release import build_release, nightly_release, publish_job, release_checks
from qa_pipeline.defs.retention import purge_runs, weekly_purge
from qa_pipeline.defs.schedules import nightly_schedule
from qa_pipeline.defs.staleness import steps_of
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings


def build_definitions(settings: Settings, *, resources: Resources | None = None) -> dg.Definitions:
    """Put a code location together.

    Args:
        settings: the whole tree; nothing here reads the environment or a file.
        resources: the embedder and models to use; tests hand in fakes. None builds those the settings name,
            when a step first needs them.
    """
    resources = resources or Resources(settings)
    steps = steps_of(build_assets(settings))
    over_batches = dg.Definitions(
        assets=[build_release(settings)],
        asset_checks=release_checks,
        jobs=[publish_job, purge_runs],
        schedules=[nightly_schedule(steps), nightly_release, weekly_purge],
        sensors=[
            corpus_sensor,
            automation_sensor(steps),
            alerts_sensor(settings.monitoring.alerts),
        ],
    )
    return dg.Definitions.merge(batch_definitions(resources), over_batches, monitoring_definitions(settings))
