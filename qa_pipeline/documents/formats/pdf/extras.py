"""What a PDF holds beside the content of its pages: outline, form values, comments, scripts, files.

What belongs here: reading an outline and form values, and counting what is never opened or run. What does
not: the pages' own text (`pages`). No script is run, no action followed, no attached file opened.
"""

import ctypes
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf.headings import OutlineEntry

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_MOST_ENTRIES = 20_000
_MOST_ANNOTATIONS = 10_000
_LONGEST_VALUE = 100_000
_PASSWORD_FIELD = 1 << 13


def outline_of(document: "PdfDocument") -> list[OutlineEntry]:
    """The file's own table of contents, as far as its entries name a page."""
    entries = []
    for bookmark in islice(document.get_toc(), _MOST_ENTRIES):
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        if page is None:
            continue
        try:
            title = bookmark.get_title()
        except UnicodeDecodeError:
            continue  # a name that cannot be read names no heading
        entries.append(OutlineEntry(title, bookmark.level + 1, page + 1))
    return entries


def title_of(document: "PdfDocument") -> str | None:
    """The title that the file states, if it states a readable one."""
    try:
        return document.get_metadata_value("Title") or None
    except UnicodeDecodeError:
        return None


def count_extras(document: "PdfDocument", left_out: Omissions) -> list[str]:
    """Count scripts and attached files; returns what the document's row should say of them."""
    from pypdfium2 import raw

    scripts = raw.FPDFDoc_GetJavaScriptActionCount(document.raw)
    files = raw.FPDFDoc_GetAttachmentCount(document.raw)
    if scripts > 0:
        left_out.add("script", pieces=scripts)
    if files > 0:
        left_out.add("attachment", pieces=files)
    dynamic = raw.FPDF_GetFormType(document.raw) in (raw.FORMTYPE_XFA_FULL, raw.FORMTYPE_XFA_FOREGROUND)
    return ["the PDF is an XFA form, whose own content is not read"] if dynamic else []


def read_fields(page: "PdfPage", left_out: Omissions) -> list[str]:
    """Values filled into a page's form, as `Name: value`; comments and actions are counted."""
    from pypdfium2 import raw

    count = raw.FPDFPage_GetAnnotCount(page.raw)
    if count <= 0 or count == _count_links(page, left_out):
        return []
    values: list[str] = []
    for number in range(min(count, _MOST_ANNOTATIONS)):
        note = raw.FPDFPage_GetAnnot(page.raw, number)
        if not note:
            continue
        kind = raw.FPDFAnnot_GetSubtype(note)
        if kind == raw.FPDF_ANNOT_WIDGET:
            values += _value(note, left_out)
        elif kind not in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP):
            left_out.add("comment", _string(note, b"Contents"))
        raw.FPDFPage_CloseAnnot(note)
    if count > _MOST_ANNOTATIONS:
        left_out.add("comment", pieces=count - _MOST_ANNOTATIONS)
    return values


def _count_links(page: "PdfPage", left_out: Omissions) -> int:
    """Number of links on a page; those that would start a program are counted as left out."""
    from pypdfium2 import raw

    place, link, found = ctypes.c_int(0), raw.FPDF_LINK(), 0
    while found < _MOST_ANNOTATIONS and raw.FPDFLink_Enumerate(page.raw, place, link):
        found += 1
        action = raw.FPDFLink_GetAction(link)
        if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_LAUNCH:
            left_out.add("launch_action")
    return found


def _value(field: Any, left_out: Omissions) -> Iterator[str]:
    from pypdfium2 import raw

    flags = ctypes.c_float()
    raw.FPDFAnnot_GetNumberValue(field, b"Ff", flags)
    written = raw.FPDFAnnot_GetValueType(field, b"V") == raw.FPDF_OBJECT_STRING
    value = _string(field, b"V").strip() if written else ""
    if not value or int(flags.value) & _PASSWORD_FIELD:
        left_out.add("form_field", value)
        return
    name = (_string(field, b"TU") or _string(field, b"T")).strip().rstrip(":")
    yield f"{name}: {value}" if name else value


def _string(note: Any, key: bytes) -> str:
    from pypdfium2 import raw

    length = raw.FPDFAnnot_GetStringValue(note, key, None, 0)
    if not 2 < length <= _LONGEST_VALUE:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDFAnnot_GetStringValue(note, key, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length)
    return buffer.raw[: length - 2].decode("utf-16-le", "replace")
