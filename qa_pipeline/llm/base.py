"""The one seam to a language model: a typed request in, a typed reply or a typed error out.

What belongs here: the protocol every provider and wrapper implements, the records that cross it, reading
a reply's text, and `ask_all`, which asks many requests at once. What does not: HTTP, retries, caching,
prices, prompts.
Stages import this module and no other of `qa_pipeline.llm`.
"""

import asyncio
import hashlib
import json
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from qa_pipeline.errors import ModelError, PermanentModelError, UnreadableReplyError
from qa_pipeline.progress import Notify, silent
from qa_pipeline.records import Passage, ReplyModel

Role = Literal["questions", "answer", "verify", "judge"]
ReplyT = TypeVar("ReplyT", bound=ReplyModel)
ReplyT_co = TypeVar("ReplyT_co", bound=ReplyModel, covariant=True)
_NAMED_BREACHES = 3


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


@runtime_checkable
class HoldsConnections(Protocol):
    """A model whose connections belong to the running event loop; wrappers pass the call on."""

    async def aclose(self) -> None:
        """Close the connections of the running loop; the model can be used again, in any loop."""
        ...


async def close_connections(model: LanguageModel) -> None:
    """Close what the model holds open in the running loop, if it holds anything."""
    if isinstance(model, HoldsConnections):
        await model.aclose()


def parse_reply(raw: str, reply_model: type[ReplyT]) -> ReplyT:
    """Read the JSON text of a reply.

    Raises:
        UnreadableReplyError: `empty`, `not_json` or `schema_breach`. The detail names places and kinds of
            the breach and never repeats the reply, which is untrusted text.
    """
    if not raw.strip():
        raise UnreadableReplyError("empty", "the reply has no text")
    try:
        return reply_model.model_validate_json(raw)
    except ValidationError as error:
        breaches = error.errors(include_url=False, include_context=False, include_input=False)
    if breaches[0]["type"] == "json_invalid":
        raise UnreadableReplyError("not_json", f"the reply of {len(raw)} characters is not one JSON value")
    raise UnreadableReplyError("schema_breach", f"{reply_model.__name__}: {_describe(breaches)}")


def _describe(breaches: Sequence[ErrorDetails]) -> str:
    # the name of an unknown field is the reply's own text, so only known kinds of places are named
    named = [
        "unknown field" if breach["type"] == "extra_forbidden" else f"{_place(breach)} {breach['type']}"
        for breach in breaches[:_NAMED_BREACHES]
    ]
    rest = len(breaches) - len(named)
    return ", ".join(named) + (f" and {rest} more" if rest else "")


def _place(breach: ErrorDetails) -> str:
    return ".".join(str(part) for part in breach["loc"]) or "reply"


def ask_all(
    model: LanguageModel,
    requests: Sequence[Request[ReplyT]],
    *,
    workers: int,
    notify: Notify = silent,
) -> list[Reply[ReplyT] | ModelError]:
    """Ask every request with at most `workers` in flight; replies come back in request order.

    A request that fails alone is returned as its error, to become a row with a reason. After the first
    PermanentModelError nothing more is asked; calls in flight may finish, because they are paid for and
    reach the store of replies, and then the error is raised. Each call of this function has an event loop
    of its own, so a model's connections are closed before that loop ends.
    """

    async def run() -> list[Reply[ReplyT] | ModelError]:
        gate = asyncio.Semaphore(workers)
        refusals: list[PermanentModelError] = []
        done = 0

        async def one(request: Request[ReplyT]) -> Reply[ReplyT] | ModelError:
            nonlocal done
            async with gate:
                if refusals:
                    return refusals[0]
                try:
                    outcome: Reply[ReplyT] | ModelError = await model.complete(request)
                except PermanentModelError as error:
                    refusals.append(error)
                    return error
                except ModelError as error:
                    outcome = error
            done += 1
            notify(done, len(requests))
            return outcome

        try:
            outcomes = await _gather_or_cancel([one(request) for request in requests])
        finally:
            await close_connections(model)
        if refusals:
            raise refusals[0]
        return outcomes

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
