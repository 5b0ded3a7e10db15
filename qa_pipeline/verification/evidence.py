"""Pieces of text a claim may rest on: windows of sentences, their vectors, and choosing among them by words.

Candidates are chosen by shared words before anything is embedded; each text is embedded once for a whole
group of pairs. Which candidate is the evidence is decided in `proving.py`.
"""

import functools
import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.text.blocks import NUMBERED_ITEM
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.text.words import find_words, recall
from qa_pipeline.verification.consistency.reading import read

Vectors = npt.NDArray[np.float32]


class Encoder(Protocol):
    """What this stage needs of an embedding model."""

    @property
    def model(self) -> str:
        """Name of the model."""

    @property
    def revision(self) -> str:
        """Commit or hash of its files."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit-length vectors, one row for each text, in the order given."""


def encoded(texts: Sequence[str], encoder: Encoder) -> Vectors:
    """Vectors of texts, none of which is without a direction.

    Raises:
        SettingsError: one is: a score that follows from it would mean nothing.
    """
    vectors = encoder.encode(texts)
    broken = int((~np.isfinite(vectors).all(axis=1)).sum())
    if broken:
        raise SettingsError(
            f"embedding model {encoder.model} gives no finite vector for {broken} of {len(texts)} texts; "
            f"choose another model or embedding.precision"
        )
    return vectors


class TextVectors:
    """Vectors of a set of texts; equal texts share one."""

    def __init__(self, texts: Iterable[str], encoder: Encoder) -> None:
        distinct = list(dict.fromkeys(texts))
        self._row = {text: row for row, text in enumerate(distinct)}
        self._vectors = encoded(distinct, encoder) if distinct else np.zeros((0, 1), dtype=np.float32)

    def of(self, text: str) -> Vectors:
        """The vector of one text."""
        vector: Vectors = self._vectors[self._row[text]]
        return vector

    def cosines(self, text: str, others: Sequence[str]) -> list[float]:
        """Cosine of a text to each other text."""
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

    def lacking(self, chunk_ids: Iterable[str]) -> list[str]:
        """The chunks not known yet, each once."""
        return [i for i in dict.fromkeys(chunk_ids) if i not in self._known]

    def take(self, chunk_ids: Iterable[str], texts: TextVectors) -> None:
        """Know chunks by the vectors of their texts, embedded together with others."""
        self._known.update((i, texts.of(self._texts[i])) for i in chunk_ids)

    def load(self, chunk_ids: Iterable[str]) -> None:
        """Embed the chunks not known yet, in one call."""
        lacking = self.lacking(chunk_ids)
        if lacking:
            self.take(lacking, TextVectors([self._texts[i] for i in lacking], self._encoder))

    def best(self, vector: Vectors, chunk_ids: Sequence[str]) -> float | None:
        """Best cosine of a vector to the chunks; None without chunks."""
        if not chunk_ids:
            return None
        return float(np.max(np.stack([self._known[i] for i in chunk_ids]) @ vector))

    def matrix(self, chunk_ids: Sequence[str]) -> Vectors:
        """Vectors of the chunks, one a row."""
        if not chunk_ids:
            return np.zeros((0, 1), dtype=np.float32)
        return np.stack([self._known[i] for i in chunk_ids])


_HEADING = re.compile(r"#{1,6}\s")
_ROW = re.compile(r"(?=.{1,400}$)[^\n]* \| |(?=.{1,120}$)[^\s:][^:\n]{0,40}: [^\s:][^\n:]*$")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A piece of a chunk: offsets are within the chunk's text, `sentences` counts its sentences."""

    chunk_id: str
    start: int
    end: int
    text: str
    sentences: int = 1

    @property
    def is_row(self) -> bool:
        """Whether it is a table row or key-value line, whose words have no order of their own."""
        return _ROW.match(self.text) is not None


@functools.lru_cache(maxsize=16_384)
def windows(text: str, language: str, longest: int) -> tuple[tuple[int, int, int], ...]:
    """Spans of 1 to `longest` neighbouring sentences, and how many each holds.

    Headings are no evidence while there is anything else. A table row or key-value line is a statement of
    its own: joined with its neighbour it would lend its number to the wrong row.
    """
    sentences = [span for span in _sentences(text, language) if not _HEADING.match(text, *span)]
    alone = [_ROW.match(text, *span) is not None for span in sentences]
    spans = []
    for first, (start, _) in enumerate(sentences):
        for count in range(1, longest + 1):
            group = slice(first, first + count)
            if first + count > len(sentences) or (count > 1 and any(alone[group])):
                break
            if _HEADING.search(text, start, sentences[first + count - 1][1]) and _crosses(
                text, sentences[group]
            ):
                break
            spans.append((start, sentences[first + count - 1][1], count))
    return tuple(spans) or tuple((*span, 1) for span in split_sentences(text, language)[:1])


def _crosses(text: str, sentences: Sequence[tuple[int, int]]) -> bool:
    """Whether a heading stands between two of the sentences."""
    return any("#" in text[left[1] : right[0]] for left, right in pairwise(sentences))


