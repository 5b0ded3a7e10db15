"""The review app: its addresses and their guard.

Requests are answered in threads, because polars blocks. Every page works without its script, which only saves
loading whole pages.
"""

import functools
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import resources
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qa_pipeline.errors import InputError, QAPipelineError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.review import pages
from qa_pipeline.review.app import Access, Jobs, ReviewApp, cookie_name, message, page, review_of
from qa_pipeline.review.asking import Asking, impatient
from qa_pipeline.review.queue import Queue
from qa_pipeline.review.source import PageFiles
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.settings.tree import ReviewSettings, Settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.text.rendering import STYLE, shorten

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LARGEST_UPLOAD = 50_000_000  # bytes
_LARGEST_FORM = 2_000_000
"""Bytes of a form without files: the longest answer with every character encoded."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every response: browsers only load this server's files, and run no script inside a page."""
_STATIC = {
    "review.css": ("text/css", (STYLE, "review/review.css")),
    "review.js": ("text/javascript", ("review/review.js",)),
    "icon.svg": ("image/svg+xml", ("review/icon.svg",)),
}
"""Media type, and files of the package that are joined, by name in addresses."""


def build_app(
    layout: Layout,
    access: Access,
    settings: Settings | None = None,
    host: str = "127.0.0.1",
    resources: Resources | None = None,
) -> Starlette:
    """Build the app of an output folder; `resources` replaces the models of the settings."""
    settings = settings or Settings()
    files = PageFiles(layout, settings.documents)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        files.close()

    server_routes = (Route("/enter", enter), Route("/static/{name}", send_static))
    app = Starlette(
        lifespan=lifespan,
        routes=[*server_routes, *pages.ROUTES],
        middleware=[Middleware(Guard, settings=settings.review, host=host)],
        exception_handlers={QAPipelineError: show_error, 404: show_missing, 500: show_fault},
    )
    resources = resources or Resources(impatient(settings).model_copy(update={"out": layout.out}))
    app.state.review = ReviewApp(
        layout=layout,
        access=access,
        queue=Queue(layout),
        tables=StoredTables(layout),
        settings=settings,
        files=files,
        asking=Asking(resources),
        jobs=Jobs(),
    )
    return app


def check_reachable(host: str, url: str | None) -> str | None:
    """Return a warning if other machines can reach a host; without `url`, refuse 0.0.0.0 and ::."""
    with suppress(ValueError):  # a name of a machine is no IP address
        if host == "localhost" or ip_address(host).is_loopback:
            return None
    if host in ("0.0.0.0", "::") and url is None:  # noqa: S104
        raise InputError(
            f"--host {host} cannot be opened in a browser: set review.url to the address that people open"
        )
    advice = "Put a proxy with TLS before it and give its address as the setting review.url."
    if url is not None:
        advice = f"Let only the proxy at {url} reach it."
    return (
        f"Note: other machines reach {host}, and this server sends everything unencrypted, the token too. "
        f"{advice}"
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address, or raise InputError if the address cannot be used."""
    opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        opened.listen()
    except OSError as error:
        opened.close()
        raise InputError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another --port, or 0 for any free port"
        ) from error
    return opened


class Guard:
    """Add headers to every response, and refuse requests that a user did not send to this app."""

    def __init__(self, app: ASGIApp, settings: ReviewSettings, host: str) -> None:
        self._app = app
        self._url = settings.url
        self._hosts = {*LOOPBACK, host.lower()}
        if settings.url is not None:
            self._hosts.add(urlsplit(settings.url).hostname or host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(event: Message) -> None:
            if event["type"] == "http.response.start":
                present = {name.lower() for name, _ in event["headers"]}
                event["headers"] += [
                    (name.lower().encode(), value.encode())
                    for name, value in HEADERS.items()
                    if name.lower().encode() not in present
                ]
            await send(event)

        responder: ASGIApp = self._refusal(Request(scope)) or self._app
        await responder(scope, receive, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        """Return the response to a request with a foreign host, a bad form or no signed-in user."""
        host = request.headers.get("host", "")
        if _name_of(host) not in self._hosts:
            text = (
                f"This server does not answer to the name {shorten(host)}. Open the address it printed, or "
                "give this one as the setting review.url."
            )
            return message(request, 400, "Another server's name", text)
        is_form = request.method not in ("GET", "HEAD")
        if is_form and (refusal := self._refusal_of_form(request, host)):
            return refusal
        path = request.url.path
        is_public = path == "/enter" or path.startswith("/static/")
        if is_public or review_of(request).access.who_sent(request):
            return None
        return _signed_out(request, 401)

    def _refusal_of_form(self, request: Request, host: str) -> Response | None:
        """Return the response to a form of another site, or of unknown or excessive size."""
        origin = request.headers.get("origin")
        site = request.headers.get("sec-fetch-site", "same-origin")
        if site != "same-origin" or origin not in (None, f"http://{host}", self._url):
            text = "This form was sent from a page of another site. Repeat it on a page of this one."
            return message(request, 403, "Not taken", text)
        size = request.headers.get("content-length", "")
        if not size.isdecimal() or "transfer-encoding" in request.headers:
            text = "The request does not say how large it is. Send its Content-Length, as browsers do."
            return message(request, 411, "Not taken", text)
        is_upload = request.headers.get("content-type", "").startswith("multipart/form-data")
        most = _LARGEST_UPLOAD if is_upload else _LARGEST_FORM
        if int(size) > most:
            text = f"The form has {int(size):,} bytes; at most {most:,} are read."
            return message(request, 413, "Too large", text)
        return None


def _name_of(host: str) -> str | None:
    """Return the name in a Host header, without port and brackets."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _signed_out(request: Request, status: int) -> Response:
    """Show how to sign in. A browser that follows a link of another site sends its cookie on reload."""
    reply = page(request, "sign_in.html.j2", status=status, is_wrong=status == 403)
    if request.headers.get("sec-fetch-site") == "cross-site":
        reply.headers["Refresh"] = "0"
    return reply


def show_error(request: Request, error: Exception) -> Response:
    """Show the message of an expected error."""
    return message(request, 404 if isinstance(error, InputError) else 500, "That did not work", str(error))


def show_fault(request: Request, error: Exception) -> Response:
    """Show an unexpected error, such as a full disk. The server prints the traceback."""
    reason = error.strerror if isinstance(error, OSError) else "internal error"
    text = f"The server failed: {reason}. Its terminal shows more."
    reply = message(request, 500, "That did not work", text)
    reply.headers.update(HEADERS)  # this response does not pass `Guard`
    return reply


def show_missing(request: Request, _error: Exception) -> Response:
    """Show that the page is missing."""
    return message(request, 404, "No such page", "There is no such page. See the queue for pairs.")


def enter(request: Request) -> Response:
    """Exchange the token of the printed address for a cookie."""
    review = review_of(request)
    token = request.query_params.get("token")
    if token is None:
        return _signed_out(request, 200)
    if not review.access.accepts(token):
        return _signed_out(request, 403)
    response = RedirectResponse("/", status_code=303)
    is_local = _name_of(request.headers["host"]) in LOOPBACK  # not through a proxy, so without TLS
    response.set_cookie(
        cookie_name(request),
        review.access.cookie,
        httponly=True,
        samesite="strict",
        secure=not is_local and (review.settings.review.url or "").startswith("https:"),
    )
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
