"""Documents to chunks: the passages that are indexed, retrieved and cited, as rows of their table.

A section is cut on its own, so an edit in one section leaves the chunks of all others as they were. A
section that is nothing but its heading gives no chunk where its words are in the section path of sections
below it; one without any below it is a chunk, such as `§ 10 (repealed)`.
"""

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypedDict

import polars as pl

from qa_pipeline.models.base import TokenCounter
from qa_pipeline.records import index_text
from qa_pipeline.retrieval.packing import TOKEN_CHARACTERS, pack_section
from qa_pipeline.settings.documents import ChunkingSettings
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.rows import ChunkRow, DoubtStruct, PageStruct, SectionStruct
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CHUNKS
from qa_pipeline.text.doubt import doubts_within
from qa_pipeline.text.language import UNDETERMINED, piece_language

_ID_LENGTH = 32  # hex digits: 128 bits, in which no two texts meet by chance
_AT_ONCE = 4_000_000
"""Characters of documents cut together, so that memory does not grow with the batch."""
_PATH_SHARE = 3
"""A path may take a third of the bound: it tells what a chunk is about, and the text needs the room."""
_SAFE = 0.95
"""Factor of the room of a draft that was over the bound: the next one stays a little below."""
Path = tuple[str, ...]
_as_json = json.JSONEncoder(ensure_ascii=False).encode


class ParsedDocumentRow(TypedDict):
    """Hold what is cut of a document that was parsed."""

    batch: str
    document_id: str
    language: str
    title: str
    text: str
    sections: list[SectionStruct]
    pages: list[PageStruct]
    doubts: list[DoubtStruct] | None


@dataclass(frozen=True, slots=True)
class _Section:
    """A section of a document, and the headings that its chunks carry."""

    document: int
    text: str
    start: int
    heading_end: int
    language: str
    path: Path = ()
    path_tokens: int = 0
    """Tokens of the headings, special ones included."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A span of a section that becomes a chunk; `tokens` are those of path and text."""

    section: _Section
    start: int
    end: int
    tokens: int

    @property
    def text(self) -> str:
        """Return the text of the span."""
        return self.section.text[self.start : self.end]


def chunk_documents(documents: pl.DataFrame, count: TokenCounter, settings: ChunkingSettings) -> pl.DataFrame:
    """Cut every parsed document into chunks of at most `settings.max_tokens` or the model's window.

    The bound holds for `index_text`, special tokens included. A section path longer than a third of it
    loses its outermost headings, and the innermost its last words, in the chunk's `section_path`. Ids are
    hashes of path and text; equal chunks of a batch are distinguished by their number. Documents whose
    language is undetermined, such as tables of numbers, are taken to be in the language of their batch.
    """
    documents = _with_batch_language(documents.filter(pl.col("status") == "parsed"))
    bound = min(settings.max_tokens, count.window)
    seen: Counter[str] = Counter()
    frames = [
        CHUNKS.frame(
            [
                chunk
                for row, drafts in zip(rows, _cut(rows, count, bound, settings), strict=True)
                for chunk in _chunk_rows(row, drafts, seen)
            ]
        )
        for rows in _groups(documents)
    ]
    return CHUNKS.conform(pl.concat(frames)) if frames else CHUNKS.empty()


def _with_batch_language(documents: pl.DataFrame) -> pl.DataFrame:
    """Put the language that most characters of the batch are in for undetermined ones; none may be known."""
    identified = documents.filter(pl.col("language") != UNDETERMINED)
    lengths = identified.group_by("language").agg(length=pl.col("text").str.len_chars().sum())
    main = lengths.sort("length", "language", descending=[True, False])["language"].first()
    return documents.with_columns(pl.col("language").replace(UNDETERMINED, main or UNDETERMINED))


def _groups(documents: pl.DataFrame) -> Iterator[list[ParsedDocumentRow]]:
    """Yield documents in groups of not much more than a number of characters."""
    group: list[ParsedDocumentRow] = []
    characters = 0
    for row in typed_rows(documents.select(*ParsedDocumentRow.__annotations__), ParsedDocumentRow):
        group.append(row)
        characters += len(row["text"])
        if characters >= _AT_ONCE:
            yield group
            group, characters = [], 0
    if group:
        yield group


def _chunk_rows(row: ParsedDocumentRow, drafts: Sequence[_Draft], seen: Counter[str]) -> Iterator[ChunkRow]:
    for position, draft in enumerate(drafts):
        path, text, section = draft.section.path, draft.text, draft.section
        start, end = section.start + draft.start, section.start + draft.end
        chunk_id = chunk_hash(path, text, 0)
        seen[chunk_id] += 1
        yield {
            "chunk_id": chunk_id if seen[chunk_id] == 1 else chunk_hash(path, text, seen[chunk_id] - 1),
            "batch": row["batch"],
            "document_id": row["document_id"],
            "position": position,
            "char_start": start,
            "char_end": end,
            "title": row["title"],
            "section_path": list(path),
            "section_start": section.start,
            "section_end": section.start + len(section.text),
            "page_first": _page(row["pages"], start),
            "page_last": _page(row["pages"], end - 1),
            "tokens": draft.tokens,
            "language": piece_language(text, row["language"]),
            "doubts": doubts_within(row["doubts"], start, end) or None,
            "text": text,
            "passed_over": None,
        }


