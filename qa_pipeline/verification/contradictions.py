"""Contradictions between documents of a batch.

Two documents may describe two things in the same words, so a difference alone proves little. It counts only
where it is the only one, seen from both sides, and where the subject is the same: the same title and heading
above both, or a name or rare word in both. Documents of different versions do not contradict each other.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple, TypedDict

import polars as pl

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
_LETTERS = 0.6
"""Share of letters and blanks in prose; code and tables have fewer."""
_OPENING = 3
"""Words at the start of a sentence that may point out of it: further on they mostly point into it."""


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
    letters = sum(letter.isalpha() or letter.isspace() for letter in text)
    return letters >= _LETTERS * len(text)


_COMMON = 32
"""A word in more sentences than this brings no two of them together: all pairs would be candidates."""
OVERLAP = 0.60
"""Share of their words (Jaccard) that two sentences must have in common to be about the same thing."""
MOST_PAIRS = 20_000
"""Pairs of sentences compared in a batch, those that share most words first: the work is bounded by it."""
_RAREST, _SHARED = 6, 2
"""Rarest words of a sentence by which others are found, and how many of them must be shared."""


def _likely_pairs(sentences: Sequence[Sentence]) -> pl.DataFrame:
    """Return pairs of sentences of one language and two documents: those that share most words first.

    They share at least two of their rarest words, and nearly all content words.
    """
    schema = dict.fromkeys(("document", "language"), pl.String()) | {"stem": pl.List(pl.String())}
    rows = [(side.document_id, side.language, sorted(side.stems)) for side in sentences]
    words = pl.DataFrame(rows, schema, orient="row").with_row_index("place").explode("stem")
    rare = (
        words.with_columns(count=pl.len().over("language", "stem"))
        .filter(pl.col("count").is_between(2, _COMMON))
        .sort("place", "count", "stem")
        .filter(pl.int_range(pl.len()).over("place") < _RAREST)
    )
    likely = (
        rare.join(rare, on=["language", "stem"], suffix="_b")
        .filter(pl.col("place") < pl.col("place_b"), pl.col("document") != pl.col("document_b"))
        .group_by(a="place", b="place_b")
        .len()
        .filter(pl.col("len") >= _SHARED)
        .select("a", "b")
    )
    stems = [sentence.stems for sentence in sentences]
    shares = [len(stems[a] & stems[b]) / len(stems[a] | stems[b]) for a, b in likely.iter_rows()]
    return (
        likely.with_columns(share=pl.Series(shares, dtype=pl.Float64()))
        .filter(pl.col("share") >= OVERLAP)
        .sort("share", "a", "b", descending=[True, False, False])
    )


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
            names = {str(self.documents[side.document_id][name] or "") for side in (first, second)}
            if len(names) == 2 and len({_VERSION.sub("#", name) for name in names}) == 1:
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
    """The contradictions of a batch, and how many pairs of sentences were compared or left out."""

    table: pl.DataFrame
    counts: dict[str, int]


def find_contradictions(
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    settings: VerificationSettings,
    most_pairs: int = MOST_PAIRS,
) -> Contradictions:
    """Find the contradictions between the documents of a batch."""
    sentences = find_sentences(typed_rows(chunks, ChunkRow)) if settings.contradictions else []
    pairs = _likely_pairs(sentences)
    around = _Surroundings(documents, chunks, sentences)
    rows = []
    for a, b in pairs.head(most_pairs).select("a", "b").iter_rows():
        sides = {"first": sentences[a], "second": sentences[b]}
        difference = _contradiction(sides["first"], sides["second"], around)
        if difference is None:
            continue
        places = [f"{of.document_id}\x1f{of.start}\x1f{of.end}\x1f{of.text}" for of in sides.values()]
        row = {
            "contradiction_id": hash_text("\x1e".join(places))[:32],
            "batch": around.chunks[sentences[a].chunk_id]["batch"],
            "kind": difference[0],
            "detail": difference[1],
        }
        for name, side in sides.items():
            values = {
                "document_id": side.document_id,
                "content_sha256": around.documents[side.document_id]["content_sha256"],
                "chunk_id": side.chunk_id,
                "start": side.start,
                "end": side.end,
                "quote": side.text,
            }
            row |= {f"{name}_{column}": value for column, value in values.items()}
        rows.append(row)
    compared = min(pairs.height, most_pairs)
    counts = {"pairs compared": compared, "pairs left out": pairs.height - compared}
    return Contradictions(CONTRADICTIONS.frame(sorted(rows, key=itemgetter("contradiction_id"))), counts)
