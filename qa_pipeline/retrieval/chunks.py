"""Split documents into chunks: the passages that are indexed, retrieved and cited.

Each section is split separately, so that an edit leaves the chunks of other sections unchanged. A section
with only a heading is skipped if it has subsections, whose paths repeat the heading. Without subsections it
is a chunk, such as `§ 10 (repealed)`.
"""

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TypedDict

import polars as pl

from qa_pipeline.models.encoder import TokenCounter
from qa_pipeline.retrieval.packing import TOKEN_CHARACTERS, pack_section
from qa_pipeline.settings.documents import ChunkingSettings
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.table_schema import DoubtStruct, PageStruct, SectionStruct, typed_rows
from qa_pipeline.storage.tables import CHUNKS
from qa_pipeline.text.doubt import doubts_within
from qa_pipeline.text.language import UNDETERMINED, segment_language

_ID_LENGTH = 32  # hex digits: 128 bits are enough to avoid collisions
_AT_ONCE = 4_000_000
"""Characters of documents that are split together, to bound memory."""
_PATH_PART = 3
"""A section path may take a third of a chunk's tokens; the rest is left for the text."""
_SAFE = 0.95
"""Factor for the size of the next attempt after a draft was too long, to stay below the limit."""
Path = tuple[str, ...]
_as_json = json.JSONEncoder(ensure_ascii=False).encode


class ChunkRow(TypedDict):
    """A row of chunks."""

    chunk_id: str
    batch: str
    document_id: str
    position: int
    char_start: int
    char_end: int
    title: str
    section_path: list[str]
    section_start: int
    section_end: int
    page_first: int | None
    page_last: int | None
    tokens: int
    language: str
    passed_over: str | None
    doubts: list[DoubtStruct] | None
    text: str


class ParsedDocumentRow(TypedDict):
    """The columns of a parsed document that chunking needs."""

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
    """A section of a document, and the heading path of its chunks."""

    document: int
    text: str
    start: int
    heading_end: int
    """End of the heading line in `text`, after which no chunk ends; 0 if the heading is the last line."""
    language: str
    path: Path = ()
    path_tokens: int = 0
    """Tokens of the path, special tokens included."""


_SectionSpan = tuple[_Section, int, int]
"""A section, and the start and end of a span within its text."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A span of a section that becomes a chunk; `tokens` counts path and text."""

    section: _Section
    start: int
    end: int
    tokens: int

    @property
    def text(self) -> str:
        return self.section.text[self.start : self.end]


def index_text(section_path: Sequence[str], text: str) -> str:
    """Return the headings and text of a chunk, for embedding, indexing and counting."""
    return f"{' > '.join(section_path)}\n{text}" if section_path else text


def chunk_documents(
    documents: pl.DataFrame, counter: TokenCounter, settings: ChunkingSettings
) -> pl.DataFrame:
    """Split parsed documents into chunks of at most `settings.max_tokens`, or the model's window.

    The limit applies to `index_text`, special tokens included. A section path may take a third of it. The
    `section_path` of a chunk loses its outermost headings first, and then the end of the innermost.
    Ids hash path and text; repeated chunks of a batch get distinct ids. Documents of undetermined language,
    such as tables of numbers, get the main language of the batch.
    """
    documents = _with_batch_language(documents.filter(pl.col("status") == "parsed"))
    bound = min(settings.max_tokens, counter.window)
    seen: Counter[str] = Counter()
    frames = [
        CHUNKS.frame(
            [
                chunk
                for row, drafts in zip(rows, _cut(rows, counter, bound), strict=True)
                for chunk in _chunk_rows(row, drafts, seen)
            ]
        )
        for rows in _groups(documents)
    ]
    return CHUNKS.conform(pl.concat(frames)) if frames else CHUNKS.empty()


def _with_batch_language(documents: pl.DataFrame) -> pl.DataFrame:
    """Replace an undetermined language by the language of most characters in the batch, if known."""
    identified = documents.filter(pl.col("language") != UNDETERMINED)
    lengths = identified.group_by("language").agg(length=pl.col("text").str.len_chars().sum())
    longest_first = lengths.sort("length", "language", descending=[True, False])
    main = longest_first["language"].first()  # None if every document is undetermined
    return documents.with_columns(pl.col("language").replace(UNDETERMINED, main or UNDETERMINED))


def _groups(documents: pl.DataFrame) -> Iterator[list[ParsedDocumentRow]]:
    """Yield documents in groups of about `_AT_ONCE` characters."""
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
    """Yield the chunks of a document; `seen` counts the chunks of the batch with equal path and text."""
    for position, draft in enumerate(drafts):
        path, text, section = draft.section.path, draft.text, draft.section
        start, end = section.start + draft.start, section.start + draft.end
        first_id = chunk_hash(path, text, 0)  # the same for all chunks with equal path and text
        repeat = seen[first_id]
        seen[first_id] += 1
        yield {
            "chunk_id": chunk_hash(path, text, repeat),
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
            "language": segment_language(text, row["language"]),
            "doubts": doubts_within(row["doubts"], start, end) or None,
            "text": text,
            "passed_over": None,
        }


def chunk_hash(path: Sequence[str], text: str, repeat: int) -> str:
    """Return the id of a chunk; `repeat` is its 0-based number among equal chunks of a batch."""
    return hash_text(_as_json([path, text, repeat]))[:_ID_LENGTH]


