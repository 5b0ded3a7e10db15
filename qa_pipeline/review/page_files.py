"""PDF files that pages are shown from: the bytes of few are remembered, and one page is read at a time."""

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock

from pydantic import TypeAdapter

from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.page_images import PageMap, Span
from qa_pipeline.documents.sandbox.pool import COMMAND, ParsingPool, ReplyT
from qa_pipeline.errors import InputError, SandboxError
from qa_pipeline.review.document_view import source_bytes
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.rows import DocumentRow

_MOST_BYTES = 150_000_000
"""Of files in memory: three of the largest that a run reads by default."""

SECONDS = 20.0
"""A page that PDFium cannot finish in this time is not drawn, and no longer lets others wait."""
_PAGE_MAP = TypeAdapter(PageMap)


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

    def map_page(self, document: DocumentRow, number: int) -> PageMap:
        """Return where the text of a page is on it."""
        page = _span_of(document, number)

        def read(reply: bytes) -> PageMap:
            places = _PAGE_MAP.validate_json(reply)
            if len(places.boxes) != page[1] - page[0]:
                raise ValueError("boxes of another text")
            return replace(places, page=page)

        return self._ask(document, number, read)

    def draw_page(self, document: DocumentRow, number: int, evidence: Span | None) -> bytes:
        """Return the picture of a page as PNG, with a stretch of its text highlighted."""
        first, _ = _span_of(document, number)
        span = None if evidence is None else [place - first for place in evidence]
        return self._ask(document, number, bytes, picture=True, evidence=span)

    def close(self) -> None:
        """End the process."""
        self._pool.close()

    def _ask(
        self,
        document: DocumentRow,
        number: int,
        read: Callable[[bytes], ReplyT],
        *,
        picture: bool = False,
        evidence: list[int] | None = None,
    ) -> ReplyT:
        """Ask the worker for a page; a failure names the document."""
        text = (document["text"] or "")[slice(*_span_of(document, number))]
        head = {"number": number, "text": text, "picture": picture, "evidence": evidence}
        if not self._lock.acquire(timeout=2 * SECONDS):
            raise InputError(f"{document['path']}: other pages are still being drawn; load this one again")
        try:
            content = self._content(document)
            (outcome,) = self._pool.run([(head, content)], self._limits, read)
        except DocumentFailure as failure:
            outcome = failure
        except SandboxError as error:
            raise InputError(f"{document['path']}: {error}") from error
        finally:
            self._lock.release()
        if isinstance(outcome, DocumentFailure):
            if outcome.reason == "timed_out":
                seconds = f"{self._limits.parse_seconds:g}"
                raise InputError(
                    f"{document['path']}: page {number} takes longer than {seconds} seconds to draw"
                ) from outcome
            raise InputError(f"{document['path']}: {outcome.detail}") from outcome
        return outcome

    def _content(self, document: DocumentRow) -> bytes:
        name = document["content_sha256"] or ""
        content = self._contents.get(name)
        if content is None:
            origin = self._layout.origin(document["batch"])
            if not origin.is_file():
                raise InputError(f"it is not recorded where {document['path']} was read from")
            files = open_corpus(origin.read_text(encoding="utf-8")).batch(document["batch"])
            content = source_bytes(document, files, self._limits.max_bytes)
            self._contents[name] = content
        self._contents.move_to_end(name)
        while len(self._contents) > 1 and sum(map(len, self._contents.values())) > _MOST_BYTES:
            self._contents.popitem(last=False)
        return content


def _span_of(document: DocumentRow, number: int) -> Span:
    """Return the stretch of a document's text that is on a page."""
    spans = [(page["start"], page["end"]) for page in document["pages"] if page["number"] == number]
    if document["format"] != "pdf" or not spans:
        raise InputError(f"{document['path']} has no page {number} with text")
    return spans[0]
