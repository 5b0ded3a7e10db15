"""What a server that is away for a while costs: rows lost of one run, by kind of outage.

    python -m qa_pipeline_tests.benchmarks.robustness.measure_outages --seconds 20

A loopback server answers the first third of the calls. Then, for so many seconds, it restarts (its process is
killed, connections are refused), it is loading its model (503), it resets every connection, or it resets in
the middle of each reply; or, throughout, it refuses more than two calls at a time. No row may be lost.
"""

import asyncio
import json
import socket
import struct
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.llm.factory import Models
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline_tests.benchmarks.speed.bench_llm_speed import verifications
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.server_process import serving

Responder = Callable[[asyncio.StreamWriter], None]
_RESET = struct.pack("ii", 1, 0)
_PARALLEL = 2
"""Calls that the crowded server takes at a time."""


def _error(status: int, message: str) -> bytes:
    body = json.dumps({"error": {"code": status, "message": message}}).encode()
    head = f"HTTP/1.1 {status} Error\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def is_loading(writer: asyncio.StreamWriter) -> None:
    """Reply as llama.cpp does while it loads."""
    writer.write(_error(503, "Loading model"))


def resets(writer: asyncio.StreamWriter) -> None:
    """Reset the connection."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


def resets_mid_reply(writer: asyncio.StreamWriter) -> None:
    """Begin a reply and close."""
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"choices": [')


OUTAGES: dict[str, Responder | None] = {
    "restart": None,
    "loading": is_loading,
    "reset": resets,
    "reset_mid_reply": resets_mid_reply,
}


class Faulty:
    """A server on a port that answers every connection in one way, in a thread of its own."""

    def __init__(self, port: int, respond: Responder) -> None:
        self._port, self._respond = port, respond
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> "Faulty":
        self._thread.start()
        self._started.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ends.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._ends = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._answer, "127.0.0.1", self._port, reuse_address=True)
        async with server:
            self._started.set()
            await self._ends.wait()
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self._respond(writer)
        if not writer.transport.is_closing():
            await writer.drain()
            writer.close()


class Crowded:
    """A server in front of another that takes only a few calls at a time."""

    def __init__(self, target: int, status: int) -> None:
        self._target, self._status, self._busy = target, status, 0
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self.refused = 0

    def __enter__(self) -> "Crowded":
        self._thread.start()
        self._started.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ends.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._ends = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            self._started.set()
            await self._ends.wait()
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2])
            for line in head.splitlines()
            if line.lower().startswith(b"content-length:")
        )
        body = await reader.readexactly(length)
        if self._busy >= _PARALLEL:
            self.refused += 1
            writer.write(_error(self._status, "Server busy: maximum of concurrent requests exceeded"))
        else:
            self._busy += 1
            try:
                writer.write(await self._forwarded(head, body))
            finally:
                self._busy -= 1
        await writer.drain()
        writer.close()

    async def _forwarded(self, head: bytes, body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._target)
        writer.write(head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + body)
        reply = await reader.read()
        writer.close()
        return reply


def ask(port: int, key: str, calls: int, workers: int, after: int, act: Callable[[], None]) -> dict[str, Any]:
    """Ask all, act once so many are done, and count what came of each."""
    settings = LLMSettings.model_validate(
        {
            "provider": "openai",
            "model": "loopback",
            "base_url": f"http://127.0.0.1:{port}/v1",
            "workers": workers,
            "budget": {"max_calls": 1_000_000},
        }
    )
    acting = threading.Thread(target=act)

    def notify(done: int, _: int) -> None:
        if done == after and not acting.ident:
            acting.start()

    with tempfile.TemporaryDirectory() as folder:
        environ = {"OPENAI_API_KEY": key}
        models = Models(settings, place=Path(folder) / "replies.sqlite", environ=environ, run="bench")
        model = models.of(settings.generator)
        assert model is not None
        began = time.perf_counter()
        outcomes = complete_all(model, verifications(calls), workers=workers, notify=notify)
        took = time.perf_counter() - began
        models.close()
    if acting.ident:
        acting.join()
    lost = [outcome.reason for outcome in outcomes if isinstance(outcome, ModelError)]
    tries = [call.tries for outcome in outcomes for call in outcome.calls]
    return {
        "lost": len(lost),
        "of": calls,
        "reasons": dict(Counter(lost)),
        "seconds": round(took, 1),
        "most_tries": max(tries, default=0),
    }


def measure_outage(
    respond: Responder | None, calls: int, workers: int, seconds: float, latency: float
) -> Any:
    """Figures of one outage."""
    with ExitStack() as servers:
        running = ExitStack()
        first = running.enter_context(serving(latency=latency))
        servers.callback(running.close)

        def interrupt() -> None:
            running.close()
            if respond is None:
                time.sleep(seconds)
            else:
                with Faulty(first.port, respond):
                    time.sleep(seconds)
            running.enter_context(serving(first.port, latency=latency))

        return ask(first.port, first.key, calls, workers, calls // 3, interrupt)


def measure_crowd(status: int, calls: int, workers: int, latency: float) -> dict[str, Any]:
    """Figures of a server that takes few calls at a time."""
    with serving(latency=latency) as server, Crowded(server.port, status) as crowded:
        figures = ask(crowded.port, server.key, calls, workers, calls + 1, lambda: None)
        return {**figures, "refused": crowded.refused}


def main() -> None:
    """Print one JSON line for each kind of outage."""
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the server is away")
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--workers", type=int, default=5)
    parser.add_argument("--only", choices=[*OUTAGES, "crowded_429", "crowded_503"])
    options = parser.parse_args()
    for name, respond in OUTAGES.items():
        if options.only in (None, name):
            figures = measure_outage(
                respond, options.calls, options.workers, options.seconds, options.latency
            )
            print_json({"outage": name, **figures})
    for status in (429, 503):
        if options.only in (None, f"crowded_{status}"):
            figures = measure_crowd(status, options.calls, options.workers, options.latency)
            print_json({"outage": f"crowded_{status}", **figures})


if __name__ == "__main__":
    main()
