"""Shared parts of the review app: who sent a request, checked forms, templates, and background jobs.

Jobs are only in memory. After a restart a question is asked again, from stored replies.
"""

import functools
import hmac
import logging
import queue
import secrets
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from qa_pipeline.errors import InputError, QAPipelineError
from qa_pipeline.review.asking import Asking
from qa_pipeline.review.queue import Queue
from qa_pipeline.review.source import PageFiles
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.text.rendering import render_html, shorten

_TOKEN_BYTES = 32
"""As many as the secrets module takes to be safe from guessing."""
_MOST_WAITING = 20
"""Unfinished jobs at a time."""
_MOST_KEPT = 200
"""Jobs in memory."""
_log = logging.getLogger(__name__)


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


@dataclass
class Job:
    """A job with its latest value."""

    title: str
    job_id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    value: Any = None
    steps: int = 0
    is_done: bool = False
    problem: str | None = None


class Jobs:
    """Jobs that share a thread and its models."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: queue.SimpleQueue[tuple[Job, Iterator[Any]]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self, title: str, values: Iterator[Any]) -> Job:
        """Start a job whose steps yield better and better values; raises InputError if too many jobs wait."""
        job = Job(title)
        with self._lock:
            unfinished = [other for other in self._jobs.values() if not other.is_done]
            if len(unfinished) >= _MOST_WAITING:
                raise InputError(f"{_MOST_WAITING} other questions are waiting; try again later")
            self._jobs[job.job_id] = job
            while len(self._jobs) > _MOST_KEPT:
                self._jobs.popitem(last=False)  # the oldest job
            if self._thread is None:
                # the interpreter does not wait for a daemon, so Ctrl-C always ends a server
                self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
                self._thread.start()
        self._waiting.put((job, values))
        return job

    def get(self, job_id: str) -> Job:
        """Return a job; raises an InputError if it was dropped from memory."""
        with self._lock:
            job = self._jobs.get(job_id)
        if job is None:
            raise InputError(
                "this answer is no longer in memory: the server restarted, or many questions followed. Ask "
                "again; stored replies cost nothing"
            )
        return job

    def _run(self) -> None:
        """Run steps until the process ends, each of the job that waits longest."""
        while True:
            job, values = self._waiting.get()
            try:
                job.value = next(values)
            except StopIteration:
                job.is_done = True
            except QAPipelineError as error:
                job.problem = str(error)
            except Exception:  # noqa: BLE001 - other jobs must continue
                _log.exception("%s failed", job.title)
                job.problem = "internal error; see the terminal of the server"
            if job.problem is not None:
                job.is_done = True
            job.steps += 1
            if not job.is_done:
                self._waiting.put((job, values))


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
    jobs: Jobs


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
    """Return a handler that refuses forms with files or without the form token."""
    return uploaded(lambda request, fields, _: handler(request, fields), files=0)


def uploaded(handler: Callable[[Request, Mapping[str, str], Upload], Response], files: int = 1) -> Handler:
    """Return a handler that refuses forms without the form token or with more files than `files` (0 or 1)."""
    refusal = "This form was not sent from a page of this session. Load the page again and repeat it."

    @functools.wraps(handler)
    async def checked(request: Request) -> Response:
        async with request.form(max_files=files, max_fields=50) as form:
            fields = {name: value for name, value in form.items() if isinstance(value, str)}
            sent_token, token = fields.get("form_token", "").encode(), form_token(request).encode()
            if not hmac.compare_digest(sent_token, token):
                return message(request, 403, "Not taken", refusal)
            upload = Upload("", b"")  # if the form has no file
            for value in form.values():
                if isinstance(value, UploadFile):
                    upload = Upload(value.filename or "", await value.read())
        return await run_in_threadpool(handler, request, fields, upload)

    return checked
