"""Pieces of text a claim may rest on: windows of sentences, their vectors, and choosing among them by words.

Candidates are chosen by shared words before anything is embedded; each text is embedded once for a whole
group of pairs. Which candidate is the evidence is decided in `claims.py`.
"""

import functools
import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import itemgetter

import numpy as np
import polars as pl

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.base import Encoder, Vectors
from qa_pipeline.storage.rows import ChunkRow, DocumentRow, DraftedPairRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.text.blocks import NUMBERED_ITEM
from qa_pipeline.text.injection import blank_injections
from qa_pipeline.text.references import FOUND_BY_SEARCH, Sources
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.verification.citations import ClaimCitations
from qa_pipeline.verification.consistency.reading import Reading, read

LONGEST_WINDOW = 3
"""Sentences of the longest piece of evidence: what a claim states is rarely further apart."""
_CANDIDATES = 12
"""Pieces embedded for a claim: embedding is what costs, and the evidence is nearly always among the first."""
_SEARCHED_CHUNKS = 8
_OCCURRENCES = 20
"""Places of a claim's letters in a passage that are looked at: the first may be in another sentence."""


class TextVectors:
    """Vectors of a set of texts; equal texts share one.

    Raises:
        SettingsError: a text has a vector without a direction.
    """

    def __init__(self, texts: Iterable[str], encoder: Encoder) -> None:
        distinct = list(dict.fromkeys(texts))
        self._row = {text: row for row, text in enumerate(distinct)}
        self._vectors = encoder.encode(distinct) if distinct else np.zeros((0, 1), dtype=np.float32)
        broken = int((~np.isfinite(self._vectors).all(axis=1)).sum())
        if broken:  # a score that follows from it would mean nothing
            raise SettingsError(
                f"embedding model {encoder.model} gives no finite vector for {broken} of {len(distinct)} "
                f"texts; choose another model or embedding.precision"
            )

    def of(self, text: str) -> Vectors:
        """Return the vector of one text."""
        vector: Vectors = self._vectors[self._row[text]]
        return vector

    def cosines(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the cosine of a text to each other text."""
        if not others:
            return []
        rows = [self._row[other] for other in others]
        return [float(value) for value in self._vectors[rows] @ self.of(text)]


class ChunkVectors:
    """Vectors of chunks: those of the embeddings table, and any that it lacks embedded when asked for."""

    def __init__(self, embeddings: pl.DataFrame | None, texts: Mapping[str, str], encoder: Encoder) -> None:
        self._texts, self._encoder = texts, encoder
        self._known: dict[str, Vectors] = {}
        if embeddings is not None and embeddings.height:
            matrix = np.array(embeddings["vector"].to_list(), dtype=np.float32)
            self._known = dict(zip(embeddings["chunk_id"].to_list(), matrix, strict=True))

    def load(self, chunk_ids: Iterable[str]) -> None:
        """Embed the chunks not known yet, in one call."""
        lacking = [i for i in dict.fromkeys(chunk_ids) if i not in self._known]
        if lacking:
            texts = TextVectors([self._texts[i] for i in lacking], self._encoder)
            self._known.update((i, texts.of(self._texts[i])) for i in lacking)

    def best(self, vector: Vectors, chunk_ids: Sequence[str]) -> float | None:
        """Return the vectors of the chunks, one a row."""
        if not chunk_ids:
            return None
        return float(np.max(self.matrix(chunk_ids) @ vector))

    def matrix(self, chunk_ids: Sequence[str]) -> Vectors:
        """Return vectors of the chunks, one a row."""
        if not chunk_ids:
            return np.zeros((0, 1), dtype=np.float32)
        return np.stack([self._known[i] for i in chunk_ids])


_HEADING = re.compile(r"#{1,6}\s")
_ROW = re.compile(r"(?=.{1,400}$)[^\n]* \| |(?=.{1,120}$)[^\s:][^:\n]{0,40}: [^\s:][^\n:]*$")


def is_row(text: str) -> bool:
    """Return whether a text is a table row or key-value line."""
    return _ROW.match(text) is not None


@dataclass(frozen=True)
class Candidate:
    """A piece of a chunk: offsets are within the chunk's text, `parts` are its sentences."""

    chunk_id: str
    start: int
    end: int
    reading: Reading
    parts: tuple[Reading, ...] = field(compare=False)

    @property
    def sentences(self) -> int:
        """Return the number of its sentences."""
        return len(self.parts)

    @cached_property
    def terms(self) -> Set[str]:
        """Return the terms of its sentences: each is read once, however many pieces it is in."""
        return frozenset().union(*(part.term_set for part in self.parts))

    @property
    def text(self) -> str:
        """Return the piece, verbatim."""
        return self.reading.written

    @property
    def is_row(self) -> bool:
        """Return whether it is a table row or key-value line, whose words have no order of their own."""
        return is_row(self.text)


def windows(text: str, language: str, longest: int) -> list[list[tuple[int, int]]]:
    """Return every 1 to `longest` neighbouring sentences, as their spans.

    Headings are no evidence while there is anything else. A table row or key-value line is a statement of
    its own: joined with its neighbour it would lend its number to the wrong row.
    """
    sentences = [span for span in _sentences(text, language) if not _HEADING.match(text, *span)]
    alone = [_ROW.match(text, *span) is not None for span in sentences]
    groups = []
    for first, (start, _) in enumerate(sentences):
        for count in range(1, longest + 1):
            group = sentences[first : first + count]
            if len(group) < count or (count > 1 and any(alone[first : first + count])):
                break
            headed = any("#" in text[before[1] : after[0]] for before, after in pairwise(group))
            if headed and _HEADING.search(text, start, group[-1][1]):
                break
            groups.append(group)
    return groups or [[span] for span in sentence_spans(text, language)[:1]]


@functools.lru_cache(maxsize=512)
def candidates(chunk_id: str, chunk: Reading, longest: int) -> tuple[Candidate, ...]:
    """Return all candidates of a chunk, cached for all the claims that cite it."""
    return tuple(
        _candidate(chunk_id, chunk, window) for window in windows(chunk.written, chunk.language, longest)
    )


def _candidate(chunk_id: str, chunk: Reading, sentences: Sequence[tuple[int, int]]) -> Candidate:
    """Return the piece from the first sentence to the last."""
    start, end = sentences[0][0], sentences[-1][1]
    parts = tuple(read(chunk.written[first:second], chunk.language) for first, second in sentences)
    return Candidate(chunk_id, start, end, read(chunk.written[start:end], chunk.language), parts)


@functools.lru_cache(maxsize=1024)
def _sentences(text: str, language: str) -> tuple[tuple[int, int], ...]:
    """Return the sentences of a chunk, without the number that an item of an ordered list begins with."""
    spans = []
    for start, end in sentence_spans(text, language):
        number = NUMBERED_ITEM.match(text, start, end)
        spans.append((number.end(), end) if number and number.end() < end else (start, end))
    return tuple(spans)


def whole_sentences(chunk_id: str, chunk: Reading, span: tuple[int, int]) -> Candidate:
    """Return the sentences a span touches: a part of one may say what the whole denies."""
    sentences = _sentences(chunk.written, chunk.language)
    first = bisect_right(sentences, span[0], key=itemgetter(1))
    touched = [
        sentence for sentence in sentences[first : first + span[1] - span[0] + 1] if sentence[0] < span[1]
    ]
    touched = touched or [span]  # the mark of a list item alone is in no sentence
    touched[0] = (min(touched[0][0], span[0]), touched[0][1])
    touched[-1] = (touched[-1][0], max(touched[-1][1], span[1]))
    return _candidate(chunk_id, chunk, touched)


def best_by_words(terms: Collection[str], pool: Iterable[Candidate], most: int) -> list[Candidate]:
    """Return the `most` candidates with most of the wanted terms; of equals the shorter, the earlier."""
    distinct = frozenset(terms)

    def shared(candidate: Candidate) -> int:
        return len(frozenset().union(*(distinct & part.term_set for part in candidate.parts)))

    return sorted(pool, key=lambda candidate: (-shared(candidate), candidate.sentences))[:most]


class ChunkWords:
    """A small inverted index of the chunks of a batch by term, to find sources that nobody cited."""

    def __init__(self, texts: Mapping[str, str], languages: Mapping[str, str]) -> None:
        self._texts, self._languages = texts, languages
        self._size = len(texts)

    @cached_property
    def _chunks_by_word(self) -> dict[str, list[str]]:
        """Return chunks by term, built at the first search, since not every caller searches."""
        chunks_by_word: dict[str, list[str]] = defaultdict(list)
        for chunk_id, text in self._texts.items():
            for term in sorted(read(text, self._languages[chunk_id]).term_set):
                chunks_by_word[term].append(chunk_id)
        return chunks_by_word

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a term, smoothed (Robertson and Spärck Jones 1976)."""
        count = len(self._chunks_by_word.get(term, ()))
        return math.log(1.0 + (self._size - count + 0.5) / (count + 0.5))

    def best(
        self, sought: Collection[str], most: int, without: Collection[str] = ()
    ) -> list[tuple[str, float]]:
        """Return chunks by the share of the wanted terms they hold, weighted by rarity; best first."""
        if most < 1:
            return []
        terms = sorted(set(sought))
        weights = {term: self.rarity(term) for term in terms}
        total = sum(weights.values())
        shares: dict[str, float] = defaultdict(float)
        for term in terms:
            for chunk_id in self._chunks_by_word.get(term, ()):
                shares[chunk_id] += weights[term] / total
        left_out = set(without)
        others = [entry for entry in shares.items() if entry[0] not in left_out]
        return sorted(others, key=lambda entry: (-round(entry[1], 9), entry[0]))[:most]


@dataclass(frozen=True)
class Batch:
    """The texts that the pairs of a batch are compared with; `texts` has blanks in place of injections."""

    sources: Sources
    documents: Mapping[str, DocumentRow]
    chunks: Mapping[str, ChunkRow]
    texts: Mapping[str, str]
    words: ChunkWords
    one_corpus: bool

    @classmethod
    def of(cls, documents: pl.DataFrame, chunks: pl.DataFrame, one_corpus: bool = True) -> "Batch":
        """Return the batch of these tables."""
        rows = {row["chunk_id"]: row for row in typed_rows(chunks, ChunkRow)}
        # an injection proves nothing, whatever words it shares with a claim
        texts = {chunk_id: blank_injections(row["text"], row["language"]) for chunk_id, row in rows.items()}
        return cls(
            sources=Sources(documents, chunks),
            documents={row["document_id"]: row for row in typed_rows(documents, DocumentRow)},
            chunks=rows,
            texts=texts,
            words=ChunkWords(texts, {chunk_id: row["language"] for chunk_id, row in rows.items()}),
            one_corpus=one_corpus,
        )

    def reading(self, chunk_id: str, language: str) -> Reading:
        """Return the reading of a chunk."""
        return read(self.texts[chunk_id], language)

    def headings(self, chunk_id: str, language: str) -> Reading:
        """Return the reading of the headings above a chunk, its document's title first."""
        chunk = self.chunks[chunk_id]
        return read("\n".join((chunk["title"], *chunk["section_path"])), language)

    def searched(
        self, pair: DraftedPairRow, citations: ClaimCitations, terms: Collection[str]
    ) -> ClaimCitations:
        """Return the passages that hold most words of a claim, where its pair came without any citation.

        A pair that was drafted here was asked to cite, and stays uncited.
        """
        if citations.status != "uncited" or pair["citations"] or pair["origin"] == "generated":
            return citations
        chunk_ids = tuple(chunk_id for chunk_id, _ in self.words.best(terms, _SEARCHED_CHUNKS))
        return ClaimCitations(FOUND_BY_SEARCH, None, chunk_ids)

    def documents_of(self, citations: ClaimCitations) -> tuple[str, ...]:
        """Return all chunks of the documents whose chunks are cited."""
        documents = dict.fromkeys(self.chunks[i]["document_id"] for i in citations.chunk_ids)
        return tuple(i for document in documents for i in self.sources.chunks_of(document))

    def repeating(self, claim: Reading, citations: ClaimCitations) -> tuple[Candidate, ...]:
        """Return the first whole sentence that is the claim to the letter, where there is one."""
        for i in citations.chunk_ids:
            at = self.texts[i].find(claim.written)
            for _ in range(_OCCURRENCES):
                if at < 0:
                    break
                chunk = self.reading(i, claim.language)
                sentence = whole_sentences(i, chunk, (at, at + len(claim.written)))
                if sentence.text == claim.written:
                    return self._as_written([sentence])
                at = self.texts[i].find(claim.written, at + 1)
        return ()

    def pool(
        self, claim: Reading, citations: ClaimCitations, terms: Collection[str], *, fragment: bool
    ) -> tuple[Candidate, ...]:
        """Return the candidates worth embedding: the claim's words and quotes first, then by shared words."""
        chunks = {i: self.reading(i, claim.language) for i in citations.chunk_ids}
        spans = {} if fragment else {i: chunk.find(claim) for i, chunk in chunks.items()}
        verbatim = (whole_sentences(i, chunks[i], span) for i, span in spans.items() if span)
        quoted = (
            whole_sentences(i, self.reading(i, claim.language), (start, end))
            for i, start, end in citations.quotes
        )
        every = (
            candidate for i, chunk in chunks.items() for candidate in candidates(i, chunk, LONGEST_WINDOW)
        )
        return self._as_written([*verbatim, *quoted, *best_by_words(terms, every, _CANDIDATES)])

    def others(
        self, pair: DraftedPairRow, citations: ClaimCitations, terms: Collection[str], most: int
    ) -> tuple[Candidate, ...]:
        """Return the best candidates not cited: of the pair's passages, and of the batch's by words."""
        language = pair["language"]
        passages = [i for i in pair["passage_ids"] if i in self.texts and i not in citations.chunk_ids]
        ids = [*passages]
        if self.one_corpus:
            nearest = self.words.best(terms, most, without=(*citations.chunk_ids, *passages))
            ids += [chunk_id for chunk_id, _ in nearest]
        every = (
            candidate for i in ids for candidate in candidates(i, self.reading(i, language), LONGEST_WINDOW)
        )
        return self._as_written(best_by_words(terms, every, most))

    def _as_written(self, pool: Iterable[Candidate]) -> tuple[Candidate, ...]:
        """Return each candidate once, if it is in its chunk as written: none reaches over an injection."""
        return tuple(
            candidate
            for candidate in dict.fromkeys(pool)
            if self.chunks[candidate.chunk_id]["text"][candidate.start : candidate.end] == candidate.text
        )
