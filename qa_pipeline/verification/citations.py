"""The citations of one claim: which chunks it rests on, and whether its quotes are there."""

import difflib
import functools
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath

from qa_pipeline.storage.rows import CitationStruct, DraftedPairRow
from qa_pipeline.text.lexicon.languages import SMALL, lexicon
from qa_pipeline.text.reading import read
from qa_pipeline.text.references import (
    NUMBER_MARK,
    Resolution,
    Sources,
    marked_numbers,
    normalise_path,
    split_reference,
)
from qa_pipeline.text.words import recall
from qa_pipeline.verification.splitting import Claim

_SAME = str.maketrans(
    {**dict.fromkeys("“”„«»‟″", '"'), **dict.fromkeys("‘’‚‛′`´", "'"), **dict.fromkeys("‐‑‒–—−", "-")}
)
_DROPPED = frozenset("*_`#|>\u00ad\u200b\u200c\u200d\u2060\ufeff")
_ELLIPSIS = re.compile(r"\[\s{0,9}(?:\.{3}|…)\s{0,9}\]|\(\s{0,9}(?:\.{3}|…)\s{0,9}\)|\.{3}|…")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_NUMBER_BEFORE = re.compile(r"\d[.,]?$")
_NUMBER_AFTER = re.compile(r"[.,]?\d")
REPAIR = 0.90
"""Share of a quote's words that must align to repair it: a word or two misspelt, not another statement."""
_SHORTEST_REPAIR = 4
"""Words of a quote that is repaired: fewer stand in many places, and one that differs is much of them."""
_SAME_WORD = 0.7
"""Likeness of two words (share of letters in common) from which they are one, misspelt: lower ones let a
repaired quote say another thing, higher ones leave quotes with a slip unfound."""
_FEWEST_MARKED = 2
"""Words that must have lost a diacritic: a single one may be another word, as "konnte" and "könnte" are."""
_MOST_STARTS = 20
"""Places of the first part of a quote with an ellipsis from which the others are looked for."""


@dataclass(frozen=True, slots=True)
class Located:
    """The place of a quote, and how the quote agrees with the text there.

    `kind` is exact, spelling (the same words written otherwise), ellipsis (its parts, in order) or edited.
    """

    start: int
    end: int
    kind: str


def locate_quote(quote: str, text: str, repair: float = REPAIR, language: str = "en") -> Located | None:
    """Find `quote` in `text`.

    Tried in order: the very characters; the same with case, spaces, quotation marks, dashes, markup and
    end-of-line hyphenation folded; its parts around an ellipsis, in order and the nearest to each other; the
    same for a quote that lacks every diacritic, which counts as edited; an alignment in which at least
    `repair` of its words agree and the edits are small ones (`_small`).
    """
    stripped = quote.strip()
    at = _find(stripped, text, 0) if stripped else -1
    if at >= 0:
        return Located(at, at + len(stripped), "exact")
    folded, places = _fold(text)
    parts = [part for part in (_fold(piece)[0].strip() for piece in _ELLIPSIS.split(stripped)) if part]
    span = _in_order(parts, folded, places) or _without_marks(parts, folded, places)
    return span or _aligned(stripped, text, repair, language)


def _find(quote: str, text: str, position: int) -> int:
    """Return the place of the first occurrence that cuts no number in two; -1 without one."""
    at = text.find(quote, position)
    while at >= 0:
        before = quote[0].isdigit() and _NUMBER_BEFORE.search(text, max(0, at - 2), at)
        after = quote[-1].isdigit() and _NUMBER_AFTER.match(text, at + len(quote))
        if not before and not after:
            break
        at = text.find(quote, at + 1)
    return at


@functools.lru_cache(maxsize=512)
def _fold(text: str) -> tuple[str, list[int]]:
    """Return the comparable form of a text, and for each of its characters the place it comes from."""
    text_form: list[str] = []
    places: list[int] = []
    at = 0
    while at < len(text):
        character = text[at]
        hyphenated = character in "-\u2010" and re.match(rf"[-\u2010]\n\s*(?=[{SMALL}])", text[at:])
        if hyphenated and text_form and text_form[-1].isalpha():
            at += len(hyphenated[0])
            continue
        if character.isspace():
            if text_form and text_form[-1] != " ":
                text_form.append(" ")
                places.append(at)
        elif character not in _DROPPED:
            for form in unicodedata.normalize("NFKC", character.translate(_SAME)).casefold():
                text_form.append(form)
                places.append(at)
        at += 1
    return "".join(text_form), places


