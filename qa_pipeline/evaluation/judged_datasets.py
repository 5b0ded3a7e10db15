"""What people said of answers, as a judge is compared with it: ratings of one answer, or a choice of two."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
from pydantic import BeforeValidator, Field

from qa_pipeline.evaluation.datasets import (
    LANGUAGE,
    LIMITS,
    Item,
    LabelledRow,
    Row,
    Text,
    is_number,
    labelled_files,
    read_file,
)
from qa_pipeline.row_files import Fault
from qa_pipeline.settings.generation import PairsFileSettings


def _rating(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("is no number")
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


Rating = Annotated[float | None, BeforeValidator(_rating)]
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


class _Judged(LabelledRow):
    id: Text = Field(description="a text that no other row of the file has")
    dataset: Text = Field(description="the name of the data set")
    language: Text = Field(description=LANGUAGE)


class Rated(_Judged):
    """One answer with people's ratings."""

    types = dict.fromkeys(RATINGS, (is_number, "numbers, higher is better"))
    passage: Text = Field(description="the text the answer rests on")
    question: Text = Field(description="the question")
    answer: Text = Field(description="the answer")
    group_id: Text = Field(description="a text that items of the same source share")
    fluency: Rating = None
    clarity: Rating = None
    conciseness: Rating = None
    relevance: Rating = None
    consistency: Rating = None
    answerability: Rating = None
    answer_consistency: Rating = None

    def row(self) -> Row | Fault:
        """The answer, with one rating at least."""
        row = self.model_dump()
        if all(row[name] is None for name in RATINGS):
            return Fault("missing_field", f"no rating; one of {', '.join(RATINGS)} should hold a number")
        return row


class Paired(_Judged):
    """Two responses to one task, and which one people prefer; without a group, those about a task are one."""

    prompt: Text = Field(description="the task both responses answer")
    response_a: Text = Field(description="the first response")
    response_b: Text = Field(description="the second response")
    preferred: Literal["a", "b", "tie"] = Field(description="which one people prefer: a, b or tie")
    group_id: Text | None = None

    def row(self) -> Row | Fault:
        """The pair with a group."""
        return self.model_dump() | {"group_id": self.group_id or self.prompt}


def read_judged(
    places: Sequence[Path], limits: PairsFileSettings = LIMITS
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Ratings (`Rated`), choices (`Paired`) and what is left out of both (`LEFT_OUT`).

    A file with the column response_a holds choices.

    Raises:
        InputError: a file cannot be read as a whole, lacks a column or holds no row that can be used.
    """
    return _read_two(places, Rated, "response_a", Paired, limits)


def read_opinions(
    places: Sequence[Path], limits: PairsFileSettings = LIMITS
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Ratings (`Rated`), labelled items (`ITEMS`) and what is left out of both (`LEFT_OUT`).

    A file with the column label holds items.

    Raises:
        InputError: a file cannot be read as a whole, lacks a column or holds no row that can be used.
    """
    return _read_two(places, Rated, "label", Item, limits)


def _read_two(
    places: Sequence[Path],
    usual: type[LabelledRow],
    column: str,
    other: type[LabelledRow],
    limits: PairsFileSettings,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The rows of the usual files, those of files that have a column, and what is left out of both."""
    read = [
        read_file(path, lambda columns: other if column in columns else usual, limits)
        for path in labelled_files(places)
    ]
    first, second = (
        pl.concat([schema.to_frame(), *(one.items for one in read if one.items.schema == schema)])
        for schema in (usual.columns(), other.columns())
    )
    return first, second, pl.concat([one.left_out for one in read])
