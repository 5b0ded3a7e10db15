"""The review app: its addresses, what guards them, and the server that runs it.

Requests are answered in threads, since tables are read with polars; nothing that a page shows is kept between
requests but unchanged tables. Every page works without its script, which only saves loading whole pages.
"""

import functools
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import resources
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qa_pipeline.errors import InputError, QAPipelineError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.review import (
    agreement_page,
    ask_page,
    ask_service,
    decision_page,
    overview_page,
    pair_page,
    queue_page,
    sheet_page,
    source_page,
)
from qa_pipeline.review.asking import Asking, impatient
from qa_pipeline.review.languages import PhrasedError
from qa_pipeline.review.local_steps import LocalSteps
from qa_pipeline.review.overview_view import Overviews
from qa_pipeline.review.page_files import PageFiles
from qa_pipeline.review.panel import RatingPanel
from qa_pipeline.review.queue import Queue
from qa_pipeline.review.responses import (
    ReviewApp,
    cookie_name,
    message,
    page,
    posted,
    review_of,
    session_of,
)
from qa_pipeline.review.sessions import Sessions
from qa_pipeline.review.sheets import Sheets
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.settings.review import ReviewSettings
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.text.rendering import STYLE, shorten

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LARGEST_FORM = 2_000_000
"""Bytes of a form without files: the longest answer that may be edited, every character of it encoded."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer: a browser loads nothing but this server's own files, and runs no script inside a page."""
_STATIC = {
    "review.css": ("text/css", (STYLE, "review/review.css")),
    "review.js": ("text/javascript", ("review/review.js",)),
    "icon.svg": ("image/svg+xml", ("review/icon.svg",)),
}


def build_app(
    layout: Layout,
    sessions: Sessions,
    settings: Settings | None = None,
    host: str = "127.0.0.1",
    resources: Resources | None = None,
    sheets: Sequence[Path] = (),
) -> Starlette:
    """Build the app.

    Args:
        layout: the output folder of `run`, `validate` or Dagster.
        sessions: who may sign in.
        settings: None for those in force.
        host: the address that the server listens on.
        resources: what answers questions; None for what the settings say.
        sheets: audits and rating sheets outside the output folder.
    """
    settings = settings or Settings()
    files = PageFiles(layout, settings.documents)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        files.close()

    app = Starlette(
        lifespan=lifespan,
        routes=[
            Route("/enter", enter),
            Route("/enter", enter_form, methods=["POST"]),
            Route("/leave", leave, methods=["POST"]),
            Route("/static/{name}", send_static),
            *(
                *queue_page.ROUTES,
                *agreement_page.ROUTES,
                *pair_page.ROUTES,
                *decision_page.ROUTES,
                *source_page.ROUTES,
                *ask_service.ROUTES,  # before the pages, whose names of jobs would take in .json
                *ask_page.ROUTES,
                *overview_page.ROUTES,
                *sheet_page.ROUTES,
            ),
        ],
        middleware=[Middleware(Guard, settings=settings.review, host=host)],
        exception_handlers={
            QAPipelineError: show_error,
            404: show_missing,
            500: show_fault,
        },
    )
    tables = StoredTables(layout)
    review = settings.review
    is_shared = sessions.token is None and (review.overlap > 0 or review.gold is not None)
    panel = RatingPanel(layout, sessions.people, review.overlap, review.gold) if is_shared else None
    resources = resources or Resources(impatient(settings).model_copy(update={"out": layout.out}))
    app.state.review = ReviewApp(
        layout,
        sessions,
        Queue(layout, panel=panel),
        tables,
        settings,
        files,
        LocalSteps(tables),
        Asking(resources),
        Overviews(layout),
        Sheets(layout, sheets),
    )
    return app


def is_loopback(host: str) -> bool:
    """Return whether an address is reached from this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address, before anything is printed about it.

    Raises:
        InputError: the port is in use, or may not be opened.
    """
    opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        opened.listen()
    except OSError as error:
        opened.close()
        raise InputError(
            f"cannot listen on {host}:{port}: {error.strerror}; give another --port, or 0 for any"
        ) from error
    return opened


