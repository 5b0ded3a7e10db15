"""Index the chunks that claims are compared with, and their units: sentences, list items and table rows."""

import functools
import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from qa_pipeline.records import Passage
from qa_pipeline.retrieval.chunks import ChunkRow
from qa_pipeline.storage.table_schema import DocumentRow, DoubtStruct, PageStruct, typed_rows
from qa_pipeline.text.doubt import kinds_within
from qa_pipeline.text.injection import blank_injections
from qa_pipeline.text.reading import Reading, read
from qa_pipeline.text.sentences import NUMBERED_ITEM, sentence_spans

_HEADING = re.compile(r"#{1,6}\s")
_BAR = " | "
_KEY_VALUE = re.compile(r"(?=.{1,160}$)(?:[-*] )?[^\s:][^:\n]{0,60}: [^\s:][^\n]*$")  # "- Range: 40 km"


@dataclass(frozen=True)
class Unit:
    """A unit of a chunk. Offsets are within the chunk's text."""

    chunk_id: str
    start: int
    end: int
    reading: Reading

    @property
    def text(self) -> str:
        """Return the unit verbatim."""
        return self.reading.written

    @property
    def is_row(self) -> bool:
        """Return True for a table row or a line of a key and its value."""
        return _BAR in self.text or _KEY_VALUE.match(self.text) is not None


@functools.lru_cache(maxsize=2048)
def units_of(chunk_id: str, text: str, language: str) -> tuple[Unit, ...]:
    """Return the units of a chunk in order, without headings. A chunk of headings alone keeps the first."""
    spans = []
    for start, end in sentence_spans(text, language):
        # a unit begins after the number of its item, as after "- 6. "
        number = NUMBERED_ITEM.match(text, start, end)
        spans.append((number.end(), end) if number and number.end() < end else (start, end))
    stating = [span for span in spans if not _HEADING.match(text, *span)]
    return tuple(
        Unit(chunk_id, start, end, read(text[start:end], language)) for start, end in stating or spans[:1]
    )


@dataclass(frozen=True)
class Source:
    """A chunk and its position in the document. Injections in `text` are replaced by spaces.

    `headings` begin with the title of the document, and `status` is the declared status. `start` is the
    offset of the chunk in `document_text`. `pages` have the start and end offset of each page.
    """

    chunk_id: str
    document_id: str
    text: str
    language: str
    headings: tuple[str, ...]
    document_text: str
    start: int = 0
    status: str | None = None
    doubts: tuple[DoubtStruct, ...] = ()
    content_sha256: str = ""
    pages: tuple[PageStruct, ...] = ()

    def evidence(self, start: int, end: int) -> dict[str, Any]:
        """Return the columns of evidence for a span of the chunk."""
        first, last = self.start + start, self.start + end
        pages = (page["number"] for page in self.pages if page["start"] <= first < page["end"])
        return {
            "document_id": self.document_id,
            "content_sha256": self.content_sha256,
            "chunk_id": self.chunk_id,
            "start": first,
            "end": last,
            "page": next(pages, None),
            "quote": self.document_text[first:last],
        }

    @property
    def passage(self) -> Passage:
        """Return the chunk as a passage for a model, from which injections are still to be cut."""
        title, *section_path = self.headings or ("",)
        text = self.document_text[self.start : self.start + len(self.text)]
        return Passage(self.chunk_id, title, tuple(section_path), text, self.language, self.document_id)

    def doubt(self, start: int, end: int) -> str | None:
        """Return the kinds of doubt about a span of the chunk, if any."""
        return kinds_within(self.doubts, self.start + start, self.start + end)


def sources_of(documents: pl.DataFrame, chunks: pl.DataFrame) -> dict[str, Source]:
    """Return the chunks of a batch by id."""
    documents_by_id = {row["document_id"]: row for row in typed_rows(documents, DocumentRow)}
    sources = {}
    for row in typed_rows(chunks, ChunkRow):
        document = documents_by_id[row["document_id"]]
        sources[row["chunk_id"]] = Source(
            chunk_id=row["chunk_id"],
            document_id=row["document_id"],
            text=blank_injections(row["text"], row["language"]),
            language=row["language"],
            headings=(row["title"], *row["section_path"]),
            document_text=document["text"] or "",
            start=row["char_start"],
            status=document["declared"]["status"] if document["declared"] else None,
            doubts=tuple(row["doubts"] or ()),
            content_sha256=document["content_sha256"] or "",
            pages=tuple(document["pages"]),
        )
    return sources


@dataclass(frozen=True)
class SourceIndex:
    """Chunks by id, and their units by folded form and by words."""

    sources: Mapping[str, Source]
    _units: dict[str, tuple[Unit, ...]] = field(default_factory=dict, compare=False)

    def units(self, chunk_id: str) -> tuple[Unit, ...]:
        """Return the units of a chunk, except units that contain an injection."""
        if chunk_id not in self._units:
            source = self.sources[chunk_id]
            text, start = source.document_text, source.start
            # an injection is blank in `source.text`, so its unit differs from the document
            self._units[chunk_id] = tuple(
                unit
                for unit in units_of(chunk_id, source.text, source.language)
                if text[start + unit.start : start + unit.end] == unit.text
            )
        return self._units[chunk_id]

    def equal_to(self, claim: Reading, chunk_ids: Sequence[str]) -> list[Unit]:
        """Return the units of the given chunks that equal a claim."""
        return [unit for unit in self._by_text.get(claim.folded, []) if unit.chunk_id in chunk_ids]

    @cached_property
    def texts(self) -> dict[str, str]:
        """Return the text of each chunk."""
        return {chunk_id: source.text for chunk_id, source in self.sources.items()}

    @cached_property
    def chunks_by_document(self) -> dict[str, list[str]]:
        """Return the ids of the chunks of each document."""
        by_document: dict[str, list[str]] = defaultdict(list)
        for chunk_id, source in self.sources.items():
            by_document[source.document_id].append(chunk_id)
        return by_document

    @cached_property
    def _by_text(self) -> dict[str, list[Unit]]:
        by_text: dict[str, list[Unit]] = defaultdict(list)
        for chunk_id in self.sources:
            for unit in self.units(chunk_id):
                by_text[unit.reading.folded].append(unit)
        return by_text

    @cached_property
    def _chunks_by_stem(self) -> dict[str, list[str]]:
        chunks_by_stem: dict[str, list[str]] = defaultdict(list)
        for chunk_id in self.sources:
            for stem in read(self.sources[chunk_id].text, self.sources[chunk_id].language).stem_set:
                chunks_by_stem[stem].append(chunk_id)
        return chunks_by_stem

    def rarity(self, stem: str) -> float:
        """Return the inverse document frequency of a stem, smoothed (Robertson and Spärck Jones 1976)."""
        count = len(self._chunks_by_stem.get(stem, ()))
        return math.log(1.0 + (len(self.sources) - count + 0.5) / (count + 0.5))

    def best_chunks(self, stems: Collection[str], most: int) -> dict[str, float]:
        """Return the best `most` chunk ids with their share of the stems, weighted by rarity, best first."""
        weights = {stem: self.rarity(stem) for stem in sorted(set(stems))}
        total = sum(weights.values())
        shares: dict[str, float] = defaultdict(float)
        for stem, weight in weights.items():
            for chunk_id in self._chunks_by_stem.get(stem, ()):
                shares[chunk_id] += weight / total
        # rounded, so that equal shares are equal however they were summed up
        ranked = sorted(shares.items(), key=lambda entry: (-round(entry[1], 9), entry[0]))
        return dict(ranked[:most])
