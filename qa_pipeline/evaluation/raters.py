"""Ratings of several people: how far they agree, and what the majority says of each item."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from qa_pipeline.errors import InputError
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
from qa_pipeline.storage.row_files import Fault

RATINGS = pl.Schema(
    {
        "file": pl.String(),
        "row": pl.Int64(),
        "item": pl.String(),
        "annotator": pl.String(),
        "criterion": pl.String(),
        "rating": pl.String(),
    }
)
"""One rating. Numbers are written as texts: 1, 1.0 and "1" are one rating."""
CRITERION = "rating"
"""What is rated where the rows do not say."""
LEAST_KAPPA = 0.6
"""Fleiss' kappa above which agreement is called substantial (Landis and Koch 1977), and consensus is used."""
_MOST_WHOLE = 1e15  # below it a float holds every whole number exactly
_KEY = ("item", "annotator", "criterion")


def _category(value: object) -> object:
    """Return a rating as a text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if not np.isfinite(value):
            raise PydanticCustomError("not_finite", "is no number")
        return str(int(value)) if value.is_integer() and abs(value) < _MOST_WHOLE else repr(value)
    return str(value) if isinstance(value, int) else value.strip() if isinstance(value, str) else value


Category = Annotated[Text, BeforeValidator(_category)]


class RatedItem(LabelledRow):
    """A rating of one annotator, or one item with the ratings of all.

    In the columns `id` is the row's place in the file, from 0, and `item` what is rated.
    """

    columns = pl.Schema(
        {
            **dict.fromkeys(("file", "id", "item", "criterion", "dataset"), pl.String()),
            "ratings": pl.List(pl.Struct({"annotator": pl.String(), "rating": pl.String()})),
        }
    )
    id: Text = Field(description="a text: what is rated")
    ratings: dict[Text, Category | None] = Field(
        description="annotator and rating, or an object of ratings by annotator"
    )
    criterion: Text | None = None
    dataset: Text | None = None

    @classmethod
    def from_values(cls, values: Row) -> Row:
        """Return a row of one rating as an item with one rating."""
        who, rating = values.get("annotator"), values.get("rating")
        if isinstance(who, str) and rating is not None:
            values = {**values, "ratings": {who: rating}}
        return super().from_values(values)

    def row(self) -> Row | Fault:
        """Return the item with its ratings; null is no rating."""
        rating_list = [{"annotator": who, "rating": rating} for who, rating in self.ratings.items() if rating]
        return {"item": self.id, "ratings": rating_list, **self.model_dump(exclude={"id", "ratings"})}


def read_ratings(places: Sequence[Path], categories: Sequence[str] = ()) -> Labelled:
    """Return the ratings (`RATINGS`) of files and folders, and what is left out (`LEFT_OUT`).

    A row is a rating (id, annotator, rating) or an item with an object of ratings by annotator; criterion is
    optional. An annotator's ratings of an item that contradict each other are all left out, reason
    `conflicting_ratings`; one that is repeated counts once, reason `repeated_rating`.

    Args:
        places: files and folders.
        categories: the ratings there may be; others are left out, reason `unknown_category`. None: any.

    Raises:
        InputError: a file cannot be read as a whole, or there is no rating that can be used.
    """
    files = [read_file(path, RatedItem) for path in labelled_files(places)]
    items = pl.concat([file.items for file in files]).explode("ratings").drop_nulls("ratings")
    rows = (
        items.unnest("ratings")
        .with_columns(pl.col("criterion").fill_null(CRITERION), row=pl.col("id").cast(pl.Int64) + 1)
        .select(RATINGS.names())
    )
    unknown = ~pl.col("rating").is_in(list(categories)) if categories else pl.lit(value=False)
    marked = rows.with_columns(
        reason=pl.when(unknown)
        .then(pl.lit("unknown_category"))
        .when(pl.col("rating").n_unique().over(_KEY) > 1)
        .then(pl.lit("conflicting_ratings"))
        .when(~pl.struct(_KEY).is_first_distinct())
        .then(pl.lit("repeated_rating"))
    )
    used = marked.filter(pl.col("reason").is_null()).select(RATINGS.names())
    if not used.height:
        raise InputError(f"{', '.join(map(str, places))}: no rating can be used; name a file of ratings")
    set_aside = (
        marked.drop_nulls("reason")
        .group_by("file", "reason", maintain_order=True)
        .agg(
            rows=pl.len().cast(pl.Int64),
            first_row=pl.col("row").first(),
            detail=pl.format("{} rated {} as {}", "annotator", "item", "rating").first(),
        )
    )
    return Labelled(used, pl.concat([*(file.left_out for file in files), set_aside.select(LEFT_OUT.names())]))


def of_criterion(rows: pl.DataFrame, name: str | None) -> pl.DataFrame:
    """Return the ratings of one criterion.

    Raises:
        InputError: there is no such criterion, or several and none is named.
    """
    criteria = rows["criterion"].unique().sort().to_list()
    if name not in criteria and (name is not None or len(criteria) > 1):
        raise InputError(f"--criterion {name or 'NAME'}: name one of {', '.join(criteria)}")
    return rows.filter(pl.col("criterion") == (name or criteria[0]))


def rating_figures(
    rows: pl.DataFrame, least_kappa: float = LEAST_KAPPA
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Return the figures of one criterion's ratings, and the consensus on each item.

    Args:
        rows: `RATINGS` of one criterion.
        least_kappa: Fleiss' kappa that has to be exceeded before a consensus is used: below it, and where
            kappa is unknown, no item gets a label (`low_agreement`).

    Returns:
        A document of `criterion`, `items`, `ratings`, `categories`, `annotators` (ratings of each), `kappa`,
        and of the consensus `least_kappa`, `is_used`, `labelled` and `set_aside` (items by reason); and a
        frame of item, ratings, label (null without consensus), reason for none (`one_rating`,
        `no_majority` or `low_agreement`), and share of the most frequent rating.
    """
    kappa = fleiss_kappa(rows)
    is_used = kappa is not None and kappa > least_kappa
    of_item = pl.col("rating").value_counts(sort=True)
    most = rows.group_by("item", maintain_order=True).agg(
        ratings=pl.len().cast(pl.Int64),
        best=of_item.first().struct.field("rating"),
        share=of_item.first().struct.field("count") / pl.len(),
    )
    reason = (
        pl.when(pl.col("ratings") < 2)
        .then(pl.lit("one_rating"))
        .when(pl.col("share") <= 0.5)
        .then(pl.lit("no_majority"))
        .when(not is_used)
        .then(pl.lit("low_agreement"))
    )
    agreed = most.with_columns(reason=reason).select(
        "item",
        "ratings",
        label=pl.when(pl.col("reason").is_null()).then("best"),
        reason="reason",
        share="share",
    )
    annotators = rows.group_by("annotator").agg(ratings=pl.len().cast(pl.Int64)).sort("annotator")
    figures = {
        "criterion": rows["criterion"][0],
        "items": agreed.height,
        "ratings": rows.height,
        "categories": rows["rating"].unique().sort().to_list(),
        "annotators": dict(annotators.iter_rows()),
        "kappa": kappa,
        "least_kappa": least_kappa,
        "is_used": is_used,
        "labelled": agreed["label"].count(),
        "set_aside": dict(agreed["reason"].drop_nulls().value_counts().sort("reason").rows()),
    }
    return figures, agreed


def fleiss_kappa(rows: pl.DataFrame) -> float | None:
    """Return Fleiss' kappa; None where it has no meaning.

    With unequal numbers of ratings an item's shares count alike (Fleiss 1971; Gwet 2014). Only items that
    two annotators rated say anything.
    """
    compared = rows.filter(pl.len().over("item") > 1)
    if not compared.height:
        return None
    table = compared.pivot("rating", index="item", values="annotator", aggregate_function="len")
    counts = table.drop("item").fill_null(0).to_numpy().astype(np.float64)
    totals = counts.sum(axis=1, keepdims=True)
    agreement = float(((counts * (counts - 1)) / (totals * (totals - 1))).sum(axis=1).mean())
    by_chance = float(((counts / totals).mean(axis=0) ** 2).sum())
    # of rounding error alone it is unknown
    return number((agreement - by_chance) / (1 - by_chance)) if 1 - by_chance > 1e-12 else None
