"""The interface to language models: a typed request in, a typed reply or error out."""

import json
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Generic, Protocol, TypeVar

from qa_pipeline.errors import ModelError
from qa_pipeline.records import (
    CallRecord,
    Passage,
    QuestionType,
    Repair,
    ReplyModel,
    Role,
    Usage,
)
from qa_pipeline.storage.hashes import hash_text

ReplyT = TypeVar("ReplyT", bound=ReplyModel)
ReplyT_co = TypeVar("ReplyT_co", bound=ReplyModel, covariant=True)
FAKE = "fake-"
"""Prefix of the model name in replies of the server of `make serve-fake`."""


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
    seed: int | None = None
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
        parts = (
            f'{{"prompt": {json.dumps(self.prompt)}, "role": {json.dumps(self.role)}, '
            f'"schema": {_schema_text(self.reply_model)}, "seed": {json.dumps(self.seed)}, '
            f'"system": {json.dumps(self.system)}, "temperature": {json.dumps(self.temperature)}}}'
        )
        return hash_text(parts)

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
    """Return the names in rows whose replies are stored under a model's name."""
    return model, f"{FAKE}{model}"


class LanguageModel(Protocol):
    """A model that can fill a reply model.

    `name` identifies provider, model and every fixed parameter. Models that may reply differently have
    different names.
    """

    @property
    def name(self) -> str:
        """Return the stable identity, stored with every row and part of the cache key."""
        ...

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Fill `request.reply_model`.

        Raises:
            TransientModelError: the retries of the adapter failed.
            PermanentModelError: later calls cannot succeed either.
            UnreadableReplyError: the reply cannot be used.
        """
        ...


async def close_connections(model: LanguageModel) -> None:
    """Close the model's connections in the running loop, if it has an `aclose`. It can be used again."""
    if hasattr(model, "aclose"):
        await model.aclose()
