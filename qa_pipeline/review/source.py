"""Documents on the screen: their text in parts, pages of PDF files as pictures, and their facts."""

import hashlib
import math
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from urllib.parse import quote, urlencode

import polars as pl

from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.documents.corpus.files import DocumentFailure, read_bytes
from qa_pipeline.documents.formats.pdf.page_images import Span
from qa_pipeline.documents.sandbox import COMMAND, ParsingPool
from qa_pipeline.errors import InputError, SandboxError
from qa_pipeline.retrieval.chunks import ChunkRow
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.table_schema import DocumentRow, typed_rows
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS
from qa_pipeline.text.rendering import first_names

LONGEST_PART = 60_000
"""Characters of a part, about 20 printed pages."""
_OFFSET = re.compile("[0-9]{1,9}")  # int() would accept signs, blanks and other digits
_VIEW_FIELDS = ("part", "page", "view")
"""Fields of an address that choose the part of a document."""
SECONDS = 20.0
"""Time to draw a page; another request waits for twice as long."""


class PageFiles:
    """Draw pages of PDF files in a separate process, which a bad file may crash.

    A file is only opened if its content is the same as when a run read it.
    """

    def __init__(self, layout: Layout, limits: DocumentSettings, command: Sequence[str] = COMMAND) -> None:
        self._layout = layout
        self._limits = limits.model_copy(update={"parse_seconds": min(limits.parse_seconds, SECONDS)})
        self._latest = ("", b"")  # hash and content
        self._pool = ParsingPool(os.environ, command)
        self._lock = Lock()

    def address(self, document: DocumentRow, number: int, evidence: Span | None) -> str:
        """Return the address of a page's picture; raises InputError if the file changed or lacks the page."""
        _span_of(document, number)  # raises an error if the page is missing
        with self._lock:
            self._content(document)  # raises an error if the file has changed
        batch, document_id = (quote(name, safe="") for name in (document["batch"], document["document_id"]))
        span = {"start": evidence[0], "end": evidence[1]} if evidence else {}
        query = urlencode({"of": document["content_sha256"] or "", **span})  # the hash, for browser caches
        return f"/page/{batch}/{document_id}/{number}.png?{query}"

    def draw_page(self, document: DocumentRow, number: int, evidence: Span | None) -> bytes:
        """Return a page as PNG, with a span of its text highlighted."""
        start, end = _span_of(document, number)
        # offsets in the text of the page
        span = None if evidence is None else [offset - start for offset in evidence]
        text = (document["text"] or "")[start:end]
        request = {"number": number, "text": text, "evidence": span}
        if not self._lock.acquire(timeout=2 * SECONDS):
            raise InputError(f"{document['path']}: other pages are still being drawn; reload this page")
        try:
            (outcome,) = self._pool.run([(request, self._content(document))], self._limits, _png)
        except SandboxError as error:
            raise InputError(f"{document['path']}: {error}") from error
        finally:
            self._lock.release()
        if isinstance(outcome, DocumentFailure):
            problem = outcome.detail
            if outcome.reason == "timed_out":
                problem = f"page {number} takes longer than {self._limits.parse_seconds:g} seconds to draw"
            raise InputError(f"{document['path']}: {problem}") from outcome
        return outcome

    def close(self) -> None:
        """End the process."""
        self._pool.close()

    def _content(self, document: DocumentRow) -> bytes:
        """Return the content of a document's file; the latest file is remembered."""
        content_sha256 = document["content_sha256"] or ""
        if self._latest[0] != content_sha256:
            self._latest = content_sha256, self._read(document)
        return self._latest[1]

    def _read(self, document: DocumentRow) -> bytes:
        """Return the content of a document's file, or raise InputError if it has changed."""
        origin = self._layout.origin(document["batch"])
        if not origin.is_file():
            raise InputError(f"the origin of {document['path']} is not recorded; run the batch again")
        batch = open_corpus(origin.read_text(encoding="utf-8")).batch(document["batch"])
        for file in batch.list():
            if file.failure is not None or file.path != document["path"]:
                continue
            try:
                content = read_bytes(file, self._limits.max_bytes)
            except DocumentFailure as failure:
                raise InputError(f"{document['path']}: {failure.detail}") from failure
            if hashlib.sha256(content).hexdigest() == document["content_sha256"]:
                return content
        raise InputError(f"{document['path']} has changed or is gone; run batch {batch.name} again")


def _png(reply: bytes) -> bytes:
    if not reply.startswith(b"\x89PNG"):
        raise ValueError("no picture")
    return reply


def _span_of(document: DocumentRow, number: int) -> Span:
    """Return the span of a document's text on a page."""
    spans = [(page["start"], page["end"]) for page in document["pages"] if page["number"] == number]
    if document["format"] != "pdf" or not spans:
        raise InputError(f"{document['path']} has no page {number} with text")
    return spans[0]


@dataclass(frozen=True, slots=True)
class SourceView:
    """A document on the screen: the page at the address `picture`, or a part of the text."""

    document: DocumentRow
    part: int  # number of the part, from 1
    parts: int
    spans: list[tuple[str, bool]]  # text of the part; True marks the evidence
    page: int | None  # number of the page, if its picture is shown
    pages: list[int]
    picture: str | None
    has_evidence: bool
    problem: str | None  # why the picture cannot be shown
    query: Mapping[str, str]

    def link(self, **changes: object) -> str:
        """Return the address of another part or view."""
        fields = {name: value for name, value in self.query.items() if name not in _VIEW_FIELDS} | changes
        return f"?{urlencode({name: value for name, value in fields.items() if value not in ('', None)})}"

    def other_page(self, step: int) -> int | None:
        """Return the page this many steps away, if there is one."""
        if self.page not in self.pages:
            return None
        index = self.pages.index(self.page) + step
        return self.pages[index] if 0 <= index < len(self.pages) else None


