"""Everything the Dagster code location holds, listed in one place."""

import dagster as dg

from qa_pipeline.defs.alerts import alerts_sensor
from qa_pipeline.defs.assets import build_assets
from qa_pipeline.defs.automation import automation_sensor
from qa_pipeline.defs.corpus import corpus, corpus_sensor
from qa_pipeline.defs.launch import build_batches
from qa_pipeline.defs.monitoring import monitoring_definitions
from qa_pipeline.defs.release import build_release, nightly_release, publish_job, release_checks
from qa_pipeline.defs.retention import purge_runs, weekly_purge
from qa_pipeline.defs.schedules import build_batch, nightly_schedule, provider_jobs_sensor
from qa_pipeline.defs.staleness import steps_of
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.running import StageObserver, no_observer
from qa_pipeline.settings.tree import Settings


def build_definitions(
    settings: Settings, *, resources: Resources | None = None, watch: StageObserver = no_observer
) -> dg.Definitions:
    """Put a code location together.

    Args:
        settings: the whole tree; nothing here reads the environment or a file.
        resources: the embedder and models to use; tests hand in fakes. None builds those the settings name,
            when a step first needs them.
        watch: called for every stage that starts.
    """
    resources = resources or Resources(settings)
    assets = build_assets(settings)
    steps = steps_of(assets)
    project_definitions = dg.Definitions(
        assets=[corpus, *assets, build_release(settings)],
        asset_checks=release_checks,
        jobs=[build_batch, build_batches, publish_job, purge_runs],
        schedules=[nightly_schedule(steps), nightly_release, weekly_purge],
        sensors=[
            corpus_sensor,
            automation_sensor(steps),
            provider_jobs_sensor(settings),
            alerts_sensor(settings.monitoring.alerts),
        ],
        resources={
            "resources": resources,
            "watch": dg.ResourceDefinition.hardcoded_resource(watch),
        },
        # All steps of a run share a process, and with it one import of sentence-transformers (8 to 14 s)
        # and one embedding model in memory. Runs are what goes on in parallel.
        executor=dg.in_process_executor,
    )
    return dg.Definitions.merge(project_definitions, monitoring_definitions(settings))
