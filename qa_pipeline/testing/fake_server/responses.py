"""A request as it arrived, the reply to it, and how tokens are counted."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Protocol = Literal["gemini", "chat"]
LETTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived. `body` is the JSON of the request, `protocol` tells how to read it."""

    model: str
    body: dict[str, Any]
    protocol: Protocol = "gemini"

    @property
    def prompt(self) -> str:
        """The text of the user's turns."""
        if self.protocol == "gemini":
            return "".join(_texts(turn) for turn in self.body["contents"])
        return "".join(_said(turn) for turn in self.body["messages"] if turn["role"] == "user")

    @property
    def system(self) -> str:
        """The text of the system instruction."""
        if self.protocol == "gemini":
            return _texts(self.body.get("systemInstruction", {}))
        return "".join(
            _said(turn) for turn in self.body["messages"] if turn["role"] in ("system", "developer")
        )

    @property
    def config(self) -> dict[str, Any]:
        """Temperature, seed, reply format and schema; these stand in the body itself where one chats."""
        config: dict[str, Any] = self.body.get("generationConfig", {})
        return config if self.protocol == "gemini" else self.body

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema of the reply, if one was sent."""
        if self.protocol == "gemini":
            return self.config.get("responseJsonSchema") or self.config.get("responseSchema")
        wanted: dict[str, Any] = self.body.get("response_format") or {}
        given: dict[str, Any] = wanted.get("json_schema") or {}
        return given.get("schema")

    @property
    def most_tokens(self) -> int | None:
        """The cap on the tokens of the reply."""
        if self.protocol == "gemini":
            return self.config.get("maxOutputTokens")
        return self.body.get("max_completion_tokens") or self.body.get("max_tokens")


@dataclass(frozen=True, slots=True)
class ServerPlay:
    """One reply of the server.

    Args:
        status: of HTTP.
        body: None resets the connection instead of replying.
        headers: beside those of every reply.
        delay_seconds: from the end of the request to the first byte.
        cut: whether only half of the body is sent before the connection is closed.
        drip_seconds: how long the bytes of the body take, sent a few at a time.
    """

    status: int
    body: bytes | None
    headers: tuple[tuple[str, str], ...] = field(default=())
    delay_seconds: float = 0.0
    cut: bool = False
    drip_seconds: float = 0.0


Script = Callable[[Asked], ServerPlay]
ServerScript = Sequence[ServerPlay] | Script


def count_tokens(text: str) -> int:
    """Tokens of a text as this server counts them: a quarter of its letters, rounded up."""
    return -(-len(text) // LETTERS_A_TOKEN)


def in_order(plays: Sequence[ServerPlay], spent: Callable[[str], ServerPlay]) -> Script:
    """A script that plays one after the other, and says with `spent` that there is no more."""
    left = deque(plays)

    def play(asked: Asked) -> ServerPlay:
        if not left:
            return spent(f"the script had {len(plays)} plays and is asked for more")
        return left.popleft()

    return play


def resets() -> ServerPlay:
    """Reset the connection instead of replying."""
    return ServerPlay(0, None)


def babbles(status: int = 200) -> ServerPlay:
    """Reply with a page that is no JSON at all, as a proxy may."""
    return ServerPlay(status, b"<html>gateway</html>")


def _texts(turn: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in turn.get("parts", []))


def _said(turn: dict[str, Any]) -> str:
    content = turn.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
