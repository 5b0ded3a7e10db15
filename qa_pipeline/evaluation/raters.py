"""Ratings of several people: their agreement, and the majority label of each item."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field

from qa_pipeline.evaluation.labelled_files import (
    LEFT_OUT,
    Labelled,
    LabelledRow,
    Row,
    Text,
    labelled_files,
    read_file,
)
from qa_pipeline.statistics import number

RATINGS = pl.Schema(dict.fromkeys(("file", "id", "item", "annotator", "rating", "dataset"), pl.String()))
"""A rating. `id` is the index of its row in the file, as a text. The ratings 1, 1.0 and "1" are equal."""
LEAST_KAPPA = 0.6
"""Fleiss' kappa above which agreement is substantial (Landis and Koch 1977) and the consensus is used."""


def _category(value: object) -> object:
    """Return a rating as a text; 1.0 is 1."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip() if isinstance(value, str | int | float) else value


class Rating(LabelledRow):
    """A rating of an item by an annotator."""

    columns = RATINGS
    id: Text = Field(description="a text: the rated item")
    annotator: Text = Field(description="a text: who rated it")
    rating: Annotated[Text, BeforeValidator(_category)] = Field(description="the rating, a text or a number")
    dataset: Text | None = None

    def row(self) -> Row:
        """Return the rating with its item; the column `id` is set later, to the index of the row."""
        return {"item": self.id, **self.model_dump(exclude={"id"})}


def read_ratings(paths: Sequence[Path]) -> Labelled:
    """Read ratings of files and folders (`RATINGS`); raises `InputError` without a usable rating.

    The field `id` of a file becomes the column `item`; the column `id` is the index of the row in its file.
    Only the first rating of an item by an annotator counts; others are left out as `repeated_rating`.
    """
    files = [read_file(path, Rating) for path in labelled_files(paths)]
    rows = pl.concat([file.items for file in files])
    is_first = pl.struct("item", "annotator").is_first_distinct()
    repeated = rows.filter(~is_first).group_by("file", maintain_order=True)
    repetitions = repeated.agg(
        reason=pl.lit("repeated_rating"),
        rows=pl.len().cast(pl.Int64),
        first_row=pl.col("id").first().cast(pl.Int64) + 1,  # 1 for the index "0"
        detail=pl.format("{} rated {} again", "annotator", "item").first(),
    )
    left_out = [*(file.left_out for file in files), repetitions.select(LEFT_OUT.names())]
    return Labelled(rows.filter(is_first), pl.concat(left_out))


def rating_figures(
    rows: pl.DataFrame, least_kappa: float = LEAST_KAPPA
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Return the figures of ratings, and the consensus on each item.

    Every item is set aside unless Fleiss' kappa exceeds `least_kappa`.

    Returns:
        A document of `items`, `ratings`, `categories`, `annotators` (ratings of each), `kappa`,
        `least_kappa`, `is_used`, `labelled` and `set_aside` (items by reason); and a frame of item, ratings,
        label (null without consensus), reason (`one_rating`, `no_majority` or `low_agreement`), and share of
        the most frequent rating.
    """
    kappa = fleiss_kappa(rows)
    is_used = kappa is not None and kappa > least_kappa
    ratings_by_count = pl.col("rating").value_counts(sort=True)  # of an item, the most frequent first
    items = rows.group_by("item", maintain_order=True).agg(
        ratings=pl.len().cast(pl.Int64),
        most_frequent=ratings_by_count.first().struct.field("rating"),
        share=ratings_by_count.first().struct.field("count") / pl.len(),
    )
    reason = (
        pl.when(pl.col("ratings") < 2)
        .then(pl.lit("one_rating"))
        .when(pl.col("share") <= 0.5)
        .then(pl.lit("no_majority"))
        .when(not is_used)
        .then(pl.lit("low_agreement"))
    )
    label = pl.when(pl.col("reason").is_null()).then("most_frequent").alias("label")
    consensus = items.with_columns(reason=reason).select("item", "ratings", label, "reason", "share")
    annotators = rows.group_by("annotator").agg(ratings=pl.len().cast(pl.Int64)).sort("annotator")
    figures = {
        "items": consensus.height,
        "ratings": rows.height,
        "categories": rows["rating"].unique().sort().to_list(),
        "annotators": dict(annotators.iter_rows()),
        "kappa": kappa,
        "least_kappa": least_kappa,
        "is_used": is_used,
        "labelled": consensus["label"].count(),
        "set_aside": dict(consensus["reason"].drop_nulls().value_counts().sort("reason").rows()),
    }
    return figures, consensus


def fleiss_kappa(rows: pl.DataFrame) -> float | None:
    """Return Fleiss' kappa of `RATINGS`, over items with two ratings or more; None if it is undefined.

    The shares of each item count equally, whatever its number of ratings (Fleiss 1971; Gwet 2014).
    """
    compared = rows.filter(pl.len().over("item") > 1)
    if not compared.height:
        return None
    table = compared.pivot("rating", index="item", values="annotator", aggregate_function="len")
    counts = table.drop("item").fill_null(0).to_numpy().astype(np.float64)  # items × categories
    totals = counts.sum(axis=1, keepdims=True)
    # the mean share of equal pairs among the pairs of ratings of an item
    agreement = float(((counts * (counts - 1)) / (totals * (totals - 1))).sum(axis=1).mean())
    by_chance = float(((counts / totals).mean(axis=0) ** 2).sum())
    if 1 - by_chance <= 1e-12:  # a rounding error: all ratings are equal
        return None
    return number((agreement - by_chance) / (1 - by_chance))
