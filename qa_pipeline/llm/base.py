"""The one seam to a language model: a typed request in, a typed reply or a typed error out."""

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
"""Stands before the name of the model that replies where the server is the one of `make serve-fake`."""


@dataclass(frozen=True)
class Request(Generic[ReplyT]):
    """A question to a model.

    `prompt` and `system` are what a hosted model reads. `passages`, `question`, `answer`, `limit` and
    `types` are the same material unrendered, for providers that work on the text itself;
    they are already inside the prompt, so the key leaves them out. `batch` is whom the call is for.
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
        """Return the SHA-256 over everything that can change a reply, the reply's schema included."""
        # as json.dumps(…, sort_keys=True) writes it; the schema's part is made once, being most of the work
        parts = (
            f'{{"prompt": {json.dumps(self.prompt)}, "role": {json.dumps(self.role)}, '
            f'"schema": {_schema_text(self.reply_model)}, "seed": {json.dumps(self.seed)}, '
            f'"system": {json.dumps(self.system)}, "temperature": {json.dumps(self.temperature)}}}'
        )
        return hash_text(parts)

    @property
    def documents(self) -> tuple[str, ...]:
        """Return the ids of the documents whose text the request shows, each once."""
        return tuple(dict.fromkeys(passage.document_id for passage in self.passages if passage.document_id))


@cache
def json_schema(reply_model: type[ReplyModel]) -> dict[str, Any]:
    """Return the reply model's JSON schema, built once; callers must not change it."""
    return reply_model.model_json_schema()


@cache
def _schema_text(reply_model: type[ReplyModel]) -> str:
    return json.dumps(json_schema(reply_model), sort_keys=True)


@dataclass(frozen=True, slots=True)
class Reply(Generic[ReplyT_co]):
    """A parsed reply, its raw text, and where it came from.

    `calls` are those it took, in order; none when it was stored or cost nothing.
    """

    value: ReplyT_co
    raw: str
    model: str
    usage: Usage = field(default_factory=Usage)
    cached: bool = False
    repair: Repair = "none"
    calls: tuple[CallRecord, ...] = ()


def is_fake(name: str | None) -> bool:
    """Return True if a model's name, as it replied or as `maker` marks it, is that of `make serve-fake`."""
    provider, slash, model = (name or "").partition("/")
    return bool(slash) and (provider.startswith(FAKE) or model.startswith(FAKE))


def maker(model: str, reply: Reply[Any] | ModelError) -> str:
    """Return the model that a row names: the one asked, marked where a fake replied in its place."""
    return f"{FAKE}{model}" if is_fake(getattr(reply, "model", None)) else model


def makers(model: str) -> tuple[str, str]:
    """Return the names that rows have whose replies are stored under a model's name."""
    return model, f"{FAKE}{model}"


class LanguageModel(Protocol):
    """Anything that can fill a reply model.

    `name` identifies provider, model and every fixed parameter: two models that may reply differently
    have different names.
    """

    @property
    def name(self) -> str:
        """Return the stable identity, stored with every row and part of the cache key."""
        ...

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Fill `request.reply_model`.

        Raises:
            TransientModelError: the adapter's own retries are spent.
            PermanentModelError: no later call can succeed.
            UnreadableReplyError: a reply came that cannot be used.
        """
        ...


async def close_connections(model: LanguageModel) -> None:
    """Close what the model holds open in the running loop, if it has an `aclose`; it can be used again."""
    if hasattr(model, "aclose"):
        await model.aclose()
