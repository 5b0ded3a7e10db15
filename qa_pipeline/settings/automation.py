"""Settings of what requests runs by itself."""

from pydantic import Field

from qa_pipeline.settings.base import Group


class AutomationSettings(Group):
    """The amount of work of one tick of the schedule `nightly`; the next tick goes on from there."""

    max_requests: int = Field(100, ge=1)
    """Runs requested in one tick."""
    max_examined: int = Field(250, ge=1)
    """New or changed batches read and examined in one tick; Dagster ends a tick after 60 s."""
