"""PDF files: opening them, and telling why one cannot be read.

What belongs here: the entry point, limits and damage. What does not: lines of a page (`pdf_lines`) and how
lines make up paragraphs and headings (`pdf_layout`). Pages without text (scans) are not read by eye.
"""

from contextlib import closing
from typing import TYPE_CHECKING

from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.pdf_layout import lay_out_lines
from qa_pipeline.documents.pdf_lines import Line, read_lines
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings import DocumentSettings

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_HEADER_WITHIN = 1024
_END_WITHIN = 2048


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one PDF file.

    Raises:
        DocumentFailure: `encrypted`, `damaged`, `too_many_pages`, `too_long` or `no_text`.
    """
    from pypdfium2 import PdfiumError

    _check_edges(source.content)
    try:
        with closing(_open(source.content)) as document:
            _check_pages(document, settings)
            lines = _all_lines(document, settings)
            title = document.get_metadata_value("Title")
    except PdfiumError as error:
        raise DocumentFailure("damaged", "a page of the PDF cannot be loaded") from error
    if not lines:
        raise DocumentFailure("no_text", "the PDF has pages but no text; it may be a scan")
    blocks = lay_out_lines(lines)
    headed = any(block.kind == "heading" for block in blocks)
    return ParsedFile(blocks=tuple(blocks), title=None if headed else title or None)


def _check_edges(content: bytes) -> None:
    """PDFium repairs a file without its end and silently loses pages, so that is refused here."""
    if b"%PDF-" not in content[:_HEADER_WITHIN]:
        raise DocumentFailure("damaged", "the file does not begin as a PDF")
    if b"%%EOF" not in content[-_END_WITHIN:]:
        raise DocumentFailure("damaged", "the end of the PDF is missing; it may be cut off")


def _open(content: bytes) -> "PdfDocument":
    import pypdfium2
    from pypdfium2 import raw

    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise DocumentFailure("encrypted", "the PDF opens only with a password") from error
        raise DocumentFailure("damaged", "the PDF cannot be opened") from error


def _check_pages(document: "PdfDocument", settings: DocumentSettings) -> None:
    if len(document) > settings.max_pages:
        limit = settings.max_pages
        raise DocumentFailure("too_many_pages", f"{len(document)} pages, documents.max_pages = {limit}")


def _all_lines(document: "PdfDocument", settings: DocumentSettings) -> list[Line]:
    """Lines of all pages, stopping as soon as they are more text than is allowed."""
    lines: list[Line] = []
    length = 0
    for number in range(len(document)):
        with closing(document[number]) as page:
            found = read_lines(page, number + 1)
        length += sum(len(line.text) for line in found)
        if length > settings.max_characters:
            limit = settings.max_characters
            raise DocumentFailure("too_long", f"the text is longer than documents.max_characters = {limit}")
        lines += found
    return lines
