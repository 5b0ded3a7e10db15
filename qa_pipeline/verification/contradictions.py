"""Contradictions between documents of a batch: two sentences that differ in one slot alone."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from operator import itemgetter
from typing import Any

import polars as pl

from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.tables import CONTRADICTIONS
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.lexicon.proof_words import proof_words
from qa_pipeline.text.reading import Reading
from qa_pipeline.verification.quotation import one_slot_denial
from qa_pipeline.verification.sources import SourceIndex, sources_of
from qa_pipeline.verification.units import Unit

_FEWEST_STEMS = 4
"""Content words of a sentence that is compared: fewer may be about different things."""
_MOST_ALIKE = 50
"""Sentences alike but for one slot that are compared with each other: more are entries of a register."""
_VERSION = re.compile(r"\d+(?:[.\-_]\d+)*")
_NUMBERED = re.compile(r"[^\W\d_a-zåäöß]\w*[ -]\d")


def find_contradictions(documents: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the contradictions between the documents of a batch, one row for each pair of sentences."""
    rows_by_id = {row["document_id"]: row for row in documents.iter_rows(named=True)}
    index = SourceIndex(sources_of(documents, chunks))
    alike: dict[tuple[str, ...], list[Unit]] = defaultdict(list)
    for chunk_id in index.sources:
        for unit in index.units(chunk_id):
            if _is_compared(unit):
                alike[_masked(unit.reading)].append(unit)
    rows = [
        _row(pair, reason, words, index, rows_by_id)
        for units in alike.values()
        if len(units) <= _MOST_ALIKE
        for pair, reason, words in _denials(units, index, rows_by_id)
    ]
    return CONTRADICTIONS.frame(sorted(rows, key=itemgetter("contradiction_id")))


def _is_compared(unit: Unit) -> bool:
    """Return True for a sentence that says by itself what it is about."""
    opens = unit.reading.opens_with(proof_words(unit.reading.language).pronouns)
    numbered = _NUMBERED.search(unit.text) is not None
    return not (unit.is_row or opens or numbered) and len(unit.reading.stems) >= _FEWEST_STEMS


def _masked(reading: Reading) -> tuple[str, ...]:
    """Return the tokens without numbers and negations: equal for sentences that may differ in one slot."""
    negations = lexicon(reading.language).negations
    tokens = (token for token in reading.tokens if token.casefold() not in negations)
    return (reading.language, *("#" if any(map(str.isdigit, token)) else token for token in tokens))


def _denials(
    units: Sequence[Unit], index: SourceIndex, documents: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[tuple[Unit, Unit], str, str]]:
    for first, second in combinations(units, 2):
        sides = [documents[index.sources[unit.chunk_id].document_id] for unit in (first, second)]
        denial = one_slot_denial(first.reading, second.reading, frozenset())
        if denial is not None and sides[0] != sides[1] and not _are_versions(*sides):
            yield (first, second), denial.reason.removesuffix("_mismatch"), denial.words


def _are_versions(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return True if path or title of two documents are the same but for their numbers."""
    for name in ("path", "title"):
        names = {str(side[name] or "") for side in (first, second)}
        if len(names) == 2 and len({_VERSION.sub("#", text) for text in names}) == 1:
            return True
    return False


def _row(
    pair: tuple[Unit, Unit],
    kind: str,
    words: str,
    index: SourceIndex,
    documents: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": kind, "detail": words}
    for side, unit in zip(("first", "second"), pair, strict=True):
        source = index.sources[unit.chunk_id]
        document = documents[source.document_id]
        start = source.start + unit.start
        row["batch"] = document["batch"]
        place = (source.document_id, document["content_sha256"], unit.chunk_id, start, start + len(unit.text))
        names = ("document_id", "content_sha256", "chunk_id", "start", "end")
        row |= {f"{side}_{name}": value for name, value in zip(names, place, strict=True)}
        row[f"{side}_quote"] = unit.text
    places = [f"{row[f'{side}_document_id']}\x1f{row[f'{side}_start']}" for side in ("first", "second")]
    return {**row, "contradiction_id": hash_text("\x1e".join([*places, pair[0].text, pair[1].text]))[:32]}
