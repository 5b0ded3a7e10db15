"""What a parsing worker says, believed only as far as it fits the documents table.

What belongs here: reading its replies, and what the end of a worker says about the file it had. What does
not: the process behind them (`process`) and whose turn it is (`pool`).

A worker has read a hostile file, so its reply is data: bounded in size, of exactly the expected columns and
types, with spans that lie in the text.
"""

import json
import math
import signal
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.parsing import CONTENT_COLUMNS, ParseOutcome, Row
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.tables import DOCUMENTS
from qa_pipeline.text.characters import clean, lay_out

_LENGTHS = struct.Struct(">IQ")

READ_AT_ONCE = 1 << 20
"""Bytes asked of a pipe at a time; it gives what it holds."""


class MessageError(ValueError):
    """What arrived is no message, or one longer than allowed."""


@dataclass(frozen=True, slots=True)
class Message:
    """A head, still JSON, and a body."""

    head: bytes
    body: bytes


def framed(head: Mapping[str, Any], body: bytes = b"") -> list[bytes]:
    """A message as the pieces to be written one after another; the body is not copied."""
    written = json.dumps(head).encode()
    return [_LENGTHS.pack(len(written), len(body)) + written, body]


@dataclass(slots=True)
class MessageReader:
    """Puts one message at a time together; its sides take turns, so nothing may follow a message."""

    longest_head: int
    longest_body: int
    _arrived: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> Message | None:
        """Take what has arrived; the message once it is whole.

        Raises:
            MessageError: it is too long, or something follows it.
        """
        self._arrived += data
        if len(self._arrived) < _LENGTHS.size:
            return None
        head, body = _LENGTHS.unpack_from(self._arrived)
        if head > self.longest_head or body > self.longest_body:
            raise MessageError(f"a message of {head} and {body} bytes is longer than allowed")
        end = _LENGTHS.size + head + body
        if len(self._arrived) > end:
            raise MessageError("more follows a message before it was answered")
        return self._take(_LENGTHS.size + head) if len(self._arrived) == end else None

    def _take(self, body_from: int) -> Message:
        arrived, self._arrived = self._arrived, bytearray()
        with memoryview(arrived) as view:
            return Message(bytes(view[_LENGTHS.size : body_from]), bytes(view[body_from:]))


LONGEST_HEAD = 1 << 16
_LONGEST_DETAIL = 2000
_TOUCHED: dict[int, float] = {
    signal.SIGABRT: 0.2,
    signal.SIGTRAP: 0.2,
    signal.SIGILL: 0.2,
    signal.SIGSEGV: 0.4,
    signal.SIGBUS: 0.4,
}
"""How libraries end when they get no memory, and the share of the limit seen in use that tells it from a bug:
what grows by doubling is refused more when it holds less than half, and the last of it may go unseen.
"""
_WORDS_OF_MEMORY = (b"bad_alloc", b"memory allocation of", b"out of memory", b"memory exhausted")
_BOUNDS: dict[type[pl.DataType], tuple[int, int]] = {
    pl.Int32: (-(2**31), 2**31 - 1),
    pl.Int64: (-(2**63), 2**63 - 1),
}


class _Head(BaseModel):
    """The head of a reply."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    says: Literal["ready", "parsed", "failed", "left"]
    last: bool = False
    reason: Annotated[str, Field(pattern="^[a-z_]{1,40}$")] = "parser_error"
    detail: Annotated[str, Field(max_length=_LONGEST_DETAIL)] = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a worker says: that it is ready, that it left for want of work, or what became of its file.

    `last` says that the worker ends now: its file took so much memory that the next one had too little.
    """

    says: Literal["ready", "left", "outcome"]
    outcome: ParseOutcome | None = None
    last: bool = False


@dataclass(frozen=True, slots=True)
class Death:
    """How a worker ended: exit status (a signal is negative), and what libraries said last.

    `grown` is the most memory it was seen to take beyond what it took when it got ready, in bytes.
    """

    status: int
    grown: int
    messages: bytes

    @property
    def summary(self) -> str:
        """The end in words."""
        if self.status < 0:
            return f"it was ended by {_signal_name(-self.status)}"
        return f"it ended with status {self.status}"


def longest_body(settings: DocumentSettings) -> int:
    """Bytes of the longest reply that a document within the limits can need, with room for its sections."""
    return 8 * settings.max_characters + (1 << 20)


