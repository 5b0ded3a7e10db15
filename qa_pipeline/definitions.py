"""The entry point that Dagster loads, built from the settings in the environment."""

import dagster as dg

from qa_pipeline.defs.location import build_definitions
from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.tree import load_settings


@dg.definitions
def defs() -> dg.Definitions:
    """Return the Dagster definitions; settings are read on this call, not on import.

    Raises:
        DagsterInvalidDefinitionError: the settings are invalid. Dagster wraps other errors in its own message
            and traceback, so that the UI shows the cause last.
    """
    try:
        settings = load_settings()
    except SettingsError as error:
        raise dg.DagsterInvalidDefinitionError(str(error)) from None
    return build_definitions(settings)