def _in_order(parts: list[str], folded: str, places: list[int]) -> Located | None:
    """Return the span from the first part to the last where all are in order; the shortest of several."""
    spans: list[tuple[int, int]] = []
    start = _find(parts[0], folded, 0) if parts else -1
    while start >= 0 and len(spans) < (1 if len(parts) == 1 else _MOST_STARTS):
        end = start + len(parts[0])
        for part in parts[1:]:
            at = _find(part, folded, end)
            end = at + len(part) if at >= 0 else len(folded) + 1
        if end > len(folded):
            break
        spans.append((start, end))
        start = _find(parts[0], folded, start + 1)
    if not spans:
        return None
    start, end = min(spans, key=lambda span: span[1] - span[0])
    return Located(places[start], places[end - 1] + 1, "spelling" if len(parts) == 1 else "ellipsis")


def _without_marks(parts: list[str], folded: str, places: list[int]) -> Located | None:
    """Return the span in a text without its diacritics, for a quote that was stripped of all of them."""
    if folded.isascii() or _unmarked("".join(parts)) != "".join(parts):
        return None
    span = _in_order(parts, _unmarked(folded), places)
    if span is None:
        return None
    words = _WORD.findall(folded[places.index(span.start) : bisect_left(places, span.end)])
    marked = sum(_unmarked(word) != word for word in words)
    if len(words) < _SHORTEST_REPAIR or marked < _FEWEST_MARKED:
        return None
    return Located(span.start, span.end, "edited")


def _unmarked(folded: str) -> str:
    """Return the letters of a folded text without diacritics, one for one."""
    return "".join(unicodedata.normalize("NFD", letter)[0] for letter in folded)


