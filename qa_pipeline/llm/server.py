"""A loopback server that speaks Gemini's generateContent and plays a script, faults included.

What belongs here: the part of the protocol the adapter uses, checked on the way in, and the replies a real
server may give. What does not: any answering of its own. Point `llm.base_url` at `GeminiServer.url`, or
run a script of your own against it without a key that costs anything.
"""

import json
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from qa_pipeline.records import ReplyModel

LOOPBACK_KEY = "loopback-key"
_PATH = re.compile(r"/v1[a-z0-9]*/models/([^/:]+):generateContent")
_RESET = struct.pack("ii", 1, 0)  # linger on, for no time: closing resets the connection


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived."""

    model: str
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        """The text of the user's turn."""
        return "".join(part["text"] for turn in self.body["contents"] for part in turn["parts"])

    @property
    def system(self) -> str:
        """The text of the system instruction."""
        return "".join(part["text"] for part in self.body["systemInstruction"]["parts"])

    @property
    def config(self) -> dict[str, Any]:
        """Temperature, seed, reply format and schema."""
        config: dict[str, Any] = self.body["generationConfig"]
        return config


@dataclass(frozen=True, slots=True)
class ServerPlay:
    """One reply of the server; `body` None resets the connection instead."""

    status: int
    body: bytes | None
    headers: tuple[tuple[str, str], ...] = field(default=())
    delay_seconds: float = 0.0


ServerScript = Sequence[ServerPlay] | Callable[[Asked], ServerPlay]


def says(reply: ReplyModel | str, *, finish: str = "STOP", model: str = "gemini-loopback") -> ServerPlay:
    """Reply with a model's value, or with any text."""
    text = reply if isinstance(reply, str) else reply.model_dump_json()
    content = {"role": "model", "parts": [{"text": text}]}
    return _ok(
        {
            "candidates": [{"content": content, "finishReason": finish}],
            "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7, "thoughtsTokenCount": 2},
            "modelVersion": model,
        }
    )


def stops(finish: str) -> ServerPlay:
    """Reply without text, for a finish reason such as SAFETY or RECITATION."""
    return _ok({"candidates": [{"finishReason": finish}]})


def blocks_prompt(reason: str = "SAFETY") -> ServerPlay:
    """Refuse to read the prompt."""
    return _ok({"promptFeedback": {"blockReason": reason}})


def no_candidates() -> ServerPlay:
    """Reply with nothing in it."""
    return _ok({"candidates": []})


def fails(status: int, message: str = "scripted fault", *, name: str = "UNAVAILABLE") -> ServerPlay:
    """Reply with an error status."""
    return _error(status, name, message)


def rejects_key() -> ServerPlay:
    """Reply as to a wrong key, which is a plain 400 told apart by its details."""
    reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    return _error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [reason])


def limits_rate(seconds: float, *, as_header: bool = False) -> ServerPlay:
    """Ask to wait, in the error's details or in a Retry-After header."""
    if as_header:
        wait = (("Retry-After", f"{seconds:g}"),)
        return _error(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", headers=wait)
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{seconds:g}s"}
    return _error(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", [info])


def resets() -> ServerPlay:
    """Reset the connection instead of replying."""
    return ServerPlay(0, None)


def babbles(status: int = 200) -> ServerPlay:
    """Reply with a page that is no JSON at all, as a proxy may."""
    return ServerPlay(status, b"<html>gateway</html>")


class GeminiServer:
    """Serves a script on 127.0.0.1, on a port of the system's choice, while its context is open.

    Args:
        script: plays in order of arrival, or a function from what was asked.
        key: the only key that is let in; requests with another one do not reach the script.
    """

    def __init__(self, script: ServerScript, *, key: str = LOOPBACK_KEY) -> None:
        self.key = key
        self.asked: list[Asked] = []
        self._script = script if callable(script) else _in_order(script)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._http = _HTTPServer(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def url(self) -> str:
        """The value for `llm.base_url`."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def reply(self, path: str, key: str | None, content: bytes) -> ServerPlay:
        """Check a request as the real server would, remember it, and play."""
        if key is None:
            return _error(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers.")
        if key != self.key:
            return rejects_key()
        match = _PATH.fullmatch(path)
        if match is None:
            return _error(404, "NOT_FOUND", "no such method")
        body = json.loads(content)
        complaint = _complaint(body)
        if complaint:
            return _error(400, "INVALID_ARGUMENT", complaint)
        asked = Asked(match[1], body)
        with self._lock:
            self.asked.append(asked)
            return self._script(asked)


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, owner: GeminiServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave together
    server: _HTTPServer

    def do_POST(self) -> None:
        """Answer generateContent."""
        content = self.rfile.read(int(self.headers["Content-Length"]))
        play = self.server.owner.reply(self.path, self.headers.get("x-goog-api-key"), content)
        time.sleep(play.delay_seconds)
        if play.body is None:
            self._reset()
        else:
            self._send(play, play.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        """Keep quiet; `GeminiServer.asked` tells what came."""

    def _send(self, play: ServerPlay, body: bytes) -> None:
        self.send_response(play.status)
        for name, value in (("Content-Type", "application/json"), *play.headers):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.connection.close()


def _complaint(body: Any) -> str | None:
    """What a request lacks of what the adapter must send."""
    config = body.get("generationConfig", {})
    if not any(part.get("text") for turn in body.get("contents", []) for part in turn.get("parts", [])):
        return "contents have no text"
    if config.get("responseMimeType") != "application/json" or "responseJsonSchema" not in config:
        return "a JSON reply with a schema must be asked for"
    if "temperature" not in config:
        return "temperature is missing"
    return None


def _in_order(plays: Sequence[ServerPlay]) -> Callable[[Asked], ServerPlay]:
    left = deque(plays)
    spent = f"the script had {len(plays)} plays and is asked for more"

    def play(asked: Asked) -> ServerPlay:
        if not left:
            return _error(400, "FAILED_PRECONDITION", spent)
        return left.popleft()

    return play


def _ok(body: dict[str, Any]) -> ServerPlay:
    return ServerPlay(200, json.dumps(body).encode())


def _error(
    status: int,
    name: str,
    message: str,
    details: Sequence[dict[str, str]] = (),
    headers: tuple[tuple[str, str], ...] = (),
) -> ServerPlay:
    error = {"code": status, "message": message, "status": name, "details": list(details)}
    return ServerPlay(status, json.dumps({"error": error}).encode(), headers)
