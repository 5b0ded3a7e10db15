"""Pages of a PDF that are pictures of text, told and reported.

What belongs here: which pages hold no text but are mostly picture, and what the document's row says of them.
What does not: reading such pages by eye (`ocr`).
"""

from collections.abc import Sequence

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.drawing import share_of
from qa_pipeline.documents.formats.pdf.glyphs import Box

_MOSTLY = 0.5
_STAMP = 40
_NUMBERS_SHOWN = 20


def is_scan(characters: int, pictures: Sequence[Box], paper: Box) -> bool:
    """Whether a page is a picture of text: pictures cover most of it, and it has no text but a stamp.

    Args:
        characters: how many characters the page holds, blanks aside.
        pictures: where pictures are.
        paper: the page.
    """
    if characters > _STAMP:
        return False
    covered = sum(share_of(picture, paper) for picture in pictures)
    return covered >= _MOSTLY


def refuse_scans(scans: Sequence[int], pages: int) -> None:
    """Refuse a document that has no text because it was scanned.

    Raises:
        DocumentFailure: `scanned`, if there are pages without text that are pictures.
    """
    if scans:
        raise DocumentFailure(
            "scanned",
            f"{_told(scans, pages)} without text; to have them read, install the ocr extra and"
            " Tesseract and set documents.ocr",
        )


def note(pages: int, numbers: Sequence[int], which: str) -> str:
    """A sentence such as `2 of 9 pages are pictures without text: 3, 7`."""
    shown = ", ".join(map(str, numbers[:_NUMBERS_SHOWN]))
    more = ", …" if len(numbers) > _NUMBERS_SHOWN else ""
    return f"{_told(numbers, pages)} {which}: {shown}{more}"


def _told(numbers: Sequence[int], pages: int) -> str:
    if len(numbers) == pages:
        return f"all {pages} pages are pictures" if pages > 1 else "the only page is a picture"
    verb = "is a picture" if len(numbers) == 1 else "are pictures"
    return f"{len(numbers)} of {pages} pages {verb}"
