"""Keys that must not occur in two splits: each row has keys for its documents, question and answer.

A question has two keys: its words as written, and the stems of its content words. So "Which valve protects
the boiler?" and "The boiler is protected by which valve?" share a key. A key is a 64-bit hash. Two different
texts share a hash about once in ten million releases of a million rows. The only effect is that two rows are
kept together.
"""

import hashlib
import itertools
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl

from qa_pipeline.documents.near_duplicates import Shingles, band_codes, jaccard, shingles
from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.storage.parquet import appended_parquet, row_groups
from qa_pipeline.text.lexicon.languages import lexicon, stemmer

LONG_ANSWER = 40
"""Characters from which equal answers keep their rows together; shorter answers are often equal by chance."""

JOINS = pl.Schema({"key": pl.UInt64(), "other_key": pl.UInt64()})
_BANDS = pl.Schema({"key": pl.UInt64(), "band": pl.UInt64()})
_SHINGLES = pl.Schema({"key": pl.UInt64(), "shingles": pl.List(pl.UInt32())})
KEY_SPLITS = pl.Schema({"key": pl.UInt64(), "split": pl.String()})
_AT_ONCE = 200
"""Documents per group, to bound memory."""
_DOCUMENT = "document:{}"
_WORD = re.compile(r"\w+(?:[-./:]\w+)*")


def codes(texts: Iterable[str]) -> pl.Series:
    """Return a 64-bit hash of each text, the same on every machine."""
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return pl.Series(np.frombuffer(digests, dtype="<u8"), dtype=pl.UInt64())


def row_keys(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the keys of rows.

    Args:
        rows: documents (a list of hashes), question, answer, coverage and language.

    Returns:
        `row` (index) and `key`, without repeats, sorted by both.
    """
    numbered = rows.with_row_index("row")
    question, answer = normalised(pl.col("question")), normalised(pl.col("answer"))
    is_long_answer = (pl.col("coverage") != "none") & (answer.str.len_chars() >= LONG_ANSWER)
    stems = pl.Series(
        "text", [_stems(*row) for row in rows.select("question", "language").iter_rows()], pl.String()
    )
    parts = [
        numbered.select("row", text="documents")
        .explode("text", empty_as_null=True)
        .drop_nulls("text")
        .with_columns(pl.format(_DOCUMENT, "text").alias("text")),
        numbered.select("row", text=pl.format("question:{}", question)),
        numbered.select("row", stems),
        numbered.filter(is_long_answer).select("row", text=pl.format("answer:{}", answer)),
    ]
    key_texts = pl.concat(parts).drop_nulls("text")
    texts = key_texts.select(pl.col("text").unique(maintain_order=True))
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
    """A compact map from key to split.

    Args:
        key_splits: a KEY_SPLITS frame, sorted by key.
    """

    def __init__(self, key_splits: pl.DataFrame) -> None:
        self.keys = key_splits["key"].to_numpy()
        self.splits = key_splits["split"].cast(pl.Categorical())

    def splits_of(self, keys: pl.Series) -> pl.Series:
        """Return the split of each key; null for an unknown key."""
        sought = keys.to_numpy()
        positions = np.searchsorted(self.keys, sought)  # len(self.keys) if all known keys are less
        is_known = (positions < len(self.keys)) & (np.append(self.keys, 0)[positions] == sought)
        indices = pl.Series(positions, dtype=pl.UInt32()).set(pl.Series(~is_known), None)
        return self.splits.gather(indices).cast(pl.String())


def _stems(question: str, language: str) -> str:
    """Return the sorted stems of a question's content words, or all its words if it has only stop words."""
    words, stem = _WORD.findall(question.casefold()), stemmer(language)
    content = sorted({stem(word) for word in words if word not in lexicon(language).stop_words})
    return f"asked:{' '.join(content or words)}"


def _sketches(documents: pl.DataFrame, threshold: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a _BANDS frame and a _SHINGLES frame for the near-duplicate search."""
    keys = document_keys(documents["content_sha256"])
    shingle_sets = [shingles(text) for text in documents["text"]]
    bands = [
        (key, band)
        for key, shingle_set in zip(keys, shingle_sets, strict=True)
        for band in band_codes(shingle_set, threshold)
    ]
    columns = {"key": keys, "shingles": [shingle_set.tolist() for shingle_set in shingle_sets]}
    return pl.DataFrame(bands, _BANDS, orient="row"), pl.DataFrame(columns, _SHINGLES)


def near_duplicates(documents: Iterable[pl.DataFrame], threshold: float) -> pl.DataFrame:
    """Return pairs of keys of near-duplicate documents, a JOINS frame.

    Each document is paired with the head of its group, to which it is linked directly or through others.
    Shingles are kept in a temporary file, since they are several times larger than the texts.

    Args:
        documents: frames of content_sha256 and text, with each document once.
        threshold: least Jaccard similarity of near duplicates.
    """
    band_frames = [pl.DataFrame(schema=_BANDS)]
    shingles_by_key: dict[int, Shingles] = {}
    with tempfile.TemporaryDirectory() as folder:
        shingle_file = Path(folder) / "shingles"
        with appended_parquet(shingle_file, _SHINGLES) as write_shingles:
            for frame in documents:
                for some in frame.iter_slices(_AT_ONCE):
                    bands, shingled = _sketches(some, threshold)
                    band_frames.append(bands)
                    write_shingles(shingled)
        shared_bands = pl.concat(band_frames).unique().filter(pl.len().over("band") > 1).sort("band", "key")
        candidates = shared_bands["key"].unique().implode()
        for part in row_groups(shingle_file):
            chosen = part.filter(pl.col("key").is_in(candidates))
            shingles_by_key |= {key: np.array(values, dtype=np.uint32) for key, values in chosen.iter_rows()}
    heads: dict[int, int] = {}
    for (_,), band in shared_bands.group_by("band", maintain_order=True):
        for first, second in itertools.combinations(band["key"].to_list(), 2):
            are_apart = _head(heads, first) != _head(heads, second)
            if are_apart and jaccard(shingles_by_key[first], shingles_by_key[second]) >= threshold:
                heads[_head(heads, second)] = _head(heads, first)
    return pl.DataFrame(sorted((key, _head(heads, key)) for key in heads), JOINS, orient="row")


def _head(heads: dict[int, int], key: int) -> int:
    """Return the representative of a key's group."""
    while key in heads:
        key = heads[key]
    return key
