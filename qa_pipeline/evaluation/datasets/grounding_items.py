"""Labelled items of grounding, and premises with hypotheses: whether passages support an answer."""

from typing import Annotated

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from qa_pipeline.evaluation.datasets.labelled_files import LabelledRow, Row, Text
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.row_files import Fault

ITEMS = pl.Schema(
    {
        "file": pl.String(),
        "id": pl.String(),
        "dataset": pl.String(),
        "task": pl.String(),
        "language": pl.String(),
        "question": pl.String(),
        "context": pl.List(pl.String()),
        "answer": pl.String(),
        "label": pl.Int8(),
        "spans": pl.List(pl.Struct({"start": pl.Int64(), "end": pl.Int64()})),
        "group_id": pl.String(),
    }
)
"""One row for each item that can be used. `label` is 1 where the context supports the answer, else 0."""


def _number(value: object) -> object:
    """Return 0.0 and 1.0 as labels, as frames with gaps write them; true and false are none."""
    return int(value) if isinstance(value, float) and value in (0.0, 1.0) else value


Label = Annotated[int, Field(ge=0, le=1), BeforeValidator(_number)]
LANGUAGE = "en, sv, de or another language code"


class _Span(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)
    start: int
    end: int


class Item(LabelledRow):
    """A labelled item of grounding; without `dataset` a file is a data set, named like it."""

    columns = ITEMS
    id: Text = Field(description="a text that no other row of the file has")
    language: Text = Field(description=LANGUAGE)
    context: list[str] = Field(description="a list of texts: the passages the answer should rest on")
    answer: Text = Field(description="the text to check")
    label: Label = Field(description="1 where the context supports the answer, 0 where it does not")
    group_id: Text = Field(description="a text that items of the same source share")
    dataset: Text | None = None
    task: str | None = None
    question: str | None = None
    spans: list[_Span] | None = None

    def row(self) -> Row | Fault:
        """Return the item, its spans within its answer."""
        length = len(self.answer)
        for span in self.spans or []:
            if not 0 <= span.start < span.end <= length:
                problem = f"span {span.start} to {span.end} of an answer of {length} letters"
                return Fault("span_outside_answer", problem)
        row = self.model_dump()
        return {**row, "spans": row["spans"] or []}


class Premise(LabelledRow):
    """A premise and a hypothesis, read as an item of grounding whose id is its place in the file, from 0."""

    columns = ITEMS
    premise: Text = Field(description="the text that the hypothesis should follow from")
    hypothesis: Text = Field(description="the text to check")
    language: Text = Field(description=LANGUAGE)
    label: Label = Field(description="1 where the premise entails the hypothesis, 0 where it does not")

    def row(self) -> Row | Fault:
        """Return the row, its premise being context and group."""
        return {
            "language": self.language,
            "context": [self.premise],
            "answer": self.hypothesis,
            "label": self.label,
            "spans": [],
            "group_id": self.premise,
        }


def draw(items: pl.DataFrame, limit: int | None) -> pl.DataFrame:
    """Return at most `limit` items of each data set, spread over as many groups as there are.

    Groups stand in the order of a hash, and each gives one item before any gives two. The draw depends on
    ids alone, and a smaller one is part of a larger one.
    """
    if limit is None:
        return items
    places = {
        f"{name}_place": pl.col(name).map_elements(hash_text, return_dtype=pl.String())
        for name in ("group_id", "id")
    }
    placed = items.with_columns(row=pl.int_range(pl.len()), **places)
    turn = pl.col("id_place").rank("ordinal").over("dataset", "group_id")
    ordered = placed.with_columns(turn=turn).sort("turn", "group_id_place", "id_place")
    drawn = ordered.filter(pl.int_range(pl.len()).over("dataset") < limit)
    return drawn.sort("row").select(items.columns)
