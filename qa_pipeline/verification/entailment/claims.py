"""How far its passages entail and contradict a claim, and which of its words they do not support.

Which texts a claim of a batch is read with, what of the models' scores becomes the claim's, and its columns
of the claims table. A claim is read whatever its citations are worth: local steps always all run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from qa_pipeline.records import ProgressCallback, index_text, no_progress
from qa_pipeline.settings.verification import EntailmentSettings
from qa_pipeline.tables import CLAIMS
from qa_pipeline.verification.entailment.files import Scores
from qa_pipeline.verification.entailment.spans import Answer, SpanDetector, Words, flagged, support
from qa_pipeline.verification.entailment.tokens import CLAIM_SHARE, PairReader

if TYPE_CHECKING:
    from qa_pipeline.verification.entailment.models import CrossEncoder

Row = Mapping[str, Any]

PAIR_BELOW = 0.8
"""Pairs of passages are read where the best single passage entails less."""
MOST_PASSAGES = 8
"""Cited passages read for a claim: its evidence, then by shared words."""
FLAG_FROM = 0.5
"""Probability from which a word is flagged: more likely unsupported than not."""
_GROUP = 256
_LEAST_ROOM = 8
_MOST_PAIRS = 3
"""Pairs of passages read for a claim, the best ones: further ones hardly ever entail more."""
_BETWEEN = "\n"
_BORDERS = 4
"""Tokens kept free where two passages stand together: words at a border may be cut otherwise there."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A claim and the texts that should prove it."""

    claim: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Scores of a claim; None is unknown, and `reason` then says why.

    `passages` has the places of the passage or pair that entails it most.
    """

    entailment: float | None = None
    contradiction: float | None = None
    neutral: float | None = None
    passages: tuple[int, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text read for one claim, and the passages it is of."""

    row: int
    text: str
    passages: tuple[int, ...]


def search(
    asked: Sequence[Asked],
    model: "CrossEncoder",
    settings: EntailmentSettings,
    notify: ProgressCallback = no_progress,
    *,
    pair_below: float = PAIR_BELOW,
) -> list[Found]:
    """Score claims against windows of their passages, then against pairs of passages where none suffices.

    A claim has the largest entailment and the largest contradiction over its windows. It is unknown with the
    reason `empty_claim`, `claim_too_long`, `no_passage` or `model_nan` (one number that is none leaves the
    largest of all numbers unknown).

    Args:
        asked: claims with their passages.
        model: reads a passage and a claim.
        settings: sizes.
        notify: receives how many claims are done.
        pair_below: pairs are read for a claim whose best single passage entails less.
    """
    found: list[Found] = []
    for start in range(0, len(asked), _GROUP):
        found += _search_group(asked[start : start + _GROUP], model, settings.window_tokens, pair_below)
        model.reader.forget()
        notify(len(found), len(asked))
    return found


def room_for(claim: str, reader: PairReader) -> int | None:
    """Tokens of a passage that fit beside a claim; None where the claim takes too many itself."""
    tokens = reader.count(claim)
    room = reader.most_tokens - reader.overhead - tokens
    too_long = tokens > CLAIM_SHARE * reader.most_tokens or room < _LEAST_ROOM
    return None if too_long else room


def _search_group(
    asked: Sequence[Asked], model: "CrossEncoder", window_tokens: int, pair_below: float
) -> list[Found]:
    reader = model.reader
    reader.learn(text for one in asked for text in (one.claim, *one.passages))
    rooms = [room_for(one.claim, reader) for one in asked]
    pieces = [
        piece
        for row, (one, room) in enumerate(zip(asked, rooms, strict=True))
        if room is not None and one.claim.strip()
        for piece in _windows(row, one, reader, min(room, window_tokens))
    ]
    scores = _scores(pieces, asked, model)
    found = [
        _best(one, room, [piece for piece, _ in of_row], [score for _, score in of_row])
        for one, room, of_row in zip(asked, rooms, _by_row(pieces, scores, len(asked)), strict=True)
    ]
    return _with_pairs(found, asked, rooms, _by_row(pieces, scores, len(asked)), model, pair_below)


def _windows(row: int, one: Asked, reader: PairReader, most: int) -> Iterator[_Piece]:
    for place, passage in enumerate(one.passages):
        for window in reader.windows(passage, most):
            yield _Piece(row, passage[window.start : window.end], (place,))


def _scores(pieces: Sequence[_Piece], asked: Sequence[Asked], model: "CrossEncoder") -> Scores:
    return model.probabilities([(piece.text, asked[piece.row].claim) for piece in pieces])


