"""From method, path, headers and body of a request to the server's response, without a network."""

import json
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Protocol

from qa_pipeline_tests.fake_server import chat, gemini
from qa_pipeline_tests.fake_server.chat import ChatAbilities
from qa_pipeline_tests.fake_server.plan import Fault, ServerPlan
from qa_pipeline_tests.fake_server.replies import sensible_text
from qa_pipeline_tests.fake_server.responses import (
    LETTERS_A_TOKEN,
    Asked,
    Script,
    ServerResponse,
    count_tokens,
    json_response,
    resets,
)

RETRY_SECONDS = 1.0
"""The wait that a drawn 429 asks for."""
DRIP_SECONDS = 5.0
"""How long a dripping body takes."""
_REMEMBERED = 1000
_ROUNDING = 1e-9
_CALL = re.compile(
    r"/v1[a-z0-9]*/(projects/[^/]+/locations/[^/]+/)?(?:publishers/google/)?models/([^/:]+):(\w+)"
)

_MODELS = re.compile(r"/v1[a-z0-9]*/models(?:/([^:]+))?")
_CHAT = "/v1/chat/completions"
_STREAM = "streamGenerateContent"
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
    def complaint(self, asked: Asked, abilities: ChatAbilities) -> ServerResponse | None: ...
    def streamed(self, asked: Asked, response: ServerResponse) -> ServerResponse: ...
    def models(self, names: Sequence[str], name: str | None) -> ServerResponse: ...


