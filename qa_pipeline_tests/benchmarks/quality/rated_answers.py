"""Answers that people rated, read from files, alone or beside labelled items."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import polars as pl
from pydantic import BeforeValidator, Field

from qa_pipeline.evaluation.datasets.grounding_items import LANGUAGE, Item
from qa_pipeline.evaluation.datasets.labelled_files import (
    LIMITS,
    LabelledRow,
    Row,
    Text,
    labelled_files,
    read_file,
)
from qa_pipeline.settings.generation import PairsFileSettings
from qa_pipeline.storage.row_files import Fault


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
RATED = pl.Schema(
    {
        **dict.fromkeys(
            ("file", "id", "dataset", "language", "passage", "question", "answer", "group_id"), pl.String()
        ),
        **dict.fromkeys(RATINGS, pl.Float64()),
    }
)


class Rated(LabelledRow):
    """One answer with people's ratings."""

    columns = RATED
    id: Text = Field(description="a text that no other row of the file has")
    dataset: Text = Field(description="the name of the data set")
    language: Text = Field(description=LANGUAGE)
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
        """Return the answer, which has one rating at least."""
        row = self.model_dump()
        if all(row[name] is None for name in RATINGS):
            return Fault("missing_field", f"no rating; one of {', '.join(RATINGS)} should hold a number")
        return row


def read_rated(
    places: Sequence[Path], limits: PairsFileSettings = LIMITS
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Read rated answers (`Rated`), labelled items (`ITEMS`) and the rows left out of both (`LEFT_OUT`).

    A file with the column label holds items.

    Raises:
        InputError: a file cannot be read as a whole, lacks a column or holds no row that can be used.
    """
    read = [
        read_file(path, lambda columns: Item if "label" in columns else Rated, limits)
        for path in labelled_files(places)
    ]
    rated, items = (
        pl.concat([schema.to_frame(), *(file.items for file in read if file.items.schema == schema)])
        for schema in (Rated.columns, Item.columns)
    )
    return rated, items, pl.concat([file.left_out for file in read])
