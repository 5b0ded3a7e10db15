"""The one seam to a language model: a typed request in, a typed reply or a typed error out.

What belongs here: the protocol every provider and wrapper implements, the records that cross it, and
`ask_all`, which asks many requests at once. What does not: HTTP, retries, caching, prices, prompts.
Stages import this module and no other of `qa_pipeline.llm`.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, TypeVar

from qa_pipeline.errors import ModelError, PermanentModelError
from qa_pipeline.records import Passage, ReplyModel

Role = Literal["questions", "answer", "verify", "judge"]
ReplyT = TypeVar("ReplyT", bound=ReplyModel)
ReplyT_co = TypeVar("ReplyT_co", bound=ReplyModel, covariant=True)
Notify = Callable[[int, int], None]
"""Called with (done, total) as work proceeds."""


def silent(done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Request(Generic[ReplyT]):
    """One question to a model.

    `prompt` and `system` are what a hosted model reads. `passages`, `question`, `answer` and `limit` are
    the same material unrendered, for providers that work on the text itself; they are already inside the
    prompt, so the key leaves them out.
    """

    role: Role
    system: str
    prompt: str
    reply_model: type[ReplyT]
    temperature: float
    seed: int | None = None
    language: str = "en"
    passages: tuple[Passage, ...] = ()
    question: str | None = None
    answer: str | None = None
    limit: int = 1
    prompt_hash: str = field(default="", compare=False)

    @cached_property
    def key(self) -> str:
        """SHA-256 over everything that can change a reply, the reply's schema included."""
        parts = {
            "role": self.role,
            "system": self.system,
            "prompt": self.prompt,
            "schema": self.reply_model.model_json_schema(),
            "temperature": self.temperature,
            "seed": self.seed,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as the provider reports them; None where it does not."""

    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reply(Generic[ReplyT_co]):
    """A parsed reply, its raw text, and where it came from."""

    value: ReplyT_co
    raw: str
    model: str
    usage: Usage = Usage()
    cached: bool = False


class LanguageModel(Protocol):
    """Anything that can fill a reply model.

    `name` identifies provider, model and every fixed parameter: two models that may reply differently
    have different names.
    """

    @property
    def name(self) -> str:
        """Stable identity, stored with every row and part of the cache key."""
        ...

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Fill `request.reply_model`.

        Raises:
            TransientModelError: the adapter's own retries are spent.
            PermanentModelError: no later call can succeed.
            UnreadableReplyError: a reply came that cannot be used.
        """
        ...


def ask_all(
    model: LanguageModel,
    requests: Sequence[Request[ReplyT]],
    *,
    workers: int,
    notify: Notify = silent,
) -> list[Reply[ReplyT] | ModelError]:
    """Ask every request with at most `workers` in flight; replies come back in request order.

    A request that fails alone is returned as its error, to become a row with a reason. The first
    PermanentModelError cancels what is in flight and is raised.
    """

    async def run() -> list[Reply[ReplyT] | ModelError]:
        gate = asyncio.Semaphore(workers)
        done = 0

        async def one(request: Request[ReplyT]) -> Reply[ReplyT] | ModelError:
            nonlocal done
            async with gate:
                try:
                    outcome: Reply[ReplyT] | ModelError = await model.complete(request)
                except PermanentModelError:
                    raise
                except ModelError as error:
                    outcome = error
            done += 1
            notify(done, len(requests))
            return outcome

        return await _gather_or_cancel([one(request) for request in requests])

    return asyncio.run(run())


async def _gather_or_cancel(work: list[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Gather like a TaskGroup, but raise the first error itself rather than a group."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
