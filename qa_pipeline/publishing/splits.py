"""Assign splits without leakage: rows that share a key stay together and keep their split.

Rows that share a key, or whose documents are near duplicates, form a component that goes into a single split.
Keys of the previous release keep their split, so that rows do not move as the corpus grows. A new row that
would join two splits is left out. New components are assigned at random (by a hash of their least key).

A question has two keys: its words as written, and the stems of its content words. So "Which valve protects
the boiler?" and "The boiler is protected by which valve?" share a key. A key is a 64-bit hash. Two different
texts share a hash about once in ten million releases of a million rows, which only keeps two rows together.
"""

import hashlib
import itertools
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.retrieval.near_duplicates import (
    NEAR_DUPLICATE_SIMILARITY,
    Shingles,
    band_codes,
    jaccard,
    shingles,
)
from qa_pipeline.storage.parquet import appended_parquet, row_groups
from qa_pipeline.text.lexicon.languages import lexicon, stemmer

LONG_ANSWER = 40
"""Characters from which equal answers keep their rows together; shorter answers, and refusals of any length,
are often equal by chance."""
DUPLICATE_GROUPS = pl.Schema({"key": pl.UInt64(), "head": pl.UInt64()})
"""Groups of near-duplicate documents: the key of each member but the head, and the key of the head."""
_BANDS = pl.Schema({"key": pl.UInt64(), "band": pl.UInt64()})
"""Hashes of bands of the MinHash of each document; near duplicates probably share a band."""
_SHINGLES = pl.Schema({"key": pl.UInt64(), "shingles": pl.List(pl.UInt32())})
"""Hashes of the shingles (short sequences of words) of each document."""
KEY_SPLITS = pl.Schema({"key": pl.UInt64(), "split": pl.String()})
"""The split of each key, in this release or an earlier one."""
_AT_ONCE = 200
"""Documents per group, to bound memory."""
_DOCUMENT = "document:{}"
"""Text of the key of a document; prefixes keep keys of different kinds apart."""
_WORD = re.compile(r"\w+(?:[-./:]\w+)*")
_ALL_LANGUAGES = "all"


def codes(texts: Iterable[str]) -> pl.Series:
    """Return a 64-bit hash of each text, the same on every machine."""
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return pl.Series(np.frombuffer(digests, dtype="<u8"), dtype=pl.UInt64())


