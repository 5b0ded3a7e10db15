"""The two dialects: the same replies, refusals and faults as Gemini or as OpenAI writes them."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from qa_pipeline.testing.fake_server import chat, gemini
from qa_pipeline.testing.fake_server.plan import Fault
from qa_pipeline.testing.fake_server.responses import Asked, ServerPlay, babbles, count_tokens, resets

Ending = Literal["stop", "length", "safety", "recitation", "refusal"]
REFUSAL = "I'm sorry, but I can't help with that."
_GEMINI_FINISH = {"length": "MAX_TOKENS", "safety": "SAFETY", "recitation": "RECITATION"}
_CHAT_FINISH = {"length": "length", "safety": "content_filter", "recitation": "content_filter"}
_THOUGHTS = 16
"""Tokens that a model is said to have thought with, where the request asks it to think."""


class GeminiDialect:
    """Speaks as Gemini, or as Vertex AI, which has other errors for keys."""

    def __init__(self, *, vertex: bool = False) -> None:
        self._vertex = vertex

    def reply(self, asked: Asked, text: str, ending: Ending = "stop") -> ServerPlay:
        """Reply with a text, or end without one; a refusal is a text like any other."""
        blocked = ending in ("safety", "recitation")
        text = "" if blocked else REFUSAL if ending == "refusal" else text
        prompt, written = prompt_tokens(asked), count_tokens(text)
        thoughts = _THOUGHTS if "thinkingConfig" in asked.config else 0
        usage = {
            "promptTokenCount": prompt,
            "candidatesTokenCount": written,
            "thoughtsTokenCount": thoughts,
            "totalTokenCount": prompt + written + thoughts,
        }
        finish = _GEMINI_FINISH.get(ending, "STOP")
        if blocked:
            return gemini.stops(finish, usage=usage)
        return gemini.says(text, finish=finish, model=asked.model, usage=usage)

    def fails(self, status: int, message: str) -> ServerPlay:
        """Reply with an error status."""
        return gemini.fails(status, message)

    def limits_rate(self, seconds: float) -> ServerPlay:
        """Ask to wait, in the details and in the header."""
        header = (("Retry-After", f"{seconds:g}"),)
        return replace(gemini.limits_rate(seconds), headers=header)

    def exceeds_quota(self, seconds: float) -> ServerPlay:
        """Ask to wait until the quota lets the next one in."""
        return gemini.exceeds_quota(seconds)

    def refuses_key(self, *, missing: bool) -> ServerPlay:
        """Refuse a key that is missing, wrong or revoked."""
        if self._vertex:
            return gemini.rejects_token()
        return gemini.lacks_key() if missing else gemini.rejects_key()

    def lacks_model(self, model: str) -> ServerPlay:
        """Say that no model has this name."""
        message = (
            f"models/{model} is not found for API version v1, or is not supported for generateContent. "
            "Call ListModels to see the list of available models and their supported methods."
        )
        return gemini.fails(404, message)

    def is_too_long(self, tokens: int, limit: int) -> ServerPlay:
        """Say that the model does not read so much."""
        message = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({limit})."
        return gemini.fails(400, message)


class ChatDialect:
    """Speaks as OpenAI's chat completions."""

    def reply(self, asked: Asked, text: str, ending: Ending = "stop") -> ServerPlay:
        """Reply with a text, a refusal, or without one."""
        said = None if ending in ("safety", "recitation", "refusal") else text
        prompt = prompt_tokens(asked)
        thoughts = _THOUGHTS if "reasoning_effort" in asked.body else 0
        written = count_tokens(said or "") + thoughts
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "total_tokens": prompt + written,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": thoughts},
        }
        refusal = REFUSAL if ending == "refusal" else None
        finish = _CHAT_FINISH.get(ending, "stop")
        return chat.says(said, finish=finish, refusal=refusal, model=asked.model, usage=usage)

    def fails(self, status: int, message: str) -> ServerPlay:
        """Reply with an error status."""
        return chat.fails(status, message)

    def limits_rate(self, seconds: float) -> ServerPlay:
        """Ask to wait."""
        return chat.limits_rate(seconds)

    def exceeds_quota(self, seconds: float) -> ServerPlay:
        """Ask to wait until the quota lets the next one in."""
        return chat.exceeds_quota(seconds)

    def refuses_key(self, *, missing: bool) -> ServerPlay:
        """Refuse a key that is missing, wrong or revoked."""
        return chat.lacks_key() if missing else chat.rejects_key()

    def lacks_model(self, model: str) -> ServerPlay:
        """Say that no model has this name."""
        return chat.lacks_model(model)

    def is_too_long(self, tokens: int, limit: int) -> ServerPlay:
        """Say that the model does not read so much."""
        message = (
            f"This model's maximum context length is {limit} tokens. However, your messages resulted in "
            f"{tokens} tokens. Please reduce the length of the messages."
        )
        return chat.fails(400, message, code="context_length_exceeded", param="messages")


Dialect = GeminiDialect | ChatDialect


def prompt_tokens(asked: Asked) -> int:
    """Tokens of instruction and prompt."""
    return count_tokens(asked.system) + count_tokens(asked.prompt)


def capped_reply(dialect: Dialect, asked: Asked, text: str) -> ServerPlay:
    """Reply with a text, cut where the request caps the tokens of the reply."""
    most = asked.most_tokens
    if most is not None and count_tokens(text) > most:
        return dialect.reply(asked, text[: most * 4], "length")
    return dialect.reply(asked, text)


def spoiled(
    dialect: Dialect, fault: Fault, asked: Asked, text: str, *, retry_seconds: float, drip_seconds: float
) -> ServerPlay:
    """The play of a fault, where `text` would have been the reply."""
    half = text[: len(text) // 2]
    plays: dict[Fault, Callable[[], ServerPlay]] = {
        "rate_limit": lambda: dialect.limits_rate(retry_seconds),
        "server_error": lambda: dialect.fails(500, "An internal error has occurred."),
        "unavailable": lambda: dialect.fails(503, "The model is overloaded. Please try again later."),
        "reset": resets,
        "half_body": lambda: replace(dialect.reply(asked, text), cut=True),
        "drip": lambda: replace(dialect.reply(asked, text), drip_seconds=drip_seconds),
        "babble": lambda: babbles(502),
        "fenced": lambda: dialect.reply(asked, f"Here is the JSON:\n```json\n{text}\n```\nDone."),
        "wrong_json": lambda: dialect.reply(asked, f"{text.rstrip()[:-1]},{text.rstrip()[-1:]}"),
        "prose": lambda: dialect.reply(asked, "The answer follows from the first passage."),
        "cut_json": lambda: dialect.reply(asked, half),
        "truncated": lambda: dialect.reply(asked, half, "length"),
        "safety": lambda: dialect.reply(asked, "", "safety"),
        "recitation": lambda: dialect.reply(asked, "", "recitation"),
        "schema_breach": lambda: dialect.reply(asked, json.dumps({"unexpected": True})),
        "refusal": lambda: dialect.reply(asked, "", "refusal"),
    }
    return plays[fault]()
