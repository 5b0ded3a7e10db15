"""A request as it arrived, the response to it, and how tokens are counted."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Protocol = Literal["gemini", "chat"]
LETTERS_A_TOKEN = 4
THOUGHT_TOKENS = 16
"""Thought tokens that are reported where a request asks the model to think."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived; `body` is its JSON in the form of `protocol`."""

    model: str
    body: dict[str, Any]
    protocol: Protocol = "gemini"

    @property
    def prompt(self) -> str:
        """Return the text of the user's turns."""
        if self.protocol == "gemini":
            return "".join(_parts_text(turn["parts"]) for turn in self.body["contents"])
        return self._messages("user")

    @property
    def system(self) -> str:
        """Return the text of the system instruction."""
        if self.protocol == "gemini":
            return _parts_text(self.body.get("systemInstruction", {}).get("parts", []))
        return self._messages("system", "developer")

    @property
    def config(self) -> dict[str, Any]:
        """Temperature, seed, reply format and schema; in chat completions these are in the body itself."""
        config: dict[str, Any] = self.body.get("generationConfig", {})
        return config if self.protocol == "gemini" else self.body

    @property
    def schema(self) -> dict[str, Any] | None:
        """Return the JSON schema of the reply, if one was sent."""
        if self.protocol == "gemini":
            return self.config.get("responseJsonSchema") or self.config.get("responseSchema")
        wanted: dict[str, Any] = self.body.get("response_format") or {}
        schema: dict[str, Any] | None = (wanted.get("json_schema") or {}).get("schema")
        return schema

    @property
    def most_tokens(self) -> int | None:
        """Return the cap on the tokens of the reply."""
        if self.protocol == "gemini":
            return self.config.get("maxOutputTokens")
        return self.body.get("max_completion_tokens") or self.body.get("max_tokens")

    @property
    def tokens(self) -> int:
        """Return the tokens of instruction and prompt."""
        return count_tokens(self.system) + count_tokens(self.prompt)

    def _messages(self, *roles: str) -> str:
        contents = [turn.get("content") or "" for turn in self.body["messages"] if turn["role"] in roles]
        return "".join(content if isinstance(content, str) else _parts_text(content) for content in contents)


@dataclass(frozen=True, slots=True)
class ServerResponse:
    """One response of the server.

    Args:
        status: of HTTP.
        body: None resets the connection instead of replying.
        headers: beside those of every response.
        delay_seconds: from the end of the request to the first byte.
        cut: whether only half of the body is sent before the connection is closed.
        drip_seconds: how long the bytes of the body take, sent a few at a time.
    """

    status: int
    body: bytes | None
    headers: tuple[tuple[str, str], ...] = ()
    delay_seconds: float = 0.0
    cut: bool = False
    drip_seconds: float = 0.0


Script = Callable[[Asked], ServerResponse]
ServerScript = Sequence[ServerResponse] | Script


def count_tokens(text: str) -> int:
    """Return the tokens of a text as this server counts them: a quarter of its letters, rounded up."""
    return -(-len(text) // LETTERS_A_TOKEN)


def json_response(
    body: object, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> ServerResponse:
    """Return a response whose body is JSON."""
    return ServerResponse(status, json.dumps(body).encode(), headers)


def resets() -> ServerResponse:
    """Reset the connection instead of replying."""
    return ServerResponse(0, None)


def wait_text(seconds: float) -> str:
    """Return the seconds to wait, rounded up to milliseconds so that nobody is sent back too early."""
    return f"{math.ceil(seconds * 1000) / 1000:g}"


def _parts_text(parts: list[dict[str, Any]]) -> str:
    return "".join(part.get("text", "") for part in parts)
