"""Everything the Dagster code location holds, listed in one place."""

import dagster as dg

from qa_pipeline.defs.alerts import alerts_of
from qa_pipeline.defs.base import versioned
from qa_pipeline.defs.corpus import corpus_sensor
from qa_pipeline.defs.jobs import batch_definitions, nightly
from qa_pipeline.defs.monitoring import monitoring_definitions
from qa_pipeline.defs.release import batches_left_out, nightly_release, publish_job, release, release_verifies
from qa_pipeline.defs.retention import purge_runs, weekly_purge
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings


def build_definitions(settings: Settings, *, resources: Resources | None = None) -> dg.Definitions:
    """Put a code location together.

    Args:
        settings: the whole tree; nothing here reads the environment or a file.
        resources: the embedder and models to use; tests hand in fakes. None builds those the settings name,
            when a step first needs them.
    """
    over_batches = dg.Definitions(
        assets=[versioned(release, settings)],
        asset_checks=[release_verifies, batches_left_out],
        jobs=[publish_job, purge_runs],
        schedules=[nightly, nightly_release, weekly_purge],
        sensors=[corpus_sensor, *alerts_of(settings.monitoring.alerts)],
    )
    batches = batch_definitions(resources or Resources(settings))
    return dg.Definitions.merge(batches, over_batches, monitoring_definitions(settings))