def row_keys(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the keys of rows: `row` (index) and `key`, without repeats, sorted by both.

    `rows` has documents (a list of hashes), question, answer, coverage and language.
    """
    numbered = rows.with_row_index("row")
    question, answer = normalised(pl.col("question")), normalised(pl.col("answer"))
    is_refusal = pl.col("coverage") == "none"
    has_answer_key = ~is_refusal & (answer.str.len_chars() >= LONG_ANSWER)
    asked_keys = [_asked_key(*row) for row in rows.select("question", "language").iter_rows()]
    # each has a line for each key: index of the row, and text of the key, such as "answer:it opens at 3 bar"
    parts = [
        numbered.select("row", text="documents")
        .explode("text", empty_as_null=True)
        .drop_nulls("text")
        .with_columns(pl.format(_DOCUMENT, "text").alias("text")),
        numbered.select("row", text=pl.format("question:{}", question)),
        numbered.select("row", pl.Series("text", asked_keys, pl.String())),
        numbered.filter(has_answer_key).select("row", text=pl.format("answer:{}", answer)),
    ]
    key_texts = pl.concat(parts).drop_nulls("text")
    texts = key_texts.select(pl.col("text").unique(maintain_order=True))  # to hash each text once
    keyed = key_texts.join(texts.with_columns(codes(texts["text"]).alias("key")), on="text")
    return keyed.select("row", "key").unique().sort("row", "key")


def wording_codes(rows: pl.DataFrame) -> pl.Series:
    """Return a hash of question and answer; equal rows have equal hashes."""
    question, answer = normalised(pl.col("question")), normalised(pl.col("answer"))
    return codes(rows.select(pl.concat_str(question, answer, separator="\x1f")).to_series())


def document_keys(sha256: pl.Series) -> pl.Series:
    """Return the keys of documents, given the hashes of their texts."""
    return codes(_DOCUMENT.format(content_hash) for content_hash in sha256)


def new_documents(documents: pl.DataFrame, seen: set[int]) -> pl.DataFrame:
    """Return the documents that earlier batches did not have, and add their keys to `seen`."""
    keys = document_keys(documents["content_sha256"]).to_list()
    new = documents.filter(pl.Series([key not in seen for key in keys], dtype=pl.Boolean()))
    seen.update(keys)
    return new


class SplitMap:
    """A compact map from key to split, made from a KEY_SPLITS frame that is sorted by key."""

    def __init__(self, key_splits: pl.DataFrame) -> None:
        self.keys = key_splits["key"].to_numpy()
        self.splits = key_splits["split"].cast(pl.Categorical())

    def splits_of(self, keys: pl.Series) -> pl.Series:
        """Return the split of each key; null for an unknown key."""
        values = keys.to_numpy()
        positions = np.searchsorted(self.keys, values)  # len(self.keys) if all known keys are less
        keys_there = np.append(self.keys, 0)[positions]  # the 0 only makes the last position valid
        is_known = (positions < len(self.keys)) & (keys_there == values)
        indices = pl.Series(positions, dtype=pl.UInt32()).set(pl.Series(~is_known), None)
        return self.splits.gather(indices).cast(pl.String())


def _asked_key(question: str, language: str) -> str:
    """Return the text of a question's key, its content words as stems: "asked:boiler protect valv"."""
    words, stem = _WORD.findall(question.casefold()), stemmer(language)
    content = sorted({stem(word) for word in words if word not in lexicon(language).stop_words})
    return f"asked:{' '.join(content or words)}"  # all words if they are stop words


def _sketches(documents: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a _BANDS frame and a _SHINGLES frame for the near-duplicate search."""
    keys = document_keys(documents["content_sha256"])
    shingle_sets = [shingles(text) for text in documents["text"]]
    bands = [
        (key, band)
        for key, shingle_set in zip(keys, shingle_sets, strict=True)
        for band in band_codes(shingle_set)
    ]
    columns = {"key": keys, "shingles": [shingle_set.tolist() for shingle_set in shingle_sets]}
    return pl.DataFrame(bands, _BANDS, orient="row"), pl.DataFrame(columns, _SHINGLES)


def near_duplicates(documents: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return the groups of near-duplicate documents, a DUPLICATE_GROUPS frame.

    Members of a group are linked directly or through others. `documents` are frames of content_sha256 and
    text, with each document once.
    """
    shared_bands, shingles_by_key = _possible_duplicates(documents)
    heads: dict[int, int] = {}  # a member of a group to another, up to its head (union-find)
    for (_,), band in shared_bands.group_by("band", maintain_order=True):
        for first, second in itertools.combinations(band["key"].to_list(), 2):
            if _head(heads, first) == _head(heads, second):
                continue
            similarity = jaccard(shingles_by_key[first], shingles_by_key[second])
            if similarity >= NEAR_DUPLICATE_SIMILARITY:
                heads[_head(heads, second)] = _head(heads, first)
    return pl.DataFrame(sorted((key, _head(heads, key)) for key in heads), DUPLICATE_GROUPS, orient="row")


def _head(heads: dict[int, int], key: int) -> int:
    """Return the representative of a key's group."""
    while key in heads:
        key = heads[key]
    return key


def _possible_duplicates(documents: Iterable[pl.DataFrame]) -> tuple[pl.DataFrame, dict[int, Shingles]]:
    """Return the bands that several documents share (_BANDS), and the shingles of these documents by key.

    Shingles are kept in a temporary file, since they are several times larger than the texts.
    """
    band_frames = [pl.DataFrame(schema=_BANDS)]
    shingles_by_key: dict[int, Shingles] = {}
    with tempfile.TemporaryDirectory() as folder:
        shingle_file = Path(folder) / "shingles"
        with appended_parquet(shingle_file, _SHINGLES) as write_shingles:
            for frame in documents:
                for slice_of_documents in frame.iter_slices(_AT_ONCE):
                    bands, shingle_lists = _sketches(slice_of_documents)
                    band_frames.append(bands)
                    write_shingles(shingle_lists)
        # only documents with a band in common can be near duplicates (locality-sensitive hashing)
        shared_bands = pl.concat(band_frames).unique().filter(pl.len().over("band") > 1).sort("band", "key")
        candidates = shared_bands["key"].unique().implode()
        for part in row_groups(shingle_file):
            compared = part.filter(pl.col("key").is_in(candidates))
            shingles_by_key |= {key: np.array(values, np.uint32) for key, values in compared.iter_rows()}
    return shared_bands, shingles_by_key


ITEM_KEYS = pl.Schema({"item": pl.UInt32(), "key": pl.UInt64(), "earlier_split": pl.Int8()})
"""The keys of items, which are rows and pairs of near-duplicate documents; see `assign_splits`. Items that
share a key, the hash of a document, question or answer, must be in a single split."""
LARGEST_DOCUMENT_SHARE = 0.5
"""Largest share of a split's rows that may come from one document; above it the split mostly trains or
measures that document."""
FEWEST_ROWS = 20
"""Fewest rows for which a split gets no warning. For a share of a half Wilson's interval is then 0.3 to 0.7;
fewer rows hardly distinguish two models."""
FEWEST_COMPONENTS = 2
"""Fewest components of a split, so that it does not rest on a single document."""
MOST_HELD_OUT = 0.4
"""Largest share of rows for all splits but the largest, unless the settings give them more. So with documents
of equal size, the validation split needs five documents, and a test split beside it ten."""


def assign_splits(keys: pl.DataFrame, languages: pl.Series, shares: Sequence[float]) -> pl.Series:
    """Return the split of each row, an index of `shares`; null without a key, or if it would join two splits.

    A component, the items that share keys, gets a single split. If its keys had two splits earlier, a row
    keeps the split that all its keys had: a row of train, a row of test and a new row get train, test, null.

    Args:
        keys: an ITEM_KEYS frame. An item is the index of a row; higher numbers are pairs of documents, which
            keep their keys together. `earlier_split` is the key's split in an earlier release, or null.
        languages: language of each row.
        shares: relative share of each split; a split with 0 gets no new rows.
    """
    earlier = pl.col("earlier_split")
    keys = keys.with_columns(component=_components(keys))
    # a row for each item, which has a single component; own_split is the split of all its keys, or null
    own_split = pl.when(earlier.n_unique() == 1).then(earlier.first())
    items = keys.group_by("item", "component").agg(own_split=own_split)
    rows = pl.DataFrame({"item": pl.Series(range(len(languages)), dtype=pl.UInt32()), "language": languages})
    rows_by_component = items.join(rows, on="item").group_by("component")  # without pairs of documents
    sizes = rows_by_component.agg(rows=pl.len(), language=pl.col("language").mode().min())  # first in a tie
    components = (  # a row for each component with rows
        keys.group_by("component")
        .agg(
            joins_splits=earlier.drop_nulls().n_unique() > 1,
            earlier_split=earlier.min(),  # null if all keys are new
            least_key=pl.col("key").min(),
        )
        .join(sizes, on="component")
        .sort("least_key")
    )
    components = components.with_columns(pl.Series("drawn", _draw(components, shares), pl.Int8()))
    # in a component that joins splits, a row without an own split is left out
    split = pl.when("joins_splits").then("own_split").otherwise("drawn").alias("split")
    split_of_items = items.join(components, on="component").select("item", split)
    return rows.join(split_of_items, on="item", how="left", maintain_order="left")["split"]


def _components(keys: pl.DataFrame) -> pl.Series:
    """Return the component number of each line of an ITEM_KEYS frame; a shared key connects its items."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    distinct_items, item_numbers = np.unique(keys["item"].to_numpy(), return_inverse=True)
    distinct_keys, key_numbers = np.unique(keys["key"].to_numpy(), return_inverse=True)
    # nodes of the graph are the items, then the keys; each line is an edge from its item to its key
    size = len(distinct_items) + len(distinct_keys)
    edges = (np.ones(keys.height, dtype=np.int8), (item_numbers, len(distinct_items) + key_numbers))
    _, component_of_node = connected_components(coo_array(edges, shape=(size, size)), directed=False)
    return pl.Series(component_of_node[item_numbers])


def _draw(components: pl.DataFrame, shares: Sequence[float]) -> list[int]:
    """Return the split of each component, an index of `shares`; its `earlier_split`, if it has one.

    New components, in random order, fill splits that lack rows of their language, then splits with too few
    components. The others, and those of splits that still have too few, go to the largest split.
    """
    largest = int(np.argmax(shares))
    targets = _target_rows(components["rows"], shares, largest)
    drawing = _Drawing(components, targets)
    new = [component for component, split in enumerate(drawing.split_of) if split is None]
    hashes = codes(str(key) for key in components["least_key"].gather(new)).to_list()
    new = [component for _, component in sorted(zip(hashes, new, strict=True))]  # random, always the same
    for component in new:
        drawing.assign_if_fits(component, [*targets], language=drawing.language_of[component])
    for component in new:
        if drawing.split_of[component] is None:
            drawing.assign_if_fits(component, drawing.incomplete_splits(), language=_ALL_LANGUAGES)
    incomplete = drawing.incomplete_splits()  # they lose their new components again
    for component in new:
        if drawing.split_of[component] is None or drawing.split_of[component] in incomplete:
            drawing.split_of[component] = largest
    return [split for split in drawing.split_of if split is not None]  # each component has a split now


class _Drawing:
    """Components, numbered as in their frame, and the splits (indices of shares) they are assigned to."""

    def __init__(self, components: pl.DataFrame, targets: Mapping[int, float]) -> None:
        self._targets = targets  # rows that each split but the largest should get
        self.split_of: list[int | None] = components["earlier_split"].to_list()  # None for a new component
        self.language_of: list[str] = components["language"].to_list()  # the main language of a component
        self._rows_of_component: list[int] = components["rows"].to_list()
        by_language = components.group_by("language").agg(pl.col("rows").sum())
        self._rows_by_language: dict[str, int] = dict(by_language.iter_rows())
        self._rows_by_language[_ALL_LANGUAGES] = sum(self._rows_of_component)
        self._assigned_rows = Counter[tuple[int, str]]()  # by split and language
        self._assigned_components = Counter[int]()  # by split
        for component, split in enumerate(self.split_of):
            if split is not None:
                self._count(component, split)

    def _count(self, component: int, split: int) -> None:
        self._assigned_components[split] += 1
        for language in (self.language_of[component], _ALL_LANGUAGES):
            self._assigned_rows[split, language] += self._rows_of_component[component]

    def assign_if_fits(self, component: int, splits: Iterable[int], *, language: str) -> None:
        """Assign a component to the split that lacks most of its target in a language, if it fits.

        It fits into a split if it has at most half of the target's rows and twice the lacking rows. All
        `splits` have a target, and the language may be `_ALL_LANGUAGES`.
        """
        rows = self._rows_of_component[component]
        # at most half of a target, so that another component fits beside it
        roomy = [split for split in splits if rows <= self._targets[split] / FEWEST_COMPONENTS]
        lacking_rows = {split: self._lacking_rows(split, language) for split in roomy}
        split = max(roomy, key=lambda split: lacking_rows[split] / self._targets[split], default=None)
        # a split that lacks 10 rows takes at most 20, to be no farther from its target than before
        if split is not None and rows <= 2 * lacking_rows[split]:
            self.split_of[component] = split
            self._count(component, split)

    def _lacking_rows(self, split: int, language: str) -> float:
        """Return the rows that a split lacks in a language; a language has its share of the target."""
        rows, all_rows = self._rows_by_language[language], self._rows_by_language[_ALL_LANGUAGES]
        return self._targets[split] * rows / all_rows - self._assigned_rows[split, language]

    def incomplete_splits(self) -> list[int]:
        """Return the splits with a target that have less than `FEWEST_COMPONENTS` components."""
        return [split for split in self._targets if self._assigned_components[split] < FEWEST_COMPONENTS]


def _target_rows(sizes: pl.Series, shares: Sequence[float], largest: int) -> dict[int, float]:
    """Return the target of rows of each split but the split `largest`, by index of `shares`.

    `sizes` are the rows of each component. A target is at least two components of median size. While the
    targets together exceed the share of rows for these splits (see `MOST_HELD_OUT`), the last is dropped.
    """
    rows = int(sizes.sum())
    median = float(np.median(sizes.to_numpy())) if len(sizes) else 0.0
    targets = {
        split: max(share / sum(shares) * rows, FEWEST_COMPONENTS * median)
        for split, share in enumerate(shares)
        if share and split != largest
    }
    most_held_out = max(MOST_HELD_OUT, 1 - shares[largest] / sum(shares)) * rows
    while sum(targets.values()) > most_held_out + 1e-6:  # a rounding error is not too large
        targets.popitem()
    return targets


def shortcomings(documents: pl.DataFrame, splits: Iterable[str]) -> list[str]:
    """Return a sentence, with a remedy, for each rule that the splits break.

    Args:
        documents: a row for each split and main document: split, path (null for rows without any) and rows.
        splits: names of the splits in the settings.
    """
    counts = dict(documents.group_by("split").agg(pl.col("rows").sum()).iter_rows())
    problems = []
    if empty := [name for name in splits if not counts.get(name)]:
        problems.append(
            f"there is no {' and no '.join(empty)} split: rows of {documents.height} documents are too few "
            "or too unequal, since no split may rest on one document; add documents, or remove it from "
            "release.splits"
        )
    by_rows = documents.sort("rows", "path", descending=[True, False], nulls_last=True)
    largest_documents = by_rows.unique("split", keep="first").sort("split").select("split", "path", "rows")
    for name, path, rows in largest_documents.iter_rows():
        if counts[name] < FEWEST_ROWS:
            problems.append(
                f"{name} has {counts[name]} rows: a share measured on fewer than {FEWEST_ROWS} is uncertain "
                "by more than 0.2; add documents, or raise its share in release.splits"
            )
        if path is not None and rows / counts[name] > LARGEST_DOCUMENT_SHARE:
            problems.append(f"{rows} of {counts[name]} rows of {name} rest on {path}: add documents")
    return problems
