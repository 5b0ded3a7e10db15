"""Settings of what requests runs by itself."""

from pydantic import Field

from qa_pipeline.settings.base import Group


class AutomationSettings(Group):
    """The work of a tick of `nightly` or `automation_sensor`, and when results count as overdue."""

    max_requests: int = Field(100, ge=1)
    """Runs requested in one tick; the next tick goes on."""
    batches_per_run: int = Field(10, ge=1)
    """Batches that a requested run builds one after the other in its process; with 1 each has its own."""
    max_examined: int = Field(250, ge=1)
    """New or changed batches read and examined in one tick, which begins none after 8 s."""
    overdue_hours: float | None = Field(None, ge=1, allow_inf_nan=False)
    """Hours after which the Dagster UI shows the verdicts, of any batch, and the release as overdue when none
    was made; null for never."""
