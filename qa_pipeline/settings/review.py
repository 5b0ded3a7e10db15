"""Settings of the web app in which people look at pairs and decide."""

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
    """Address and users of the review app."""

    url: Annotated[str, AfterValidator(_address_of_a_server)] | None = None
    """Address at which people open it, such as https://review.example.org: links of the Dagster UI lead
    there, requests to its host are answered, and with https the cookie is sent over TLS only."""
    user_header: str | None = Field(None, pattern="^[A-Za-z0-9-]+$")
    """Header in which a proxy names who is signed in, such as X-Forwarded-User, in place of the token.
    Let nothing but the proxy reach the server, and let it overwrite the header."""
