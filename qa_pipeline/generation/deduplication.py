"""Twins: pairs of one batch that ask and answer the same, in equal words, nearly equal ones or others.

Near twins have the same terms: stems of content words, values of numbers and dates, signs, names, negations
and opposites. That is MinHash at a similarity of 1, found by a join; below 1 it puts questions together that
differ in the one word or number that matters. Semantic twins have questions of near vectors (Reimers and
Gurevych, Sentence-BERT, 2019), and because "What is the default of X?" and "What is the syntax of X?" have
them too, they must rest on one quote or give one long answer, and agree in every number, name and negation.

Nothing is decided here: the ledger keeps one of each.
"""

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.models.base import Vectors
from qa_pipeline.models.vector_cache import CachedEmbedder
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.retrieval.ann import choose_index
from qa_pipeline.retrieval.shard import Shard, faiss_threads
from qa_pipeline.settings.generation import IndexSettings
from qa_pipeline.storage.tables import TWINS
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.verification.consistency.allowed import Unit, units
from qa_pipeline.verification.consistency.reading import Reading

LEAST_SIMILARITY = 0.7
"""Cosine from which questions are noted as possible semantic twins; thresholds lie above."""
FEWEST_QUESTIONS = 10
"""Fewer questions have no diversity worth a figure."""
_MOST_NEAR = 50
"""Questions of one quote or answer that each is compared with, the nearest first."""
_LONG_ANSWER = 4
"""Terms from which an answer states a fact of its own and is more than a value such as "Off"."""
_DIGITS = 4  # of stored similarities: a finer difference means nothing
_BETWEEN = "\x1f"
_SEED = 0  # any would do; the same one gives the same clusters

_RUN = re.compile(r"\w+(?:[-./:]\w+)*")
_MARK = re.compile(r"\w[-./:_]\w")
_QUOTED = re.compile(r"[“„\"«»]([^“”„\"«»]{1,200})[”“\"»«]")

# Punctuation is dropped only at the edge of a word, where it carries no meaning: "C++", "-5", "1.5" and
# ".NET" stay what they are, so that different answers never look equal.
_OPENING = r"""(^|\s)["'“”„«»‚‘’(\[¿¡]+"""
_CLOSING = r"""["'“”„«»‚‘’,.;:!?…)\]]+(\s|$)"""


def normalised(text: pl.Expr) -> pl.Expr:
    """Fold Unicode form (NFKC), case, spacing and punctuation at word edges.

    Text of nothing but punctuation stays itself: it must not equal every other such text.
    """
    folded = text.str.normalize("NFKC").str.to_lowercase()
    folded = folded.str.replace_all(_OPENING, "$1").str.replace_all(_CLOSING, "$1")
    folded = folded.str.replace_all(r"\s+", " ").str.strip_chars()
    return pl.when(folded != "").then(folded).otherwise(text)


