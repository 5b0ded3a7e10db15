"""What a hosted provider is: one request sent once, and what came back.

What belongs here: the protocol of a provider and the text it returns. What does not: trying again, limits of
rate, budgets, reading JSON (`hosted.py` does these for every provider alike).
"""

from dataclasses import dataclass
from typing import Any, Protocol

from qa_pipeline.calls import Usage
from qa_pipeline.llm.base import Request


@dataclass(frozen=True, slots=True)
class RawReply:
    """The text of a finished reply, the model that says it wrote it, and its tokens."""

    text: str
    model: str
    usage: Usage


class Provider(Protocol):
    """A server and how it is asked.

    `name` identifies provider, model, server and everything fixed about how it is asked: two providers that
    may reply differently have different names. It holds no key.
    """

    @property
    def name(self) -> str:
        """Stable identity; part of the key under which replies are stored."""
        ...

    async def send(self, request: Request[Any]) -> RawReply:
        """Send the request once.

        Raises:
            TransientModelError: another try may succeed; says whether the server limits the rate, how long it
                asks to wait, and whether the call may have been charged.
            PermanentModelError: no later call can succeed.
            UnreadableReplyError: the provider blocked, cut or refused the reply, or it is empty, or the
                request is too long. `usage` of what it took is on the error where the provider tells it.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections of the running loop; the provider can be used again, in any loop."""
        ...
