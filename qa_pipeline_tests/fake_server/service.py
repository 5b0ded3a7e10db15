"""From method, path, headers and body of a request to the server's response, without a network."""

import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Protocol

from qa_pipeline_tests.fake_server import chat, gemini
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.fake_server.replies import sensible_text
from qa_pipeline_tests.fake_server.responses import (
    LETTERS_A_TOKEN,
    Asked,
    Script,
    ServerResponse,
    count_tokens,
)

_REMEMBERED = 1000
_CALL = re.compile(
    r"/v1[a-z0-9]*/(projects/[^/]+/locations/[^/]+/)?(?:publishers/google/)?models/([^/:]+):(\w+)"
)

_MODELS = "/v1/models"
_CHAT = "/v1/chat/completions"
_ANY_MODEL = "any-model"
"""What is listed where every name is known."""


class Dialect(Protocol):
    """What the modules `gemini` and `chat` both offer: the same responses in the form of each."""

    def reply(self, asked: Asked, text: str, *, complete: bool = True) -> ServerResponse: ...
    def fails(self, status: int, message: str = ...) -> ServerResponse: ...
    def limits_rate(self, seconds: float) -> ServerResponse: ...
    def rejects_key(self) -> ServerResponse: ...
    def lacks_model(self, model: str) -> ServerResponse: ...
    def is_too_long(self, tokens: int, limit: int) -> ServerResponse: ...


@dataclass
class Stats:
    """Counts since the start.

    Args:
        asked: well-formed requests for a reply with the right key.
        answered: requests that were sent a reply, usable or not.
        answered_again: answered requests that had been answered before.
        invalid: requests with a wrong key, path, model or body.
        in_flight: requests that wait for their reply now.
        last: the last requests.
    """

    asked: int = 0
    answered: int = 0
    answered_again: int = 0
    invalid: int = 0
    in_flight: int = 0
    last: deque[Asked] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    _arrivals: Counter[bytes] = field(default_factory=Counter)
    _answered: set[bytes] = field(default_factory=set)

    @property
    def repeats(self) -> int:
        """Return how many requests had arrived before, for whatever reason."""
        return self._arrivals.total() - len(self._arrivals)

    def arrives(self, asked: Asked, mark: bytes) -> None:
        """Count a request."""
        self.asked += 1
        self.last.append(asked)
        self._arrivals[mark] += 1

    def is_answered(self, mark: bytes) -> None:
        """Count a reply."""
        self.answered += 1
        self.answered_again += mark in self._answered
        self._answered.add(mark)

    def as_dict(self) -> dict[str, int]:
        """Return all counts by name."""
        counts = {name: value for name, value in vars(self).items() if isinstance(value, int)}
        return {**counts, "repeats": self.repeats}


class Service:
    """Everything a server knows and counts.

    Args:
        script: replies to well-formed requests; None makes sensible replies out of the prompts.
        key: the only key that is accepted; None accepts everybody.
        plan: how the server behaves.
    """

    def __init__(self, script: Script | None, *, key: str | None, plan: ServerPlan) -> None:
        self.plan = plan
        self.stats = Stats()
        self._key = key
        self._script = script

    def answer(self, method: str, path: str, headers: Mapping[str, str], content: bytes) -> ServerResponse:
        """Return the response to a request; count it, and remember a well-formed one with the key."""
        is_google = "x-goog-api-key" in headers or not path.startswith(("/v1/chat", "/v1/models"))
        dialect: Dialect = gemini if is_google else chat
        try:
            response = self._routed(dialect, method, path, headers, content)
        except _MalformedError:
            response = dialect.fails(400, "Invalid JSON payload received.")
        if 400 <= response.status < 500 and response.status != 429:
            self.stats.invalid += 1
        return response

    def _routed(
        self, dialect: Dialect, method: str, path: str, headers: Mapping[str, str], content: bytes
    ) -> ServerResponse:
        call = _CALL.fullmatch(path)
        key = headers.get("x-goog-api-key") or headers.get("Authorization", "").removeprefix("Bearer ")
        if self._key is not None and key != self._key:
            return gemini.rejects_token() if call and call[1] else dialect.rejects_key()
        if method == "GET" and path == _MODELS:
            return chat.models([_ANY_MODEL] if self.plan.models is None else list(self.plan.models))
        if method != "POST" or not (call or path == _CHAT):
            return dialect.fails(404, "no such method")
        body = _parsed(content)
        model, action = (call[2], call[3]) if call else (body.get("model"), "generateContent")
        if not isinstance(model, str) or (self.plan.models is not None and model not in self.plan.models):
            return dialect.lacks_model(str(model))
        if action != "generateContent":
            return dialect.fails(404, "no such method")
        asked = Asked(model, gemini.camel_cased(body)) if call else Asked(model, body, "chat")
        mark = blake2b(path.encode() + b"\0" + content, digest_size=16).digest()
        return self._refused(dialect, asked) or self._respond(dialect, asked, mark)

    def _refused(self, dialect: Dialect, asked: Asked) -> ServerResponse | None:
        with _shape_checked():
            complaint = chat.complaint(asked, self.plan.chat) if asked.protocol == "chat" else None
            tokens = asked.tokens
        limit = (self.plan.models or {}).get(asked.model, self.plan.input_limit)
        return complaint or (dialect.is_too_long(tokens, limit) if tokens > limit else None)

    def _respond(self, dialect: Dialect, asked: Asked, mark: bytes) -> ServerResponse:
        self.stats.arrives(asked, mark)
        response = self._script(asked) if self._script else _sensible(dialect, asked)
        if response.status == 200 and not response.cut:
            self.stats.is_answered(mark)
        latency = 0.0 if response.status == 429 else self.plan.latency
        return replace(response, delay_seconds=response.delay_seconds + latency)


class _MalformedError(Exception):
    """A body of another shape than the protocol's."""


def _parsed(content: bytes) -> dict[str, Any]:
    with _shape_checked():
        body = json.loads(content)
    if not isinstance(body, dict):
        raise _MalformedError
    return body


@contextmanager
def _shape_checked() -> Iterator[None]:
    """Raise _MalformedError where what is read in the block has another shape than the protocol's."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _MalformedError from error


def _sensible(dialect: Dialect, asked: Asked) -> ServerResponse:
    """Return a sensible reply, cut where the request caps its tokens."""
    text, most = sensible_text(asked), asked.most_tokens
    if most is not None and count_tokens(text) > most:
        return dialect.reply(asked, text[: most * LETTERS_A_TOKEN], complete=False)
    return dialect.reply(asked, text)
