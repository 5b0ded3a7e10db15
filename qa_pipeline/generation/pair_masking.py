"""Personal data in files of existing pairs: masked before a pair becomes a row.

What belongs here: which fields of a raw pair are texts and which are references, and that texts of one pair
are masked together. What does not: finding and replacing, which the caller hands in.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

from qa_pipeline.sources import SOURCE_MARK

Row = dict[str, Any]
MaskTexts = Callable[[Sequence[str]], list[str]]
"""Masks texts that belong together: one may say what the number in another is."""
MaskReference = Callable[[str], str]
"""Masks what names a document, so that it still names the document whose path was masked."""

_TEXTS = ("question", "answer", "expected_kind", "expected_verdict", "detail")
_QUOTES = ("quote", "passage")


def mask_pairs(raw: pl.DataFrame, texts: MaskTexts, reference: MaskReference) -> pl.DataFrame:
    """Mask the texts, quotes and references of raw pairs; lines that failed hold none but their detail."""
    rows = [_masked(line, texts, reference) for line in raw.iter_rows(named=True)]
    return pl.DataFrame(rows, schema=raw.schema)


def _masked(line: Row, texts: MaskTexts, reference: MaskReference) -> Row:
    citations = line["citations"] or []
    fields = [line[name] for name in _TEXTS] + [one[name] for one in citations for name in _QUOTES]
    masked = _mask_fields(fields, texts, reference)
    found = dict(zip(_TEXTS, masked, strict=False))
    quotes = iter(masked[len(_TEXTS) :])
    cited = [_mask_citation(one, next(quotes), next(quotes), reference) for one in citations]
    return {**line, **found, "file": reference(line["file"]), "citations": cited}


def _mask_citation(citation: Row, quote: str | None, passage: str | None, reference: MaskReference) -> Row:
    """A citation without a reference was written as its passage or its quote."""
    if citation["reference"] is None:
        raw = passage or quote or citation["raw"]
        return {**citation, "raw": raw, "quote": quote, "passage": passage}
    named = {name: reference(citation[name]) for name in ("raw", "reference")}
    return {**citation, **named, "quote": quote, "passage": passage}


def _mask_fields(
    fields: Sequence[str | None], texts: MaskTexts, reference: MaskReference
) -> list[str | None]:
    """All fields at once; source marks inside them name documents and are masked as references."""
    pieces = [list(_pieces(field)) if field is not None else [] for field in fields]
    masked = iter(texts([piece for of_field in pieces for piece, is_mark in of_field if not is_mark]))
    return [
        "".join(reference(piece) if is_mark else next(masked) for piece, is_mark in of_field)
        if field is not None
        else None
        for field, of_field in zip(fields, pieces, strict=True)
    ]


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """A text as what stands before, in, between and after its source marks, and whether it is a mark."""
    place = 0
    for mark in SOURCE_MARK.finditer(text):
        yield text[place : mark.start()], False
        yield mark[0], True
        place = mark.end()
    yield text[place:], False
