"""What Dagster loads: the code location that the settings of the environment describe."""

import dagster as dg

from qa_pipeline.defs.location import build_definitions
from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.tree import load_settings


@dg.definitions
def defs() -> dg.Definitions:
    """Return what Dagster loads, from the environment's settings, which are read only now.

    Raises:
        DagsterInvalidDefinitionError: the settings cannot be used. Dagster puts any other error below its own
            message and trace, where the UI's dialog shows it last.
    """
    try:
        settings = load_settings()
    except SettingsError as error:
        raise dg.DagsterInvalidDefinitionError(str(error)) from None
    return build_definitions(settings)
