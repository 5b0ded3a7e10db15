"""The review app: its addresses, what guards them, and the server that runs it.

Requests are answered in threads, since tables are read with polars; nothing that a page shows is kept between
requests but unchanged tables. Every page works without its script, which only saves loading whole pages.
"""

import functools
import socket
from importlib import resources

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qa_pipeline.errors import InputError, QAPipelineError
from qa_pipeline.people.review import pair_page, queue_page, source_page
from qa_pipeline.people.review.queue import Queue
from qa_pipeline.people.review.responses import ReviewApp, page, review_of, session_of
from qa_pipeline.people.review.sessions import COOKIE, Sessions
from qa_pipeline.people.review.stored import StoredTables
from qa_pipeline.storage.layout import Layout
from qa_pipeline.text.rendering import STYLE

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
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
    "review.css": ("text/css", (STYLE, "people/review/review.css")),
    "review.js": ("text/javascript", ("people/review/review.js",)),
}


def build_app(layout: Layout, sessions: Sessions, hosts: tuple[str, ...] = LOOPBACK) -> Starlette:
    """Build the app.

    Args:
        layout: the output folder of `run`, `validate` or Dagster.
        sessions: who may sign in.
        hosts: names that a request may address; others are refused, since a page of another site could have
            its own name resolve to this machine.
    """
    app = Starlette(
        routes=[
            Route("/enter", enter),
            Route("/static/{name}", send_static),
            *(*queue_page.ROUTES, *pair_page.ROUTES, *source_page.ROUTES),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)),
            Middleware(Guard),
        ],
        exception_handlers={QAPipelineError: show_error, 404: show_missing},
    )
    app.state.review = ReviewApp(layout, sessions, Queue(layout), StoredTables(layout))
    return app


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address, before anything is printed about it.

    Raises:
        InputError: the port is in use, or may not be opened.
    """
    opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        raise InputError(
            f"cannot listen on {host}:{port}: {error.strerror}; give another --port, or 0 for any"
        ) from error
    return opened


class Guard:
    """Adds the headers of every answer, and lets nobody in who is not signed in.

    Args:
        app: the app behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message["headers"]}
                message["headers"] += [
                    (name.lower().encode(), value.encode())
                    for name, value in HEADERS.items()
                    if name.lower().encode() not in names
                ]
            await send(message)

        request = Request(scope)
        is_open = request.url.path == "/enter" or request.url.path.startswith("/static/")
        if is_open or session_of(request) is not None:
            await self._app(scope, receive, send_guarded)
        else:
            refusal = page(
                request,
                "message.html.j2",
                status=401,
                title="Sign in",
                text="Open the address that qa-pipeline review printed when it started; it signs you in "
                "once. If it was used, stop the server and start it again.",
            )
            await refusal(scope, receive, send_guarded)


def show_error(request: Request, error: Exception) -> Response:
    """Show an error that was raised on purpose, in its own words."""
    status = 404 if isinstance(error, InputError) else 500
    return page(request, "message.html.j2", status=status, title="That did not work", text=str(error))


def show_missing(request: Request, error: Exception) -> Response:
    """Say that an address leads nowhere."""
    del error
    text = "There is no such page. The queue is where pairs are."
    return page(request, "message.html.j2", status=404, title="No such page", text=text)


def enter(request: Request) -> Response:
    """Exchange a token for a session cookie."""
    cookie = review_of(request).sessions.sign_in(request.query_params.get("token", ""))
    if cookie is None:
        text = (
            "This address was used, or its token is wrong. Stop the server and start it again for a new one."
        )
        return page(request, "message.html.j2", status=403, title="Not signed in", text=text)
    response = RedirectResponse("/", status_code=303)
    response.set_cookie(
        COOKIE, cookie, httponly=True, samesite="strict", secure=request.url.scheme == "https"
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