def chunk_hash(path: Sequence[str], text: str, repeat: int) -> str:
    """Return the id of a chunk; `repeat` is its number among the equal ones of its batch, from 0."""
    return hash_text(_as_json([path, text, repeat]))[:_ID_LENGTH]


def _page(pages: Sequence[PageStruct], place: int) -> int | None:
    """Return the page of a place; null where the document has none."""
    if not pages:
        return None
    return pages[max(bisect_right(pages, place, key=lambda page: page["start"]) - 1, 0)]["number"]


def _cut(
    rows: Sequence[ParsedDocumentRow], counter: TokenCounter, bound: int, settings: ChunkingSettings
) -> list[list[_Draft]]:
    """Return the drafts of each document in order, each within the bound unless it is a single character."""
    sections = _with_short_paths(list(_sections(rows)), bound // _PATH_SHARE, counter)
    whole_sections = [(section, 0, len(section.text.rstrip())) for section in sections]
    fitting: list[list[_Draft]] = [[] for _ in rows]
    over = []
    for draft in _counted(whole_sections, counter):
        if draft.tokens <= bound and draft.end <= bound * TOKEN_CHARACTERS:
            fitting[draft.section.document].append(draft)
        else:
            over.append(draft)
    packed = (
        span for draft in over for span in _packed(draft.section, counter, bound, settings.overlap_tokens)
    )
    waiting = _counted(list(packed), counter)
    while waiting:
        again: list[tuple[_Section, int, int]] = []
        for draft in waiting:
            if draft.tokens <= bound or draft.end - draft.start < 2:
                fitting[draft.section.document].append(draft)
            else:
                again += _packed_again(draft, counter, bound)
        waiting = _counted(again, counter)
    return [sorted(drafts, key=lambda draft: draft.section.start + draft.start) for drafts in fitting]


def _counted(spans: Sequence[tuple[_Section, int, int]], counter: TokenCounter) -> list[_Draft]:
    texts = [index_text(section.path, section.text[start:end]) for section, start, end in spans]
    counts = counter.count(texts) if texts else []
    return [_Draft(*span, tokens) for span, tokens in zip(spans, counts, strict=True)]


def _packed(
    section: _Section, counter: TokenCounter, bound: int, overlap: int
) -> Iterator[tuple[_Section, int, int]]:
    room = max(bound - section.path_tokens, 1)
    spans = pack_section(
        section.text, section.heading_end, section.language, counter.tokenizer, room, min(overlap, room // 2)
    )
    yield from ((section, start, end) for start, end in spans)


def _packed_again(draft: _Draft, counter: TokenCounter, bound: int) -> Iterator[tuple[_Section, int, int]]:
    """Yield parts of a draft whose tokens together are more than those of its pieces."""
    section, text = draft.section, draft.text
    room = (bound - section.path_tokens) * (bound - section.path_tokens)
    room = max(int(_SAFE * room / max(draft.tokens - section.path_tokens, 1)), 1)
    spans = pack_section(text, 0, section.language, counter.tokenizer, room)
    if len(spans) == 1:
        spans = [(0, len(text) // 2), (len(text) // 2, len(text))]
    yield from ((section, draft.start + start, draft.start + end) for start, end in spans)


def _sections(rows: Sequence[ParsedDocumentRow]) -> Iterator[_Section]:
    """Yield all sections in order but those of a heading alone that have sections below them."""
    for number, row in enumerate(rows):
        deeper = [below["level"] > upper["level"] for upper, below in pairwise(row["sections"])]
        for section, above in zip(row["sections"], [*deeper, False], strict=False):
            start, end = section["start"], section["end"]
            text = row["text"][start:end]
            line_end = text.find("\n") if section["level"] else 0
            is_bare = line_end == -1 or not text[line_end:].strip()
            if not (is_bare and above) and text.strip():
                heading_end = 0 if is_bare else line_end
                path = tuple(section["heading_path"])
                yield _Section(number, text, start, heading_end, row["language"], path)


def _with_short_paths(sections: Sequence[_Section], limit: int, counter: TokenCounter) -> list[_Section]:
    """Return the sections with paths of at most `limit` tokens.

    A longer one loses its outermost headings, then the innermost its last words.
    """
    short = {section.path: section.path for section in sections}
    tokens: dict[Path, int] = {}
    waiting = list(short)
    while waiting:
        sizes = counter.count([index_text(short[path], "") for path in waiting])
        tokens.update(zip(waiting, sizes, strict=True))
        waiting = [path for path in waiting if tokens[path] > limit and short[path]]
        for path in waiting:
            *outer, innermost = short[path]
            cut = innermost[: len(innermost) // 2].rstrip()
            short[path] = short[path][1:] if outer else (cut,) if cut else ()
    return [
        replace(section, path=short[section.path], path_tokens=tokens[section.path]) for section in sections
    ]
