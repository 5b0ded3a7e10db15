"""Contradictions between documents of a batch.

Two documents may describe two things in the same words, so a difference alone proves little. It counts only
where it is the only one, seen from both sides, and where the subject is the same: the same title and heading
above both, or a name or rare word in both. Documents of different versions do not contradict each other.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypedDict

import numpy as np
import polars as pl

from qa_pipeline.models.base import Encoder
from qa_pipeline.models.text_vectors import TextVectors
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.rows import ChunkRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CONTRADICTIONS
from qa_pipeline.text.injection import is_injection
from qa_pipeline.text.lexicon.languages import SMALL, lexicon
from qa_pipeline.text.words import content_stems
from qa_pipeline.verification.consistency.names import Name
from qa_pipeline.verification.consistency.proof import denials
from qa_pipeline.verification.consistency.reading import Reading, read
from qa_pipeline.verification.evidence import candidates

_SHORTEST, _LONGEST = 30, 300
"""Characters of a sentence that is compared: shorter ones are labels, longer ones lists or paragraphs."""
_FEWEST_STEMS = 4
"""Content words of a sentence that is compared: two that share fewer may be about different things."""
_PROSE = re.compile(r"[^\W\d_][^{}<>=|\\]*[.!]$", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z ]+")
_LETTERS = 0.6
"""Share of letters and blanks in prose; code and tables have fewer."""
_OPENING = 3
"""Words at the start of a sentence that may point out of it: further on they mostly point into it."""
Row = Mapping[str, Any]


class ChunkText(TypedDict):
    """Hold what sentences are read from: columns of a `ChunkRow`."""

    chunk_id: str
    document_id: str
    char_start: int
    text: str
    language: str


@dataclass(frozen=True)
class Sentence:
    """A sentence of a chunk: offsets are within the document's text."""

    chunk_id: str
    document_id: str
    start: int
    end: int
    reading: Reading

    @property
    def text(self) -> str:
        """Return the sentence, verbatim."""
        return self.reading.written

    @property
    def language(self) -> str:
        """Return its language."""
        return self.reading.language

    @cached_property
    def stems(self) -> frozenset[str]:
        """Return the stems of its content words, digit groups left out."""
        return frozenset(stem for stem in self.reading.stems if not stem[:1].isdigit())

    @property
    def leans(self) -> bool:
        """Return whether it opens with a word that only its surroundings explain: "This directive ..."."""
        deictic = lexicon(self.language).deictic
        return any(word.folded in deictic for word in self.reading.words[:_OPENING])


def find_sentences(chunks: Iterable[ChunkText]) -> list[Sentence]:
    """Return sentences of prose long enough to compare, each once, in the order of the chunks."""
    sentences_by_place: dict[tuple[str, int, int], Sentence] = {}
    for chunk in chunks:
        document_id, shift = chunk["document_id"], chunk["char_start"]
        for candidate in candidates(chunk["chunk_id"], read(chunk["text"], chunk["language"]), 1):
            place = document_id, shift + candidate.start, shift + candidate.start + len(candidate.text)
            if place in sentences_by_place or candidate.is_row or not _is_prose(candidate.text):
                continue
            sentence = Sentence(chunk["chunk_id"], *place, candidate.reading)
            if len(sentence.stems) >= _FEWEST_STEMS:
                sentences_by_place[place] = sentence
    return list(sentences_by_place.values())


def _is_prose(text: str) -> bool:
    """Return whether a piece of text is a sentence in words, no code, table or heading."""
    if not _SHORTEST <= len(text) <= _LONGEST or not _PROSE.match(text.strip("*_\"'”’“‘ ")):
        return False
    others = _PLAIN.sub("", text)  # few are left to be looked at one by one
    letters = len(text) - sum(not (letter.isalpha() or letter.isspace()) for letter in others)
    return letters >= _LETTERS * len(text)


_COMMON = 32
"""A word in more sentences than this brings no two of them together: all pairs would be candidates."""
OVERLAP = 0.60
"""Share of their words (Jaccard) that two sentences must have in common to be about the same thing."""
NEIGHBOURS = 8
"""Nearest chunks of other documents whose sentences each chunk is compared with."""
MOST_PAIRS = 20_000
"""Pairs of sentences compared in a batch, those that share most words first: the work is bounded by it."""
_RAREST = 6
"""Rarest words of a sentence by which others are found, of which two must be shared (`_SHARED`): more words
find more pairs, most of them about something else, and each pair is compared."""
_SHARED = 2


