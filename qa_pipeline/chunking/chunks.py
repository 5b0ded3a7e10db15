"""Documents to chunks: the passages that are indexed, retrieved and cited, as rows of their table.

A section is cut on its own, so an edit in one section leaves the chunks of all others as they were. A
section that is nothing but its heading gives no chunk where its words stand in the section path of sections
below it; one without any below it is a chunk, such as `§ 10 (repealed)`.
"""

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import polars as pl

from qa_pipeline.chunking.borders import Section, cut_section
from qa_pipeline.chunking.fitting import SHARE, Draft, Fitter, Path, Paths, Sibling, merge_tiny, shorten_paths
from qa_pipeline.chunking.token_counts import TextTokens, WordCounts, count_texts
from qa_pipeline.models.base import TokenCounter
from qa_pipeline.settings.documents import ChunkingSettings
from qa_pipeline.tables import CHUNKS

Row = Mapping[str, Any]
TellLanguages = Callable[[Sequence[str], Row], Sequence[str]]
"""Languages of the chunks of one document, from their texts and the document's row."""

_ID_LENGTH = 32
_as_json = json.JSONEncoder(ensure_ascii=False).encode


def language_of_document(texts: Sequence[str], document: Row) -> list[str]:
    """Every chunk is in its document's main language."""
    return [document["language"]] * len(texts)


