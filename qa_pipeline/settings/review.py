"""Settings of the review app."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from qa_pipeline.settings.base import Group


def _address_of_a_server(address: str) -> str:
    """Return an address without a trailing slash; a path is refused, since it would break the app's links."""
    parts = urlsplit(address)
    has_path = address.rstrip("/").count("/") != 2
    if parts.scheme not in ("http", "https") or not parts.hostname or has_path:
        raise ValueError("write scheme and host alone, such as https://review.example.org")
    return address.rstrip("/")


class ReviewSettings(Group):
    """Address and users of the review app."""

    url: Annotated[str, AfterValidator(_address_of_a_server)] | None = None
    """Address of the app for its users, such as https://review.example.org; requests to its host are
    accepted. With https the cookie is sent over TLS only."""
    user_header: str | None = Field(None, pattern="^[A-Za-z0-9-]+$")
    """Header with the user, such as X-Forwarded-User, which replaces the token. Only the proxy may reach the
    server, and it must overwrite the header."""
