"""PDF files that pages are shown from: the bytes of few are remembered, and one page is read at a time."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.page_images import PageMap, Span, draw_page, map_page
from qa_pipeline.errors import InputError
from qa_pipeline.people.document_view import source_bytes
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.rows import DocumentRow

_MOST_BYTES = 150_000_000
"""Of files in memory: three of the largest that a run reads by default."""

_PATIENCE_SECONDS = 20.0
"""The time after which a page that PDFium cannot finish no longer lets others wait."""


class PageFiles:
    """The files of PDF documents as they were when a run read them.

    Only a file with the bytes that a document was read from is opened, which its parser read within the
    limits of `documents` in a process of its own. PDFium does one thing at a time.

    Args:
        layout: the output folder, which knows the corpus of each batch.
        limits: the limits of files and archives.
    """

    def __init__(self, layout: Layout, limits: DocumentSettings) -> None:
        self._layout = layout
        self._limits = limits
        self._contents: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def map_page(self, document: DocumentRow, number: int) -> PageMap:
        """Return where the text of a page is on it.

        Raises:
            InputError: the document has no such page, its file is gone or was changed, or it cannot be read.
        """
        with self._reading(document):
            content = self._content(document)
            return map_page(content, number, document["text"] or "", _span_of(document, number))

    def draw_page(self, document: DocumentRow, number: int, evidence: Span | None) -> bytes:
        """Return the picture of a page as PNG, with a stretch of its text highlighted.

        Raises:
            InputError: as by `map_page`.
        """
        with self._reading(document):
            content, page = self._content(document), _span_of(document, number)
            return draw_page(content, number, document["text"] or "", page, evidence=evidence).png

    @contextmanager
    def _reading(self, document: DocumentRow) -> Iterator[None]:
        """Let nobody else use PDFium, and name the document where it cannot be read."""
        if not self._lock.acquire(timeout=_PATIENCE_SECONDS):
            raise InputError(f"{document['path']}: another page is still being drawn; load this one again")
        try:
            yield
        except DocumentFailure as failure:
            raise InputError(f"{document['path']}: {failure.detail}") from failure
        finally:
            self._lock.release()

    def _content(self, document: DocumentRow) -> bytes:
        name = document["content_sha256"] or ""
        content = self._contents.get(name)
        if content is None:
            origin = self._layout.origin(document["batch"])
            if not origin.is_file():
                raise InputError(f"it is not recorded where {document['path']} was read from")
            files = open_corpus(origin.read_text(encoding="utf-8"), self._limits).batch(document["batch"])
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