class Ids:
    """Hashes of what a chunk says and where; equal chunks of a batch are told apart by their number."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def next(self, path: Path, text: str) -> str:
        """The id of a chunk."""
        first = _hash(path, text, 0)
        repeat = self._seen[first]
        self._seen[first] += 1
        return _hash(path, text, repeat) if repeat else first


def _hash(path: Path, text: str, repeat: int) -> str:
    return hashlib.sha256(_as_json([path, text, repeat]).encode()).hexdigest()[:_ID_LENGTH]


def chunk_frame(
    cut: Iterable[tuple[Row, Sequence[Draft]]], ids: Ids, languages: TellLanguages
) -> pl.DataFrame:
    """Documents with their drafts, in order, as a CHUNKS frame."""
    rows = list(_rows(cut, ids, languages))
    plain = {name: dtype for name, dtype in CHUNKS.schema.items() if name != "section_path"}
    frame = pl.DataFrame(rows, schema=plain)
    return CHUNKS.conform(frame.with_columns(_lists("section_path", [row["section_path"] for row in rows])))


def _lists(name: str, lists: Sequence[Sequence[str]]) -> pl.Series:
    """A column of lists of strings, which polars is slow to make of Python lists."""
    flat = {
        "row": [number for number, one in enumerate(lists) for _ in one],
        name: [text for one in lists for text in one],
    }
    gathered = pl.DataFrame(flat, schema={"row": pl.Int64, name: pl.String}).group_by("row").agg(name)
    rows = pl.DataFrame({"row": range(len(lists))}, schema={"row": pl.Int64})
    return rows.join(gathered, on="row", how="left", maintain_order="left")[name].fill_null([])


def _rows(
    cut: Iterable[tuple[Row, Sequence[Draft]]], ids: Ids, languages: TellLanguages
) -> Iterator[dict[str, Any]]:
    for row, drafts in cut:
        texts = [draft.text for draft in drafts]
        spoken = languages(texts, row)
        pages = _Pages(row["pages"])
        for position, (draft, text, language) in enumerate(zip(drafts, texts, spoken, strict=True)):
            first, last = pages.range(draft.start, draft.end)
            yield {
                "chunk_id": ids.next(draft.path, text),
                "batch": row["batch"],
                "document_id": row["document_id"],
                "position": position,
                "char_start": draft.start,
                "char_end": draft.end,
                "title": row["title"],
                "section_path": draft.path,
                "section_start": draft.section.start,
                "section_end": draft.section.end,
                "page_first": first,
                "page_last": last,
                "tokens": draft.tokens,
                "language": language,
                "text": text,
            }


class _Pages:
    """Pages of a document by place."""

    def __init__(self, pages: Sequence[Row]) -> None:
        self._starts = [page["start"] for page in pages]
        self._numbers = [page["number"] for page in pages]

    def range(self, start: int, end: int) -> tuple[int | None, int | None]:
        """Pages of the first and last character; null where the document has none."""
        if not self._starts:
            return None, None
        first, last = (max(bisect_right(self._starts, at) - 1, 0) for at in (start, end - 1))
        return self._numbers[first], self._numbers[last]


_AT_ONCE = 4_000_000
"""Characters of documents cut together, so that memory does not grow with the batch."""


def chunk_documents(
    documents: pl.DataFrame,
    count: TokenCounter,
    settings: ChunkingSettings,
    *,
    languages: TellLanguages = language_of_document,
) -> pl.DataFrame:
    """Cut every parsed document into chunks of at most `settings.max_tokens` or the model's window.

    The bound holds for `index_text`, special tokens included. A section path longer than a third of it
    loses its outermost headings, and the innermost its last words, in the chunk's `section_path`.

    Args:
        documents: DOCUMENTS frame.
        count: the embedding model's tokenizer.
        settings: sizes.
        languages: tells the language of each chunk.
    """
    counts = WordCounts(count)
    bound = min(settings.max_tokens, count.window)
    ids = Ids()
    frames = [chunk_frame(_cut(rows, counts, bound, settings), ids, languages) for rows in _groups(documents)]
    return CHUNKS.conform(pl.concat(frames)) if frames else CHUNKS.empty()


def _groups(documents: pl.DataFrame) -> Iterator[list[Row]]:
    """Parsed documents, so many at once as have together not much more than a number of characters."""
    needed = ["batch", "document_id", "language", "languages", "title", "text", "sections", "pages"]
    group: list[Row] = []
    characters = 0
    for row in documents.filter(pl.col("status") == "parsed").select(needed).iter_rows(named=True):
        group.append(row)
        characters += len(row["text"])
        if characters >= _AT_ONCE:
            yield group
            group, characters = [], 0
    if group:
        yield group


@dataclass(frozen=True, slots=True)
class _Titled:
    """A section of a document as the documents table has it; siblings have a `group` in common."""

    document: int
    path: Path
    group: int
    start: int
    end: int
    heading_end: int
    lone: bool


def _cut(
    rows: Sequence[Row], counts: WordCounts, bound: int, settings: ChunkingSettings
) -> Iterator[tuple[Row, list[Draft]]]:
    """Drafts of each document."""
    texts_tokens = count_texts([row["text"] for row in rows], counts, longest=bound // 2)
    titled = list(_sections(rows))
    full = [one for one in titled if not one.lone]
    paths = shorten_paths(
        (path for one in full for path in (one.path, one.path[:-1])), bound // SHARE, counts
    )
    sections = _measured_sections(full, rows, texts_tokens, paths, bound, settings.overlap_tokens)
    fitter = Fitter(bound, counts, paths)
    named = [(paths.short[one.path], section) for one, section in zip(full, sections, strict=True)]
    fitted = [
        fitter.overlapped(own) for own in fitter.fit(named, [cut_section(section) for section in sections])
    ]
    by_document: list[list[Sibling]] = [[] for _ in rows]
    for one, drafts in zip(full, fitted, strict=True):
        by_document[one.document].append(Sibling(one.group, paths.short[one.path[:-1]], drafts))
    for row, siblings in zip(rows, by_document, strict=True):
        yield row, merge_tiny(siblings, fitter, settings.merge_below_tokens)


def _sections(rows: Sequence[Row]) -> Iterator[_Titled]:
    """All sections in order; one that is nothing but its heading, and has sections below it, is `lone`."""
    group = 0
    siblings: object = None
    for number, row in enumerate(rows):
        text = row["text"]
        deeper = [below["level"] > one["level"] for one, below in pairwise(row["sections"])]
        for section, above in zip(row["sections"], [*deeper, False], strict=False):
            start, end, level = section["start"], section["end"], section["level"]
            path = tuple(section["heading_path"])
            among = (number, level, path[:-1]) if level else object()
            group += among != siblings
            siblings = among
            line_end = text.find("\n", start, end) if level else start
            bare = line_end == -1 or not text[line_end:end].strip()
            yield _Titled(number, path, group, start, end, start if bare else line_end, bare and above)


def _measured_sections(
    titled: Sequence[_Titled],
    rows: Sequence[Row],
    texts_tokens: Sequence[TextTokens],
    paths: Paths,
    bound: int,
    overlap: int,
) -> list[Section]:
    """The sections with their token counts."""
    totals: list[int] = []
    for number, group in groupby(titled, key=lambda one: one.document):
        own = list(group)
        totals += texts_tokens[number].between([one.start for one in own], [one.end for one in own])
    rooms = [bound - paths.tokens[paths.short[one.path]] for one in titled]
    return [
        Section(
            text_tokens=texts_tokens[one.document],
            start=one.start,
            end=one.end,
            heading_end=one.heading_end,
            total=total,
            room=room,
            shared=min(overlap, room // 2),
            language=rows[one.document]["language"],
        )
        for one, total, room in zip(titled, totals, rooms, strict=True)
    ]
