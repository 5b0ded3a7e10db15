"""Contradictions between documents of a batch.

Two documents may describe two things in the same words, so a difference alone says little. It counts only
where it is the only one, seen from both sides, and where the subject is the same: the same title and heading
above both, or a name or rare word in both. Documents of different versions do not contradict each other. What
becomes of an answer that states one side is the ledger's business.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.tables import CONTRADICTIONS
from qa_pipeline.text.injection import is_injection
from qa_pipeline.text.lexicon.base import words
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.words import Token, content_stems
from qa_pipeline.verification.consistency.comparing import Comparison, compare
from qa_pipeline.verification.consistency.names import Name
from qa_pipeline.verification.consistency.reading import Reading, read
from qa_pipeline.verification.evidence import Encoder, TextVectors, candidates

_SHORTEST, _LONGEST = 30, 300
_FEWEST_STEMS = 4
_PROSE = re.compile(r"[^\W\d_][^{}<>=|\\]*[.!]$", re.DOTALL)
_LETTERS = 0.6
_DEICTIC: Mapping[str, Set[str]] = {
    "en": words(
        "this these that those it its they them their he she his her such here following above below example "
        "same latter former we our you your i my one both"
    ),
    "sv": words(
        "denna detta dessa den det de dem dess deras han hon hans hennes sådan sådana här följande ovan "
        "nedan exempel samma vi vår du din man första andra"
    ),
    "de": words(
        "dies diese dieser dieses diesem diesen er sie es ihr ihre sein seine solche hier folgende folgenden "
        "oben unten beispiel dasselbe derselbe wir unser du dein man"
    ),
}
_OPENING = 3


@dataclass(frozen=True)
class Sentence:
    """A sentence of a chunk: offsets are within the document's text."""

    chunk_id: str
    document_id: str
    start: int
    end: int
    text: str
    language: str

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of its content words, digit groups left out."""
        return frozenset(word.stem for word in self.words if word.content and not word.folded[0].isdigit())

    @property
    def words(self) -> tuple[Token, ...]:
        """All words in order."""
        return read(self.text, self.language).words

    @property
    def leans(self) -> bool:
        """Whether it opens with a word that only its surroundings explain: "This directive ..."."""
        deictic = _DEICTIC.get(self.language, _DEICTIC["en"])
        return any(word.folded in deictic for word in self.words[:_OPENING])


def find_sentences(chunks: Mapping[str, Mapping[str, Any]]) -> list[Sentence]:
    """Sentences of prose long enough to compare, each once, in the order of the chunks."""
    found: dict[tuple[str, int, int], Sentence] = {}
    for chunk in chunks.values():
        for sentence in _of_chunk(chunk):
            found.setdefault((sentence.document_id, sentence.start, sentence.end), sentence)
    return list(found.values())


def _of_chunk(chunk: Mapping[str, Any]) -> Iterator[Sentence]:
    for one in candidates(chunk["chunk_id"], read(chunk["text"], chunk["language"]), 1):
        if one.is_row or not _is_prose(one.text):
            continue
        start = chunk["char_start"] + one.start
        place = chunk["chunk_id"], chunk["document_id"], start, start + len(one.text)
        sentence = Sentence(*place, one.text, chunk["language"])
        if len(sentence.stems) >= _FEWEST_STEMS:
            yield sentence


def _is_prose(text: str) -> bool:
    """Whether a piece of text is a sentence in words, no code, table or heading."""
    letters = sum(letter.isalpha() or letter.isspace() for letter in text)
    return (
        _SHORTEST <= len(text) <= _LONGEST
        and _PROSE.match(text.strip("*_\"'”’“‘ ")) is not None
        and letters >= _LETTERS * len(text)
    )


def heading_stems(chunk: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
    """What a chunk is about: stems of its document's title, and of the last heading above it."""
    language = chunk["language"]
    last = chunk["section_path"][-1] if chunk["section_path"] else ""
    return frozenset(content_stems(chunk["title"], language)), frozenset(content_stems(last, language))


