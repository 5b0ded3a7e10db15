"""Parts that the pages of the review app share: sessions of requests, checked forms, templates."""

import functools
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from qa_pipeline.review.asking import Asking
from qa_pipeline.review.languages import COOKIE as LANGUAGE_COOKIE
from qa_pipeline.review.languages import (
    COOKIE_SECONDS,
    LANGUAGES,
    environment,
    language_links,
    language_of,
)
from qa_pipeline.review.local_steps import LocalSteps
from qa_pipeline.review.overview_view import Overviews
from qa_pipeline.review.page_files import PageFiles
from qa_pipeline.review.queue import Queue
from qa_pipeline.review.sessions import COOKIE, Session, Sessions
from qa_pipeline.review.sheets import Sheets
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.layout import Layout


@dataclass(frozen=True)
class ReviewApp:
    """Parts that the pages share.

    Args:
        layout: the output folder.
        sessions: who may sign in.
        queue: the pairs of all batches.
        tables: the tables of the pages.
        settings: those in force.
        files: the files that pages of documents are drawn from.
        local: the local steps, which verify an edit and apply decisions.
        asking: what people ask, and what answers them.
        overviews: the folder at a glance.
        sheets: files of rows to label.
    """

    layout: Layout
    sessions: Sessions
    queue: Queue
    tables: StoredTables
    settings: Settings
    files: PageFiles
    local: LocalSteps
    asking: Asking
    overviews: Overviews
    sheets: Sheets


def review_of(request: Request) -> ReviewApp:
    """Return what the pages share."""
    app: ReviewApp = request.app.state.review
    return app


def cookie_name(request: Request) -> str:
    """Return the name of the session's cookie: browsers tell hosts apart, and not the servers of a host."""
    return f"{COOKIE}_{request.scope['server'][1]}"


def session_of(request: Request) -> Session | None:
    """Return the session of a request; None where its sender is not signed in."""
    return review_of(request).sessions.session(request.cookies.get(cookie_name(request)))


def who_of(request: Request) -> str:
    """Return the name of who sent a request; an empty one where nobody is signed in."""
    session = session_of(request)
    return session.who if session else ""


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a page, or the part of it that the script asks for, in the language of the request."""
    language = language_of(request)
    values |= {
        "session": session_of(request),
        "several": review_of(request).queue.panel is not None,
        "request_path": request.url.path,
        "language": language,
        "languages": LANGUAGES,
        "language_links": language_links(request),
    }
    text = environment(language).get_template(f"review/templates/{template}").render(values)
    response = HTMLResponse(text, status)
    if request.query_params.get("lang") == language:
        response.set_cookie(
            LANGUAGE_COOKIE, language, max_age=COOKIE_SECONDS, httponly=True, samesite="strict"
        )
    return response


def message(request: Request, status: int, title: str, text: str | Exception) -> HTMLResponse:
    """Render a page that says one thing: a phrase, or the words of an error."""
    return page(request, "message.html.j2", status=status, title=title, text=text)


Handler = Callable[[Request], Awaitable[Response]]


def posted(handler: Callable[[Request, Mapping[str, str]], Response]) -> Handler:
    """Return a handler of a form, which must carry the token of the session that sends it."""

    @functools.wraps(handler)
    async def checked(request: Request) -> Response:
        async with request.form(max_files=0, max_fields=50) as form:
            fields = {name: value for name, value in form.items() if isinstance(value, str)}
        if not _is_of_session(request, fields):
            return _not_of_session(request)
        return await run_in_threadpool(handler, request, fields)

    return checked


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a form: the name it has where it comes from, which is data, and its bytes."""

    name: str
    content: bytes


def uploaded(handler: Callable[[Request, Mapping[str, str], Upload], Response]) -> Handler:
    """Return a handler of a form with a file, checked as other forms are."""

    @functools.wraps(handler)
    async def checked(request: Request) -> Response:
        async with request.form(max_files=1, max_fields=50) as form:
            fields = {name: value for name, value in form.items() if isinstance(value, str)}
            files = [value for value in form.values() if isinstance(value, UploadFile)]
            if not _is_of_session(request, fields):
                return _not_of_session(request)
            upload = Upload(files[0].filename or "", await files[0].read()) if files else Upload("", b"")
        return await run_in_threadpool(handler, request, fields, upload)

    return checked


def _is_of_session(request: Request, fields: Mapping[str, str]) -> bool:
    session = session_of(request)
    sent = fields.get("form_token", "")
    return session is not None and secrets.compare_digest(sent.encode(), session.form_token.encode())


def _not_of_session(request: Request) -> Response:
    text = "This form was not sent from a page of this session. Load the page again and repeat it."
    return message(request, 403, "Not taken", text)
