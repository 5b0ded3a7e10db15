"""PDF files: opening them, and telling why one cannot be read."""

import re
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.assembly import Omissions, visible
from qa_pipeline.documents.formats.pdf.layout import FailedPages, PageContent, lay_out_pages, without_contents
from qa_pipeline.documents.formats.pdf.pages import count_extras, outline_of, read_page, title_of
from qa_pipeline.documents.formats.pdf.scans import count_scans, read_scans
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_HEADER_WITHIN = 1024
_END_WITHIN = 2048
_NOTED_SHARE = 0.002
_REFUSED_SHARE = 0.25
_SIGN_IN_WORD = re.compile("(?<=[^\\W\\d_])[¡-©¬®¯´¶¸¼-¿ˆ˜˚](?=[^\\W\\d_])")
"""A sign amid a word: a letter in a font that does not say what it shows, or an accent drawn apart."""


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one PDF file."""
    from pypdfium2 import PdfiumError

    # PDFium repairs a file without its end and silently loses pages, so that is refused here.
    if b"%PDF-" not in source.content[:_HEADER_WITHIN]:
        raise DocumentFailure("damaged", "the file lacks the signature of a PDF")
    if b"%%EOF" not in source.content[-_END_WITHIN:]:
        raise DocumentFailure("damaged", "the end of the PDF is missing; it may be cut off")
    left_out = Omissions()
    failed = FailedPages(left_out)
    try:
        with closing(_open(source.content)) as document:
            if len(document) > settings.max_pages:
                detail = f"{len(document)} pages, documents.max_pages = {settings.max_pages}"
                raise DocumentFailure("too_many_pages", detail)
            pages = _read_pages(document, settings, left_out, failed)
            notes = count_extras(document, left_out)
            notes += read_scans(document, pages, settings, left_out)
            outline = outline_of(document)
            title = title_of(document)
        notes += count_scans(pages, left_out)
        notes += _broken_letters(pages, left_out)
        blocks = lay_out_pages(without_contents(pages, left_out), outline, left_out, failed)
        if not blocks:
            for error in failed.errors.values():
                raise error
            raise DocumentFailure("no_text", "the PDF has pages but no text")
    except PdfiumError as error:
        raise DocumentFailure("damaged", "a page of the PDF cannot be loaded") from error
    notes += failed.notes(len(pages))
    headed = any(block.kind == "heading" for block in blocks)
    return ParsedFile(
        blocks=tuple(blocks),
        title=None if headed else title,
        left_out=left_out.record(),
        notes=tuple(notes),
    )


def _open(content: bytes) -> "PdfDocument":
    import pypdfium2
    from pypdfium2 import raw

    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise DocumentFailure("encrypted", "the PDF is protected by a password") from error
        raise DocumentFailure("damaged", "the PDF cannot be opened") from error


def _read_pages(
    document: "PdfDocument", settings: DocumentSettings, left_out: Omissions, failed: FailedPages
) -> list[PageContent]:
    """All pages, one that fails without content, stopping as soon as they are more text than is allowed."""
    pages: list[PageContent] = []
    length = 0
    for number in range(len(document)):
        content = PageContent(number + 1, 0.0)
        with failed.guard(number + 1), closing(document[number]) as page:
            content = read_page(page, number + 1, settings, left_out)
        length += sum(len(line.text) for line in content.lines)
        if length > settings.max_characters:
            limit = settings.max_characters
            raise DocumentFailure("too_long", f"the text is longer than documents.max_characters = {limit}")
        pages.append(content)
    return pages


def _broken_letters(pages: Sequence[PageContent], left_out: Omissions) -> list[str]:
    """Count signs that stand for letters; returns a note if letters are broken more than now and then."""
    texts = [line.text for page in pages for line in page.lines]
    signs = sum(len(_SIGN_IN_WORD.findall(text)) for text in texts)
    broken = signs + left_out.pieces["unreadable_character"]
    printed = sum(map(visible, texts))
    share = broken / max(printed, 1)
    if share < _NOTED_SHARE:
        return []
    said = f"{broken} of {printed} characters ({share:.1%}) have no Unicode value or a wrong one"
    if share >= _REFUSED_SHARE:
        raise DocumentFailure("unreadable_text", said)
    return [f"{said}; words with them are broken"]
