"""Shared parts of the review app: who sent a request, checked forms, and templates."""

import functools
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from qa_pipeline.review.asking import Asking
from qa_pipeline.review.queue import Queue
from qa_pipeline.review.source import PageFiles
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.text.rendering import render_html, shorten

_TOKEN_BYTES = 32
"""As many as the secrets module takes to be safe from guessing."""


class Access:
    """Grant access by token, or to users that a proxy names. A restart signs everybody out.

    Scripts cannot read the cookie, and other sites cannot send it. Forms carry a token of their own, because
    a cookie does not prove that its owner sent the form. `who` is the name on decisions without a proxy. With
    `user_header`, the header in which a proxy names the user, the token does not work.
    """

    def __init__(self, who: str, user_header: str | None = None) -> None:
        self._who = who
        self.user_header = user_header
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self.cookie = secrets.token_urlsafe(_TOKEN_BYTES)
        self._key = secrets.token_bytes(_TOKEN_BYTES)

    def accepts(self, token: str) -> bool:
        """Return True if this is the token of the server."""
        return self.user_header is None and hmac.compare_digest(token.encode(), self.token.encode())

    def who_sent(self, request: Request) -> str | None:
        """Return the name of the user, if signed in."""
        if self.user_header is not None:
            return shorten(request.headers.get(self.user_header, "")) or None
        cookie = request.cookies.get(cookie_name(request), "")
        return self._who if hmac.compare_digest(cookie.encode(), self.cookie.encode()) else None

    def form_token(self, who: str) -> str:
        """Return the token for the forms of a user."""
        return hmac.digest(self._key, who.encode(), "sha256").hex()


@dataclass(frozen=True)
class ReviewApp:
    """Hold the objects that pages share."""

    layout: Layout
    access: Access
    queue: Queue
    tables: StoredTables
    settings: Settings
    files: PageFiles
    asking: Asking


def review_of(request: Request) -> ReviewApp:
    """Return the objects that pages share."""
    app: ReviewApp = request.app.state.review
    return app


def cookie_name(request: Request) -> str:
    """Return the name of the cookie, with the port: browsers share cookies between ports of a host."""
    return f"qa_pipeline_review_{request.scope['server'][1]}"


def who_of(request: Request) -> str:
    """Return the name of the signed-in user, or an empty string."""
    return review_of(request).access.who_sent(request) or ""


def form_token(request: Request) -> str:
    """Return the token for the forms of the signed-in user."""
    return review_of(request).access.form_token(who_of(request))


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a page, or a part of it for the script."""
    values |= {"who": who_of(request), "form_token": form_token(request), "request_path": request.url.path}
    return HTMLResponse(render_html(f"review/templates/{template}", **values), status)


def message(request: Request, status: int, title: str, text: str) -> HTMLResponse:
    """Render a page with one message."""
    return page(request, "message.html.j2", status=status, title=title, text=text)


Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a form. Its name is untrusted."""

    name: str
    content: bytes


def posted(handler: Callable[[Request, Mapping[str, str]], Response]) -> Handler:
    """Return a handler of a form that requires the form token."""
    return uploaded(lambda request, fields, _: handler(request, fields), files=0)


def uploaded(handler: Callable[[Request, Mapping[str, str], Upload], Response], files: int = 1) -> Handler:
    """Return a handler of a form with files that requires the form token."""

    @functools.wraps(handler)
    async def checked(request: Request) -> Response:
        async with request.form(max_files=files, max_fields=50) as form:
            fields = {name: value for name, value in form.items() if isinstance(value, str)}
            sent_token, token = fields.get("form_token", "").encode(), form_token(request).encode()
            if not hmac.compare_digest(sent_token, token):
                text = (
                    "This form was not sent from a page of this session. Load the page again and repeat it."
                )
                return message(request, 403, "Not taken", text)
            upload = Upload("", b"")
            for value in form.values():
                if isinstance(value, UploadFile):
                    upload = Upload(value.filename or "", await value.read())
        return await run_in_threadpool(handler, request, fields, upload)

    return checked
