"""From a document of the output folder to the picture of one of its pages.

What belongs here: finding the file it was read from, and which spans are marked. What does not: drawing
(`documents.page_pictures`) and finding the document (`showing.py`).
"""

import hashlib

from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.files import read_bytes
from qa_pipeline.documents.pdf.page_pictures import PagePicture, Span, draw_page
from qa_pipeline.documents.sources.places import BatchFiles
from qa_pipeline.errors import InputError
from qa_pipeline.showing import Row, Shown


def page_picture(
    shown: Shown, files: BatchFiles, number: int, evidence: Span | None, most_bytes: int
) -> PagePicture:
    """Draw a page of a document with its chunks outlined and a span of its text highlighted.

    Args:
        shown: a PDF document with its chunks.
        files: the files of its batch.
        number: the page, from 1.
        evidence: the span to highlight.
        most_bytes: the largest file that is opened.

    Raises:
        InputError: the document has no such page, its file is gone or was changed, or it cannot be drawn.
    """
    page = next((page for page in shown.document["pages"] if page["number"] == number), None)
    if shown.document["format"] != "pdf" or page is None:
        known = ", ".join(str(page["number"]) for page in shown.document["pages"]) or "none that can be drawn"
        raise InputError(f"{shown.document['path']} has no page {number} with text; it has {known}")
    chunks = [(chunk["char_start"], chunk["char_end"]) for chunk in shown.chunks]
    text = shown.document["text"]
    try:
        content = _content(shown.document, files, most_bytes)
        return draw_page(content, number, text, (page["start"], page["end"]), chunks, evidence)
    except DocumentFailure as failure:
        raise InputError(f"{shown.document['path']}: {failure.detail}") from failure


def page_of(shown: Shown, span: Span | None, asked: int | None) -> int:
    """The page to draw: the one asked for, or the first that the span touches.

    Raises:
        InputError: the page asked for has nothing of the span, or no page has.
    """
    if span is None:
        return asked or 1
    pages = shown.document["pages"]
    touched = [page["number"] for page in pages if page["start"] < span[1] and span[0] < page["end"]]
    if asked in touched or (asked is None and touched):
        return asked or touched[0]
    told = f"is on page {', '.join(map(str, touched))}" if touched else "is on no page"
    length = len(shown.document["text"] or "")
    raise InputError(
        f"{span[0]}:{span[1]} of {shown.document['path']} ({length:,} characters) {told}"
        + (f", not on page {asked}" if touched else "")
    )


def _content(document: Row, files: BatchFiles, most_bytes: int) -> bytes:
    """The bytes that a document was read from, under whatever name they lie there now."""
    found = sorted(files.list(), key=lambda file: file.path != document["path"])
    for file in found:
        if file.failure is None and file.size in (document["size"], None):
            content = read_bytes(file, most_bytes)
            if hashlib.sha256(content).hexdigest() == document["content_sha256"]:
                return content
    raise InputError(
        f"no file of {files.name} holds what {document['path']} was read from; run the batch again"
    )


def span_of(text: str) -> Span:
    """The span that a text such as `120:180` names.

    Raises:
        InputError: it names none.
    """
    start, _, end = text.partition(":")
    if not (start.isdecimal() and end.isdecimal() and int(start) < int(end)):
        raise InputError(f"{text!r} is no span; give two offsets into the text, such as 120:180")
    return int(start), int(end)
