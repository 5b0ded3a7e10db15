"""Resolve the citations of each claim to chunks, and look for its quotes in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath

from qa_pipeline.storage.table_schema import CitationStruct, DraftedPairRow, QuoteStruct
from qa_pipeline.text.references import (
    NUMBER_MARK,
    Resolution,
    Sources,
    locate_quote,
    marked_numbers,
    normalise_path,
    split_reference,
)
from qa_pipeline.verification.splitting import Claim

_REASONS = {
    "unknown_document": "fabricated_citation",
    "unknown_passage": "fabricated_citation",
    "unknown_number": "unknown_number",
    "ambiguous": "ambiguous_citation",
    "no_text": "cited_document_without_text",
}
_SECTION_NOT_FOUND = "section_not_found"


@dataclass(frozen=True, slots=True)
class ClaimCitations:
    """Citation status and reason of a claim (as in the claims table), its chunks and its quotes."""

    status: str
    reason: str | None
    chunk_ids: tuple[str, ...]
    quotes: tuple[QuoteStruct, ...] = ()


def cite_claims(
    pair: DraftedPairRow, claims: Sequence[Claim], sources: Sources, texts: Mapping[str, str]
) -> list[ClaimCitations]:
    """Resolve the citations of each claim of a pair. `texts` has the text of each chunk.

    A claim with source marks has the chunks of its marks. Other claims have all chunks that the pair cites or
    uses. Quotes are for the whole answer: if the pair also quotes [2], the claim "It is blue [1]." has the
    chunks of [1], but its status shows if [2] is unknown or lacks the quote.
    """
    pair_resolutions = [_resolve_stored(citation, pair, sources) for citation in pair["citations"]]
    stored = list(zip(pair["citations"], pair_resolutions, strict=True))
    by_number = {number: target for citation, target in stored if (number := citation["number"]) is not None}
    quoted = [(quote, target) for citation, target in stored if (quote := citation["quote"]) is not None]
    pair_ids = dict.fromkeys([*_chunk_ids_of(pair_resolutions), *pair["used_chunk_ids"]])
    pair_chunk_ids = tuple(chunk_id for chunk_id in pair_ids if chunk_id in texts)
    cited = []
    for claim in claims:
        by_mark = [_resolve_mark(reference, pair, sources, by_number) for reference in claim.references]
        own_resolutions = list(chain.from_iterable(by_mark))
        if own_resolutions:
            chunk_ids = _chunk_ids_of(own_resolutions)
            # the status also shows problems of citations with a quote that the claim does not mark
            status_resolutions = [*own_resolutions, *(resolution for _, resolution in quoted)]
        else:  # the claim has no marks, or only numbers that the pair lacks
            chunk_ids, status_resolutions = pair_chunk_ids, pair_resolutions
        quotes = tuple(  # all quotes of the pair; those of unknown sources are searched for in `chunk_ids`
            _check_quote(quote, resolution.chunk_ids or chunk_ids, chunk_ids, texts)
            for quote, resolution in quoted
        )
        cited.append(_claim_citations(status_resolutions, chunk_ids, quotes))
    return cited


def _chunk_ids_of(resolutions: Sequence[Resolution]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(resolution.chunk_ids for resolution in resolutions)))


def _resolve_stored(citation: CitationStruct, pair: DraftedPairRow, sources: Sources) -> Resolution:
    """Resolve a citation again: by its chunk id, else the reference as written, else its document id."""
    reference = citation["raw"] or ""  # as written
    if _names_own_file(reference, pair):
        return Resolution("unknown_document")
    if citation["resolution"] == "chunk" and citation["chunk_id"]:
        return sources.chunk(citation["chunk_id"])
    if citation["resolution"] in ("section", _SECTION_NOT_FOUND, "document"):  # the document was found
        resolution = sources.resolve(reference)
        return resolution if resolution.resolved else sources.resolve(citation["document_id"] or "")
    return Resolution(citation["resolution"] or "", citation["document_id"])  # unresolved, as stored


def _resolve_mark(
    reference: str, pair: DraftedPairRow, sources: Sources, by_number: Mapping[int, Resolution]
) -> list[Resolution]:
    """Resolve the citations that a mark in the answer names, except numbers that the pair lacks."""
    if NUMBER_MARK.fullmatch(reference):
        return [by_number[number] for number in marked_numbers(reference) if number in by_number]
    if _names_own_file(reference, pair):
        return [Resolution("unknown_document")]
    return [sources.resolve(reference)]


def _names_own_file(reference: str, pair: DraftedPairRow) -> bool:
    """Return True if a reference names the file of an imported pair. A file cannot prove itself."""
    cited, generator = (
        PurePosixPath(normalise_path(split_reference(path)[0])).name
        for path in (reference, pair["generator"])
    )
    return pair["origin"] == "imported" and bool(cited) and cited == generator


def _check_quote(
    quote: str, own_ids: Sequence[str], cited_ids: Sequence[str], texts: Mapping[str, str]
) -> QuoteStruct:
    """Look for a quote in the chunks of its citation (`own_ids`), then in the other cited chunks.

    The kind is "misplaced" in a chunk that its citation does not name, and else the kind of the match.
    """
    own_ids = [chunk_id for chunk_id in own_ids if chunk_id in texts]
    for chunk_id in dict.fromkeys((*own_ids, *cited_ids)):
        span = locate_quote(quote, texts[chunk_id])
        if span is not None:
            return {"given": quote, "kind": span.kind if chunk_id in own_ids else "misplaced"}
    return {"given": quote, "kind": "missing"}


def _claim_citations(
    resolutions: Sequence[Resolution], chunk_ids: tuple[str, ...], quotes: tuple[QuoteStruct, ...]
) -> ClaimCitations:
    """Return the citations of a claim. Their status is the first problem of resolutions or quotes, if any."""
    unresolved = [resolution for resolution in resolutions if not resolution.resolved]
    quote_kinds = {quote["kind"] for quote in quotes}  # as in `_check_quote`
    reason: str | None = None
    if unresolved:
        status, reason = "unresolved", _REASONS[unresolved[0].kind]
    elif not chunk_ids:
        status = "uncited"
    elif "missing" in quote_kinds:
        status = "quote_not_found"
    else:  # "misplaced": found in the chunk of another citation
        status = "quote_repaired" if "misplaced" in quote_kinds else "resolved"
        if any(resolution.kind == _SECTION_NOT_FOUND for resolution in resolutions):
            reason = _SECTION_NOT_FOUND  # the whole document is cited
    return ClaimCitations(status, reason, chunk_ids, quotes)
