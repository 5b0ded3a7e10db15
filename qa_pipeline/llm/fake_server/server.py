"""The loopback server, running: in a thread beside a test, or alone.

What belongs here: event loop, socket and thread. What does not: what is replied (`service.py`). Point
`llm.base_url` at `GeminiServer.url` or `ChatServer.url`; the key is LOOPBACK_KEY.
"""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Self

from aiohttp import web

from qa_pipeline.llm.fake_server import chat_plays, gemini_plays
from qa_pipeline.llm.fake_server.plan import ServerPlan
from qa_pipeline.llm.fake_server.play import Asked, ServerPlay, ServerScript, in_order
from qa_pipeline.llm.fake_server.playing import build_app
from qa_pipeline.llm.fake_server.service import Service
from qa_pipeline.llm.fake_server.stats import Stats

LOOPBACK_KEY = "loopback-key"
_BACKLOG = 4096
_STARTED_WITHIN = 30.0
_GRACE = 0.05  # seconds for replies under way; aiohttp takes 0 for no limit


async def serve(
    service: Service, host: str, port: int, until: asyncio.Event, ready: Callable[[int], None]
) -> None:
    """Serve until the event is set; `ready` is told the port once the server listens."""
    runner = web.AppRunner(build_app(service), access_log=None, handle_signals=False, shutdown_timeout=_GRACE)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, backlog=_BACKLOG).start()
        ready(runner.addresses[0][1])
        await until.wait()
    finally:
        await runner.cleanup()


class _Served(ABC):
    """Serves on 127.0.0.1, on a port of the system's choice, while its context is open.

    Args:
        script: plays in order of arrival, or a function from what was asked; None makes sensible replies.
        key: the only key that is let in; requests with another one do not reach the script. None lets all in.
        plan: speed, faults, quota and models.
    """

    _path = ""

    def __init__(
        self,
        script: ServerScript | None = None,
        *,
        key: str | None = LOOPBACK_KEY,
        plan: ServerPlan | None = None,
    ) -> None:
        self.key = key
        ordered = script if script is None or callable(script) else in_order(script, self._spent)
        self.service = Service(ordered, key=key, plan=plan or ServerPlan())

    def __enter__(self) -> Self:
        self._listens = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._run(),), daemon=True)
        self._thread.start()
        if not self._listens.wait(_STARTED_WITHIN):
            raise TimeoutError("the loopback server did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._ends.set)
        self._thread.join()

    @property
    def url(self) -> str:
        """The value for `llm.base_url`."""
        return f"http://127.0.0.1:{self._port}{self._path}"

    @property
    def asked(self) -> list[Asked]:
        """The requests that reached the script, in order of arrival."""
        return list(self.service.stats.last)

    @property
    def stats(self) -> Stats:
        """What was counted."""
        return self.service.stats

    @abstractmethod
    def _spent(self, message: str) -> ServerPlay:
        """What a script replies that has no more plays."""

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ends = asyncio.Event()
        await serve(self.service, "127.0.0.1", 0, self._ends, self._ready)

    def _ready(self, port: int) -> None:
        self._port = port
        self._listens.set()


class GeminiServer(_Served):
    """A server whose script speaks Gemini."""

    def _spent(self, message: str) -> ServerPlay:
        return gemini_plays.fails(400, message, name="FAILED_PRECONDITION")


class ChatServer(_Served):
    """A server whose script speaks OpenAI's chat completions."""

    _path = "/v1"

    def _spent(self, message: str) -> ServerPlay:
        return chat_plays.fails(400, message)