def _by_row(pieces: Sequence[_Piece], scores: Scores, rows: int) -> list[list[tuple[_Piece, Scores]]]:
    grouped: list[list[tuple[_Piece, Scores]]] = [[] for _ in range(rows)]
    for piece, score in zip(pieces, scores, strict=True):
        grouped[piece.row].append((piece, score))
    return grouped


def _best(one: Asked, room: int | None, pieces: Sequence[_Piece], scores: Sequence[Scores]) -> Found:
    if not one.claim.strip():
        return Found(reason="empty_claim")
    if room is None:
        return Found(reason="claim_too_long")
    if not pieces:
        return Found(reason="no_passage")
    table = np.stack(scores)
    if np.isnan(table[:, 0]).any():
        return Found(reason="model_nan")
    place = int(table[:, 0].argmax())
    return Found(
        entailment=float(table[place, 0]),
        contradiction=_known(float(table[:, 2].max())),
        neutral=_known(float(table[place, 1])),
        passages=pieces[place].passages,
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _with_pairs(
    found: list[Found],
    asked: Sequence[Asked],
    rooms: Sequence[int | None],
    singles: Sequence[Sequence[tuple[_Piece, Scores]]],
    model: "CrossEncoder",
    pair_below: float,
) -> list[Found]:
    pieces = [
        pair
        for row, (one, room) in enumerate(zip(found, rooms, strict=True))
        if room is not None and one.entailment is not None and one.entailment < pair_below
        for pair in _pairs(singles[row], asked[row].claim, room, model.reader, _MOST_PAIRS)
    ]
    scores = _scores(pieces, asked, model)
    merged = list(found)
    for piece, score in zip(pieces, scores, strict=True):
        merged[piece.row] = _better(merged[piece.row], piece, score)
    return merged


def _better(one: Found, piece: _Piece, score: Scores) -> Found:
    if one.entailment is None:
        return one
    if np.isnan(score[0]):
        return Found(reason="model_nan")
    if score[0] <= one.entailment:
        return one
    return Found(float(score[0]), one.contradiction, _known(float(score[1])), piece.passages)


def _pairs(
    singles: Sequence[tuple[_Piece, Scores]], claim: str, room: int, reader: PairReader, most: int
) -> Iterator[_Piece]:
    """Pairs of the best windows of different passages, best first, each in the order of its passages."""
    best: dict[tuple[int, ...], _Piece] = {}
    for piece, _ in sorted(singles, key=lambda one: -one[1][0]):
        best.setdefault(piece.passages, piece)
    ranked = sorted(
        combinations(enumerate(best.values()), 2), key=lambda two: (two[0][0] + two[1][0], two[0][0])
    )
    for (_, one), (_, other) in islice(ranked, most):
        first, second = sorted((one, other), key=lambda piece: piece.passages)
        texts = _fitted(first.text, second.text, claim, room - _BORDERS, reader)
        if texts is not None:
            yield _Piece(first.row, _BETWEEN.join(texts), first.passages + second.passages)


def _fitted(first: str, second: str, claim: str, room: int, reader: PairReader) -> tuple[str, str] | None:
    """Both texts, or as much of each as fits: the parts that share most tokens with the claim."""
    sizes = reader.count(first), reader.count(second)
    if sum(sizes) <= room:
        return first, second
    half = room // 2
    most_first = max(half, room - sizes[1])
    most_second = room - min(sizes[0], most_first)
    if min(most_first, most_second) < _LEAST_ROOM:
        return None
    return _nearest(first, claim, most_first, reader), _nearest(second, claim, most_second, reader)


def _nearest(text: str, claim: str, most: int, reader: PairReader) -> str:
    """The window of a text that shares most tokens with the claim; the first of equals."""
    slices = [text[one.start : one.end] for one in reader.windows(text, most, most // 2)]
    wanted = set(reader.ids(claim))
    return max(slices, key=lambda part: len(wanted & set(reader.ids(part))))


def fill_entailment(
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    chunks: pl.DataFrame,
    model: "CrossEncoder | None",
    settings: EntailmentSettings,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Score every claim against the chunks it cites.

    Args:
        claims: rows of the claims table.
        pairs: the pairs they belong to, for the questions of fragments.
        chunks: the batch's chunks.
        model: the cross-encoder; None leaves the columns as they are.
        settings: sizes.
        notify: hears how many claims are done.

    Returns:
        CLAIMS frame, in the order given.
    """
    if model is None or not claims.height:
        return claims
    read = claims_with_chunks(claims, pairs)
    texts = chunk_texts(chunks)
    asked = [
        Asked(stated(row), tuple(texts[i] for i in row["chunk_ids"])) for row in read.iter_rows(named=True)
    ]
    found = search(asked, model, settings, notify)
    columns: dict[str, list[Any]] = {
        "entailment": [one.entailment for one in found],
        "contradiction": [one.contradiction for one in found],
        "neutral": [one.neutral for one in found],
        "entailment_chunk_ids": [
            [ids[place] for place in one.passages] if one.passages else None
            for one, ids in zip(found, read["chunk_ids"].to_list(), strict=True)
        ],
        "entailment_model": [model.name] * len(found),
        "entailment_reason": [one.reason for one in found],
    }
    schema = CLAIMS.schema
    series = [pl.Series(name, values, dtype=schema[name]) for name, values in columns.items()]
    return CLAIMS.conform(claims.with_columns(series))


def claims_with_chunks(claims: pl.DataFrame, pairs: pl.DataFrame, most: int = MOST_PASSAGES) -> pl.DataFrame:
    """Text, fragment, question and chunk_ids of each claim in order; its evidence's chunk is the first."""
    questions = pairs.select("pair_id", "question", "answer")
    ids = pl.concat_list(
        pl.concat_list("evidence_chunk_id").list.drop_nulls(), pl.col("candidate_chunk_ids").fill_null([])
    )
    return claims.select(
        "pair_id",
        "text",
        "start",
        "end",
        "fragment",
        ids.list.unique(maintain_order=True).list.head(most).alias("chunk_ids"),
    ).join(questions, on="pair_id", how="left", maintain_order="left")


def chunk_texts(chunks: pl.DataFrame) -> dict[str, str]:
    """What is read of each chunk: its headings tell what its text is about."""
    columns = chunks.select("chunk_id", "section_path", "text").iter_rows()
    return {chunk_id: index_text(path, text) for chunk_id, path, text in columns}


def stated(row: Row) -> str:
    """The claim; a fragment together with the question it answers, without which it states nothing."""
    question = row["question"] or ""
    return f"{question} {row['text']}".strip() if row["fragment"] else str(row["text"])


def fill_spans(
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    chunks: pl.DataFrame,
    detector: "SpanDetector | None",
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Have the detector read every answer, and give each claim its part.

    Args:
        claims: rows of the claims table.
        pairs: the pairs they belong to.
        chunks: the batch's chunks.
        detector: None leaves the columns as they are.
        notify: hears how many answers are read.

    Returns:
        CLAIMS frame, in the order given.
    """
    if detector is None or not claims.height:
        return claims
    rows = claims_with_chunks(claims, pairs).to_dicts()
    texts = chunk_texts(chunks)
    asked = {
        pair_id: Answer(of_pair[0]["question"] or "", tuple(texts[i] for i in _chunks(of_pair)), text)
        for pair_id, of_pair in _by_pair(rows).items()
        if (text := of_pair[0]["answer"]) is not None
    }
    words = dict(zip(asked, detector.read(list(asked.values()), notify), strict=True))
    parts = [_part(row, words[row["pair_id"]]) for row in rows]
    columns = {
        name: [part.get(name) for part in parts] for name in ("flagged_spans", "span_support", "span_reason")
    }
    columns["span_model"] = [detector.name] * len(rows)
    schema = CLAIMS.schema
    series = [pl.Series(name, values, dtype=schema[name]) for name, values in columns.items()]
    return CLAIMS.conform(claims.with_columns(series))


def _by_pair(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    grouped: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        grouped.setdefault(row["pair_id"], []).append(row)
    return grouped


def _chunks(rows: list[dict[str, Any]]) -> list[str]:
    """The first chunk of each claim, then the second of each, as many as are read."""
    ranked = zip_longest(*(row["chunk_ids"] for row in rows))
    return list(dict.fromkeys(i for rank in ranked for i in rank if i is not None))[:MOST_PASSAGES]


def _part(row: dict[str, Any], words: "Words") -> dict[str, Any]:
    if words.reason is not None:
        return {"span_reason": words.reason}
    spans = flagged(words, row["start"], row["end"], FLAG_FROM)
    share = support(words, row["start"], row["end"])
    return {
        "flagged_spans": [{"start": one.start, "end": one.end, "score": one.score} for one in spans],
        "span_support": share,
        "span_reason": "empty_claim" if share is None else None,
    }
