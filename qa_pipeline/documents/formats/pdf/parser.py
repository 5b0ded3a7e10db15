"""Read PDF files: pages, form values, and scanned pages by OCR; comments and scripts are only counted."""

import re
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, check_length, visible
from qa_pipeline.documents.corpus.files import LIMITS, DocumentFailure
from qa_pipeline.documents.formats.pdf.drawing import list_objects, read_annotations, read_drawing, share_of
from qa_pipeline.documents.formats.pdf.glyphs import paper_of
from qa_pipeline.documents.formats.pdf.layout import PageContent, lay_out_pages, remove_contents
from qa_pipeline.documents.formats.pdf.lines import add_words, printed_text, read_upright
from qa_pipeline.documents.formats.pdf.page_images import MOST_LISTED, count_scans, read_scans
from qa_pipeline.documents.formats.pdf.visibility import find_hidden
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.rendering import first_names

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_HEADER_WITHIN = 1024  # bytes, in which Acrobat looks for the signature (PDF 1.7, note 13)
_END_WITHIN = 2048  # bytes: twice those in which Acrobat looks (note 18), since tools append to files
_MOSTLY = 0.5  # of the paper: a picture as large is the page
_STAMP = 40  # characters: scanners print a date or number, and no sentence
_NOTED_SHARE = 0.002  # of the characters: one broken word in about a hundred
_REFUSED_SHARE = 0.25  # of the characters: hardly a word of such a text can be read
_PRIVATE_CODES = re.compile("[\ue000-\uf8e4\U000f0000-\U0010fffd]{2,}")
"""Letters without a meaning: a private code alone is a bullet, and from U+F8E5 they are parts of brackets."""


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a PDF file."""
    from pypdfium2 import PdfiumError

    # PDFium repairs a file without its end and silently loses pages, so that is refused here.
    if b"%PDF-" not in source.content[:_HEADER_WITHIN]:
        raise DocumentFailure("damaged", "the file lacks the signature of a PDF")
    if b"%%EOF" not in source.content[-_END_WITHIN:]:
        raise DocumentFailure("damaged", "the end of the PDF is missing; it may be cut off")
    left_out = Omissions()
    failed: dict[int, str] = {}  # by page number, the reason
    try:
        with closing(_open(source.content)) as document:
            if len(document) > LIMITS.pages:
                raise DocumentFailure("too_many_pages", f"{len(document)} pages, more than {LIMITS.pages}")
            pages = _read_pages(document, settings, left_out, failed)
            notes = count_extras(document, left_out)
            notes += read_scans(document, pages, settings, left_out)
        notes += count_scans(pages, left_out)
        notes += count_broken_letters(pages, left_out)
        blocks = lay_out_pages(remove_contents(pages, left_out), left_out)
        if not blocks:
            reason = next(iter(failed.values()), "no_text")
            raise DocumentFailure(reason, "the pages of the PDF have no text that can be read")
    except PdfiumError as error:
        raise DocumentFailure("damaged", "a page of the PDF cannot be loaded") from error
    if failed:
        listed = first_names([f"{number} ({reason})" for number, reason in failed.items()], MOST_LISTED)
        notes.append(f"{len(failed)} of {len(pages)} pages could not be read: {listed}")
    return ParsedFile(
        blocks=tuple(blocks),
        title=next((block.text for block in blocks if block.level == 1), None),
        left_out=left_out.record(),
        notes=tuple(notes),
    )


def _open(content: bytes) -> "PdfDocument":
    """Open a PDF; raises a DocumentFailure (`encrypted` or `damaged`)."""
    import pypdfium2
    from pypdfium2 import raw

    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise DocumentFailure("encrypted", "the PDF is protected by a password") from error
        raise DocumentFailure("damaged", "the PDF cannot be opened") from error


def _read_pages(
    document: "PdfDocument", settings: DocumentSettings, left_out: Omissions, failed: dict[int, str]
) -> list[PageContent]:
    """Read all pages; a page that cannot be read stays empty, and its reason is added to `failed`."""
    from pypdfium2 import PdfiumError

    pages: list[PageContent] = []
    length = 0
    for number in range(1, len(document) + 1):
        content = PageContent(number, height=0.0)
        try:
            with closing(document[number - 1]) as page:
                content = read_page(page, number, settings, left_out)
        except (DocumentFailure, PdfiumError) as error:
            failed[number] = error.reason if isinstance(error, DocumentFailure) else "damaged"
            left_out.add("unreadable_page")
        length += sum(len(line.text) for line in content.lines)
        check_length(length, settings)
        pages.append(content)
    return pages


def count_broken_letters(pages: Sequence[PageContent], left_out: Omissions) -> list[str]:
    """Count letters whose Unicode value is missing or means nothing; returns a note, or refuses the text."""
    texts = [line.text for page in pages for line in page.lines]
    printed = max(sum(map(visible, texts)), 1)
    private = sum(len(codes) for text in texts for codes in _PRIVATE_CODES.findall(text))
    broken = left_out.pieces["unreadable_character"] + private
    share = broken / printed
    problem = f"{broken} of {printed} characters ({share:.1%}) have no Unicode value or a wrong one"
    if share >= _REFUSED_SHARE:
        raise DocumentFailure("unreadable_text", problem)
    return [f"{problem}; words with them are broken"] if share >= _NOTED_SHARE else []


def read_page(page: "PdfPage", number: int, settings: DocumentSettings, left_out: Omissions) -> PageContent:
    """Read the lines, drawing and form values of a page."""
    objects = list_objects(page)
    drawing = read_drawing(page, objects)
    with closing(page.get_textpage()) as textpage:
        check_length(textpage.count_chars(), settings, "a page")
        annotations = read_annotations(page, left_out)
        hidden = find_hidden(page, textpage, objects, drawing.pictures, annotations)
        glyphs, lines = read_upright(page, textpage, number, hidden)
        drawing = drawing.turned(glyphs.turn, paper_of(page))
        for line in lines:
            if line.turned:  # such as a stamp in the margin
                left_out.add("rotated_text", printed_text(line))
        lines = [add_words(glyphs, line) for line in lines if not line.turned]
    for text in glyphs.hidden_texts:
        left_out.add("hidden", text)
    for mark in glyphs.note_marks:
        left_out.add("footnote_mark", mark)
    left_out.count("unreadable_character", glyphs.unreadable, characters=glyphs.unreadable)
    characters = len(glyphs.text) if lines else 0  # lines that are all turned are no text of the page
    covered = sum(share_of(picture, glyphs.paper) for picture in drawing.pictures)
    is_scan = characters <= _STAMP and covered >= _MOSTLY
    return PageContent(number, glyphs.paper.top, lines, drawing, annotations.values, is_scan)


def count_extras(document: "PdfDocument", left_out: Omissions) -> list[str]:
    """Count scripts and attached files; returns notes for the document's row."""
    from pypdfium2 import raw

    left_out.count("script", max(raw.FPDFDoc_GetJavaScriptActionCount(document.raw), 0), 0)
    left_out.count("attachment", max(raw.FPDFDoc_GetAttachmentCount(document.raw), 0), 0)
    is_xfa = raw.FPDF_GetFormType(document.raw) in (raw.FORMTYPE_XFA_FULL, raw.FORMTYPE_XFA_FOREGROUND)
    return ["the PDF is an XFA form, whose own content is not read"] if is_xfa else []