def _likely_pairs(sentences: Sequence[Sentence], neighbours: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return pairs of sentences, of one language and two documents, that share nearly all content words.

    Returns:
        a and b, places in the list of sentences, those that share most words first; and how many pairs the
        share of words was computed for.
    """
    words = pl.DataFrame(
        {
            "place": range(len(sentences)),
            "document": [sentence.document_id for sentence in sentences],
            "language": [sentence.language for sentence in sentences],
            "chunk_id": [sentence.chunk_id for sentence in sentences],
            "stem": [sorted(sentence.stems) for sentence in sentences],
        },
        schema={
            "place": pl.Int64(),
            **dict.fromkeys(("document", "language", "chunk_id"), pl.String()),
            "stem": pl.List(pl.String()),
        },
    )
    likely = pl.concat([_by_rare_words(words.explode("stem")), _by_chunks(words, neighbours)])
    likely = likely.unique().sort("a", "b")
    stems = [sentence.stems for sentence in sentences]
    shares = [len(stems[a] & stems[b]) / len(stems[a] | stems[b]) for a, b in likely.iter_rows()]
    frequent_enough = (
        likely.with_columns(share=pl.Series(shares, dtype=pl.Float64()))
        .filter(pl.col("share") >= OVERLAP)
        .sort("share", "a", "b", descending=[True, False, False])
    )
    return frequent_enough.select("a", "b"), likely.height


def _by_rare_words(words: pl.DataFrame) -> pl.DataFrame:
    """Return pairs that share at least two of their rarest words."""
    rare = (
        words.with_columns(count=pl.len().over("language", "stem"))
        .filter(pl.col("count").is_between(2, _COMMON))
        .sort("place", "count", "stem")
        .filter(pl.int_range(pl.len()).over("place") < _RAREST)
        .select("place", "document", "language", "stem")
    )
    return (
        rare.join(rare, on=["language", "stem"], suffix="_b")
        .filter(pl.col("place") < pl.col("place_b"), pl.col("document") != pl.col("document_b"))
        .group_by(a="place", b="place_b")
        .len()
        .filter(pl.col("len") >= _SHARED)
        .select("a", "b")
    )


def _by_chunks(placed: pl.DataFrame, neighbours: pl.DataFrame) -> pl.DataFrame:
    """Return pairs in neighbouring chunks of different documents."""
    return (
        neighbours.join(placed, on="chunk_id")
        .join(placed, left_on=["other_chunk_id", "language"], right_on=["chunk_id", "language"], suffix="_b")
        .filter(pl.col("document") != pl.col("document_b"))
        .select(a=pl.min_horizontal("place", "place_b"), b=pl.max_horizontal("place", "place_b"))
    )


_LEAST_SIMILARITY = 0.50
"""Cosine of two sentences below which the same words are about different things: it only takes away what the
rules let through, so it is low."""
_RARE_SHARE = 0.02
"""Share of the documents of a batch in which a word is that names its subject; of few documents, two."""
_VERSION = re.compile(r"\d+(?:[.\-_]\d+)*")

_NAME_BEFORE = re.compile(rf"(?<!\w)([^\W\d_{SMALL}][\w.]*)[ -]$")


class _Surroundings:
    """The documents of a batch around two sentences: rows by id, and in how many documents words occur."""

    def __init__(self, documents: pl.DataFrame, chunks: pl.DataFrame, sentences: Sequence[Sentence]) -> None:
        self.documents = {row["document_id"]: row for row in documents.iter_rows(named=True)}
        self.chunks = {row["chunk_id"]: row for row in chunks.iter_rows(named=True)}
        pairs = {(sentence.document_id, stem) for sentence in sentences for stem in sentence.stems}
        self._counts = Counter(stem for _, stem in pairs)

    def is_rare(self, stem: str) -> bool:
        """Return whether a word is in so few documents that it names its subject."""
        return self._counts[stem] <= max(2, int(_RARE_SHARE * len(self.documents)))

    def headings(self, sentence: Sentence) -> tuple[frozenset[str], frozenset[str]]:
        """Return the stems of the title of a sentence's document, and of the last heading above it."""
        chunk = self.chunks[sentence.chunk_id]
        language, last = chunk["language"], chunk["section_path"][-1] if chunk["section_path"] else ""
        return frozenset(content_stems(chunk["title"], language)), frozenset(content_stems(last, language))

    def versions_differ(self, first: Sentence, second: Sentence) -> bool:
        """Return whether path or title of the two documents are the same but for their numbers."""
        for name in ("path", "title"):
            first_version, second_version = (
                str(self.documents[side.document_id][name] or "") for side in (first, second)
            )
            if first_version != second_version and _VERSION.sub("#", first_version) == _VERSION.sub(
                "#", second_version
            ):
                return True
        return False


def _contradiction(first: Sentence, second: Sentence, around: _Surroundings) -> tuple[str, str] | None:
    """Return kind and detail of two sentences that contradict each other in one place and agree elsewhere."""
    if is_injection(first.text) or is_injection(second.text):
        return None
    denied = denials(first.reading, second.reading)
    if len(denied) != 1 or not _same_subject(first, second, denied[0].keys, around):
        return None
    kind = denied[0].reason.removesuffix("_mismatch")
    # the names of two functions or settings differ because there are two of them
    if kind == "name" and any(name.identifier for name in _names_apart(first.reading, second.reading)):
        return None
    return kind, denied[0].words


def _names_apart(mine: Reading, theirs: Reading) -> list[Name]:
    apart = {name.folded for name in mine.names} ^ {name.folded for name in theirs.names}
    return [name for name in (*mine.names, *theirs.names) if name.folded in apart]


def _same_subject(first: Sentence, second: Sentence, differing: Set[str], around: _Surroundings) -> bool:
    """Return whether both sentences are about the same thing."""
    if around.versions_differ(first, second) or _numbered(first.reading) != _numbered(second.reading):
        return False
    heads = [around.headings(sentence) for sentence in (first, second)]
    if heads[0][0] and heads[0] == heads[1]:
        return True
    if first.leans or second.leans:
        return False
    shared = (first.stems & second.stems) - differing
    names = [{name.folded for name in sentence.reading.names} for sentence in (first, second)]
    return any(around.is_rare(stem) for stem in shared) or bool(names[0] & names[1])


def _numbered(sentence: Reading) -> set[str]:
    """Return names that end in a number, as of products and articles of a law: they tell which is meant."""
    months = lexicon(sentence.language).months
    numbers = set()
    for number in sentence.numbers:
        name = _NAME_BEFORE.search(sentence.written, max(0, number.start - 40), number.start)
        if name and number.unit is None and name[1].casefold() not in months:
            numbers.add(f"{name[1]} {number.text}")
    return numbers


class Contradictions(NamedTuple):
    """The contradictions of a batch, and how many sentences and pairs of them were compared or left out."""

    table: pl.DataFrame
    counts: dict[str, int]


def find_contradictions(
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    neighbours: pl.DataFrame,
    embedder: Encoder,
    settings: VerificationSettings,
    most_pairs: int = MOST_PAIRS,
) -> Contradictions:
    """Find the contradictions between the documents of a batch.

    `neighbours` has chunk_id and other_chunk_id of chunks of different documents whose vectors are near.
    """
    sentences = find_sentences(typed_rows(chunks, ChunkRow)) if settings.contradictions else []
    pairs, looked_at = _likely_pairs(sentences, neighbours)
    around = _Surroundings(documents, chunks, sentences)
    compared = [(sentences[a], sentences[b]) for a, b in pairs.head(most_pairs).iter_rows()]
    contradictions = [
        (first, second, *difference)
        for first, second in compared
        if (difference := _contradiction(first, second, around)) is not None
    ]
    vectors = TextVectors(
        [side.text for first, second, _, _ in contradictions for side in (first, second)], embedder
    )
    rows = []
    for first, second, kind, detail in contradictions:
        similarity = float(np.dot(vectors.of(first.text), vectors.of(second.text)))
        if similarity >= _LEAST_SIMILARITY:
            places = [
                f"{side.document_id}\x1f{side.start}\x1f{side.end}\x1f{side.text}" for side in (first, second)
            ]
            rows.append(
                {
                    "contradiction_id": hash_text("\x1e".join(places))[:32],
                    "batch": around.chunks[first.chunk_id]["batch"],
                    "kind": kind,
                    "detail": detail,
                    "similarity": similarity,
                    **_side("first", first, around),
                    **_side("second", second, around),
                }
            )
    counts = {
        "sentences": len(sentences),
        "pairs looked at": looked_at,
        "pairs compared": len(compared),
        "pairs left out": pairs.height - len(compared),
    }
    return Contradictions(
        CONTRADICTIONS.frame(sorted(rows, key=lambda row: str(row["contradiction_id"]))), counts
    )


def _side(name: str, sentence: Sentence, around: _Surroundings) -> Row:
    return {
        f"{name}_document_id": sentence.document_id,
        f"{name}_content_sha256": around.documents[sentence.document_id]["content_sha256"],
        f"{name}_chunk_id": sentence.chunk_id,
        f"{name}_start": sentence.start,
        f"{name}_end": sentence.end,
        f"{name}_quote": sentence.text,
    }
