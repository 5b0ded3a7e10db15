"""What a provider of batch jobs is: requests sent together, and what came back of each.

What belongs here: the protocol and the records that cross it. What does not: which requests form a job
(`deferred.py`), when it is looked at (`collecting.py`), the wire (`llm.gemini.batches`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.provider import RawReply

ItemResult = RawReply | ModelError
"""What came of one request: a reply, or the error that the same would be if it had been sent alone."""


@dataclass(frozen=True, slots=True)
class JobLook:
    """How a job stands.

    Args:
        ended: whether nothing changes any more.
        problem: why it ended without a reply to every request; None where it did not.
        results: by key of the sent request; a request without one got none.
        unnamed: results that name no request, by their place among all; they come in the order of requests.
    """

    ended: bool
    problem: str | None = None
    results: Mapping[str, ItemResult] = field(default_factory=dict)
    unnamed: Mapping[int, ItemResult] = field(default_factory=dict)


class BatchProvider(Protocol):
    """A server that takes batch jobs. Every method raises ModelError as `Provider.send` does."""

    @property
    def name(self) -> str:
        """That of the provider that would send each request alone: a stored reply is the same either way."""
        ...

    def size(self, request: Request[Any]) -> int:
        """Bytes that a request adds to a job, at most."""
        ...

    async def create(self, display_name: str, requests: Mapping[str, Request[Any]]) -> str:
        """Submit a job; the provider's name of it. `requests` stand under the keys of the results."""
        ...

    async def find(self, display_name: str) -> str | None:
        """The provider's name of the job that was submitted under a display name."""
        ...

    async def look(self, provider_name: str) -> JobLook:
        """How a job stands."""
        ...

    async def cancel(self, provider_name: str) -> None:
        """Stop a job."""
        ...

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        ...
