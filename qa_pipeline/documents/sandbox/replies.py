"""What a parsing worker sent, or how it ended, as the outcome of its file.

A worker has read a hostile file, so its reply is data: of exactly the expected columns and types, with spans
that lie in the text.
"""

import math
import signal
from collections.abc import Sequence
from functools import cache
from typing import Annotated

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.glyphs import Box
from qa_pipeline.documents.formats.pdf.page_images import PageMap, Span
from qa_pipeline.documents.parsing import CONTENT_COLUMNS, ContentRow
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.rows import DoubtStruct, PageStruct, SectionStruct
from qa_pipeline.storage.tables import DOCUMENTS
from qa_pipeline.text.characters import clean, lay_out

LONGEST_DETAIL = 1000  # characters: a detail is a sentence or two, and a worker is not trusted to be short
_MEMORY_SHARES: dict[int, float] = {
    **dict.fromkeys((signal.SIGABRT, signal.SIGTRAP, signal.SIGILL), 0.2),
    **dict.fromkeys((signal.SIGSEGV, signal.SIGBUS), 0.4),
}
"""The signals of libraries without memory, and the share of the limit in use that tells it from a bug:
what grows by doubling is refused more when it holds less than half, and the last of it may go unseen.
"""
_WORDS_OF_MEMORY = (b"bad_alloc", b"memory allocation of", b"out of memory", b"memory exhausted")


class _Head(BaseModel):
    """The first frame of a reply; without a reason, the columns of the document follow as a second one."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    reason: Annotated[str, Field(pattern="^[a-z_]{1,40}$")] | None
    detail: Annotated[str, Field(max_length=LONGEST_DETAIL)]


def read_head(head: bytes) -> DocumentFailure | None:
    """Return the reason why there is no document, or None where one follows.

    Raises:
        ValidationError: it is no head.
    """
    reply = _Head.model_validate_json(head)
    if reply.reason is None:
        return None
    return DocumentFailure(reply.reason, lay_out("heading", clean(reply.detail)))


def read_columns(body: bytes) -> ContentRow:
    """Return the columns of a document.

    Raises:
        ValueError: they do not fit the documents table.
    """
    row: ContentRow = _columns_validator().validate_json(body, strict=True)
    spans_of: dict[str, Sequence[SectionStruct | PageStruct | DoubtStruct]] = {
        "sections": row["sections"],
        "pages": row["pages"],
        "doubts": row["doubts"] or (),
    }
    for name, spans in spans_of.items():
        reached = 0
        for span in spans:
            if not reached <= span["start"] <= span["end"] <= len(row["text"]):
                raise ValueError(f"{name} out of place")
            reached = span["start"]
    return row


class _Places(BaseModel):
    """The characters of a page, as `PageMap` has them."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    paper: Box
    turn: Annotated[int, Field(ge=0, le=3)]
    boxes: list[Box | None]
    repeated: dict[int, Box]


def read_page_map(body: bytes, page: Span) -> PageMap:
    """Return where the characters of a page are.

    Args:
        body: the reply.
        page: the part of the document's text that is on the page.

    Raises:
        ValueError: the reply does not fit the page.
    """
    places = _Places.model_validate_json(body)
    if len(places.boxes) != page[1] - page[0]:
        raise ValueError("boxes of another text")
    return PageMap(page, places.paper, places.turn, places.boxes, places.repeated)


def unusable_reply(error: Exception) -> DocumentFailure:
    """Return the failure of a file whose worker sent no reply; the document is not quoted."""
    problem = error.errors(include_input=False)[0]["type"] if isinstance(error, ValidationError) else error
    detail = f"the worker that parsed it sent a reply that cannot be used ({problem})"
    return DocumentFailure("parser_crashed", detail)


def why_it_died(status: int, grown: int, messages: bytes, settings: DocumentSettings) -> DocumentFailure:
    """Return the failure that the end of a worker means for the file it was parsing.

    Args:
        status: exit status; a signal is negative.
        grown: the most memory it was seen to take beyond what it took when it got ready, in bytes.
        messages: what it, or a library in it, wrote last as an error.
        settings: the limits it had.
    """
    if -status in (signal.SIGALRM, signal.SIGXCPU):
        return timed_out(settings)
    if -status == signal.SIGKILL:
        detail = "the system ended the process that parsed it, as it does when memory runs out"
        return DocumentFailure("out_of_memory", detail)
    touched = grown > _MEMORY_SHARES.get(-status, math.inf) * settings.parse_memory
    if touched or any(words in messages.lower() for words in _WORDS_OF_MEMORY):
        limit = f"documents.parse_memory = {settings.parse_memory} bytes"
        return DocumentFailure("out_of_memory", f"parsing ran into {limit}, and {_end_in_words(status)}")
    detail = f"the parser took its process down: {_end_in_words(status)}"
    return DocumentFailure("parser_crashed", detail)


def why_not_started(status: int, messages: bytes) -> str:
    """Return the reason why a worker never got ready: the last line it wrote, or how it ended."""
    lines = messages.decode(errors="replace").strip().splitlines()
    return lay_out("heading", clean(lines[-1])) if lines else _end_in_words(status)


def timed_out(settings: DocumentSettings) -> DocumentFailure:
    """Return the failure of a file that takes too long."""
    limit = f"documents.parse_seconds = {settings.parse_seconds:g}"
    return DocumentFailure("timed_out", f"parsing took longer than {limit}")


def _end_in_words(status: int) -> str:
    if status >= 0:
        return f"it ended with status {status}"
    is_signal = -status in set(signal.Signals)
    return f"it was ended by {signal.Signals(-status).name if is_signal else f'signal {-status}'}"


@cache
def _columns_validator() -> SchemaValidator:
    columns = [column for column in DOCUMENTS.columns if column.name in CONTENT_COLUMNS]
    nullable = {column.name for column in columns if column.nullable} - {"text", "declared"}
    fields = {column.name: _field(column.dtype, nullable=column.name in nullable) for column in columns}
    return SchemaValidator(core_schema.typed_dict_schema(fields, extra_behavior="forbid"))


def _field(dtype: object, *, nullable: bool) -> core_schema.TypedDictField:
    schema = _schema(dtype)
    return core_schema.typed_dict_field(core_schema.nullable_schema(schema) if nullable else schema)


def _schema(dtype: object) -> CoreSchema:
    """Return the schema of a column's type for JSON; strings inside a struct may be unknown."""
    if isinstance(dtype, pl.List):
        return core_schema.list_schema(_schema(dtype.inner))
    if isinstance(dtype, pl.Struct):
        fields = {part.name: _field(part.dtype, nullable=part.dtype == pl.String) for part in dtype.fields}
        return core_schema.typed_dict_schema(fields, extra_behavior="forbid")
    if isinstance(dtype, (pl.Int32, pl.Int64)):
        most = 2 ** (31 if isinstance(dtype, pl.Int32) else 63) - 1
        return core_schema.int_schema(ge=-most - 1, le=most)
    return core_schema.float_schema(allow_inf_nan=False) if dtype == pl.Float64 else core_schema.str_schema()