class Guard:
    """Adds the headers of every answer, and answers no request that is not meant for this app by its user.

    Args:
        app: the app behind it.
        settings: the address that people open, and the largest upload.
        host: the address that the server listens on.
    """

    def __init__(self, app: ASGIApp, settings: ReviewSettings, host: str) -> None:
        self._app = app
        self._url = settings.url
        self._hosts = {*LOOPBACK, host.lower()}
        if settings.url is not None:
            self._hosts.add(urlsplit(settings.url).hostname or host)
        self._most_bytes = settings.max_upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(event: Message) -> None:
            if event["type"] == "http.response.start":
                names = {name.lower() for name, _ in event["headers"]}
                event["headers"] += [
                    (name.lower().encode(), value.encode())
                    for name, value in HEADERS.items()
                    if name.lower().encode() not in names
                ]
            await send(event)

        await (self._refusal(Request(scope)) or self._app)(scope, receive, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if _name_of(host) not in self._hosts:
            text = PhrasedError(
                "This server does not answer to the name %(host)s. Open the address it printed, or give this "
                "one as the setting review.url.",
                host=shorten(host),
            )
            return message(request, 400, "Another server's name", text)
        if request.method not in ("GET", "HEAD"):
            refusal = self._refusal_of_form(request, host)
            if refusal is not None:
                return refusal
        path = request.url.path
        if path == "/enter" or path.startswith("/static/") or session_of(request) is not None:
            return None
        return _signed_out(request, 401)

    def _refusal_of_form(self, request: Request, host: str) -> Response | None:
        origin = request.headers.get("origin")
        site = request.headers.get("sec-fetch-site", "same-origin")
        if site != "same-origin" or origin not in (None, f"http://{host}", self._url):
            foreign = "This form was sent from a page of another site. Repeat it on a page of this one."
            return message(request, 403, "Not taken", foreign)
        size, is_upload = request.headers.get("content-length", ""), _is_upload(request)
        if not size.isdecimal() or "transfer-encoding" in request.headers:
            text = "The request does not say how large it is. Send its Content-Length, as browsers do."
            return message(request, 411, "Not taken", text)
        most = self._most_bytes if is_upload else _LARGEST_FORM
        if int(size) > most:
            text = "What was sent has %(size)s bytes, and at most %(most)s are read."
            if is_upload:
                text = (
                    "What was sent has %(size)s bytes, and at most %(most)s are read; the setting "
                    "review.max_upload_bytes allows more."
                )
            return message(request, 413, "Too large", PhrasedError(text, size=int(size), most=most))
        return None


def _name_of(host: str) -> str | None:
    """Return the name in a Host header, without its port and the brackets of IPv6."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _is_upload(request: Request) -> bool:
    return request.headers.get("content-type", "").startswith("multipart/form-data")


def _signed_out(request: Request, status: int) -> Response:
    """Show how to sign in; a browser that came by a link of another site sends its cookie when it reloads."""
    is_alone = review_of(request).sessions.token is not None
    reply = page(request, "sign_in.html.j2", status=status, is_alone=is_alone, wrong=status == 403)
    if request.headers.get("sec-fetch-site") == "cross-site":
        reply.headers["Refresh"] = "0"
    return reply


def show_error(request: Request, error: Exception) -> Response:
    """Show an error that was raised on purpose, in its own words."""
    status = 404 if isinstance(error, InputError) else 500
    return message(request, status, "That did not work", error)


def show_fault(request: Request, error: Exception) -> Response:
    """Say that something unexpected happened, such as a full disk; the server prints the traceback."""
    text = PhrasedError("The server could not go on: the program has a fault. Its terminal says more.")
    if isinstance(error, OSError):
        text = PhrasedError(
            "The server could not go on: %(reason)s. Its terminal says more.", reason=error.strerror
        )
    reply = message(request, 500, "That did not work", text)
    reply.headers.update(HEADERS)  # it is sent from outside of `Guard`
    return reply


def show_missing(request: Request, error: Exception) -> Response:
    """Say that an address leads nowhere."""
    del error
    return message(request, 404, "No such page", "There is no such page. The queue is where pairs are.")


def enter(request: Request) -> Response:
    """Exchange the token of the printed address for a session; people with tokens of their own get a form."""
    token = request.query_params.get("token")
    if token is None or review_of(request).sessions.token is None:
        return _signed_out(request, 200)
    return _sign_in(request, token)


async def enter_form(request: Request) -> Response:
    """Exchange the token of a form for a session."""
    async with request.form(max_files=0, max_fields=1) as form:
        token = form.get("token")
    return await run_in_threadpool(_sign_in, request, token if isinstance(token, str) else "")


def _sign_in(request: Request, token: str) -> Response:
    sessions = review_of(request).sessions
    try:
        cookie = sessions.sign_in(token.strip())
    except InputError as error:
        return message(request, 429, "Not signed in", error)
    if cookie is None:
        return _signed_out(request, 403)
    response = RedirectResponse("/", status_code=303)
    response.set_cookie(
        cookie_name(request),
        cookie,
        max_age=int(sessions.seconds),
        httponly=True,
        samesite="strict",
        secure=request.headers.get("origin", "").startswith("https:"),  # as `Guard` compared with review.url
    )
    return response


@posted
def leave(request: Request, fields: Mapping[str, str]) -> Response:
    """Sign out."""
    del fields
    name = cookie_name(request)
    review_of(request).sessions.sign_out(request.cookies.get(name))
    response = RedirectResponse("/enter", status_code=303)
    response.delete_cookie(name, httponly=True, samesite="strict")
    return response


@functools.cache
def _static(name: str) -> str:
    package = resources.files("qa_pipeline")
    return "\n".join(package.joinpath(part).read_text("utf-8") for part in _STATIC[name][1])


def send_static(request: Request) -> Response:
    """Send the style or the script."""
    name = request.path_params["name"]
    if name not in _STATIC:
        return Response(status_code=404)
    return Response(_static(name), media_type=_STATIC[name][0])
