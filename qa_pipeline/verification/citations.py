"""The citations of one claim: which chunks it rests on, and whether its quotes stand there.

What belongs here: which of a pair's citations count for a claim, and finding quotes. What does not: resolving
references (`qa_pipeline.sources`) and whether the cited text supports the claim.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from qa_pipeline.sources import (
    NUMBER_MARK,
    Resolution,
    Sources,
    marked_numbers,
    normalise_path,
    split_reference,
)
from qa_pipeline.verification.quotes import locate_quote
from qa_pipeline.verification.splitting import Claim
from qa_pipeline.verification.words import content_stems, recall

REASONS = {
    "unknown_document": "fabricated_citation",
    "unknown_passage": "fabricated_citation",
    "unknown_number": "unknown_number",
    "ambiguous": "ambiguous_citation",
    "no_text": "cited_document_without_text",
    "self": "self_citation",
}
SECTION_NOT_FOUND = "section_not_found"
_PAIR_FILES = frozenset(
    f"{name}{suffix}"
    for name in ("pairs", "answers", "passed", "rejected", "known_answers", "training_examples")
    for suffix in (".jsonl", ".parquet", ".json", ".csv")
)


@dataclass(frozen=True, slots=True)
class QuoteCheck:
    """One quote cited for a claim, and what stands in the batch of it; offsets are within the chunk.

    `kind` is exact, spelling, ellipsis or edited (see `quotes.py`); misplaced where it stands in a chunk of
    the documents cited that its own citation does not name; missing where it stands nowhere in them.
    """

    given: str
    kind: str
    chunk_id: str | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class ClaimCitations:
    """What one claim cites: status and reason as the claims table has them, chunks, and its quotes."""

    status: str
    reason: str | None
    chunk_ids: tuple[str, ...]
    checks: tuple[QuoteCheck, ...] = ()

    @property
    def quotes(self) -> tuple[tuple[str, int, int], ...]:
        """Chunk id, start and end in the chunk of each quote that was found."""
        return tuple(
            (one.chunk_id, one.start, one.end)
            for one in self.checks
            if one.chunk_id is not None and one.start is not None and one.end is not None
        )


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
    found = [_resolution(citation, pair, sources) for citation in pair["citations"]]
    numbers = [citation["number"] for citation in pair["citations"]]
    by_number = {number: one for number, one in zip(numbers, found, strict=True) if number is not None}
    shared = [i for one in found for i in one.chunk_ids]
    everything = tuple(dict.fromkeys(i for i in (*shared, *pair["used_chunk_ids"]) if i in texts))
    owners = [_owner(citation["quote"], claims, pair["language"]) for citation in pair["citations"]]
    search = _Search(sources, texts, repair, pair["language"])
    cited = []
    for place, claim in enumerate(claims):
        own = [one for mark in claim.references for one in _marked(mark, pair, sources, by_number)]
        ids = tuple(dict.fromkeys(i for one in own for i in one.chunk_ids)) if own else everything
        mine = [
            one
            for one, owner, citation in zip(found, owners, pair["citations"], strict=True)
            if owner == place or (owner is None and not own and citation["quote"] is None)
        ]
        checks = tuple(
            search.check(citation["quote"], one.chunk_ids, ids)
            for citation, one, owner in zip(pair["citations"], found, owners, strict=True)
            if owner == place
        )
        cited.append(_status([*own, *mine], ids, checks))
    return cited


def _resolution(citation: Mapping[str, Any], pair: Mapping[str, Any], sources: Sources) -> Resolution:
    """What a stored citation resolves to, its chunks included."""
    if _cites_itself(citation["raw"] or "", pair):
        return Resolution("self", citation["document_id"])
    if citation["resolution"] == "chunk" and citation["chunk_id"]:
        return sources.chunk(citation["chunk_id"])
    if citation["resolution"] in ("section", "section_not_found", "document"):
        again = sources.resolve(citation["raw"] or "")
        return again if again.resolved else sources.resolve(citation["document_id"] or "")
    return Resolution(citation["resolution"], citation["document_id"])


def _marked(
    reference: str, pair: Mapping[str, Any], sources: Sources, by_number: Mapping[int, Resolution]
) -> list[Resolution]:
    """What a mark in the answer names; a number that is no citation of the pair names nothing."""
    if NUMBER_MARK.fullmatch(reference):
        return [by_number[number] for number in marked_numbers(reference) if number in by_number]
    return [Resolution("self") if _cites_itself(reference, pair) else sources.resolve(reference)]


def _cites_itself(reference: str, pair: Mapping[str, Any]) -> bool:
    """Whether a reference names the pair, the file it came from or another file of pairs: no source."""
    path = normalise_path(split_reference(reference)[0])
    name = PurePosixPath(path).name
    own = (pair["pair_id"], pair.get("question_id"))
    from_file = pair["origin"] == "imported" and name == PurePosixPath(normalise_path(pair["generator"])).name
    return bool(name) and (path in own or name in _PAIR_FILES or from_file)


def _owner(quote: str | None, claims: Sequence[Claim], language: str) -> int | None:
    """Place of the claim that shares most words with a quote; the first of equals."""
    if quote is None or not claims:
        return None
    held = content_stems(quote, language)
    shares = [recall(content_stems(claim.text, language), held) or 0.0 for claim in claims]
    return shares.index(max(shares))


@dataclass(frozen=True)
class _Search:
    """Where quotes of one pair are looked for."""

    sources: Sources
    texts: Mapping[str, str]
    repair: float
    language: str

    def check(self, quote: str, own: Sequence[str], cited: Sequence[str]) -> QuoteCheck:
        """Find a quote in what its citation names, then in the rest of what is cited and its documents.

        In each of the two an unchanged quote comes before an edited one.
        """
        within = [i for i in own or cited if i in self.texts]
        documents = dict.fromkeys(self.sources.chunk(i).document_id or "" for i in (*within, *cited))
        rest = [*cited, *(i for document in documents for i in self.sources.chunks_of(document))]
        for ids in (within, [i for i in dict.fromkeys(rest) if i not in within]):
            found = self._first(quote, ids)
            if found:
                return found if ids is within else replace(found, kind="misplaced")
        return QuoteCheck(quote, "missing")

    def _first(self, quote: str, chunk_ids: Sequence[str]) -> QuoteCheck | None:
        edited = None
        for chunk_id in chunk_ids:
            one = locate_quote(quote, self.texts[chunk_id], self.repair, self.language)
            if one and not one.repaired:
                return QuoteCheck(quote, one.kind, chunk_id, one.start, one.end)
            if one and edited is None:
                edited = QuoteCheck(quote, one.kind, chunk_id, one.start, one.end)
        return edited


def _status(
    found: Sequence[Resolution], ids: tuple[str, ...], checks: tuple[QuoteCheck, ...]
) -> ClaimCitations:
    broken = [one for one in found if not one.resolved]
    if broken:
        return ClaimCitations("unresolved", REASONS[broken[0].kind], ids, checks)
    if not ids:
        return ClaimCitations("uncited", None, ids, checks)
    kinds = {one.kind for one in checks}
    if "missing" in kinds:
        return ClaimCitations("quote_not_found", None, ids, checks)
    repaired = kinds & {"edited", "misplaced"}
    elsewhere = any(one.kind == SECTION_NOT_FOUND for one in found)
    reason = SECTION_NOT_FOUND if elsewhere else None
    return ClaimCitations("quote_repaired" if repaired else "resolved", reason, ids, checks)
