"""The interface to language models: a typed request in, a typed reply or error out."""

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Generic, Protocol, TypeVar

from qa_pipeline.errors import ModelError, PermanentModelError
from qa_pipeline.records import (
    CallRecord,
    Passage,
    ProgressCallback,
    QuestionType,
    Repair,
    ReplyModel,
    Role,
    Usage,
    no_progress,
)
from qa_pipeline.storage.hashes import hash_text

ReplyT = TypeVar("ReplyT", bound=ReplyModel)
ReplyT_co = TypeVar("ReplyT_co", bound=ReplyModel, covariant=True)
FAKE = "fake-"
"""Prefix of the model name in replies of the server of `make serve-fake`."""


class TransientModelError(ModelError):
    """A failure that may pass; an adapter raises it after its own retries are used up.

    Args:
        message: the cause.
        is_rate_limit: True if the server reports too many requests, not a fault of its own.
        wait_seconds: seconds the server asks to wait; 0 if unstated.
        maybe_charged: True if the request may have been charged, as after a lost connection.
        is_away: True if the server seems to be at fault, not the request. It refuses connections, loads its
            model, or drops connections during a restart.
        is_final: True if another try would probably fail in the same way.
    """

    reason = "model_unavailable"

    def __init__(
        self,
        message: str,
        *,
        is_rate_limit: bool = False,
        wait_seconds: float = 0.0,
        maybe_charged: bool = False,
        is_away: bool = False,
        is_final: bool = False,
    ) -> None:
        super().__init__(message)
        self.is_rate_limit = is_rate_limit
        self.wait_seconds = wait_seconds
        self.maybe_charged = maybe_charged
        self.is_away = is_away
        self.is_final = is_final


@dataclass(frozen=True)
class Request(Generic[ReplyT]):
    """A question to a model.

    A hosted model reads `prompt` and `system`. `passages`, `question`, `answer`, `limit` and `types` are the
    same material unrendered, for providers that work on the text itself. The key leaves them out, because the
    prompt already contains them. `batch` is the batch that the call is for.
    """

    role: Role
    system: str
    prompt: str
    reply_model: type[ReplyT]
    temperature: float
    seed: int = 0
    language: str = "en"
    passages: tuple[Passage, ...] = ()
    question: str | None = None
    answer: str | None = None
    limit: int = 1
    types: tuple[QuestionType, ...] = ()
    batch: str = field(default="", compare=False)
    prompt_hash: str = field(default="", compare=False)

    @cached_property
    def key(self) -> str:
        """Return the SHA-256 of everything that can change a reply, including the reply's schema."""
        # equals json.dumps(…, sort_keys=True), but caches the schema, which is most of the work
        sorted_json = (
            f'{{"prompt": {json.dumps(self.prompt)}, "role": {json.dumps(self.role)}, '
            f'"schema": {_schema_text(self.reply_model)}, "seed": {json.dumps(self.seed)}, '
            f'"system": {json.dumps(self.system)}, "temperature": {json.dumps(self.temperature)}}}'
        )
        return hash_text(sorted_json)

    @property
    def documents(self) -> tuple[str, ...]:
        """Return the distinct ids of documents whose text the request shows."""
        return tuple(dict.fromkeys(passage.document_id for passage in self.passages if passage.document_id))


@cache
def json_schema(reply_model: type[ReplyModel]) -> dict[str, Any]:
    """Return the cached JSON schema of a reply model. Callers must not change it."""
    return reply_model.model_json_schema()


@cache
def _schema_text(reply_model: type[ReplyModel]) -> str:
    return json.dumps(json_schema(reply_model), sort_keys=True)


@dataclass(frozen=True, slots=True)
class Reply(Generic[ReplyT_co]):
    """A parsed reply with its raw text and origin.

    `calls` are the calls it took, in order. It is empty for a stored or free reply.
    """

    value: ReplyT_co
    raw: str
    model: str
    usage: Usage = field(default_factory=Usage)
    cached: bool = False
    repair: Repair = "none"
    calls: tuple[CallRecord, ...] = ()


def is_fake(name: str | None) -> bool:
    """Return True if a replied model name, or a name marked by `maker`, is from `make serve-fake`."""
    provider, slash, model = (name or "").partition("/")
    return bool(slash) and (provider.startswith(FAKE) or model.startswith(FAKE))


def maker(model: str, reply: Reply[Any] | ModelError) -> str:
    """Return the model name for a row: the asked model, marked if a fake replied instead."""
    return f"{FAKE}{model}" if is_fake(getattr(reply, "model", None)) else model


def makers(model: str) -> tuple[str, str]:
    """Return the names that rows state for a model: its own, and that of `make serve-fake` in its stead."""
    return model, f"{FAKE}{model}"


class LanguageModel(Protocol):
    """A model that replies to requests.

    `name` identifies provider, model and every fixed parameter. Models that may reply differently have
    different names.
    """

    @property
    def name(self) -> str:
        """Return the stable identity, stored with every row and part of the cache key."""

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Ask the model, and parse its reply as `request.reply_model`.

        Raises:
            TransientModelError: the retries of the adapter failed.
            PermanentModelError: later calls cannot succeed either.
            UnreadableReplyError: the reply cannot be used.
        """


async def close_connections(model: LanguageModel) -> None:
    """Close the model's connections in the running loop, if it has an `aclose`. It can be used again."""
    if hasattr(model, "aclose"):
        await model.aclose()


def complete_all(
    model: LanguageModel,
    requests: Sequence[Request[ReplyT]],
    *,
    workers: int,
    notify: ProgressCallback = no_progress,
) -> list[Reply[ReplyT] | ModelError]:
    """Send all requests with at most `workers` in flight, and return replies in request order.

    A single failed request is returned as its error and becomes a row with a reason. The first
    PermanentModelError stops further requests. Calls in flight may finish, because they are paid for and
    stored. Then the error is raised.

    Each call of this function has its own event loop, and the model's connections are closed before it ends.
    If a loop is already running, as in a notebook, a thread is used.
    """
    asking = _ask_all(model, requests, workers, notify)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(asking)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asking).result()


async def _ask_all(
    model: LanguageModel, requests: Sequence[Request[ReplyT]], workers: int, notify: ProgressCallback
) -> list[Reply[ReplyT] | ModelError]:
    """Send requests from the running loop; see `complete_all`."""
    outcomes: dict[int, Reply[ReplyT] | ModelError] = {}
    permanent_errors: list[PermanentModelError] = []
    unsent = iter(enumerate(requests))  # shared: each worker takes the next request

    async def worker() -> None:
        """Send unsent requests one by one, until a worker gets a PermanentModelError."""
        for number, request in unsent:
            try:
                outcomes[number] = await model.complete(request)
            except PermanentModelError as error:  # raised below instead of the outcomes
                permanent_errors.append(error)
            except ModelError as error:
                outcomes[number] = error
            if permanent_errors:  # also of another worker
                return
            notify(len(outcomes), len(requests))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(workers, len(requests))):
                group.create_task(worker())
    except BaseExceptionGroup as group_error:
        # raise the error that cancelled the other workers, with its own cause, instead of the group
        first_error = group_error.exceptions[0]
        raise first_error from first_error.__cause__
    finally:
        await close_connections(model)
    if permanent_errors:
        raise permanent_errors[0]
    return [outcomes[number] for number in range(len(requests))]
