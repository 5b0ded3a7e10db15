"""Replies and errors as OpenAI's chat completions write them, and servers that speak the same.

What belongs here: plays for a script, in the wire form of chat completions. What does not: when they are
played, and reading requests (`chat_requests.py`).
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from qa_pipeline.llm.fake_server.play import ServerPlay
from qa_pipeline.records import ReplyModel

USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 9,
    "total_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
"""What a scripted reply says it took."""


def says(
    reply: ReplyModel | str | None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    model: str = "chat-loopback",
    usage: Mapping[str, Any] | None = USAGE,
) -> ServerPlay:
    """Reply with a model's value, with any text, with none, or with a refusal."""
    text = reply.model_dump_json() if isinstance(reply, ReplyModel) else reply
    message = {"role": "assistant", "content": text, "refusal": refusal}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    return _ok([choice], model, usage)


def refuses(text: str = "I'm sorry, I can't help with that.", **changes: Any) -> ServerPlay:
    """Reply with a refusal where the answer would stand."""
    return says(None, refusal=text, **changes)


def no_choices() -> ServerPlay:
    """Reply with nothing in it."""
    return _ok([], "chat-loopback", None)


def fails(
    status: int,
    message: str = "scripted fault",
    *,
    code: str | None = None,
    param: str | None = None,
    kind: str | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> ServerPlay:
    """Reply with an error status."""
    kind = kind or ("server_error" if status >= 500 else "invalid_request_error")
    error = {"message": message, "type": kind, "param": param, "code": code}
    return ServerPlay(status, json.dumps({"error": error}).encode(), headers)


def lacks_key() -> ServerPlay:
    """Reply as to a request without a key."""
    return fails(401, "You didn't provide an API key.", code="invalid_api_key")


def rejects_key() -> ServerPlay:
    """Reply as to a wrong key."""
    return fails(401, "Incorrect API key provided.", code="invalid_api_key")


def lacks_model(model: str) -> ServerPlay:
    """Reply as to a model nobody knows."""
    message = f"The model `{model}` does not exist or you do not have access to it."
    return fails(404, message, code="model_not_found")


def limits_rate(seconds: float, *, as_reset: bool = False) -> ServerPlay:
    """Ask to wait, in Retry-After or in the header that says when the limit is reset."""
    wait = ("x-ratelimit-reset-requests", _span(seconds)) if as_reset else ("Retry-After", f"{seconds:g}")
    return fails(
        429, "Rate limit reached for requests", code="rate_limit_exceeded", kind="requests", headers=(wait,)
    )


def exceeds_quota(seconds: float) -> ServerPlay:
    """Refuse a request over the quota, and say when the next would be let in."""
    milliseconds = math.ceil(seconds * 1000)
    headers = (
        ("retry-after-ms", str(milliseconds)),
        ("retry-after", str(math.ceil(seconds))),
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", _span(milliseconds / 1000)),
    )
    message = "Rate limit reached for requests"
    return fails(429, message, code="rate_limit_exceeded", kind="requests", headers=headers)


def lacks_credit() -> ServerPlay:
    """Reply as to an account without money, which no waiting mends."""
    message = "You exceeded your current quota, please check your plan and billing details."
    return fails(429, message, code="insufficient_quota", kind="insufficient_quota")


def _span(seconds: float) -> str:
    """A duration as OpenAI's headers write it: 6m0s, 1s, 20ms."""
    if seconds < 1:
        return f"{round(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{rest:g}s" if minutes else f"{rest:g}s"


def _ok(choices: list[dict[str, Any]], model: str, usage: Mapping[str, Any] | None) -> ServerPlay:
    body: dict[str, Any] = {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": choices,
    }
    return ServerPlay(200, json.dumps(body | ({"usage": usage} if usage else {})).encode())
