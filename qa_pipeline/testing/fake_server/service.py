"""From method, path, headers and body of a request to what the server replies, without a network."""

import json
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from typing import Any

from qa_pipeline.testing.fake_server import chat, gemini
from qa_pipeline.testing.fake_server.chat import chat_complaint
from qa_pipeline.testing.fake_server.dialects import (
    ChatDialect,
    Dialect,
    GeminiDialect,
    capped_reply,
    prompt_tokens,
    spoiled,
)
from qa_pipeline.testing.fake_server.gemini import (
    BatchJobs,
    batch_complaint,
    camel_cased,
    count_complaint,
    generate_complaint,
)
from qa_pipeline.testing.fake_server.plan import ServerPlan
from qa_pipeline.testing.fake_server.replies import sensible_text
from qa_pipeline.testing.fake_server.responses import Asked, Script, ServerPlay, count_tokens

_ROUNDING = 1e-9


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
        last: the requests that were asked last, all of them or as many as it is bounded to.
        asked: well-formed requests for a reply that came with the right key.
        refused: those over the quota.
        granted: all others.
        answered: those that were sent a reply, usable or not.
        answered_again: those of them whose very same request had been sent one before.
        invalid: requests with a wrong key, path, model or body.
        batched: requests inside batch jobs.
        in_flight: requests that wait for their reply now.
        most_in_flight: the most that ever waited at once.
        faults: drawn faults by name.
        prompt_tokens: of answered requests.
    """

    last: deque[Asked]
    asked: int = 0
    refused: int = 0
    granted: int = 0
    answered: int = 0
    answered_again: int = 0
    invalid: int = 0
    batched: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    prompt_tokens: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    _arrivals: Counter[bytes] = field(default_factory=Counter)
    _answered: set[bytes] = field(default_factory=set)

    @property
    def repeats(self) -> int:
        """Requests that were asked more than once, for whatever reason, counted without their first time."""
        return self._arrivals.total() - len(self._arrivals)

    def arrives(self, request: bytes) -> int:
        """Count a request; how often the very same one came before."""
        before = self._arrivals[request]
        self._arrivals[request] = before + 1
        return before

    def is_answered(self, request: bytes) -> None:
        """Count a reply."""
        self.answered += 1
        if request in self._answered:
            self.answered_again += 1
        self._answered.add(request)

    def enters(self) -> None:
        """Count a request that waits."""
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def leaves(self) -> None:
        """Count one that waits no more."""
        self.in_flight -= 1

    def as_dict(self) -> dict[str, Any]:
        """All counts by name."""
        names = [one.name for one in fields(self) if one.type == "int" or one.type is int]
        return {**{name: getattr(self, name) for name in [*names, "repeats"]}, "faults": dict(self.faults)}


_MODEL = re.compile(
    r"/v1[a-z0-9]*/(projects/[^/]+/locations/[^/]+/)?(publishers/google/)?models/([^/:]+)(?::(\w+))?"
)
_BATCH = re.compile(r"/v1[a-z0-9]*/(batches/[^/:]+)(?::(cancel))?")
_BATCHES = re.compile(r"/v1[a-z0-9]*/batches")
_MODELS = re.compile(r"/v1[a-z0-9]*/models")
_PAGE = 50
_OUTPUT_LIMIT = 65_536


class Service:
    """Everything a server knows and counts.

    Args:
        script: replies to well-formed requests; None makes sensible replies out of the prompts.
        key: the only key that is let in; None lets everybody in.
        plan: how the server behaves.
        remember: how many requests to remember; None remembers all.
    """

    def __init__(
        self, script: Script | None, *, key: str | None, plan: ServerPlan, remember: int | None = None
    ) -> None:
        self.plan = plan
        self.stats = Stats(deque(maxlen=remember))
        self._key = key
        self._script = script
        self._revoked = False
        self._quota = Quota(plan.requests_per_minute, plan.burst) if plan.requests_per_minute else None
        self._dialects: dict[str, Dialect] = {
            "gemini": GeminiDialect(),
            "vertex": GeminiDialect(vertex=True),
            "chat": ChatDialect(),
        }
        self._batches = BatchJobs(self._batched, plan.batch_polls, plan.batch_ends)

    def answer(
        self, method: str, path: str, headers: Mapping[str, str], query: Mapping[str, str], content: bytes
    ) -> ServerPlay:
        """The play for a request; it is counted, and remembered if it is well formed and let in."""
        play = self._chat(method, path, headers, content) if _is_chat(method, path, headers) else None
        play = play or self._gemini(method, path, headers, query, content)
        if 400 <= play.status < 500 and play.status != 429:
            self.stats.invalid += 1
        return play

    def _chat(self, method: str, path: str, headers: Mapping[str, str], content: bytes) -> ServerPlay:
        dialect = self._dialects["chat"]
        refused = self._refused_key(dialect, _bearer(headers))
        if refused:
            return refused
        if path.startswith("/v1/models"):
            return self._chat_models(path.removeprefix("/v1/models").lstrip("/"))
        if method != "POST":
            return chat.fails(404, f"Invalid URL ({method} {path})")
        body = _parsed(content)
        complaint = chat_complaint(body, self.plan.chat)
        return complaint or self._ask(dialect, Asked(body["model"], body, "chat"), _mark(path, content))

    def _chat_models(self, name: str) -> ServerPlay:
        if name and not self._knows(name):
            return chat.lacks_model(name)
        cards = [
            {"id": model, "object": "model", "created": 0, "owned_by": "loopback"}
            for model in ([name] if name else self.plan.models or ["chat-loopback"])
        ]
        return _ok(cards[0] if name else {"object": "list", "data": cards})

    def _gemini(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        query: Mapping[str, str],
        content: bytes,
    ) -> ServerPlay:
        model = _MODEL.fullmatch(path)
        vertex = bool(model and model[2])
        dialect = self._dialects["vertex" if vertex else "gemini"]
        given = _bearer(headers) if vertex else headers.get("x-goog-api-key") or query.get("key")
        refused = self._refused_key(dialect, given)
        if refused:
            return refused
        if model:
            return self._model(dialect, method, model[3], model[4], path, content)
        if _MODELS.fullmatch(path) and method == "GET":
            return _ok({"models": [self._card(name) for name in self.plan.models or ["gemini-loopback"]]})
        return self._batch_job(method, path, query)

    def _batch_job(self, method: str, path: str, query: Mapping[str, str]) -> ServerPlay:
        job = _BATCH.fullmatch(path)
        if job:
            return self._batches.act(method, job[1], job[2])
        if _BATCHES.fullmatch(path) and method == "GET":
            return self._batches.listed(int(query.get("pageSize") or _PAGE), query.get("pageToken", ""))
        return gemini.fails(404, "no such method")

    def _model(
        self, dialect: Dialect, method: str, model: str, action: str | None, path: str, content: bytes
    ) -> ServerPlay:
        if not self._knows(model):
            return dialect.lacks_model(model)
        if method == "GET" and action is None:
            return _ok(self._card(model))
        actions: dict[str | None, Callable[[Any], ServerPlay]] = {
            "generateContent": lambda body: self._generate(dialect, model, body, _mark(path, content)),
            "countTokens": lambda body: count_complaint(body) or _counted(model, body),
            "batchGenerateContent": lambda body: batch_complaint(body) or self._batches.create(model, body),
        }
        handler = actions.get(action) if method == "POST" else None
        if handler is None:
            return gemini.fails(404, "no such method")
        body = _parsed(content)
        if body is None:
            return gemini.refuses_field("Invalid JSON payload received. Expected a value.", "")
        return handler(body)

    def _generate(self, dialect: Dialect, model: str, body: Any, mark: bytes) -> ServerPlay:
        body = camel_cased(body)
        return generate_complaint(body) or self._ask(dialect, Asked(model, body), mark)

    def _batched(self, model: str, body: Any) -> ServerPlay:
        """One request of a batch job: no quota, and no fault of the line."""
        self.stats.batched += 1
        mark = blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=16).digest()
        body = camel_cased(body)
        complaint = generate_complaint(body)
        if complaint:
            return complaint
        dialect, asked = self._dialects["gemini"], Asked(model, body)
        play = self._refused_request(dialect, asked) or self._play(
            dialect, asked, mark, self.stats.arrives(mark)
        )
        return self._reply(dialect, asked) if play.body is None or play.cut else play

    def _ask(self, dialect: Dialect, asked: Asked, mark: bytes) -> ServerPlay:
        if not self._knows(asked.model):
            return dialect.lacks_model(asked.model)
        refused = self._refused_request(dialect, asked)
        if refused:
            return refused
        self.stats.asked += 1
        self.stats.last.append(asked)
        arrival = self.stats.arrives(mark)
        wait = self._quota.take() if self._quota else 0.0
        if wait:
            self.stats.refused += 1
            return dialect.exceeds_quota(wait)
        self.stats.granted += 1
        if self.plan.revoke_key_after is not None and self.stats.granted > self.plan.revoke_key_after:
            self._revoked = True
            return dialect.refuses_key(missing=False)
        return self._play(dialect, asked, mark, arrival)

    def _play(self, dialect: Dialect, asked: Asked, mark: bytes, arrival: int) -> ServerPlay:
        fault = self.plan.draw(mark, arrival)
        if fault is None:
            play = self._script(asked) if self._script else self._reply(dialect, asked)
        else:
            self.stats.faults[fault] += 1
            waits = {"retry_seconds": self.plan.retry_seconds, "drip_seconds": self.plan.drip_seconds}
            play = spoiled(dialect, fault, asked, sensible_text(asked), **waits)
        if play.status == 200 and not play.cut:
            self.stats.is_answered(mark)
            self.stats.prompt_tokens += prompt_tokens(asked)
        latency = 0.0 if play.status == 429 else self.plan.latency
        return replace(play, delay_seconds=play.delay_seconds + latency) if latency else play

    def _reply(self, dialect: Dialect, asked: Asked) -> ServerPlay:
        return capped_reply(dialect, asked, sensible_text(asked))

    def _refused_key(self, dialect: Dialect, key: str | None) -> ServerPlay | None:
        if self._key is None:
            return None
        if key == self._key and not self._revoked:
            return None
        return dialect.refuses_key(missing=not key)

    def _refused_request(self, dialect: Dialect, asked: Asked) -> ServerPlay | None:
        tokens, limit = prompt_tokens(asked), self._limit(asked.model)
        return dialect.is_too_long(tokens, limit) if tokens > limit else None

    def _knows(self, model: str) -> bool:
        return self.plan.models is None or model in self.plan.models

    def _limit(self, model: str) -> int:
        return (self.plan.models or {}).get(model, self.plan.input_limit)

    def _card(self, model: str) -> dict[str, Any]:
        return {
            "name": f"models/{model}",
            "displayName": model,
            "inputTokenLimit": self._limit(model),
            "outputTokenLimit": _OUTPUT_LIMIT,
            "supportedGenerationMethods": ["generateContent", "countTokens", "batchGenerateContent"],
        }


def _is_chat(method: str, path: str, headers: Mapping[str, str]) -> bool:
    """Both protocols list models at one address; who sends a bearer's token chats."""
    lists = method == "GET" and "Authorization" in headers and path.startswith("/v1/models")
    return lists or path == "/v1/chat/completions"


def _bearer(headers: Mapping[str, str]) -> str | None:
    kind, _, token = headers.get("Authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _mark(path: str, content: bytes) -> bytes:
    """What tells a request from every other one."""
    return blake2b(path.encode() + b"\0" + content, digest_size=16).digest()


def _counted(model: str, body: dict[str, Any]) -> ServerPlay:
    inner = body.get("generateContentRequest", body)
    asked = Asked(model, inner)
    return _ok({"totalTokens": count_tokens(asked.prompt) + count_tokens(asked.system)})


def _ok(body: Any) -> ServerPlay:
    return ServerPlay(200, json.dumps(body).encode())