def candidates(chunk_id: str, text: str, language: str, longest: int) -> list[Candidate]:
    """All candidates of a chunk."""
    return [Candidate(chunk_id, s, e, text[s:e], n) for s, e, n in windows(text, language, longest)]


def verbatim_place(claim: str, chunk_id: str, text: str, language: str) -> Candidate | None:
    """The whole sentences in which a claim stands word for word, if it does."""
    span = find_words(claim, text, language)
    return None if span is None else whole_sentences(chunk_id, text, span, language)


@functools.lru_cache(maxsize=1024)
def _sentences(text: str, language: str) -> tuple[tuple[int, int], ...]:
    """The sentences of a chunk, without the number that an item of an ordered list begins with."""
    return tuple(_after_number(text, *span) for span in split_sentences(text, language))


def _after_number(text: str, start: int, end: int) -> tuple[int, int]:
    number = NUMBERED_ITEM.match(text, start, end)
    return (number.end(), end) if number and number.end() < end else (start, end)


def whole_sentences(chunk_id: str, text: str, span: tuple[int, int], language: str) -> Candidate:
    """The sentences a span touches: a part of one may say what the whole denies."""
    sentences = _sentences(text, language)
    first = bisect_right(sentences, span[0], key=itemgetter(1))
    touched = [one for one in sentences[first : first + span[1] - span[0] + 1] if one[0] < span[1]]
    start, end = min(touched[0][0], span[0]), max(touched[-1][1], span[1])
    return Candidate(chunk_id, start, end, text[start:end], len(touched))


@functools.lru_cache(maxsize=32_768)
def terms_of(text: str, language: str) -> frozenset[str]:
    """What a piece states, remembered for all the pieces of a long document: every claim asks for each."""
    return frozenset(read(text, language).terms)


def best_by_words(
    wanted: Collection[str], pool: Iterable[Candidate], language: str, most: int
) -> list[Candidate]:
    """The `most` candidates that hold most of the wanted terms; of equals the shorter, then the earlier."""
    scored = [
        (-(recall(wanted, terms_of(one.text, language)) or 0.0), one.sentences, place, one)
        for place, one in enumerate(pool)
    ]
    return [one for _, _, _, one in sorted(scored, key=lambda entry: entry[:3])[:most]]


class ChunkWords:
    """Which chunks of a batch hold which terms: a small inverted index to find sources nobody cited."""

    def __init__(self, texts: Mapping[str, str], languages: Mapping[str, str]) -> None:
        self._texts, self._languages = texts, languages
        self._size = len(texts)

    @cached_property
    def _held(self) -> dict[str, list[str]]:
        """Chunks by term; made at the first search, since not every caller searches."""
        held: dict[str, list[str]] = defaultdict(list)
        for chunk_id, text in self._texts.items():
            for term in sorted(set(read(text, self._languages[chunk_id]).terms)):
                held[term].append(chunk_id)
        return held

    def rarity(self, term: str) -> float:
        """Inverse document frequency, smoothed (Robertson and Spärck Jones 1976)."""
        count = len(self._held.get(term, ()))
        return math.log(1.0 + (self._size - count + 0.5) / (count + 0.5))

    def best(
        self, wanted: Collection[str], most: int, without: Collection[str] = ()
    ) -> list[tuple[str, float]]:
        """Chunks by the share of the wanted terms they hold, weighted by rarity; best first."""
        if most < 1:
            return []
        terms = sorted(set(wanted))
        weights = {term: self.rarity(term) for term in terms}
        total = sum(weights.values())
        shares: dict[str, float] = defaultdict(float)
        for term in terms:
            for chunk_id in self._held.get(term, ()):
                shares[chunk_id] += weights[term] / total
        left_out = set(without)
        ranked = sorted(
            ((chunk_id, share) for chunk_id, share in shares.items() if chunk_id not in left_out),
            key=lambda entry: (-round(entry[1], 9), entry[0]),
        )
        return ranked[:most]


def second_piece(
    terms: Sequence[str],
    held: Sequence[str],
    evidence: Candidate,
    pool: Sequence[Candidate],
    cosines: Sequence[float],
    language: str,
    settings: VerificationSettings,
) -> tuple[Candidate, float] | None:
    """The piece of another passage that holds most of what the evidence lacks, and the share both hold.

    None where the evidence alone holds `pair_below` of the claim's terms or more, or where no other piece
    adds `pair_gain`.

    Args:
        terms: of the claim.
        held: terms of the evidence and the headings above it.
        evidence: the chosen piece.
        pool: pieces of the cited passages.
        cosines: of the claim to each of the pool.
        language: of the claim.
        settings: `pair_below`, `pair_gain`.
    """
    alone = recall(terms, held)
    if alone is None or alone >= settings.pair_below:
        return None
    wanted, have = set(terms), set(terms).intersection(held)
    ranked = [
        (len(have.union(wanted & terms_of(one.text, language))), cosine, -one.sentences, -place)
        for place, (one, cosine) in enumerate(zip(pool, cosines, strict=True))
        if one.chunk_id != evidence.chunk_id
    ]
    best = max(ranked, default=None)
    if best is None or best[0] / len(wanted) - alone < settings.pair_gain:
        return None
    return pool[-best[3]], best[0] / len(wanted)
