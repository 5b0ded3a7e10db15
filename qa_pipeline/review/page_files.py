"""PDF files that pages are drawn from: the bytes of few are remembered, and one page is drawn at a time."""

import hashlib
import os
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.documents.corpus.files import DocumentFailure, read_bytes
from qa_pipeline.documents.formats.pdf.page_images import Span
from qa_pipeline.documents.sandbox.pool import COMMAND, ParsingPool
from qa_pipeline.errors import InputError, SandboxError
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.table_schema import DocumentRow

_MOST_BYTES = 150_000_000
"""Of files in memory: three of the largest that a run reads by default."""

SECONDS = 20.0
"""A page that PDFium cannot finish in this time is not drawn, and no longer lets others wait."""


class PageFiles:
    """The files of PDF documents as they were when a run read them.

    Only a file with the bytes that a document was read from is opened, in a process of its own, which is
    kept for the next page: what PDFium cannot bear ends that process and no more.
    """

    def __init__(self, layout: Layout, limits: DocumentSettings, command: Sequence[str] = COMMAND) -> None:
        self._layout = layout
        self._limits = limits.model_copy(update={"parse_seconds": min(limits.parse_seconds, SECONDS)})
        self._contents: OrderedDict[str, bytes] = OrderedDict()
        self._pool = ParsingPool(os.environ, command)
        self._lock = Lock()

    def check(self, document: DocumentRow, number: int) -> None:
        """Raise an InputError unless the file of a document is there, unchanged, and has this page."""
        _span_of(document, number)
        with self._lock:
            self._content(document)

    def draw_page(self, document: DocumentRow, number: int, evidence: Span | None) -> bytes:
        """Return the picture of a page as PNG, with a stretch of its text highlighted."""
        first, last = _span_of(document, number)
        span = None if evidence is None else [place - first for place in evidence]
        text = (document["text"] or "")[first:last]
        head = {"number": number, "text": text, "evidence": span}
        if not self._lock.acquire(timeout=2 * SECONDS):
            raise InputError(f"{document['path']}: other pages are still being drawn; load this one again")
        try:
            (outcome,) = self._pool.run([(head, self._content(document))], self._limits, _png)
        except SandboxError as error:
            raise InputError(f"{document['path']}: {error}") from error
        finally:
            self._lock.release()
        if isinstance(outcome, DocumentFailure):
            problem = outcome.detail
            if outcome.reason == "timed_out":
                seconds = f"{self._limits.parse_seconds:g}"
                problem = f"page {number} takes longer than {seconds} seconds to draw"
            raise InputError(f"{document['path']}: {problem}") from outcome
        return outcome

    def close(self) -> None:
        """End the process."""
        self._pool.close()

    def _content(self, document: DocumentRow) -> bytes:
        name = document["content_sha256"] or ""
        if name not in self._contents:
            self._contents[name] = self._read(document)
        self._contents.move_to_end(name)
        while len(self._contents) > 1 and sum(map(len, self._contents.values())) > _MOST_BYTES:
            self._contents.popitem(last=False)
        return self._contents[name]

    def _read(self, document: DocumentRow) -> bytes:
        """Return the bytes of a document's file, found by content even if it was renamed."""
        origin = self._layout.origin(document["batch"])
        if not origin.is_file():
            raise InputError(f"it is not recorded where {document['path']} was read from")
        files = open_corpus(origin.read_text(encoding="utf-8")).batch(document["batch"])
        for file in sorted(files.list(), key=lambda file: file.path != document["path"]):
            if file.failure is None and file.size in (document["size"], None):
                try:
                    content = read_bytes(file, self._limits.max_bytes)
                except DocumentFailure as failure:
                    raise InputError(f"{document['path']}: {failure.detail}") from failure
                if hashlib.sha256(content).hexdigest() == document["content_sha256"]:
                    return content
        raise InputError(
            f"no file of {files.name} holds what {document['path']} was read from; run the batch again"
        )


def _png(reply: bytes) -> bytes:
    if not reply.startswith(b"\x89PNG"):
        raise ValueError("no picture")
    return reply


def _span_of(document: DocumentRow, number: int) -> Span:
    """Return the stretch of a document's text that is on a page."""
    spans = [(page["start"], page["end"]) for page in document["pages"] if page["number"] == number]
    if document["format"] != "pdf" or not spans:
        raise InputError(f"{document['path']} has no page {number} with text")
    return spans[0]
