"""Find documents of a batch with nearly the same text.

Texts are compared as sets of five-word sequences by their Jaccard similarity (Broder, On the resemblance and
containment of documents, 1997). MinHash with locality-sensitive hashing proposes pairs; the stored similarity
is exact.
"""

import hashlib
import re
import zlib
from collections import defaultdict
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
_BANDS, _VALUES = 25, 5
"""Bands of MinHash values: two texts of the least similarity share none with a chance of 1 in 20,000."""

Shingles = npt.NDArray[np.uint32]


def mark_near_duplicates(documents: pl.DataFrame) -> pl.DataFrame:
    """Fill `near_duplicate_of` and `near_duplicate_similarity` of parsed documents (DOCUMENTS frame).

    Of near duplicates the longest represents the others.
    """
    parsed = documents.filter(pl.col("status") == "parsed")
    texts = parsed.select("document_id", "text").iter_rows()
    # texts of equal length stay in the order of their paths
    longest_first = sorted(texts, key=lambda row: -len(row[1]))
    sets = [(document_id, shingles(text)) for document_id, text in longest_first]
    filled = ("near_duplicate_of", "near_duplicate_similarity")
    schema = {name: documents.schema[name] for name in ("document_id", *filled)}
    marks = pl.DataFrame(list(_near_duplicates(sets)), schema, orient="row")
    unmarked = documents.drop(filled)
    return unmarked.join(marks, on="document_id", how="left", maintain_order="left").select(documents.columns)


def shingles(text: str) -> Shingles:
    """Return hashes of the distinct five-word sequences of a text, ascending; empty for a short text."""
    words = _WORD.findall(text.lower())
    if len(words) < _FEWEST_WORDS:
        return np.zeros(0, dtype=np.uint32)
    sequences = (" ".join(words[start : start + _SHINGLE]) for start in range(len(words) - _SHINGLE + 1))
    codes = np.fromiter((zlib.crc32(sequence.encode()) for sequence in sequences), dtype=np.uint32)
    return np.unique(codes)


def _near_duplicates(sets: Sequence[tuple[str, Shingles]]) -> Iterator[tuple[str, str, float]]:
    """Yield each near duplicate: its id, the id of the most similar original before it, and their similarity.

    `sets` has the id and shingles of each document. A document without a similar original is an original.
    """
    originals_by_band = defaultdict[int, list[str]](list)
    shingles_of = dict(sets)
    for document_id, shingled in sets:
        bands = band_codes(shingled)
        candidates = {original for band in bands for original in originals_by_band[band]}
        similarities = ((jaccard(shingled, shingles_of[original]), original) for original in candidates)
        similarity, nearest = max(similarities, default=(0.0, ""))
        if similarity >= NEAR_DUPLICATE_SIMILARITY:
            yield document_id, nearest, round(similarity, 4)
        else:
            for band in bands:
                originals_by_band[band].append(document_id)


def band_codes(shingled: Shingles) -> list[int]:
    """Return a code of each band of a text, of which similar texts share some; empty for a short text."""
    if not len(shingled):
        return []
    sketch = _blank().copy()
    sketch.update_batch(shingled.tolist())
    codes = []
    for number, band in enumerate(sketch.hashvalues.astype("<u8").reshape(_BANDS, _VALUES)):
        # salted with the number of the band, so that equal values in other bands give another code
        code = hashlib.blake2b(band.tobytes(), digest_size=8, salt=number.to_bytes(4))
        codes.append(int.from_bytes(code.digest()))
    return codes


@cache
def _blank() -> "MinHash":
    """Return an empty sketch, whose permutations are drawn once for all texts."""
    from datasketch import MinHash

    return MinHash(num_perm=_BANDS * _VALUES, seed=1, hashfunc=int)


def jaccard(first: Shingles, second: Shingles) -> float:
    """Return the size of the intersection of two sets over the size of their union."""
    common = np.intersect1d(first, second, assume_unique=True).size
    return float(common / (first.size + second.size - common))
