"""Find documents of a batch with nearly the same text.

Texts are compared as sets of five-word sequences by their Jaccard similarity (Broder, On the resemblance and
containment of documents, 1997). MinHash with locality-sensitive hashing proposes pairs; the stored similarity
is exact.
"""

import hashlib
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from datasketch import MinHash

_WORD = re.compile(r"\w+")
_SHINGLE = 5  # words of a sequence that is compared: fewer are in any two texts, more break at each edit
_FEWEST_WORDS = 40
"""Shorter documents are not compared."""
NEAR_DUPLICATE_SIMILARITY = 0.8
"""Jaccard similarity from which two documents are near duplicates."""
_PERMUTATIONS = 128  # hash functions of MinHash, the default of datasketch; time grows with them
_MISSES = 1e-4
"""Share of texts at the threshold that may be missed."""

Shingles = npt.NDArray[np.uint32]


def mark_near_duplicates(
    documents: pl.DataFrame, threshold: float = NEAR_DUPLICATE_SIMILARITY
) -> pl.DataFrame:
    """Fill `near_duplicate_of` and `near_duplicate_similarity` of parsed documents (DOCUMENTS frame).

    Of near duplicates the longest represents the others. `threshold` is the least Jaccard similarity.
    """
    parsed = documents.filter(pl.col("status") == "parsed")
    texts = parsed.select("document_id", "text").iter_rows()
    # texts of equal length stay in the order of their paths
    longest_first = sorted(texts, key=lambda row: -len(row[1]))
    sets = [(document_id, shingles(text)) for document_id, text in longest_first]
    marked = ("document_id", "near_duplicate_of", "near_duplicate_similarity")
    schema = {name: documents.schema[name] for name in marked}
    marks = pl.DataFrame(list(_near_duplicates(sets, threshold)), schema, orient="row")
    unmarked = documents.drop(marked[1:])
    return unmarked.join(marks, on="document_id", how="left", maintain_order="left").select(documents.columns)


def shingles(text: str) -> Shingles:
    """Return hashes of the distinct five-word sequences of a text, ascending; empty for a short text."""
    words = _WORD.findall(text.lower())
    if len(words) < _FEWEST_WORDS:
        return np.zeros(0, dtype=np.uint32)
    sequences = (" ".join(words[start : start + _SHINGLE]) for start in range(len(words) - _SHINGLE + 1))
    codes = np.fromiter((zlib.crc32(sequence.encode()) for sequence in sequences), dtype=np.uint32)
    return np.unique(codes)


def _near_duplicates(
    sets: Sequence[tuple[str, Shingles]], threshold: float
) -> Iterator[tuple[str, str, float]]:
    """Yield each document that is nearly the same as an earlier document."""
    from datasketch import MinHashLSH

    index = MinHashLSH(num_perm=_PERMUTATIONS, params=_choose_bands(threshold))
    by_name = dict(sets)
    for name, shingled in sets:
        if not len(shingled):
            continue
        sketch = _sketch(shingled)
        candidates = ((jaccard(shingled, by_name[other]), other) for other in index.query(sketch))
        similarity, nearest = max(candidates, default=(0.0, ""))
        if similarity >= threshold:
            yield name, nearest, round(similarity, 4)
        else:
            index.insert(name, sketch)


def band_codes(shingled: Shingles, threshold: float) -> list[int]:
    """Return codes of 64 bits, some of which similar texts share; empty for a short text."""
    if not len(shingled):
        return []
    bands, values = _choose_bands(threshold)
    rows = _sketch(shingled).hashvalues[: bands * values].astype("<u8").reshape(bands, values)
    codes = []
    for number, row in enumerate(rows):
        code = hashlib.blake2b(row.tobytes(), digest_size=8, salt=number.to_bytes(4))
        codes.append(int.from_bytes(code.digest()))
    return codes


def _sketch(shingled: Shingles) -> "MinHash":
    sketch = _blank().copy()
    sketch.update_batch(shingled.tolist())
    return sketch


@cache
def _blank() -> "MinHash":
    from datasketch import MinHash

    return MinHash(num_perm=_PERMUTATIONS, seed=1, hashfunc=int)


@cache
def _choose_bands(threshold: float) -> tuple[int, int]:
    """Return how many bands of how many values to use: as many values as keep misses at `_MISSES`."""
    best = (_PERMUTATIONS, 1)
    for values in range(2, _PERMUTATIONS // 2 + 1):  # MinHashLSH takes no fewer than two bands
        bands = _PERMUTATIONS // values
        if (1 - threshold**values) ** bands > _MISSES:
            break
        best = bands, values
    return best


def jaccard(first: Shingles, second: Shingles) -> float:
    """Return the size of the intersection of two sets over the size of their union."""
    common = np.intersect1d(first, second, assume_unique=True).size
    return float(common / (first.size + second.size - common))
