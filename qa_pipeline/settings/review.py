"""Settings of the web app in which people look at pairs and decide."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from qa_pipeline.settings.base import Group


def _address_of_a_server(address: str) -> str:
    """Return an address without a slash at its end; one with a path would lead past the pages of the app."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or address.rstrip("/").count("/") != 2:
        raise ValueError("write scheme and host alone, such as https://review.example.org")
    return address.rstrip("/")


class ReviewSettings(Group):
    """Address and limits of the review app."""

    url: Annotated[str, AfterValidator(_address_of_a_server)] | None = None
    """Address at which people open it, such as https://review.example.org: links of the Dagster UI lead
    there, requests to its host are answered, and with https the session is sent over TLS only."""
    session_hours: float = Field(12, gt=0, le=720)
    """Hours after which a person signs in again."""
    max_upload_bytes: int = Field(50_000_000, gt=0)
    """Size of the largest upload that is read."""
    overlap: float = Field(0, ge=0, le=1)
    """Share of the waiting pairs that two people of `--users` rate, each without seeing the other's verdict.
    None by default: such a pair waits until both have come, which a team decides for itself."""
    gold: Path | None = None
    """File of pairs whose right verdict is known (id, annotator, rating: accepted or rejected). They wait for
    each person of `--users`, and decide nothing."""