Places = npt.NDArray[np.int64]
_COMMON = 32
"""A word in more sentences than this brings no two of them together: all pairs would be candidates."""
_OVERLAP = 0.60
"""Share of their words that two sentences must have in common to speak of the same thing."""
NEIGHBOURS = 8
"""Nearest chunks of other documents whose sentences each chunk is compared with."""
MOST_PAIRS = 20_000
"""Pairs of sentences compared in a batch, those that share most words first: the work is bounded by it."""
_RAREST = 6
_SHARED = 2
_SLICE = 200_000


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of places in the list of sentences, those that share most words first.

    `looked_at` counts pairs before the share of words was asked for, `left_out` those over the limit.
    """

    pairs: list[tuple[int, int]]
    looked_at: int
    left_out: int


def find_candidates(
    sentences: Sequence[Sentence], neighbours: pl.DataFrame, *, common: int, overlap: float, most: int
) -> Candidates:
    """Pairs of sentences of one language and different documents that share nearly all their content words.

    Args:
        sentences: of the batch.
        neighbours: chunk_id and other_chunk_id of chunks whose vectors are near.
        common: a word in more sentences than this is too common to bring two together by itself.
        overlap: share of the words of both that must be common to both (Jaccard).
        most: pairs kept; the work is bounded by it.
    """
    if len(sentences) < 2:
        return Candidates([], 0, 0)
    words = _words(sentences)
    found = pl.concat([_by_rare_words(words, common), _by_chunks(words, neighbours)]).unique().sort("a", "b")
    shares = _shares(words, len(sentences), found["a"].to_numpy(), found["b"].to_numpy())
    kept = (
        found.with_columns(share=pl.Series(shares))
        .filter(pl.col("share") >= overlap)
        .sort("share", "a", "b", descending=[True, False, False])
    )
    pairs = [(int(a), int(b)) for a, b, _ in kept.head(most).iter_rows()]
    return Candidates(pairs, found.height, max(0, kept.height - most))


def _words(sentences: Sequence[Sentence]) -> pl.DataFrame:
    """place, document, language, chunk_id and stem: one row for each word of each sentence."""
    rows: dict[str, list[Any]] = {"place": [], "document": [], "language": [], "chunk_id": [], "stem": []}
    for place, one in enumerate(sentences):
        for stem in sorted(one.stems):
            values = (place, one.document_id, one.language, one.chunk_id, stem)
            for name, value in zip(rows, values, strict=True):
                rows[name].append(value)
    return pl.DataFrame(rows, schema_overrides={"place": pl.Int64()})


def _by_rare_words(words: pl.DataFrame, common: int) -> pl.DataFrame:
    """Pairs that share at least two of their rarest words."""
    counted = words.with_columns(count=pl.len().over("language", "stem"))
    rare = (
        counted.filter(pl.col("count").is_between(2, common))
        .sort("place", "count", "stem")
        .with_columns(rank=pl.int_range(pl.len()).over("place"))
        .filter(pl.col("rank") < _RAREST)
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


def _by_chunks(words: pl.DataFrame, neighbours: pl.DataFrame) -> pl.DataFrame:
    """Pairs that stand in neighbouring chunks of different documents."""
    placed = words.select("place", "document", "language", "chunk_id").unique()
    return (
        neighbours.join(placed, on="chunk_id")
        .join(placed, left_on=["other_chunk_id", "language"], right_on=["chunk_id", "language"], suffix="_b")
        .filter(pl.col("document") != pl.col("document_b"))
        .select(
            a=pl.min_horizontal("place", "place_b"),
            b=pl.max_horizontal("place", "place_b"),
        )
        .unique()
    )


def _shares(words: pl.DataFrame, count: int, left: Places, right: Places) -> npt.NDArray[np.float64]:
    """Jaccard index of the words of each pair, by rows of one sparse matrix."""
    from scipy.sparse import csr_array

    columns = words["stem"].rank("dense").to_numpy().astype(np.int64) - 1
    held = csr_array((np.ones(words.height, dtype=np.int32), (words["place"].to_numpy(), columns)))
    held.resize((count, held.shape[1]))
    sizes = np.asarray(held.sum(axis=1)).ravel()
    shares = np.zeros(len(left))
    for start in range(0, len(left), _SLICE):
        part = slice(start, start + _SLICE)
        shared = np.asarray(held[left[part]].multiply(held[right[part]]).sum(axis=1)).ravel()
        shares[part] = shared / (sizes[left[part]] + sizes[right[part]] - shared)
    return shares


def document_counts(sentences: Sequence[Sentence]) -> Counter[str]:
    """In how many documents each word stands."""
    pairs = {(one.document_id, stem) for one in sentences for stem in one.stems}
    return Counter(stem for _, stem in pairs)


KINDS: Mapping[str, str] = {
    "numbers": "number",
    "dates": "date",
    "names": "name",
    "polarity": "negation",
    "quantifiers": "quantifier",
}
"""Checks and what the table calls their findings."""

_RARE_SHARE = 0.02
_APART = {"polarity": 2, "quantifiers": 2}
_VERSION = re.compile(r"\d+(?:[.\-_]\d+)*")

_NAME_BEFORE = re.compile(r"(?<!\w)([^\W\d_a-zåäöüß][\w.]*)[ -]$")


@dataclass(frozen=True)
class Surroundings:
    """What is known of a batch beside two sentences: rows by id, and in how many documents words stand."""

    documents: Mapping[str, Mapping[str, Any]]
    chunks: Mapping[str, Mapping[str, Any]]
    counts: Counter[str]

    @property
    def rare(self) -> int:
        """In so many documents a word may stand and still name its subject."""
        return max(2, int(_RARE_SHARE * len(self.documents)))


def contradiction(left: Sentence, right: Sentence, around: Surroundings) -> list[tuple[str, str]]:
    """Kind and detail where two sentences contradict each other, else nothing."""
    if is_injection(left.text) or is_injection(right.text):
        return []
    mine, theirs = read(left.text, left.language), read(right.text, right.language)
    kind, detail = _only_difference(mine, theirs)
    if not kind or not _same_subject(left, right, _differing(mine, theirs, kind), around):
        return []
    # the names of two functions or settings differ because there are two of them
    if kind == "names" and any(name.identifier for name in _names_apart(mine, theirs)):
        return []
    return [(KINDS[kind], detail)]


def _only_difference(mine: Reading, theirs: Reading) -> tuple[str, str]:
    """The one kind in which each denies the other, with what differs; empty where there is none or more."""
    nothing = read("", mine.language)
    there, back = compare(mine, theirs, nothing, []), compare(theirs, mine, nothing, [])
    kinds = [kind for kind in KINDS if getattr(there, kind) and getattr(back, kind)]
    if len(kinds) != 1 or not _else_equal(mine, theirs, kinds[0], there, back):
        return "", ""
    found = getattr(there, kinds[0])
    return (kinds[0], found[0]) if len(found) == 1 else ("", "")


def _else_equal(mine: Reading, theirs: Reading, kind: str, there: Comparison, back: Comparison) -> bool:
    """Whether nothing else differs: no other conflict, figure, date or name, and hardly a word."""
    if any(getattr(there, one) or getattr(back, one) for one in KINDS if one != kind):
        return False
    if kind != "names" and _names_apart(mine, theirs):
        return False
    apart = (set(mine.context) ^ set(theirs.context)) - _differing(mine, theirs, kind)
    figures = [len(side.numbers) + len(side.dates) for side in (mine, theirs)]
    return len(apart) <= _APART.get(kind, 0) and figures[0] == figures[1]


def _names_apart(mine: Reading, theirs: Reading) -> list[Name]:
    apart = {name.folded for name in mine.names} ^ {name.folded for name in theirs.names}
    return [name for name in (*mine.names, *theirs.names) if name.folded in apart]


def _differing(mine: Reading, theirs: Reading, kind: str) -> set[str]:
    """Stems of the names that only one of the two has."""
    if kind != "names":
        return set()
    return {stem for name in _names_apart(mine, theirs) for stem in content_stems(name.text, mine.language)}


def _same_subject(left: Sentence, right: Sentence, differing: Set[str], around: Surroundings) -> bool:
    """Whether both sentences speak of the same thing."""
    if _versions_differ(left, right, around) or _numbered(left) != _numbered(right):
        return False
    heads = [heading_stems(around.chunks[one.chunk_id]) for one in (left, right)]
    if heads[0][0] and heads[0] == heads[1]:
        return True
    if left.leans or right.leans:
        return False
    shared = (left.stems & right.stems) - differing
    named = [{name.folded for name in read(one.text, one.language).names} for one in (left, right)]
    return any(around.counts[stem] <= around.rare for stem in shared) or bool(named[0] & named[1])


def _numbered(sentence: Sentence) -> set[str]:
    """Names that end in a number, as products and articles of a law do: it tells which one is meant."""
    months = lexicon(sentence.language).months
    found = set()
    for number in read(sentence.text, sentence.language).numbers:
        name = _NAME_BEFORE.search(sentence.text, max(0, number.start - 40), number.start)
        if name and number.unit is None and name[1].casefold() not in months:
            found.add(f"{name[1]} {number.text}")
    return found


def _versions_differ(left: Sentence, right: Sentence, around: Surroundings) -> bool:
    """Whether path or title of the two documents are the same but for their numbers."""
    documents = [around.documents[one.document_id] for one in (left, right)]
    for name in ("path", "title"):
        texts = [str(document[name] or "") for document in documents]
        if texts[0] != texts[1] and _VERSION.sub("#", texts[0]) == _VERSION.sub("#", texts[1]):
            return True
    return False


Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """The contradictions of a batch, and how many sentences and pairs of them were looked at or left out."""

    table: pl.DataFrame
    counts: dict[str, int]


def find_contradictions(
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    neighbours: pl.DataFrame,
    embedder: Encoder,
    settings: VerificationSettings,
    most_pairs: int = MOST_PAIRS,
) -> Found:
    """Find the contradictions between the documents of a batch.

    Args:
        documents: the batch's documents.
        chunks: the batch's chunks.
        neighbours: chunk_id and other_chunk_id of chunks of different documents whose vectors are near.
        embedder: embeds the sentences of likely contradictions.
        settings: whether to search, and the least cosine of a contradiction.
        most_pairs: pairs of sentences compared at most.
    """
    rows = {row["chunk_id"]: row for row in chunks.iter_rows(named=True)}
    sentences = find_sentences(rows) if settings.contradictions else []
    candidates = find_candidates(
        sentences,
        neighbours,
        common=_COMMON,
        overlap=_OVERLAP,
        most=most_pairs,
    )
    known = {row["document_id"]: row for row in documents.iter_rows(named=True)}
    around = Surroundings(known, rows, document_counts(sentences))
    found = [
        (sentences[a], sentences[b], kind, detail)
        for a, b in candidates.pairs
        for kind, detail in contradiction(sentences[a], sentences[b], around)
    ]
    table = _table(found, around, embedder, settings.conflict_similarity)
    counts = {
        "sentences": len(sentences),
        "pairs looked at": candidates.looked_at,
        "pairs compared": len(candidates.pairs),
        "pairs left out": candidates.left_out,
    }
    return Found(table, counts)


def _table(
    found: Sequence[tuple[Sentence, Sentence, str, str]],
    around: Surroundings,
    embedder: Encoder,
    least: float,
) -> pl.DataFrame:
    vectors = TextVectors([one.text for left, right, _, _ in found for one in (left, right)], embedder)
    rows = []
    for left, right, kind, detail in found:
        similarity = float(np.dot(vectors.of(left.text), vectors.of(right.text)))
        if similarity >= least:
            rows.append(_row(left, right, kind, detail, similarity, around))
    return CONTRADICTIONS.frame(sorted(rows, key=lambda row: str(row["contradiction_id"])))


def _row(
    left: Sentence, right: Sentence, kind: str, detail: str, similarity: float, around: Surroundings
) -> Row:
    places = [f"{one.document_id}\x1f{one.start}\x1f{one.end}\x1f{one.text}" for one in (left, right)]
    return {
        "contradiction_id": hashlib.sha256("\x1e".join(places).encode()).hexdigest()[:32],
        "batch": around.chunks[left.chunk_id]["batch"],
        "kind": kind,
        "detail": detail,
        "similarity": similarity,
        **_side("first", left, around),
        **_side("second", right, around),
    }


def _side(name: str, one: Sentence, around: Surroundings) -> Row:
    return {
        f"{name}_document_id": one.document_id,
        f"{name}_content_sha256": around.documents[one.document_id]["content_sha256"],
        f"{name}_chunk_id": one.chunk_id,
        f"{name}_start": one.start,
        f"{name}_end": one.end,
        f"{name}_quote": one.text,
    }
