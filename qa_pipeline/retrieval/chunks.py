"""Documents to chunks: the passages that are indexed, retrieved and cited, as rows of their table.

A section is cut on its own, so an edit in one section leaves the chunks of all others as they were. A
section that is nothing but its heading gives no chunk where its words are in the section path of sections
below it; one without any below it is a chunk, such as `§ 10 (repealed)`.
"""

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypedDict

import polars as pl

from qa_pipeline.models.base import TokenCounter
from qa_pipeline.retrieval.borders import Section
from qa_pipeline.retrieval.fitting import SHARE, Draft, Fitter, Path, shorten_paths
from qa_pipeline.retrieval.token_counts import WordCounts, count_texts
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


def chunk_documents(documents: pl.DataFrame, count: TokenCounter, settings: ChunkingSettings) -> pl.DataFrame:
    """Cut every parsed document into chunks of at most `settings.max_tokens` or the model's window.

    The bound holds for `index_text`, special tokens included. A section path longer than a third of it
    loses its outermost headings, and the innermost its last words, in the chunk's `section_path`. Ids are
    hashes of path and text; equal chunks of a batch are distinguished by their number. Documents whose
    language is undetermined, such as tables of numbers, are taken to be in the language of their batch.
    """
    documents = _with_batch_language(documents.filter(pl.col("status") == "parsed"))
    counts = WordCounts(count)
    bound = min(settings.max_tokens, count.window)
    seen: Counter[str] = Counter()
    frames = [
        CHUNKS.frame(
            [
                chunk
                for row, drafts in _cut(rows, counts, bound, settings)
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


def _chunk_rows(row: ParsedDocumentRow, drafts: Sequence[Draft], seen: Counter[str]) -> Iterator[ChunkRow]:
    texts = [draft.text for draft in drafts]
    for position, (draft, text) in enumerate(zip(drafts, texts, strict=True)):
        path = draft.section.path
        chunk_id = chunk_hash(path, text, 0)
        seen[chunk_id] += 1
        yield {
            "chunk_id": chunk_id if seen[chunk_id] == 1 else chunk_hash(path, text, seen[chunk_id] - 1),
            "batch": row["batch"],
            "document_id": row["document_id"],
            "position": position,
            "char_start": draft.start,
            "char_end": draft.end,
            "title": row["title"],
            "section_path": list(path),
            "section_start": draft.section.start,
            "section_end": draft.section.end,
            "page_first": _page(row["pages"], draft.start),
            "page_last": _page(row["pages"], draft.end - 1),
            "tokens": draft.tokens,
            "language": piece_language(text, row["language"]),
            "doubts": doubts_within(row["doubts"], draft.start, draft.end) or None,
            "text": text,
            "repeats": None,
        }


def chunk_hash(path: Sequence[str], text: str, repeat: int) -> str:
    """Return the id of a chunk; `repeat` is its number among the equal ones of its batch, from 0."""
    return hash_text(_as_json([path, text, repeat]))[:_ID_LENGTH]


def _page(pages: Sequence[PageStruct], place: int) -> int | None:
    """Return the page of a place; null where the document has none."""
    if not pages:
        return None
    return pages[max(bisect_right(pages, place, key=lambda page: page["start"]) - 1, 0)]["number"]


@dataclass(frozen=True, slots=True)
class _Titled:
    """A section of a document as the documents table has it."""

    document: int
    path: Path
    start: int
    end: int
    heading_end: int


def _cut(
    rows: Sequence[ParsedDocumentRow], counts: WordCounts, bound: int, settings: ChunkingSettings
) -> Iterator[tuple[ParsedDocumentRow, list[Draft]]]:
    """Yield the drafts of each document."""
    texts_tokens = count_texts([row["text"] for row in rows], counts, longest=bound // 2)
    titled = list(_sections(rows))
    paths = shorten_paths((section.path for section in titled), bound // SHARE, counts)
    sections = []
    for section in titled:
        path = paths.short[section.path]
        room = bound - paths.tokens[path]
        shared = min(settings.overlap_tokens, room // 2)
        place = section.start, section.end, section.heading_end
        language = rows[section.document]["language"]
        sections.append(Section(texts_tokens[section.document], *place, path, room, shared, language))
    fitter = Fitter(bound, counts, paths)
    by_document: list[list[Draft]] = [[] for _ in rows]
    for section, drafts in zip(titled, fitter.fit(sections), strict=True):
        by_document[section.document] += drafts
    yield from zip(rows, by_document, strict=True)


def _sections(rows: Sequence[ParsedDocumentRow]) -> Iterator[_Titled]:
    """Yield all sections in order but those of a heading alone that have sections below them."""
    for number, row in enumerate(rows):
        text = row["text"]
        deeper = [below["level"] > upper["level"] for upper, below in pairwise(row["sections"])]
        for section, above in zip(row["sections"], [*deeper, False], strict=False):
            start, end, level = section["start"], section["end"], section["level"]
            path = tuple(section["heading_path"])
            line_end = text.find("\n", start, end) if level else start
            bare = line_end == -1 or not text[line_end:end].strip()
            if not (bare and above):
                yield _Titled(number, path, start, end, start if bare else line_end)
