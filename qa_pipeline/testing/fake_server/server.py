"""The loopback server, running: in a thread beside a test, or alone.

What belongs here: event loop, socket and thread. What does not: what is replied (`service.py`). Point
`llm.base_url` at `GeminiServer.url` or `ChatServer.url`; the key is LOOPBACK_KEY.
"""

import asyncio
import json
import socket
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from aiohttp import web

from qa_pipeline.testing.fake_server import chat, gemini
from qa_pipeline.testing.fake_server.plan import ServerPlan
from qa_pipeline.testing.fake_server.responses import Asked, ServerPlay, ServerScript, in_order
from qa_pipeline.testing.fake_server.service import Service, Stats

MOST_BYTES = 64 * 2**20
"""The longest request that is read."""

_RESET = struct.pack("ii", 1, 0)  # linger on, for no time: closing resets the connection
_DRIPS = 20
_REPORTED = 100


def build_app(service: Service) -> web.Application:
    """An application that answers every path as the service says; /stats and /asked tell what it saw."""

    async def handle(request: web.Request) -> web.StreamResponse:
        content = await request.read()
        play = service.answer(request.method, request.path, request.headers, request.query, content)
        service.stats.enters()
        try:
            return await _play(request, play)
        finally:
            service.stats.leaves()

    async def stats(request: web.Request) -> web.Response:
        return web.json_response(service.stats.as_dict())

    async def asked(request: web.Request) -> web.Response:
        last = list(service.stats.last)[-_REPORTED:]
        told = [{"model": one.model, "protocol": one.protocol, "body": one.body} for one in last]
        return web.json_response(told, dumps=lambda value: json.dumps(value, ensure_ascii=False))

    app = web.Application(client_max_size=MOST_BYTES)
    app.router.add_get("/stats", stats)
    app.router.add_get("/asked", asked)
    app.router.add_route("*", "/{path:.*}", handle)
    return app


async def _play(request: web.Request, play: ServerPlay) -> web.StreamResponse:
    if play.delay_seconds:
        await asyncio.sleep(play.delay_seconds)
    if play.body is None:
        return _reset(request)
    headers = {"Content-Type": "application/json", **dict(play.headers)}
    if play.cut or play.drip_seconds:
        return await _trickle(request, play, play.body, headers)
    return web.Response(status=play.status, body=play.body, headers=headers)


def _reset(request: web.Request) -> web.Response:
    transport = request.transport
    if transport is not None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        transport.abort()
    return web.Response()


async def _trickle(
    request: web.Request, play: ServerPlay, body: bytes, headers: dict[str, str]
) -> web.StreamResponse:
    """Send half of the body and close, or all of it a few bytes at a time."""
    response = web.StreamResponse(status=play.status, headers={**headers, "Content-Length": str(len(body))})
    await response.prepare(request)
    if play.cut:
        await response.write(body[: len(body) // 2])
        if request.transport is not None:
            request.transport.close()
        return response
    step = max(1, -(-len(body) // _DRIPS))
    with suppress(ConnectionResetError):  # the client may have waited long enough
        for start in range(0, len(body), step):
            await asyncio.sleep(play.drip_seconds / _DRIPS)
            await response.write(body[start : start + step])
    return response


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
        return gemini.fails(400, message, name="FAILED_PRECONDITION")


class ChatServer(_Served):
    """A server whose script speaks OpenAI's chat completions."""

    _path = "/v1"

    def _spent(self, message: str) -> ServerPlay:
        return chat.fails(400, message)