def _aligned(quote: str, text: str, repair: float, language: str) -> Located | None:
    """Return the best stretch of the text, as long as the quote in words, by Ratcliff/Obershelp matching."""
    quote_words = [word.translate(_SAME).casefold() for word in _WORD.findall(quote)]
    tokens = list(_WORD.finditer(text))
    words = [token[0].translate(_SAME).casefold() for token in tokens]
    if len(quote_words) < _SHORTEST_REPAIR or not words:
        return None
    densest = _densest(quote_words, words)
    at = max(0, densest - 2)  # the first words of the quote may stand before a word it leaves out
    stretch = words[at : densest + len(quote_words) + 2]
    matcher = difflib.SequenceMatcher(None, quote_words, stretch, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    agreed = sum(block.size for block in blocks)
    if agreed < repair * len(quote_words):
        return None
    ends = blocks[-1].b + blocks[-1].size
    edits = [
        (quote_words[start_in_quote:end_in_quote], stretch[start:end])
        for code, start_in_quote, end_in_quote, start, end in matcher.get_opcodes()
        if code != "equal" and (start_in_quote < end_in_quote or blocks[0].b < end <= ends)
    ]
    removed, added = (frozenset(chain.from_iterable(edit[side] for edit in edits)) for side in (0, 1))
    moved = (removed & added) - lexicon(language).stop_words
    if moved or not all(_small(quoted, written, language) for quoted, written in edits):
        return None
    first, last = at + blocks[0].b, at + ends - 1
    return Located(tokens[first].start(), tokens[last].end(), "edited")


def _small(quoted: Sequence[str], written: Sequence[str], language: str) -> bool:
    """Return whether words were only misspelt, inflected, or dropped or added without changing the statement.

    No digit, number word, negation, quantifier or obligation may differ on either side, and where content
    words replace other ones, each must look like one of those.
    """
    vocabulary = lexicon(language)
    closed = (
        vocabulary.negations,
        vocabulary.soft_negations,
        vocabulary.universal,
        vocabulary.partial,
        vocabulary.exclusive,
    )
    telling = frozenset[str]().union(
        *closed, vocabulary.strong, vocabulary.weak, vocabulary.numbers, vocabulary.months
    )
    if any(word in telling or any(map(str.isdigit, word)) for word in (*quoted, *written)):
        return False
    content = [word for word in quoted if word not in vocabulary.stop_words]
    others = [word for word in written if word not in vocabulary.stop_words]
    if not content or not others:
        return len(content) + len(others) <= 1
    likeness = [
        [difflib.SequenceMatcher(None, word, other, autojunk=False).ratio() for other in others]
        for word in content
    ]
    return all(max(similarities) >= _SAME_WORD for similarities in likeness)


def _densest(quote_words: list[str], words: list[str]) -> int:
    """Start of the stretch that shares most words with the quote, repeats counted; the first of equals."""
    need = Counter(quote_words)
    have: Counter[str] = Counter()
    best, best_at, shared = -1, 0, 0
    for at, word in enumerate(words):
        have[word] += 1
        shared += have[word] <= need[word]
        if at >= len(quote_words):
            old = words[at - len(quote_words)]
            shared -= have[old] <= need[old]
            have[old] -= 1
        if shared > best:
            best, best_at = shared, max(0, at - len(quote_words) + 1)
    return best_at


_REASONS = {
    "unknown_document": "fabricated_citation",
    "unknown_passage": "fabricated_citation",
    "unknown_number": "unknown_number",
    "ambiguous": "ambiguous_citation",
    "no_text": "cited_document_without_text",
    "self": "self_citation",
}
_SECTION_NOT_FOUND = "section_not_found"
_PAIR_FILES = frozenset(
    f"{name}{suffix}"
    for name in ("pairs", "answers", "passed", "rejected", "known_answers", "training_examples")
    for suffix in (".jsonl", ".parquet", ".json", ".csv")
)


@dataclass(frozen=True, slots=True)
class QuoteCheck:
    """A quote cited for a claim, and what is in the batch of it; offsets are within the chunk.

    `kind` is exact, spelling, ellipsis or edited; misplaced where it is in a chunk of the documents cited
    that its own citation does not name; missing, without chunk, where it is nowhere in them.
    """

    quote: str
    kind: str
    chunk_id: str | None = None
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class ClaimCitations:
    """The citations of one claim: status and reason as the claims table has them, chunks, and its quotes."""

    status: str
    reason: str | None
    chunk_ids: tuple[str, ...]
    checks: tuple[QuoteCheck, ...] = ()


def cite_claims(
    pair: DraftedPairRow,
    claims: Sequence[Claim],
    sources: Sources,
    texts: Mapping[str, str],
) -> list[ClaimCitations]:
    """Give each claim of a pair its citations.

    A claim with source marks of its own rests on those; any other rests on everything the pair cites. A
    quote, and an unresolved citation that has one, counts against the one claim whose words it shares most;
    an unresolved citation without a quote counts against every claim that has no marks of its own.
    """
    language = pair["language"]
    quotes = [citation["quote"] for citation in pair["citations"]]
    resolutions = [_resolution(citation, pair, sources) for citation in pair["citations"]]
    numbered = zip(pair["citations"], resolutions, strict=True)
    by_number = {
        citation["number"]: target for citation, target in numbered if citation["number"] is not None
    }
    shared = [i for resolution in resolutions for i in resolution.chunk_ids]
    everything = tuple(dict.fromkeys(i for i in (*shared, *pair["used_chunk_ids"]) if i in texts))
    owners = [_owner(quote, claims, language) for quote in quotes]
    cited = []
    for place, claim in enumerate(claims):
        marked = [target for mark in claim.references for target in _marked(mark, pair, sources, by_number)]
        ids = (
            tuple(dict.fromkeys(i for resolution in marked for i in resolution.chunk_ids))
            if marked
            else everything
        )
        mine = [
            resolution
            for resolution, owner, quote in zip(resolutions, owners, quotes, strict=True)
            if owner == place or (owner is None and not marked and quote is None)
        ]
        checks = tuple(
            _check(quote, resolution.chunk_ids or ids, ids, sources, texts, language)
            for quote, resolution, owner in zip(quotes, resolutions, owners, strict=True)
            if quote is not None and owner == place
        )
        cited.append(_status([*marked, *mine], ids, checks))
    return cited


def _resolution(citation: CitationStruct, pair: DraftedPairRow, sources: Sources) -> Resolution:
    """Return what a stored citation resolves to, its chunks included."""
    if _cites_itself(citation["raw"] or "", pair):
        return Resolution("self", citation["document_id"])
    if citation["resolution"] == "chunk" and citation["chunk_id"]:
        return sources.chunk(citation["chunk_id"])
    if citation["resolution"] in ("section", _SECTION_NOT_FOUND, "document"):
        again = sources.resolve(citation["raw"] or "")
        return again if again.resolved else sources.resolve(citation["document_id"] or "")
    return Resolution(citation["resolution"] or "", citation["document_id"])


def _marked(
    reference: str, pair: DraftedPairRow, sources: Sources, by_number: Mapping[int, Resolution]
) -> list[Resolution]:
    """Return the citations that a mark in the answer names; none for a number that the pair lacks."""
    if NUMBER_MARK.fullmatch(reference):
        return [by_number[number] for number in marked_numbers(reference) if number in by_number]
    return [Resolution("self") if _cites_itself(reference, pair) else sources.resolve(reference)]


def _cites_itself(reference: str, pair: DraftedPairRow) -> bool:
    """Return whether a reference names the pair, its own file or another file of pairs: no source."""
    path = normalise_path(split_reference(reference)[0])
    name = PurePosixPath(path).name
    own_ids = (pair["pair_id"], pair["question_id"])
    from_file = pair["origin"] == "imported" and name == PurePosixPath(normalise_path(pair["generator"])).name
    return bool(name) and (path in own_ids or name in _PAIR_FILES or from_file)


def _owner(quote: str | None, claims: Sequence[Claim], language: str) -> int | None:
    """Return the place of the claim that shares most words with a quote; the first of equals."""
    if quote is None or not claims:
        return None
    quote_stems = read(quote, language).stems
    shares = [recall(read(claim.text, language).stems, quote_stems) or 0.0 for claim in claims]
    return shares.index(max(shares))


def _check(
    quote: str,
    own_ids: Sequence[str],
    cited: Sequence[str],
    sources: Sources,
    texts: Mapping[str, str],
    language: str,
) -> QuoteCheck:
    """Find a quote in what its citation names, then in the rest of what is cited and its documents.

    In each of the two an unchanged quote comes before an edited one.
    """
    within = [i for i in own_ids if i in texts]
    documents = dict.fromkeys(sources.chunk(i).document_id or "" for i in (*within, *cited))
    rest = dict.fromkeys((*cited, *(i for document in documents for i in sources.chunks_of(document))))
    for ids in (within, [i for i in rest if i not in within]):
        edited = None
        for chunk_id in ids:
            span = locate_quote(quote, texts[chunk_id], language=language)
            if span is None:
                continue
            kind = span.kind if ids is within else "misplaced"
            check = QuoteCheck(quote, kind, chunk_id, span.start, span.end)
            if span.kind != "edited":
                return check
            edited = edited or check
        if edited:
            return edited
    return QuoteCheck(quote, "missing")


def _status(
    resolutions: Sequence[Resolution], ids: tuple[str, ...], checks: tuple[QuoteCheck, ...]
) -> ClaimCitations:
    broken = [resolution for resolution in resolutions if not resolution.resolved]
    if broken:
        return ClaimCitations("unresolved", _REASONS[broken[0].kind], ids, checks)
    if not ids:
        return ClaimCitations("uncited", None, ids, checks)
    kinds = {check.kind for check in checks}
    if "missing" in kinds:
        return ClaimCitations("quote_not_found", None, ids, checks)
    elsewhere = any(resolution.kind == _SECTION_NOT_FOUND for resolution in resolutions)
    status = "quote_repaired" if kinds & {"edited", "misplaced"} else "resolved"
    return ClaimCitations(status, _SECTION_NOT_FOUND if elsewhere else None, ids, checks)
