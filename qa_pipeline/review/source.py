"""A document beside a pair: the text that was read, in parts, or a page of a PDF as a picture."""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import quote, urlencode

import polars as pl

from qa_pipeline.documents.formats.pdf.page_images import Span
from qa_pipeline.errors import InputError
from qa_pipeline.review.page_files import PageFiles
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.table_schema import DocumentRow, typed_rows
from qa_pipeline.storage.tables import DOCUMENTS

LONGEST_PART = 60_000
"""Characters that are sent at once, about 20 printed pages; the browser searches in them."""
_OFFSET = re.compile("[0-9]{1,9}")
_SHOWS = ("part", "page", "view")
"""Fields of an address that choose what is shown of a document."""


@dataclass(frozen=True, slots=True)
class SourceView:
    """A document as it is shown: a page where `picture` is its address, else a part of the text."""

    document: DocumentRow
    part: int  # from 1
    parts: int
    pieces: list[tuple[int, str, bool]]  # first character, text, and if it is the evidence
    page: int | None
    pages: list[int]
    picture: str | None
    has_evidence: bool
    goes_on: bool  # the evidence ends on a later page
    problem: str | None
    query: Mapping[str, str]

    def link(self, **changes: object) -> str:
        """Return the address that shows another part, or shows it in another way."""
        fields = {name: value for name, value in self.query.items() if name not in _SHOWS} | changes
        return f"?{urlencode({name: value for name, value in fields.items() if value not in ('', None)})}"

    def page_beside(self, step: int) -> int | None:
        """Return the page so many steps away; None past either end."""
        at = self.pages.index(self.page) + step if self.page in self.pages else -1
        return self.pages[at] if 0 <= at < len(self.pages) else None


def source_view(
    tables: StoredTables,
    files: PageFiles,
    batch: str,
    document_id: str,
    evidence: Span | None,
    query: Mapping[str, str],
) -> SourceView:
    """Return a document as an address asks for it.

    `query` names a `part`, a `page`, or `view=text` of a document with pages. Without them the document opens
    at the evidence.
    """
    document = find_document(tables, batch, document_id)
    text = document["text"] or ""
    if evidence and not 0 <= evidence[0] <= evidence[1] <= len(text):
        raise InputError(
            f"{document['path']} has no characters {evidence[0]:,} to {evidence[1]:,}; it may have changed "
            "since the claim"
        )
    first, last = evidence or (0, 0)
    starts = [page["start"] for page in document["pages"]] if document["format"] == "pdf" else []
    pages = [page["number"] for page in document["pages"]] if starts else []
    page, picture, problem, goes_on = None, None, None, False
    if pages and query.get("view") != "text":
        page = number_in(query, "page") or pages[max(bisect_right(starts, first) - 1, 0)]
        try:
            files.check(document, page)
        except InputError as error:
            page, problem = None, str(error)
        else:
            path = f"/page/{quote(batch, safe='')}/{quote(document_id, safe='')}/{page}.png"
            span = {"start": first, "end": last} if evidence else {}
            picture = f"{path}?{urlencode({'of': document['content_sha256'] or '', **span})}"
            goes_on = last > document["pages"][pages.index(page)]["end"]
    cuts = _cuts(text)
    part = min(number_in(query, "part") or bisect_right(cuts, first), len(cuts))
    start, end = cuts[part - 1], [*cuts, len(text)][part]
    borders = [start, min(max(first, start), end), min(max(last, start), end), end]
    return SourceView(
        document=document,
        part=part,
        parts=len(cuts),
        pieces=[
            (begin, text[begin:stop], number == 1)
            for number, (begin, stop) in enumerate(pairwise(borders))
            if begin < stop
        ],
        page=page,
        pages=pages,
        picture=picture,
        has_evidence=evidence is not None,
        goes_on=goes_on,
        problem=problem,
        query=query,
    )


def span_in(query: Mapping[str, str]) -> Span | None:
    """Return the stretch of a text that an address names by `start` and `end`."""
    start, end = query.get("start", ""), query.get("end", "")
    return (int(start), int(end)) if _OFFSET.fullmatch(start) and _OFFSET.fullmatch(end) else None


def find_document(tables: StoredTables, batch: str, document_id: str) -> DocumentRow:
    """Return a document of a batch."""
    rows = tables.frame(DOCUMENTS, batch).filter(pl.col("document_id") == document_id)
    if not rows.height:
        raise InputError(f"batch {batch!r} has no document {document_id!r}; it may have been removed since")
    return next(typed_rows(rows, DocumentRow))


def number_in(query: Mapping[str, str], name: str, least: int = 1) -> int | None:
    """Return a number of an address; None where it gives none."""
    value = query.get(name, "")
    return int(value) if _OFFSET.fullmatch(value) and int(value) >= least else None


def _cuts(text: str) -> list[int]:
    """Return where the parts of a text begin: at a line if possible."""
    cuts = [0]
    while len(text) - cuts[-1] > LONGEST_PART:
        most = cuts[-1] + LONGEST_PART
        cuts.append(text.rfind("\n", cuts[-1] + LONGEST_PART // 2, most) + 1 or most)
    return cuts
