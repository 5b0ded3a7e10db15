"""The citations of one claim: which chunks it rests on, and whether its quotes stand there.

What belongs here: which of a pair's citations count for a claim, and finding quotes. What does not: resolving
references (`qa_pipeline.sources`) and whether the cited text supports the claim.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qa_pipeline.sources import Resolution, Sources
from qa_pipeline.verification.quotes import Located, locate_quote
from qa_pipeline.verification.splitting import Claim
from qa_pipeline.verification.words import content_stems, recall

REASONS = {
    "unknown_document": "fabricated_citation",
    "unknown_passage": "fabricated_citation",
    "unknown_section": "unknown_section",
    "ambiguous": "ambiguous_citation",
    "no_text": "cited_document_without_text",
}


@dataclass(frozen=True, slots=True)
class ClaimCitations:
    """What one claim cites: status and reason as the claims table has them, chunks, and quotes found.

    `quotes` holds chunk id, start and end in the chunk.
    """

    status: str
    reason: str | None
    chunk_ids: tuple[str, ...]
    quotes: tuple[tuple[str, int, int], ...] = ()


def cite_claims(
    pair: Mapping[str, Any],
    claims: Sequence[Claim],
    sources: Sources,
    texts: Mapping[str, str],
    repair: float,
) -> list[ClaimCitations]:
    """Give each claim of a pair its citations.

    A claim with source marks of its own rests on those; any other rests on everything the pair cites. A
    quote, and an unresolved citation that has one, counts against the one claim whose words it shares most;
    an unresolved citation without a quote counts against every claim that has no marks of its own.
    """
    found = [_resolution(citation, sources) for citation in pair["citations"]]
    shared = [i for one in found for i in one.chunk_ids]
    everything = tuple(dict.fromkeys(i for i in (*shared, *pair["used_chunk_ids"]) if i in texts))
    owners = [_owner(citation["quote"], claims, pair["language"]) for citation in pair["citations"]]
    cited = []
    for place, claim in enumerate(claims):
        own = [sources.resolve(reference) for reference in claim.references]
        ids = tuple(dict.fromkeys(i for one in own for i in one.chunk_ids)) if own else everything
        mine = [
            one
            for one, owner, citation in zip(found, owners, pair["citations"], strict=True)
            if owner == place or (owner is None and not own and citation["quote"] is None)
        ]
        quotes = [c["quote"] for c, owner in zip(pair["citations"], owners, strict=True) if owner == place]
        located = [_locate(quote, ids, sources, texts, repair) for quote in quotes]
        cited.append(_status([*own, *mine], ids, located))
    return cited


def _resolution(citation: Mapping[str, Any], sources: Sources) -> Resolution:
    """What a stored citation resolves to, its chunks included."""
    if citation["resolution"] == "chunk" and citation["chunk_id"]:
        return sources.chunk(citation["chunk_id"])
    if citation["resolution"] in ("section", "document"):
        again = sources.resolve(citation["raw"] or "")
        return again if again.resolved else sources.resolve(citation["document_id"] or "")
    return Resolution(citation["resolution"], citation["document_id"])


def _owner(quote: str | None, claims: Sequence[Claim], language: str) -> int | None:
    """Place of the claim that shares most words with a quote; the first of equals."""
    if quote is None or not claims:
        return None
    held = content_stems(quote, language)
    shares = [recall(content_stems(claim.text, language), held) or 0.0 for claim in claims]
    return shares.index(max(shares))


def _locate(
    quote: str, ids: Sequence[str], sources: Sources, texts: Mapping[str, str], repair: float
) -> tuple[str, Located] | None:
    """Find a quote in the cited chunks, exactly before repaired, then in the rest of their documents."""
    documents = dict.fromkeys(sources.chunk(i).document_id or "" for i in ids)
    rest = [i for document in documents for i in sources.chunks_of(document) if i not in ids]
    best: tuple[str, Located] | None = None
    for chunk_id in (*ids, *rest):
        located = locate_quote(quote, texts[chunk_id], repair)
        if located and (not located.repaired and chunk_id in ids):
            return chunk_id, located
        if located and best is None:
            best = chunk_id, Located(located.start, located.end, repaired=True)
    return best


def _status(
    found: Sequence[Resolution], ids: tuple[str, ...], located: Sequence[tuple[str, Located] | None]
) -> ClaimCitations:
    quotes = tuple((one[0], one[1].start, one[1].end) for one in located if one)
    broken = [one for one in found if not one.resolved]
    if broken:
        return ClaimCitations("unresolved", REASONS[broken[0].kind], ids, quotes)
    if not ids:
        return ClaimCitations("uncited", None, ids, quotes)
    if any(one is None for one in located):
        return ClaimCitations("quote_not_found", None, ids, quotes)
    repaired = any(one is not None and one[1].repaired for one in located)
    return ClaimCitations("quote_repaired" if repaired else "resolved", None, ids, quotes)
