"""Personal data in files of existing pairs: masked before a pair becomes a row.

What belongs here: which fields of a raw pair are texts and which are references, and that texts of one pair
are masked together. What does not: finding and replacing, which the caller hands in.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

from qa_pipeline.sources import SOURCE_MARK

Row = dict[str, Any]
MaskTexts = Callable[[Sequence[str]], list[str]]
"""Masks texts that belong together: one may say what the number in another is."""
MaskReference = Callable[[str], str]
"""Masks what names a document, so that it still names the document whose path was masked."""

_TEXTS = ("question", "answer", "expected_kind", "expected_verdict", "detail", "id")
_QUOTES = ("quote", "passage")
_LEAF = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|-?\d[\d.eE+-]*')
"""Texts and numbers of a JSON object, the names of its fields included: a number may be a telephone's."""


def mask_pairs(raw: pl.DataFrame, texts: MaskTexts, reference: MaskReference) -> pl.DataFrame:
    """Mask the texts, quotes and references of raw pairs; lines that failed hold none but their detail."""
    rows = [_masked(line, texts, reference) for line in raw.iter_rows(named=True)]
    return pl.DataFrame(rows, schema=raw.schema)


def _masked(line: Row, texts: MaskTexts, reference: MaskReference) -> Row:
    citations = line["citations"] or []
    leaves = _LEAF.findall(line["fields"] or "")
    fields = [line[name] for name in _TEXTS] + [one[name] for one in citations for name in _QUOTES]
    masked = iter(_mask_fields([*fields, *(str(json.loads(leaf)) for leaf in leaves)], texts, reference))
    found = {name: next(masked) for name in _TEXTS}
    cited = [_mask_citation(one, next(masked), next(masked), reference) for one in citations]
    further = line["fields"] and _LEAF.sub(lambda leaf: _leaf(leaf[0], next(masked)), line["fields"])
    return {**line, **found, "file": reference(line["file"]), "citations": cited, "fields": further}


def _leaf(leaf: str, masked: str | None) -> str:
    """A text or number of a JSON value, as it was where nothing in it was masked."""
    return leaf if masked == str(json.loads(leaf)) else json.dumps(masked, ensure_ascii=False)


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