def read_reply(message: Message) -> Reply:
    """Read a reply; one that does not fit is itself the outcome of the file, and the worker's last."""
    try:
        head = _Head.model_validate_json(message.head)
        if head.says in ("ready", "left"):
            return Reply("ready" if head.says == "ready" else "left", last=head.last)
        outcome = _failure(head) if head.says == "failed" else _columns(message.body)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return unfit(problem["type"])
    except _MisplacedSpanError as error:
        return unfit(str(error))
    return Reply("outcome", outcome, head.last)


def what_happened(death: Death, settings: DocumentSettings) -> DocumentFailure:
    """What the end of a worker, not brought about by this process, says about the file it was parsing."""
    if -death.status in (signal.SIGALRM, signal.SIGXCPU):
        return timed_out(settings)
    if -death.status == signal.SIGKILL:
        detail = "the system ended the process that parsed it, as it does when memory runs out"
        return DocumentFailure("out_of_memory", detail)
    said = death.messages.lower()
    touched = death.grown > _TOUCHED.get(-death.status, math.inf) * settings.parse_memory
    if touched or any(word in said for word in _WORDS_OF_MEMORY):
        limit = f"documents.parse_memory = {settings.parse_memory} bytes"
        return DocumentFailure("out_of_memory", f"parsing ran into {limit}, and {death.summary}")
    return DocumentFailure("parser_crashed", f"the parser took its process down: {death.summary}")


def why_not_started(death: Death) -> str:
    """What a worker that never got ready says of it: the last line it wrote, or how it ended."""
    lines = death.messages.decode(errors="replace").strip().splitlines()
    return lay_out("heading", clean(lines[-1])) if lines else death.summary


def timed_out(settings: DocumentSettings) -> DocumentFailure:
    """The failure of a file that takes too long."""
    limit = f"documents.parse_seconds = {settings.parse_seconds:g}"
    return DocumentFailure("timed_out", f"parsing took longer than {limit}")


def unfit(problem: str) -> Reply:
    """The outcome of a file whose worker sent something else than a reply; it is the worker's last."""
    detail = f"the worker that parsed it sent a reply that cannot be used ({problem})"
    return Reply("outcome", DocumentFailure("parser_crashed", detail), last=True)


class _MisplacedSpanError(ValueError):
    """A section or page lies outside the text or before the one it follows."""


def _failure(head: _Head) -> DocumentFailure:
    return DocumentFailure(head.reason, lay_out("heading", clean(head.detail)))


def _columns(body: bytes) -> Row:
    row: Row = _validator().validate_json(body, strict=True)
    for name in ("sections", "pages"):
        _check_spans(row[name], len(row["text"]), name)
    return row


def _check_spans(spans: Sequence[Row], length: int, name: str) -> None:
    reached = 0
    for span in spans:
        if not reached <= span["start"] <= span["end"] <= length:
            raise _MisplacedSpanError(f"{name} out of place")
        reached = span["start"]


@cache
def _validator() -> SchemaValidator:
    columns = {column.name: column for column in DOCUMENTS.columns}
    fields = {}
    for name in CONTENT_COLUMNS:
        schema = _schema(columns[name].dtype)
        nullable = columns[name].nullable and name not in ("text", "declared")
        fields[name] = core_schema.typed_dict_field(
            core_schema.nullable_schema(schema) if nullable else schema
        )
    whole = core_schema.typed_dict_schema(fields, extra_behavior="forbid")
    return SchemaValidator(whole)


def _schema(dtype: pl.DataType) -> CoreSchema:
    """What a column's type asks of a JSON value; strings inside a struct may be unknown."""
    if isinstance(dtype, pl.List):
        return core_schema.list_schema(_schema(dtype.inner))  # type: ignore[arg-type] # never a class here
    if isinstance(dtype, pl.Struct):
        return core_schema.typed_dict_schema(
            {field.name: core_schema.typed_dict_field(_schema_in_struct(field)) for field in dtype.fields},
            extra_behavior="forbid",
        )
    if type(dtype) in _BOUNDS:
        least, most = _BOUNDS[type(dtype)]
        return core_schema.int_schema(ge=least, le=most)
    if isinstance(dtype, pl.Float64):
        return core_schema.float_schema(allow_inf_nan=False)
    return core_schema.str_schema()


def _schema_in_struct(field: pl.Field) -> CoreSchema:
    schema = _schema(field.dtype)  # type: ignore[arg-type] # never a class here
    return core_schema.nullable_schema(schema) if isinstance(field.dtype, pl.String) else schema


def _signal_name(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
