"""Settings of watching a RAG system in production: its logs, what is sampled, alerts and drift."""

from datetime import date
from pathlib import Path

from pydantic import Field, SecretStr, model_validator

from qa_pipeline.settings.base import Group

ERRORS = "errors"
"""The share of requests that failed, as alerts name it beside the metrics."""


class AlertSettings(Group):
    """The limits beyond which a figure of production is too bad to wait."""

    below: dict[str, float] = Field({"faithfulness": 0.85, "grounding": 0.80, "context_precision": 0.5})
    """Means that are too low, by metric."""
    above: dict[str, float] = Field({ERRORS: 0.05})
    """Means that are too high, by metric; errors is the share of requests that failed."""
    hourly: tuple[str, ...] = ("grounding",)
    """Metrics that are tested hour by hour (UTC) and not day by day."""
    urls: tuple[SecretStr, ...] = ()
    """Addresses that the sensor `alerts` sends messages to, as Apprise reads them, such as
    mailto://user:password@host or slack://tokens; needs the alerts extra. None: no messages."""

    @model_validator(mode="after")
    def _hours_of_known_limits(self) -> "AlertSettings":
        unknown = set(self.hourly) - {*self.below, *self.above}
        if unknown:
            raise ValueError(f"hourly names {', '.join(sorted(unknown))}, which have no limit below or above")
        return self


class MonitoringSettings(Group):
    """Watching answers in production."""

    logs: Path | None = None
    """Folder of logs that an Observer writes to and the asset production_quality reads."""
    share: float = Field(0.05, ge=0, le=1)
    """Share of requests that an Observer keeps, chosen by hash of their id."""
    metrics: tuple[str, ...] = Field(
        ("faithfulness", "grounding", "hallucination", "context_precision", "answer_relevance"), min_length=1
    )
    """Metrics of eval run that each logged answer is scored by, without a model."""
    first_day: date = date(2026, 1, 1)
    """First daily partition of production_quality (UTC)."""
    spans: bool = False
    """Emit an OpenTelemetry span for each stage of a batch; needs the otel extra and a configured SDK."""
    alerts: AlertSettings = AlertSettings()
