"""The loopback server in a thread beside a test.

Point `llm.base_url` at `GeminiServer.url` or `ChatServer.url`; the key is LOOPBACK_KEY.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import ClassVar, Self

from qa_pipeline_tests.fake_server import chat, gemini
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.fake_server.responses import Asked, Script, ServerResponse, ServerScript
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY, serve
from qa_pipeline_tests.fake_server.service import Dialect, Service, Stats

_STARTED_WITHIN = 30.0


def in_order(responses: Sequence[ServerResponse], spent: Callable[[int, str], ServerResponse]) -> Script:
    """A script that gives one response after the other, and an error made by `spent` once none is left."""
    left = deque(responses)

    def next_response(asked: Asked) -> ServerResponse:
        if not left:
            return spent(400, f"the script had {len(responses)} responses and got one more request")
        return left.popleft()

    return next_response


class _Served:
    """Serves on 127.0.0.1, on a port of the system's choice, while its context is open.

    Args:
        script: responses in order of arrival, or a function from the request; None makes sensible replies.
        key: the only key that is accepted; requests with another do not reach the script. None accepts all.
        plan: speed, models and what they can do.
    """

    _path = ""
    _dialect: ClassVar[Dialect] = gemini

    def __init__(
        self,
        script: ServerScript | None = None,
        *,
        key: str | None = LOOPBACK_KEY,
        plan: ServerPlan | None = None,
    ) -> None:
        self.key = key
        ordered = script if script is None or callable(script) else in_order(script, self._dialect.fails)
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

    def slow_down(self, latency: float) -> None:
        """Let each reply take so many seconds from now on."""
        self.service.plan = replace(self.service.plan, latency=latency)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ends = asyncio.Event()
        await serve(self.service, 0, self._ends, self._ready)

    def _ready(self, port: int) -> None:
        self._port = port
        self._listens.set()


class GeminiServer(_Served):
    """A server whose script replies as Gemini."""


class ChatServer(_Served):
    """A server whose script replies as OpenAI's chat completions."""

    _path = "/v1"
    _dialect: ClassVar[Dialect] = chat
