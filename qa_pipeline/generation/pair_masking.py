"""Mask personal data in existing pairs, consistently with the documents that they cite."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from qa_pipeline.generation.pair_entries import RawCitation, RawPair
from qa_pipeline.text.references import SOURCE_MARK

MaskTexts = Callable[[Sequence[str]], list[str]]
"""Masks related texts together, because words in a text may explain a number in another."""
MaskReference = Callable[[str], str]
"""Masks a document reference, so that it still matches the document with the masked path."""

_TEXTS = ("question", "answer", "expected_kind", "expected_verdict", "detail", "id")
_LEAF = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|-?\d[\d.eE+-]*')
"""Texts, numbers and field names of a JSON object. A number may be a telephone number."""


def mask_pairs(raw: Iterable[RawPair], texts: MaskTexts, reference: MaskReference) -> list[RawPair]:
    """Mask the texts, quotes and references of raw pairs. Failed entries have only a detail."""
    return [_masked(pair, texts, reference) for pair in raw]


def _masked(pair: RawPair, texts: MaskTexts, reference: MaskReference) -> RawPair:
    leaves = [str(json.loads(leaf)) for leaf in _LEAF.findall(pair.fields or "")]
    quotes = [text for citation in pair.citations for text in (citation.quote, citation.passage)]
    written = [getattr(pair, name) for name in _TEXTS]
    masked = iter(_mask_fields([*written, *quotes, *leaves], texts, reference))
    masked_texts: dict[str, Any] = {name: next(masked) for name in _TEXTS}
    cited = [_mask_citation(citation, next(masked), next(masked), reference) for citation in pair.citations]
    further = pair.fields and _LEAF.sub(lambda leaf: _leaf(leaf[0], next(masked)), pair.fields)
    return replace(pair, **masked_texts, file=reference(pair.file), citations=tuple(cited), fields=further)


def _leaf(leaf: str, masked: str | None) -> str:
    """Return a text or number of a JSON value, unchanged if masking had no effect."""
    return leaf if masked == str(json.loads(leaf)) else json.dumps(masked, ensure_ascii=False)


def _mask_citation(
    citation: RawCitation, quote: str | None, passage: str | None, reference: MaskReference
) -> RawCitation:
    """Return a masked citation. Without a reference, its raw form is its passage or quote."""
    if citation.reference is None:
        return replace(citation, raw=passage or quote or citation.raw, quote=quote, passage=passage)
    raw, name = reference(citation.raw), reference(citation.reference)
    return replace(citation, raw=raw, reference=name, quote=quote, passage=passage)


def _mask_fields(
    fields: Sequence[str | None], texts: MaskTexts, reference: MaskReference
) -> Iterator[str | None]:
    """Yield all fields, masked together. Source marks in them are masked as references.

    In each list of parts, every second part is a mark.
    """
    marks = [SOURCE_MARK.finditer(field or "") for field in fields]
    parts = [_parted(field or "", of_field) for field, of_field in zip(fields, marks, strict=True)]
    masked = iter(texts([piece for pieces in parts for piece in pieces[::2]]))
    for field, pieces in zip(fields, parts, strict=True):
        pieces[::2] = [next(masked) for _ in pieces[::2]]
        pieces[1::2] = map(reference, pieces[1::2])
        yield None if field is None else "".join(pieces)


def _parted(text: str, marks: Iterable[re.Match[str]]) -> list[str]:
    edges = [0, *(edge for mark in marks for edge in mark.span()), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]
