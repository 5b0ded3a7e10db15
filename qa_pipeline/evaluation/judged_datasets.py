"""What people said of answers, as a judge is compared with it: ratings of one answer, or a choice of two."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
from pydantic import BeforeValidator

from qa_pipeline.evaluation.datasets import (
    LEFT_OUT,
    LIMITS,
    Fault,
    Row,
    Shape,
    StrictRow,
    Text,
    checked,
    column_names,
    is_number,
    labelled_files,
    read_file,
)
from qa_pipeline.settings.generation import PairsFileSettings

RATINGS = (
    "fluency",
    "clarity",
    "conciseness",
    "relevance",
    "consistency",
    "answerability",
    "answer_consistency",
)
"""What people rate, higher is better; a file has one of them at least."""

_COMMON = {
    "id": "a text that no other row of the file has",
    "dataset": "the name of the data set",
    "language": "en, sv, de or another language code",
}
_RATED = {
    **_COMMON,
    "passage": "the text the answer rests on",
    "question": "the question",
    "answer": "the answer",
    "group_id": "a text that items of the same source share",
}
_PAIRED = {
    **_COMMON,
    "prompt": "the task both responses answer",
    "response_a": "the first response",
    "response_b": "the second response",
    "preferred": "which one people prefer: a, b or tie",
}
_TEXTS = dict.fromkeys(("file", "group_id"), pl.String())


def _rating(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("is no number")
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


Rating = Annotated[float | None, BeforeValidator(_rating)]


class _Rated(StrictRow):
    id: Text
    dataset: Text
    language: Text
    passage: Text
    question: Text
    answer: Text
    group_id: Text
    fluency: Rating = None
    clarity: Rating = None
    conciseness: Rating = None
    relevance: Rating = None
    consistency: Rating = None
    answerability: Rating = None
    answer_consistency: Rating = None


class _Paired(StrictRow):
    id: Text
    dataset: Text
    language: Text
    prompt: Text
    response_a: Text
    response_b: Text
    preferred: Literal["a", "b", "tie"]
    group_id: Text | None = None


def check_rated(values: Row) -> Row | Fault:
    """Check one row of ratings."""
    row = checked(_Rated, values, _RATED, RATINGS)
    if not isinstance(row, Fault) and all(row[name] is None for name in RATINGS):
        return Fault("missing_field", f"no rating; one of {', '.join(RATINGS)} should hold a number")
    return row


def check_paired(values: Row) -> Row | Fault:
    """Check one row of choices; without a group, those about one task are a group."""
    row = checked(_Paired, values, _PAIRED, ("group_id",))
    return row if isinstance(row, Fault) else {**row, "group_id": row["group_id"] or row["prompt"]}


RATED = Shape(
    needed=_RATED,
    optional=RATINGS,
    types=dict.fromkeys(RATINGS, (is_number, "numbers, higher is better")),
    check=check_rated,
    schema=pl.Schema(
        {**_TEXTS, **dict.fromkeys(_RATED, pl.String()), **dict.fromkeys(RATINGS, pl.Float64())}
    ),
)
"""One answer with people's ratings."""
PAIRED = Shape(
    needed=_PAIRED,
    optional=("group_id",),
    types={},
    check=check_paired,
    schema=pl.Schema({**_TEXTS, **dict.fromkeys(_PAIRED, pl.String())}),
)
"""Two responses to one task, and which one people prefer."""


def read_judged(
    places: Sequence[Path], limits: PairsFileSettings = LIMITS
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Ratings (`RATED.schema`), choices (`PAIRED.schema`) and what is left out of both (`LEFT_OUT`).

    A file with the column response_a holds choices.

    Raises:
        InputError: a file cannot be read as a whole, lacks a column or holds no row that can be used.
    """
    frames = {True: [PAIRED.schema.to_frame()], False: [RATED.schema.to_frame()]}
    left_out = [LEFT_OUT.to_frame()]
    for path in labelled_files(places):
        choices = "response_a" in column_names(path, limits)
        read = read_file(path, PAIRED if choices else RATED, limits)
        frames[choices].append(read.items)
        left_out.append(read.left_out)
    return pl.concat(frames[False]), pl.concat(frames[True]), pl.concat(left_out)