def find_twins(
    pairs: pl.DataFrame,
    embedder: CachedEmbedder,
    index: IndexSettings | None = None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Note for each pair with an answer which others may be its twins, and how near the next question is.

    Known-answer pairs never train and have no row.

    Args:
        pairs: PAIRS frame.
        embedder: of the questions.
        index: from how many questions on the nearest ones are searched approximately.
        notify: called with the number of questions embedded.

    Returns:
        TWINS frame, in the order of the pairs.
    """
    trainable = (
        pl.col("question").is_not_null()
        & pl.col("answer").is_not_null()
        & pl.col("expected_verdict").is_null()
    )
    keys = {f"{name}_key": normalised(pl.col(name)) for name in ("question", "answer")}
    candidates = pairs.filter(trainable).with_columns(**keys)
    candidates = candidates.with_columns(_first("question_key", "answer_key").alias("exact_group"))
    stated = _near_groups(candidates.filter(pl.col("pair_id") == pl.col("exact_group")))
    grouped = candidates.join(
        stated.select("exact_group", "near_group", "said_key"), on="exact_group", maintain_order="left"
    )
    questions = grouped.sort("question_key", "pair_id").unique(
        "question_key", keep="first", maintain_order=True
    )
    vectors = embedder.encode(questions["question"].to_list(), notify)
    return TWINS.conform(
        grouped.join(
            _similar(stated, grouped, questions, vectors), on="pair_id", how="left", maintain_order="left"
        )
        .join(_spread(grouped, questions, vectors, index), on="question_key", maintain_order="left")
        .with_columns(pl.col("similar").fill_null([]))
        .select(TWINS.schema.names())
    )


def _first(*key: str) -> pl.Expr:
    return pl.col("pair_id").min().over(key)


def _near_groups(candidates: pl.DataFrame) -> pl.DataFrame:
    """Return the terms of question and answer, and the first pair with both.

    Texts without terms are told apart by all they say.
    """
    texts = candidates.select("question", "answer", "language", "question_key", "answer_key").iter_rows()
    question_terms, answer_terms = [], []
    for question, answer, language, question_key, answer_key in texts:
        question_terms.append(sorted(_terms(question, language, _weighty(language))) or [question_key])
        answer_terms.append(
            _terms(answer, language, _weighty(language) | lexicon(language).quantifiers_and_modals)
            or [answer_key]
        )
    terms = {
        name: pl.Series(rows, dtype=pl.List(pl.String()))
        for name, rows in (("asked", question_terms), ("said", answer_terms))
    }
    keys = [pl.col(name).list.join(_BETWEEN).alias(f"{name}_key") for name in terms]
    keyed = candidates.with_columns(**terms).with_columns(keys)
    return keyed.with_columns(_first("language", "asked_key", "said_key").alias("near_group"))


def _terms(text: str, language: str, weighty: Set[str]) -> Sequence[str]:
    """Return the terms of a text in order, and then its words that are joined by marks."""
    terms = units(Reading(text, language))
    stated = [unit.key for unit in terms if unit.content or _is_value(unit) or unit.folded in weighty]
    return stated + _compounds(text)


def _compounds(text: str) -> list[str]:
    """Return the words that hold marks: "Home-page" and "mod_ssl" are not "home page" and "mod ssl"."""
    runs = _RUN.findall(text.casefold())
    return [run for run in runs if _MARK.search(run) and not run[0].isdigit()]


def _is_value(unit: Unit) -> bool:
    """Return whether a unit is a number, date or sign; that of a question is none."""
    return unit.key[0] in "@#~" and unit.key != "~?"


@functools.cache
def _weighty(language: str) -> Set[str]:
    """Return the function words without which a question is another one."""
    vocabulary = lexicon(language)
    return vocabulary.denying | frozenset(
        chain.from_iterable((*chain(*vocabulary.opposites), *vocabulary.interrogatives))
    )


def _similar(
    stated: pl.DataFrame, grouped: pl.DataFrame, questions: pl.DataFrame, vectors: Vectors
) -> pl.DataFrame:
    """Return the semantic twins of each near group that come after it: pair_id and `similar`."""
    heads = (
        stated.filter(pl.col("pair_id") == pl.col("near_group"))
        .join(questions.select("question_key").with_row_index("row"), on="question_key")
        .sort("pair_id")
    )
    head_vectors = vectors[heads["row"].to_numpy()]
    compared = [_Compared(*row) for row in heads.select("question", "language", "asked", "said").iter_rows()]
    similarities: dict[tuple[int, int], float] = {}
    for block in _blocks(heads, grouped):
        for alike in _alike(block, compared):
            for first, second, similarity in _near(alike, head_vectors):
                if (first, second) not in similarities and compared[first].agrees_with(compared[second]):
                    similarities[first, second] = round(similarity, _DIGITS)
    ids = heads["pair_id"].to_list()
    edges = [
        (ids[first], ids[second], similarity) for (first, second), similarity in sorted(similarities.items())
    ]
    schema = {"pair_id": pl.String(), "other": pl.String(), "similarity": pl.Float64()}
    listed = pl.struct(pl.col("other").alias("pair_id"), "similarity").alias("similar")
    return pl.DataFrame(edges, schema, orient="row").group_by("pair_id", maintain_order=True).agg(listed)


@dataclass(frozen=True)
class _Compared:
    """A question and its answer, as they are held against others."""

    question: str
    language: str
    question_terms: Sequence[str]
    answer_terms: Sequence[str]

    @cached_property
    def fixed(self) -> Set[str]:
        """Return what must not differ: values, signs, negations, names, quotes and words with marks."""
        reading = Reading(self.question, self.language)
        denying = lexicon(self.language).denying
        marks = {unit.key for unit in units(reading) if _is_value(unit) or unit.folded in denying}
        quoted = _QUOTED.findall(self.question.casefold())
        return frozenset(marks).union(
            (name.folded for name in reading.names), quoted, _compounds(self.question)
        )

    @cached_property
    def _words(self) -> Set[str]:
        return {word.folded for word in Reading(self.question, self.language).words}

    @cached_property
    def poles(self) -> Set[tuple[int, int]]:
        """Return the sides of the opposites in it, by the number of the pair."""
        opposites = enumerate(lexicon(self.language).opposites)
        return {
            (place, n) for place, sides in opposites for n, side in enumerate(sides) if self._words & side
        }

    @cached_property
    def asks_for(self) -> Set[int]:
        """Return the kinds of things it asks for, as a time, a place, a reason; empty for "what"."""
        groups = enumerate(lexicon(self.language).interrogatives)
        return {place for place, group in groups if self._words & group}

    def agrees_with(self, other: "_Compared") -> bool:
        """Return whether the questions ask for one thing, and the answers differ in words of these alone."""
        changed = {place for place, _ in self.poles - other.poles} & {p for p, _ in other.poles - self.poles}
        apart = self.asks_for and other.asks_for and not self.asks_for & other.asks_for
        if changed or apart:
            return False
        short, long = sorted((self.answer_terms, other.answer_terms), key=len)
        rest = iter(long)
        within = all(term in rest for term in short)  # in this order: each looks on where the last was found
        return within and set(long) - set(short) <= {*self.question_terms, *other.question_terms}


def _blocks(heads: pl.DataFrame, grouped: pl.DataFrame) -> Iterator[list[int]]:
    """Yield the places of near groups with one quote of one chunk, and of those with one long answer."""
    placed = grouped.join(
        heads.select("near_group", pl.col("said").list.len().alias("terms")).with_row_index("place"),
        on="near_group",
        maintain_order="left",
    )
    quoted = (
        placed.select("place", cited="citations")
        .explode("cited", empty_as_null=True)
        .unnest("cited")
        .drop_nulls(("chunk_id", "quote"))
    )
    long = placed.filter(pl.col("terms") >= _LONG_ANSWER, pl.col("coverage") != "none")
    for frame, key in ((quoted, ("chunk_id", "quote")), (long, ("language", "said_key"))):
        blocks = frame.group_by(key, maintain_order=True).agg(pl.col("place").unique().sort())
        yield from blocks.filter(pl.col("place").list.len() > 1)["place"].to_list()


def _alike(block: Sequence[int], compared: Sequence[_Compared]) -> Iterator[list[int]]:
    """Yield the places of a block, parted by language and by what is fixed."""
    parts: dict[tuple[str, Set[str]], list[int]] = {}
    for place in block:
        parts.setdefault((compared[place].language, compared[place].fixed), []).append(place)
    yield from (part for part in parts.values() if len(part) > 1)


def _near(block: Sequence[int], vectors: Vectors) -> Iterator[tuple[int, int, float]]:
    """Yield the places of similar questions of a block, the smaller one first."""
    import faiss

    block_vectors = np.ascontiguousarray(vectors[block])
    count = min(len(block), _MOST_NEAR + 1)
    similarities, near = faiss.knn(block_vectors, block_vectors, count, metric=faiss.METRIC_INNER_PRODUCT)
    rows, columns = np.nonzero(similarities >= LEAST_SIMILARITY)
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        first, second = sorted((block[row], block[near[row, column]]))
        if first != second:
            yield first, second, float(similarities[row, column])


def _spread(
    grouped: pl.DataFrame, questions: pl.DataFrame, vectors: Vectors, index: IndexSettings | None
) -> pl.DataFrame:
    """Return each question's similarity to the nearest other and its cluster; null for few questions."""
    times = pl.coalesce("question_id", "pair_id").n_unique()  # drafts of one question ask once
    counts = questions.select("question_key").join(
        grouped.group_by("question_key").agg(pairs=times), on="question_key", maintain_order="left"
    )
    if grouped.height < FEWEST_QUESTIONS:
        unknown = {"nearest_similarity": pl.Float64(), "cluster": pl.Int32()}
        empty = [pl.lit(None, dtype=dtype).alias(name) for name, dtype in unknown.items()]
        return counts.select("question_key", *empty)
    nearest = _nearest(vectors, index or IndexSettings())
    repeated = counts["pairs"].to_numpy() > 1
    return counts.select(
        "question_key",
        pl.Series("nearest_similarity", np.where(repeated, 1.0, nearest).round(_DIGITS)),
        pl.Series("cluster", cluster_vectors(vectors, counts["pairs"].to_list()), dtype=pl.Int32()),
    )


def _nearest(vectors: Vectors, settings: IndexSettings) -> npt.NDArray[np.float64]:
    """Return the cosine of each vector to the nearest other one."""
    import faiss

    choice = choose_index(vectors, settings)
    if choice.index is None:
        distances, near = faiss.knn(vectors, vectors, 2, metric=faiss.METRIC_INNER_PRODUCT)
    else:
        names = tuple(map(str, range(len(vectors))))
        near, distances = Shard(names, vectors, "", "", "", choice).search(vectors, 2)
    # Different texts may have equal vectors, so that a question need not be the nearest to itself.
    others = near != np.arange(len(near))[:, None]
    nearest: npt.NDArray[np.float64] = np.where(others, distances, -1.0).max(axis=1).astype(np.float64)
    return nearest.clip(-1, 1)


def clusters_of(questions: int) -> int:
    """Return the number of clusters of questions: the root of half their number (Mardia et al. 1979)."""
    return max(2, round(math.sqrt(questions / 2)))


def cluster_vectors(vectors: Vectors, counts: Sequence[int]) -> list[int]:
    """Return the cluster of each vector by spherical k-means, weighted; the same every time."""
    import faiss

    clusters = min(clusters_of(sum(counts)), len(vectors))
    weights = np.asarray(counts, dtype=np.float32)
    means = faiss.Kmeans(vectors.shape[1], clusters, seed=_SEED, spherical=True, min_points_per_centroid=1)
    with faiss_threads(1):  # sums in one order
        means.train(vectors, weights=weights)
        _, nearest = means.index.search(vectors, 1)
    return [int(cluster) for cluster in nearest[:, 0]]


def diversity(twins: pl.DataFrame) -> Mapping[str, float | None]:
    """Return the diversity of the questions of a batch; None for a few questions.

    Returns:
        cluster_entropy, from 0 (all in one cluster) to 1 (evenly spread), and self_similarity, the mean
        cosine to the nearest other question.
    """
    counted = twins.drop_nulls("cluster")
    if counted.is_empty():
        return {"cluster_entropy": None, "self_similarity": None}
    shares = counted["cluster"].value_counts(normalize=True)["proportion"].to_numpy()
    entropy = float(-(shares * np.log(shares)).sum()) / math.log(clusters_of(counted.height))
    nearest = float(counted["nearest_similarity"].to_numpy().mean())
    return {"cluster_entropy": round(abs(entropy), _DIGITS), "self_similarity": round(nearest, _DIGITS)}
