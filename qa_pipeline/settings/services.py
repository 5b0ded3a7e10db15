"""Settings of the review app, and of monitoring a RAG system in production."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr

from qa_pipeline.settings.base import Group

ERRORS = "errors"
"""Name of the share of failed requests in alerts, next to the metrics."""


class AlertSettings(Group):
    """Limits of metrics for alerts."""

    below: dict[str, float] = Field({"faithfulness": 0.85, "grounding": 0.80, "context_precision": 0.5})
    """Lower limits of means, by metric."""
    above: dict[str, float] = Field({ERRORS: 0.05})
    """Upper limits of means, by metric; errors is the share of failed requests."""
    urls: tuple[SecretStr, ...] = ()
    """Apprise addresses for messages of the sensor `alerts`, such as mailto://user:password@host or
    slack://tokens; needs the alerts extra."""


class MonitoringSettings(Group):
    """Monitoring answers in production."""

    logs: Path | None = None
    """Folder of logs that an Observer writes and the asset production_quality reads."""
    spans: bool = False
    """Emit an OpenTelemetry span for each stage of a batch; needs the otel extra and a configured SDK."""
    alerts: AlertSettings = AlertSettings()


def _address_of_a_server(address: str) -> str:
    """Return an address without a trailing slash; a path is refused, since it would break the app's links."""
    parts = urlsplit(address)
    has_path = address.rstrip("/").count("/") != 2
    if parts.scheme not in ("http", "https") or not parts.hostname or has_path:
        raise ValueError("write only scheme and host, such as https://review.example.org")
    return address.rstrip("/")


class ReviewSettings(Group):
    """Address and users of the review app."""

    url: Annotated[str, AfterValidator(_address_of_a_server)] | None = None
    """Address of the app for its users, such as https://review.example.org; requests to its host are
    accepted. With https the cookie is sent over TLS only."""
    user_header: str | None = Field(None, pattern="^[A-Za-z0-9-]+$")
    """Header with the user, such as X-Forwarded-User, which replaces the token. Only the proxy may reach the
    server, and it must overwrite the header."""
