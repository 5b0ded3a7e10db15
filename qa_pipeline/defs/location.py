"""Everything the Dagster code location holds, listed in one place."""

from pathlib import Path

import dagster as dg
from upath import UPath

from qa_pipeline.defs.alerts import alerts_sensor
from qa_pipeline.defs.assets import build_assets
from qa_pipeline.defs.automation import automation_sensor
from qa_pipeline.defs.checks import build_checks
from qa_pipeline.defs.corpus import corpus, corpus_sensor
from qa_pipeline.defs.io_managers import ParquetTables, Shards
from qa_pipeline.defs.monitoring import monitoring_definitions
from qa_pipeline.defs.release import build_release, nightly_release, publish_job, release_checks
from qa_pipeline.defs.retention import purge_runs, weekly_purge
from qa_pipeline.defs.schedules import build_batch, nightly_schedule, provider_jobs_sensor
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
    assets = build_assets(settings)
    # one on an object store is such a path already, and holds its store
    out = UPath(settings.out) if isinstance(settings.out, Path) else settings.out
    tables = ParquetTables(out / "tables")
    steps = steps_of(assets)
    project_definitions = dg.Definitions(
        assets=[corpus, *assets, build_release(settings)],
        asset_checks=[*build_checks(settings), *release_checks],
        jobs=[build_batch, publish_job, purge_runs],
        schedules=[nightly_schedule(steps), nightly_release, weekly_purge],
        sensors=[
            corpus_sensor,
            automation_sensor(steps),
            provider_jobs_sensor(settings),
            alerts_sensor(settings.monitoring.alerts),
        ],
        resources={
            "resources": resources,
            "tables": dg.ResourceDefinition.hardcoded_resource(tables),
            "io_manager": tables,
            "shards": Shards(out / "indexes", resources),
        },
        # All steps of a run share a process, and with it one import of sentence-transformers (8 to 14 s)
        # and one embedding model in memory. Runs are what goes on in parallel.
        executor=dg.in_process_executor,
    )
    return dg.Definitions.merge(project_definitions, monitoring_definitions(settings))
