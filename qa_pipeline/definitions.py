"""The code location: all Dagster definitions, for settings in the environment."""

import dagster as dg

from qa_pipeline.defs import automation
from qa_pipeline.defs.assets import BATCH_ASSETS, corpus, release
from qa_pipeline.defs.monitoring import alerts, monitoring_definitions
from qa_pipeline.defs.steps import versioned
from qa_pipeline.errors import SettingsError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings, load_settings


def build_definitions(settings: Settings, *, resources: Resources | None = None) -> dg.Definitions:
    """Build the code location; a step builds the models of the settings when it first needs them."""
    definitions = dg.Definitions(
        assets=[corpus, *(versioned(asset, settings) for asset in (*BATCH_ASSETS, release))],
        jobs=[automation.build_batch, automation.publish_job, automation.purge_runs],
        schedules=[automation.nightly, automation.nightly_release, automation.weekly_purge],
        sensors=[automation.corpus_sensor, *([alerts] if settings.monitoring.alerts.urls else [])],
        resources={"resources": resources or Resources(settings)},
        executor=dg.in_process_executor,  # all assets of a run share one embedding model
    )
    return dg.Definitions.merge(definitions, monitoring_definitions(settings))


@dg.definitions
def defs() -> dg.Definitions:
    """Return the definitions; settings are read on this call, not on import.

    Raises:
        DagsterInvalidDefinitionError: the settings are invalid. Dagster would wrap another error in its own.
    """
    try:
        settings = load_settings()
    except SettingsError as error:
        raise dg.DagsterInvalidDefinitionError(str(error)) from None
    return build_definitions(settings)