def _page(pages: Sequence[PageStruct], offset: int) -> int | None:
    """Return the page at a character offset; None for a document without pages."""
    if not pages:
        return None
    last_started = bisect_right(pages, offset, key=lambda page: page["start"]) - 1
    return pages[max(last_started, 0)]["number"]  # 0: the offset is before the first page


def _cut(rows: Sequence[ParsedDocumentRow], counter: TokenCounter, bound: int) -> list[list[_Draft]]:
    """Cut documents into drafts of at most `bound` tokens with their heading path, by document in order."""
    sections = _with_short_paths(list(_sections(rows)), bound // _PATH_PART, counter)
    whole_sections = [(section, 0, len(section.text.rstrip())) for section in sections]
    by_document: list[list[_Draft]] = [[] for _ in rows]
    too_long: list[_Section] = []
    for draft in _counted(whole_sections, counter):
        # a very long word counts as a single token, so the characters are limited too
        if draft.tokens <= bound and draft.end <= bound * TOKEN_CHARACTERS:
            by_document[draft.section.document].append(draft)
        else:
            too_long.append(draft.section)
    for draft in _packed(too_long, counter, bound):
        by_document[draft.section.document].append(draft)
    return [sorted(drafts, key=lambda draft: draft.section.start + draft.start) for drafts in by_document]


def _packed(sections: Sequence[_Section], counter: TokenCounter, bound: int) -> Iterator[_Draft]:
    """Split sections that are too long into drafts of at most `bound` tokens (or of a single character)."""
    waiting: list[_SectionSpan] = []
    for section in sections:
        room = max(bound - section.path_tokens, 1)
        spans = pack_section(section.text, section.heading_end, section.language, counter.tokenizer, room)
        waiting += [(section, start, end) for start, end in spans]
    while waiting:
        drafts, waiting = _counted(waiting, counter), []
        for draft in drafts:
            is_single_character = draft.end - draft.start < 2
            if draft.tokens <= bound or is_single_character:
                yield draft
            else:  # path and text together may have more tokens than apart
                waiting += _split_again(draft, counter, bound)


def _counted(spans: Sequence[_SectionSpan], counter: TokenCounter) -> list[_Draft]:
    """Return the drafts of spans, with their numbers of tokens."""
    texts = [index_text(section.path, section.text[start:end]) for section, start, end in spans]
    counts = counter.count(texts) if texts else []
    return [_Draft(*span, tokens) for span, tokens in zip(spans, counts, strict=True)]


def _split_again(draft: _Draft, counter: TokenCounter, bound: int) -> Iterator[_SectionSpan]:
    """Yield smaller spans of a draft whose path and text together have more than `bound` tokens."""
    section, text = draft.section, draft.text
    text_bound = bound - section.path_tokens
    text_tokens = max(draft.tokens - section.path_tokens, 1)
    # `pack_section` adds up the tokens of sentences, and together they may have more: sentences that add up
    # to 100 tokens, the bound, may have 125 together. Their room is then 95% of 100 * (100 / 125).
    room = max(int(_SAFE * text_bound * text_bound / text_tokens), 1)
    spans = pack_section(text, 0, section.language, counter.tokenizer, room)
    if len(spans) == 1:  # halve it, so that every attempt makes it shorter
        spans = [(0, len(text) // 2), (len(text) // 2, len(text))]
    yield from ((section, draft.start + start, draft.start + end) for start, end in spans)


def _sections(rows: Sequence[ParsedDocumentRow]) -> Iterator[_Section]:
    """Yield all sections in order, without sections that have only a heading and subsections."""
    for number, row in enumerate(rows):
        for section, following in zip_longest(row["sections"], row["sections"][1:]):  # None after the last
            has_subsections = following is not None and following["level"] > section["level"]
            start, end = section["start"], section["end"]
            text = row["text"][start:end]
            has_heading = section["level"] > 0  # level 0 is text before any heading
            heading, _, body = text.partition("\n") if has_heading else ("", "", text)
            is_only_heading = not body.strip()
            if not text.strip() or (is_only_heading and has_subsections):
                continue
            # a heading without text below it is itself the text of the section
            heading_end = 0 if is_only_heading else len(heading)
            path = tuple(section["heading_path"])
            yield _Section(number, text, start, heading_end, row["language"], path)


def _with_short_paths(sections: Sequence[_Section], limit: int, counter: TokenCounter) -> list[_Section]:
    """Return the sections with paths of at most `limit` tokens.

    A longer path loses its outermost headings, and then halves of the innermost, until it fits.
    """
    shortened = {section.path: section.path for section in sections}  # by the original path
    tokens: dict[Path, int] = {}  # of the shortened path, by the original path
    waiting = list(shortened)  # original paths that may be too long
    while waiting:
        sizes = counter.count([index_text(shortened[path], "") for path in waiting])
        tokens.update(zip(waiting, sizes, strict=True))
        waiting = [path for path in waiting if tokens[path] > limit and shortened[path]]
        for path in waiting:
            *outer, innermost = shortened[path]
            if outer:
                shortened[path] = shortened[path][1:]
            else:
                half = innermost[: len(innermost) // 2].rstrip()
                shortened[path] = (half,) if half else ()
    return [replace(s, path=shortened[s.path], path_tokens=tokens[s.path]) for s in sections]
