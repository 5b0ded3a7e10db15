"""Stored replies to a file and back: for another machine, for CI, for keeping.

What belongs here: streaming rows out of and into the database. What does not: the format of a line
(`lines.py`), where files lie and how they are packed (`packed_files.py`).

A file is one line of header and one line a reply, in the order of keys, so that equal stores give
equal files.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from qa_pipeline.errors import InputError
from qa_pipeline.llm.database import Database
from qa_pipeline.llm.store.lines import Line, check_header, header_line, line_of, read_line
from qa_pipeline.llm.store.packed_files import packed, read_lines, received, sent
from qa_pipeline.llm.store.sql import insert_missing
from qa_pipeline.llm.store_schema import REPLIES, REPLY_DOCUMENTS

_A_PORTION = 500
_PLACE = sa.tuple_(REPLIES.c.request_key, REPLIES.c.asked_model)


@dataclass(frozen=True, slots=True)
class Imported:
    """Replies that are new to the store, and those it had, which stay as they were."""

    new: int
    known: int


def export_replies(database: Database, location: str) -> int:
    """Write all replies to a local file or an address; it appears whole or not at all. Returns how many.

    Raises:
        InputError: the name has no known ending, or the address cannot be used.
        StorageError: the file could not be written; an old one is untouched.
        ReplyStoreError: the store cannot be used.
    """
    count = 0
    with sent(location) as sibling, packed(sibling, location) as file:
        file.write(header_line())
        for row, documents in _rows(database):
            file.write(line_of(row, documents))
            count += 1
    return count


def import_replies(database: Database, location: str) -> Imported:
    """Add the replies of a file to the store. Nothing is added unless every line is right.

    Raises:
        InputError: the file cannot be read, or a line is wrong; says which.
        ReplyStoreError: the store cannot be used.
    """
    with received(location) as path:
        count = sum(1 for _ in _lines(path, location))
        new = 0
        lines = _lines(path, location)
        while portion := list(islice(lines, _A_PORTION)):
            new += database.transact(partial(_add, database=database, lines=portion))
    return Imported(new, count - new)


def _lines(path: Path, location: str) -> Iterator[Line]:
    try:
        lines = read_lines(path, location)
        check_header(next(lines, b""))
        for number, text in enumerate(lines, 2):
            yield read_line(text, number)
    except InputError as error:
        raise InputError(f"{location} cannot be imported: {error}") from error


def _rows(database: Database) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Every row with its documents, read in portions, so that no run waits for it."""
    after: tuple[str, str] | None = None
    while portion := database.read(partial(_portion, after=after)):
        yield from portion
        last_row = portion[-1][0]
        after = (last_row["request_key"], last_row["asked_model"])


def _portion(
    connection: sa.Connection, after: tuple[str, str] | None
) -> list[tuple[dict[str, Any], list[str]]]:
    chosen = sa.select(REPLIES).order_by(*_PLACE.clauses).limit(_A_PORTION)
    if after is not None:
        chosen = chosen.where(sa.tuple_(*map(sa.literal, after)) < _PLACE)
    rows = [dict(row) for row in connection.execute(chosen).mappings()]
    documents = _documents(connection, [(row["asked_model"], row["request_key"]) for row in rows])
    return [(row, documents.get((row["asked_model"], row["request_key"]), [])) for row in rows]


def _documents(
    connection: sa.Connection, requests: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], list[str]]:
    columns = REPLY_DOCUMENTS.c
    chosen = (
        sa.select(columns.asked_model, columns.request_key, columns.document_id)
        .where(sa.tuple_(columns.asked_model, columns.request_key).in_(requests))
        .order_by(columns.document_id)
    )
    documents: dict[tuple[str, str], list[str]] = {}
    for model, key, document in connection.execute(chosen):
        documents.setdefault((model, key), []).append(document)
    return documents


def _add(connection: sa.Connection, database: Database, lines: Sequence[Line]) -> int:
    rows = [line.row for line in lines]
    preserve = {"preserve_rowcount": True}
    added = connection.execute(insert_missing(database, REPLIES), rows, execution_options=preserve).rowcount
    seen = list(_seen(lines))
    if seen:
        connection.execute(insert_missing(database, REPLY_DOCUMENTS), seen)
    return added


def _seen(lines: Iterable[Line]) -> Iterator[dict[str, str]]:
    for line in lines:
        for document in line.documents:
            yield {
                "asked_model": line.asked_model,
                "request_key": line.request_key,
                "document_id": document,
            }