class Quota:
    """A bucket of tokens, full at first; each request takes one.

    Args:
        per_minute: tokens that flow in.
        burst: tokens the bucket holds.
        clock: seconds that never go back.
    """

    def __init__(self, per_minute: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / 60
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._at = clock()

    def take(self) -> float:
        """Take a token; 0 if there was one, else the seconds until the next, and none is taken."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens >= 1 - _ROUNDING:
            self._tokens -= 1
            return 0.0
        return (1 - self._tokens) / self._rate


@dataclass
class Stats:
    """Counts since the start.

    Args:
        asked: well-formed requests for a reply that came with the right key.
        refused: those over the quota.
        granted: all others.
        answered: those that were sent a reply, usable or not.
        answered_again: those of them whose very same request had been sent one before.
        invalid: requests with a wrong key, path, model or body.
        in_flight: requests that wait for their reply now.
        most_in_flight: the most that ever waited at once.
        prompt_tokens: of answered requests.
        faults: drawn faults by name.
        last: the last requests.
    """

    asked: int = 0
    refused: int = 0
    granted: int = 0
    answered: int = 0
    answered_again: int = 0
    invalid: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    prompt_tokens: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    last: deque[Asked] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    _arrivals: Counter[bytes] = field(default_factory=Counter)
    _answered: set[bytes] = field(default_factory=set)

    @property
    def repeats(self) -> int:
        """Return how many requests had arrived before, for whatever reason."""
        return self._arrivals.total() - len(self._arrivals)

    def arrives(self, request: bytes) -> int:
        """Count a request, and return how often the very same one came before."""
        self._arrivals[request] += 1
        return self._arrivals[request] - 1

    def is_answered(self, request: bytes, tokens: int) -> None:
        """Count a reply."""
        self.answered += 1
        self.answered_again += request in self._answered
        self._answered.add(request)
        self.prompt_tokens += tokens

    def as_dict(self) -> dict[str, Any]:
        """Return all counts by name."""
        counts = {name: value for name, value in vars(self).items() if isinstance(value, int)}
        return {**counts, "repeats": self.repeats, "faults": dict(self.faults)}


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
        self._revoked = False
        self._quota = Quota(plan.requests_per_minute, plan.burst) if plan.requests_per_minute else None

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
        if self._key is not None and (self._revoked or key != self._key):
            return gemini.rejects_token() if call and call[1] else dialect.rejects_key()
        if method == "GET" and (listed := _MODELS.fullmatch(path)):
            return self._models(dialect, listed[1])
        if method != "POST" or not (call or path == _CHAT):
            return dialect.fails(404, "no such method")
        body = _parsed(content)
        model, action = (call[2], call[3]) if call else (body.get("model"), "generateContent")
        if not isinstance(model, str) or (self.plan.models is not None and model not in self.plan.models):
            return dialect.lacks_model(str(model))
        if action == "countTokens":
            with _shape_checked():
                return json_response({"totalTokens": Asked(model, gemini.camel_cased(body)).tokens})
        if action not in ("generateContent", _STREAM):
            return dialect.fails(404, "no such method")
        asked = Asked(model, gemini.camel_cased(body)) if call else Asked(model, body, "chat")
        mark = blake2b(path.encode() + b"\0" + content, digest_size=16).digest()
        response = self._refused(dialect, asked) or self._let_in(dialect, asked, mark)
        wants_events = action == _STREAM or asked.body.get("stream") is True
        return _streamed(dialect, asked, response) if wants_events else response

    def _models(self, dialect: Dialect, name: str | None) -> ServerResponse:
        names = [name or _ANY_MODEL] if self.plan.models is None else list(self.plan.models)
        return dialect.models(names, name)

    def _refused(self, dialect: Dialect, asked: Asked) -> ServerResponse | None:
        with _shape_checked():
            complaint, tokens = dialect.complaint(asked, self.plan.chat), asked.tokens
        limit = (self.plan.models or {}).get(asked.model, self.plan.input_limit)
        return complaint or (dialect.is_too_long(tokens, limit) if tokens > limit else None)

    def _let_in(self, dialect: Dialect, asked: Asked, mark: bytes) -> ServerResponse:
        self.stats.asked += 1
        self.stats.last.append(asked)
        arrival = self.stats.arrives(mark)
        wait = self._quota.take() if self._quota else 0.0
        if wait:
            self.stats.refused += 1
            return dialect.limits_rate(wait)
        self.stats.granted += 1
        if self.plan.revoke_key_after is not None and self.stats.granted > self.plan.revoke_key_after:
            self._revoked = True
            return dialect.rejects_key()
        return self._respond(dialect, asked, mark, arrival)

    def _respond(self, dialect: Dialect, asked: Asked, mark: bytes, arrival: int) -> ServerResponse:
        fault = self.plan.draw(mark, arrival)
        if fault:
            self.stats.faults[fault] += 1
            response = _faulty(dialect, fault, asked)
        else:
            response = self._script(asked) if self._script else _sensible(dialect, asked)
        if response.status == 200 and not response.cut:
            self.stats.is_answered(mark, asked.tokens)
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


def _streamed(dialect: Dialect, asked: Asked, response: ServerResponse) -> ServerResponse:
    """Return the events of a reply; errors and lost connections are what they are without a stream."""
    if response.status != 200:
        return response
    events = dialect.streamed(asked, response)
    return replace(response, body=events.body, headers=events.headers)


def _sensible(dialect: Dialect, asked: Asked) -> ServerResponse:
    """Return a sensible reply, cut where the request caps its tokens."""
    text, most = sensible_text(asked), asked.most_tokens
    if most is not None and count_tokens(text) > most:
        return dialect.reply(asked, text[: most * LETTERS_A_TOKEN], complete=False)
    return dialect.reply(asked, text)


def _faulty(dialect: Dialect, fault: Fault, asked: Asked) -> ServerResponse:
    """Return the response of a fault."""
    text = sensible_text(asked)
    responses: dict[Fault, Callable[[], ServerResponse]] = {
        "rate_limit": lambda: dialect.limits_rate(RETRY_SECONDS),
        "server_error": lambda: dialect.fails(500, "An internal error has occurred."),
        "unavailable": lambda: dialect.fails(503, "The model is overloaded. Please try again later."),
        "reset": resets,
        "drip": lambda: replace(dialect.reply(asked, text), drip_seconds=DRIP_SECONDS),
        "wrong_json": lambda: dialect.reply(asked, f"{text.rstrip()[:-1]},{text.rstrip()[-1:]}"),
        "cut_json": lambda: dialect.reply(asked, text[: len(text) // 2]),
    }
    return responses[fault]()
