"""Pages of a PDF that are pictures of text: found, reported, and, with `documents.ocr`, read by Tesseract."""

from collections.abc import Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from statistics import median
from typing import TYPE_CHECKING, Any

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf.drawing import share_of
from qa_pipeline.documents.formats.pdf.glyphs import Box
from qa_pipeline.documents.formats.pdf.layout import PageContent
from qa_pipeline.documents.formats.pdf.lines import Line, Word, printed
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfDocument

_MOSTLY = 0.5
_STAMP = 40
_NUMBERS_SHOWN = 20


def is_scan(characters: int, pictures: Sequence[Box], paper: Box) -> bool:
    """Whether pictures cover most of a page and it has no text but a stamp; blanks are no characters."""
    return characters <= _STAMP and sum(share_of(picture, paper) for picture in pictures) >= _MOSTLY


def count_scans(pages: Sequence[PageContent], left_out: Omissions) -> list[str]:
    """Count pages that are pictures; returns a note that names them."""
    scans = [page.number for page in pages if page.scanned]
    if not scans:
        return []
    if not any((page.lines or page.fields) and not page.scanned for page in pages):
        raise DocumentFailure(
            "scanned",
            f"{_how_many(scans, len(pages))} without text; to have them read, install the ocr extra and"
            " Tesseract and set documents.ocr",
        )
    left_out.add("scanned_page", pieces=len(scans))
    return [note(len(pages), scans, "without text")]


def note(pages: int, numbers: Sequence[int], which: str) -> str:
    """A sentence such as `2 of 9 pages are pictures without text: 3, 7`."""
    shown = ", ".join(map(str, numbers[:_NUMBERS_SHOWN]))
    more = ", …" if len(numbers) > _NUMBERS_SHOWN else ""
    return f"{_how_many(numbers, pages)} {which}: {shown}{more}"


def _how_many(numbers: Sequence[int], pages: int) -> str:
    if len(numbers) == pages:
        return f"all {pages} pages are pictures" if pages > 1 else "the only page is a picture"
    verb = "is a picture" if len(numbers) == 1 else "are pictures"
    return f"{len(numbers)} of {pages} pages {verb}"


_POINTS_AN_INCH = 72
_DOTS_AN_INCH = 300
_MOST_DOTS = 40_000_000
_LEAST_CONFIDENCE = 30.0
_SECONDS_A_PAGE = 120
_SAME_SIZE = 0.2
_TYPE_SIZE = 0.9
"""Type size in parts of the height of a line with letters that rise and sink."""


def read_scans(
    document: "PdfDocument", pages: Sequence[PageContent], settings: DocumentSettings, left_out: Omissions
) -> list[str]:
    """Read the pages that are pictures, if that is wanted; returns what the document's row should say.

    Pages in which something is read no longer count as scanned; a stamp that was text is read with the rest.

    Raises:
        DocumentFailure: `scanned`, where it is wanted and Tesseract or one of its languages is missing.
    """
    scans = [page for page in pages if page.scanned]
    if not (settings.ocr and scans):
        return []
    engine = _engine(settings.ocr_languages)
    for page in scans:
        lines = _read(document, page, engine, settings)
        if lines:
            for line in page.lines:
                left_out.add("stamp", printed(line))
            page.lines, page.scanned = lines, False
    done = [page.number for page in scans if not page.scanned]
    return [note(len(pages), done, "read by OCR")] if done else []


def _engine(languages: Sequence[str]) -> Any:
    try:
        import pytesseract
    except ImportError as error:
        raise DocumentFailure(
            "scanned", "documents.ocr is set, but the ocr extra is not installed"
        ) from error
    try:
        known = set(pytesseract.get_languages(config=""))
    except (pytesseract.TesseractNotFoundError, pytesseract.TesseractError) as error:
        raise DocumentFailure("scanned", "documents.ocr is set, but Tesseract is not installed") from error
    missing = [name for name in languages if name not in known]
    if missing:
        raise DocumentFailure("scanned", f"Tesseract lacks the languages {', '.join(missing)}")
    return pytesseract


def _read(document: "PdfDocument", page: PageContent, engine: Any, settings: DocumentSettings) -> list[Line]:
    with closing(document[page.number - 1]) as opened:
        width, height = opened.get_size()
        scale = min(_DOTS_AN_INCH / _POINTS_AN_INCH, (_MOST_DOTS / max(width * height, 1.0)) ** 0.5)
        picture: Image = opened.render(scale=scale, grayscale=True).to_pil()
    try:
        found = engine.image_to_data(
            picture,
            lang="+".join(settings.ocr_languages),
            output_type=engine.Output.DICT,
            timeout=_SECONDS_A_PAGE,
        )
    except RuntimeError as error:  # how pytesseract tells that the time is over, and what Tesseract says
        raise DocumentFailure("timed_out", f"page {page.number} could not be read by OCR in time") from error
    page.height = height
    return _evened(_lines(found, page.number, scale, height))


def _lines(found: dict[str, list[Any]], page: int, scale: float, height: float) -> list[Line]:
    """Words as Tesseract reports them, gathered into lines; distances from pixels to points."""
    rows = [dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True)]
    read = [row for row in rows if row["text"].strip() and float(row["conf"]) >= _LEAST_CONFIDENCE]
    lines = []
    by_line = groupby(read, key=itemgetter("block_num", "par_num", "line_num"))
    for number, words in enumerate(list(part) for _, part in by_line):
        parts = tuple(
            Word(word["text"], word["left"] / scale, (word["left"] + word["width"]) / scale) for word in words
        )
        top = height - min(word["top"] for word in words) / scale
        bottom = height - max(word["top"] + word["height"] for word in words) / scale
        lines.append(
            Line(
                " ".join(word.text for word in parts), page, parts[0].left, bottom, parts[-1].right, top,
                (top - bottom) * _TYPE_SIZE, False, False, start=number, words=parts,
            )
        )  # fmt: skip
    return lines


def _evened(lines: Sequence[Line]) -> list[Line]:
    """Lines of nearly the usual height are of one type size: which letters they hold makes the difference."""
    usual = round(median(line.size for line in lines) * 2) / 2 if lines else 0.0
    return [
        line._replace(size=usual if abs(line.size - usual) <= _SAME_SIZE * usual else round(line.size))
        for line in lines
    ]