def source_view(
    tables: StoredTables,
    files: PageFiles,
    batch: str,
    document_id: str,
    evidence: Span | None,
    query: Mapping[str, str],
) -> SourceView:
    """Return a document with its evidence marked; raises InputError if the document or the span is missing.

    `query` has a `part`, a `page` or `view=text`; by default the document opens at the evidence.
    """
    document = find_document(tables, batch, document_id)
    text = document["text"] or ""
    if evidence and not 0 <= evidence[0] <= evidence[1] <= len(text):
        raise InputError(
            f"{document['path']} has no characters {evidence[0]:,} to {evidence[1]:,}; it may have changed "
            "since the claim"
        )
    evidence_start, evidence_end = evidence or (0, 0)
    pages = document["pages"] if document["format"] == "pdf" else []
    page_number, picture, problem = None, None, None  # of a page that is shown as a picture
    if pages and query.get("view") != "text":
        # index of the last page that starts at or before the evidence, or -1 if all start after it
        page_of_evidence = bisect_right([page["start"] for page in pages], evidence_start) - 1
        page_number = number_in(query, "page") or pages[max(page_of_evidence, 0)]["number"]
        try:
            picture = files.address(document, page_number, evidence)
        except InputError as error:
            page_number, problem = None, str(error)
    parts = max(1, math.ceil(len(text) / LONGEST_PART))
    part = min(number_in(query, "part") or evidence_start // LONGEST_PART + 1, parts)
    start, end = (part - 1) * LONGEST_PART, part * LONGEST_PART
    # the evidence within this part
    marked_start, marked_end = (min(max(offset, start), end) for offset in (evidence_start, evidence_end))
    spans = [
        (text[start:marked_start], False),
        (text[marked_start:marked_end], True),
        (text[marked_end:end], False),
    ]
    return SourceView(
        document=document,
        part=part,
        parts=parts,
        spans=[(words, is_evidence) for words, is_evidence in spans if words],
        page=page_number,
        pages=[page["number"] for page in pages],
        picture=picture,
        has_evidence=evidence is not None,
        problem=problem,
        query=query,
    )


def span_in(query: Mapping[str, str]) -> Span | None:
    """Return the span that an address names by `start` and `end`."""
    start, end = query.get("start", ""), query.get("end", "")
    return (int(start), int(end)) if _OFFSET.fullmatch(start) and _OFFSET.fullmatch(end) else None


def find_document(tables: StoredTables, batch: str, document_id: str) -> DocumentRow:
    """Return a document of a batch, or raise InputError if the batch lacks it."""
    rows = tables.frame(DOCUMENTS, batch).filter(pl.col("document_id") == document_id)
    if not rows.height:
        raise InputError(f"batch {batch!r} has no document {document_id!r}; it may have been removed")
    return next(typed_rows(rows, DocumentRow))


def number_in(query: Mapping[str, str], name: str) -> int | None:
    """Return a positive number of an address, if it is there."""
    value = query.get(name, "")
    return int(value) if _OFFSET.fullmatch(value) and int(value) >= 1 else None


def find_by_name(layout: Layout, name: str) -> tuple[DocumentRow, list[ChunkRow]]:
    """Find the only document with this path, BATCH/PATH or id, and its chunks."""
    full_path = pl.concat_str("batch", pl.lit("/"), "path")
    tables = (read_table(path, DOCUMENTS) for path in layout.tables(DOCUMENTS.name))
    documents = pl.concat([DOCUMENTS.empty(), *tables])
    is_named = (pl.col("document_id") == name) | (pl.col("path") == name) | (full_path == name)
    rows = list(typed_rows(documents.filter(is_named), DocumentRow))
    if not rows:
        raise InputError(f"no document is called {name!r}; name one that qa-pipeline run has read")
    if len(rows) > 1:
        paths = first_names([f"{row['batch']}/{row['path']}" for row in rows])
        raise InputError(f"{len(rows)} documents match {name!r}: {paths}; give batch and path, or an id")
    chunks_path, chunks = layout.table(CHUNKS.name, rows[0]["batch"]), CHUNKS.empty()
    if chunks_path.is_file():  # a run may stop before it is written
        chunks = read_table(chunks_path, CHUNKS).filter(document_id=rows[0]["document_id"]).sort("position")
    return rows[0], list(typed_rows(chunks, ChunkRow))


def split_at_borders(document: DocumentRow, chunks: Sequence[ChunkRow]) -> Iterator[tuple[str, str]]:
    """Yield kind and text of each border and of the text between borders.

    A kind is `page`, `section`, `chunk` or `text`. At the same offset pages come first and chunks last.
    """
    # offset, order at the same offset, kind and title
    borders = [(page["start"], 0, "page", f"page {page['number']}") for page in document["pages"]]
    borders += [
        (section["start"], 1, "section", " > ".join(section["heading_path"]) or "(before the first heading)")
        for section in document["sections"]
    ]
    for chunk in chunks:
        span = f"[{chunk['char_start']}:{chunk['char_end']}]"
        facts = [f"chunk {chunk['position']} {chunk['chunk_id']} {span}", f"{chunk['tokens']} tokens"]
        facts += [fact for fact in (chunk["language"], chunk["passed_over"]) if fact]
        borders.append((chunk["char_start"], 2, "chunk", ", ".join(facts)))
    text, position = document["text"] or "", 0
    for start, _, kind, title in sorted(borders):
        if start > position:
            yield "text", text[position:start]
            position = start
        yield kind, title
    if position < len(text):
        yield "text", text[position:]
