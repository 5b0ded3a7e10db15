"""What every branch of the settings has in common.

What belongs here: the names by which settings are reached from outside, and the model of a branch. What does
not: any setting.
"""

from pydantic import BaseModel, ConfigDict

PREFIX = "QA_PIPELINE_"
FILE_NAME = "QA_PIPELINE_SETTINGS"


class Group(BaseModel):
    """A branch of the tree: frozen, and a misspelt name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
