"""Settings of what requests runs by itself."""

from pydantic import Field

from qa_pipeline.settings.base import Group


class AutomationSettings(Group):
    """The amount of work of a tick of the schedule `nightly` or of `automation_sensor`; the next goes on."""

    max_requests: int = Field(100, ge=1)
    """Runs requested in one tick."""
    batches_per_run: int = Field(10, ge=1)
    """Batches that a requested run builds one after the other in its process; with 1 each has its own."""
    max_examined: int = Field(250, ge=1)
    """New or changed batches read and examined in one tick, which begins none after 8 s."""
