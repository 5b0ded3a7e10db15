"""Ratings of several annotators: how far they agree, and how far each can be trusted.

A figure is unknown where it has no meaning, and says why. Nobody's rating is preferred, but for gold ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets.labelled_files import (
    LEFT_OUT,
    LIMITS,
    Labelled,
    LabelledRow,
    Row,
    Text,
    labelled_files,
    read_file,
)
from qa_pipeline.settings.generation import PairsFileSettings
from qa_pipeline.statistics import Estimate, Floats, Resamples, estimate, wilson_interval
from qa_pipeline.storage.row_files import Fault

Codes = npt.NDArray[np.int64]
RATINGS = pl.Schema(
    {
        "file": pl.String(),
        "row": pl.Int64(),
        "item": pl.String(),
        "annotator": pl.String(),
        "criterion": pl.String(),
        "rating": pl.String(),
        "group": pl.String(),
    }
)
"""One rating. Numbers are written as texts: 1, 1.0 and "1" are one rating."""
CRITERION = "rating"
"""What is rated where the rows do not say."""
GOLD = "gold"
"""The annotator whose ratings are known to be right."""
MOST_ANNOTATORS = 100
"""Every two are compared: 4,950 pairs, each over all items."""
MOST_CATEGORIES = 101
"""Different ratings that are compared: as many as there are whole percents."""
_MOST_BLOCKS = 500
"""Blocks of groups that are resampled: memory grows with blocks and squares of categories."""
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
            **dict.fromkeys(("file", "id", "item", "criterion", "group", "dataset"), pl.String()),
            "ratings": pl.List(pl.Struct({"annotator": pl.String(), "rating": pl.String()})),
        }
    )
    other_names = True
    id: Text = Field(description="a text: what is rated")
    ratings: dict[Text, Category | None] = Field(
        description="annotator and rating, or an object of ratings by annotator"
    )
    criterion: Text | None = None
    group: Text | None = None
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


def read_ratings(
    places: Sequence[Path], categories: Sequence[str] = (), limits: PairsFileSettings = LIMITS
) -> Labelled:
    """Return the ratings (`RATINGS`) of files and folders, and what is left out (`LEFT_OUT`).

    A row is a rating (id, annotator, rating) or an item with an object of ratings by annotator; criterion and
    group are optional. An annotator's ratings of an item that contradict each other are all left out, reason
    `conflicting_ratings`; one that is repeated counts once, reason `repeated_rating`.

    Args:
        places: files and folders.
        categories: the ratings there may be; others are left out, reason `unknown_category`. None: any.
        limits: bytes and rows of a file, bytes of a line.

    Raises:
        InputError: a file cannot be read as a whole, or there is no rating that can be used.
    """
    files = [read_file(path, lambda _: RatedItem, limits) for path in labelled_files(places)]
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


@dataclass(frozen=True)
class Panel:
    """Ratings of one criterion, as places in lists: of items, annotators and categories.

    Args:
        rows: the ratings (`RATINGS`).
        item: of each rating.
        annotator: of each rating.
        category: of each rating.
        items: names, in the order in which they appear.
        groups: of each item; an item without one is its own.
        annotators: names, sorted.
        categories: names: numbers by value, else as ordered, else sorted.
        values: of the categories, where all are numbers.
        ordered: whether the order of the categories means something.
    """

    rows: pl.DataFrame
    item: Codes
    annotator: Codes
    category: Codes
    items: list[str]
    groups: list[str]
    annotators: list[str]
    categories: list[str]
    values: Floats | None
    ordered: bool

    @cached_property
    def counts(self) -> Floats:
        """Return the number of ratings of each item and category: shape (items, categories)."""
        shape = len(self.items), len(self.categories)
        flat = np.bincount(self.item * shape[1] + self.category, minlength=shape[0] * shape[1])
        return flat.reshape(shape).astype(np.float64)


def panel(rows: pl.DataFrame, order: Sequence[str] = ()) -> Panel:
    """Return the ratings (`RATINGS`) of one criterion, each annotator and item once.

    Args:
        rows: without gold ones.
        order: all categories, from low to high; numbers have an order of their own.

    Raises:
        InputError: there are more than `MOST_ANNOTATORS` or `MOST_CATEGORIES`, or `order` lacks a category.
    """
    categories = rows["rating"].unique().sort().to_list()
    annotators = rows["annotator"].unique().sort().to_list()
    if len(annotators) > MOST_ANNOTATORS:
        raise InputError(f"{len(annotators)} annotators, at most {MOST_ANNOTATORS} are compared; part them")
    if len(categories) > MOST_CATEGORIES:
        raise InputError(f"{len(categories)} different ratings, at most {MOST_CATEGORIES}; round them")
    if order and (unknown := [category for category in categories if category not in order]):
        raise InputError(f"rating {unknown[0]!r} is none of the ordered ones: {', '.join(order)}")
    categories = list(order or categories)
    numbers = pl.Series(categories, dtype=pl.String()).cast(pl.Float64, strict=False)
    values = numbers.to_numpy() if numbers.is_finite().fill_null(value=False).all() else None
    if values is not None:
        categories = [categories[place] for place in np.argsort(values)]
        values = np.sort(values)
    items = rows.group_by("item", maintain_order=True).agg(pl.col("group").drop_nulls().first())
    names = {"item": items["item"].to_list(), "annotator": annotators, "rating": categories}
    codes = rows.select(
        pl.col(name).cast(pl.Enum(categories_known)).to_physical().cast(pl.Int64)
        for name, categories_known in names.items()
    )
    return Panel(
        rows=rows,
        item=codes["item"].to_numpy(),
        annotator=codes["annotator"].to_numpy(),
        category=codes["rating"].to_numpy(),
        items=names["item"],
        groups=items.select(pl.coalesce("group", "item"))["group"].to_list(),
        annotators=annotators,
        categories=categories,
        values=values,
        ordered=bool(order) or values is not None,
    )


AGREEMENTS = ("fleiss_kappa", "alpha_nominal", "alpha_ordinal", "alpha_interval")


def agreement(rated: Panel, resamples: int = 1000, seed: int = 0) -> list[dict[str, Any]]:
    """Return the agreement over resampled groups: name, value, low, high, and why it is unknown.

    `fleiss_kappa` (Fleiss 1971; with unequal numbers of ratings an item's shares count alike, Gwet 2014) and
    Krippendorff's alpha (2011) for nominal, ordinal and interval ratings. Only items that two annotators
    rated say anything. With more than 500 groups these are drawn in 500 blocks; a single group has no
    interval.
    """
    why = _without_meaning(rated)
    figures = {}
    if set(why) != set(AGREEMENTS):
        sums = _block_sums(rated)
        places = [str(place) for place in range(len(sums))]
        draws = Resamples(places, "agreement", resamples if len(sums) > 1 else 0, seed)
        figures = draws.over(lambda weights: _agreement_of(weights @ sums, rated))
    rows = []
    for name in AGREEMENTS:
        of = Estimate(value=None, low=None, high=None) if name in why else estimate(figures[name])
        unknown = why.get(name, "all ratings are the same" if of["value"] is None else None)
        rows.append({"name": name, **of, "unknown": unknown})
    return rows


def _without_meaning(rated: Panel) -> dict[str, str]:
    """Return the figures that no ratings of this kind can have, and why."""
    if len(rated.annotators) < 2:
        return dict.fromkeys(AGREEMENTS, "there is one annotator")
    if rated.counts.sum(axis=1).max() < 2:
        return dict.fromkeys(AGREEMENTS, "no item was rated by two annotators")
    why = {} if rated.ordered else {"alpha_ordinal": "categories have no order"}
    return why if rated.values is not None else why | {"alpha_interval": "ratings are no numbers"}


def _block_sums(rated: Panel) -> Floats:
    """Return the sums the figures need over the items of a block of groups: shape (blocks, sums).

    Items, the shares of their pairs of ratings that are alike, the share of each category, and the
    coincidences of every two categories (Krippendorff 2011).
    """
    from scipy.sparse import csr_array

    compared = rated.counts.sum(axis=1) >= 2
    groups = pl.Series(rated.groups).rank("dense").to_numpy().astype(np.int64)[compared] - 1
    blocks = np.unique(groups % _MOST_BLOCKS, return_inverse=True)[1]
    adding = csr_array((np.ones(len(blocks)), (blocks, np.arange(len(blocks)))))
    counts = rated.counts[compared]
    total = counts.sum(axis=1, keepdims=True)
    others = counts / (total - 1)
    parts = [np.ones_like(total), (counts * (counts - 1)).sum(axis=1, keepdims=True) / (total * (total - 1))]
    parts.append(counts / total)
    for place in range(counts.shape[1]):
        together = counts[:, [place]] * others
        together[:, place] -= others[:, place]
        parts.append(together)
    return np.hstack([adding @ part for part in parts])


def _agreement_of(sums: Floats, rated: Panel) -> dict[str, Floats]:
    items, alike = sums[:, :2].T
    size = len(rated.categories)
    by_chance = ((sums[:, 2 : 2 + size] / items[:, None]) ** 2).sum(axis=1)
    together = sums[:, 2 + size :].reshape(-1, size, size)
    counts = together.sum(axis=2)
    # the distance of two ranks is the number of ratings between their middles
    ranks = counts.cumsum(axis=1) - counts / 2
    values = np.zeros(size) if rated.values is None else rated.values
    return {
        "fleiss_kappa": _share(alike / items - by_chance, 1 - by_chance),
        "alpha_nominal": _alpha(together, counts, 1 - np.eye(size)),
        "alpha_ordinal": _alpha(together, counts, _squared_distances(ranks)),
        "alpha_interval": _alpha(together, counts, _squared_distances(values)),
    }


def _squared_distances(places: Floats) -> Floats:
    return np.asarray((places[..., :, None] - places[..., None, :]) ** 2)


def _alpha(together: Floats, counts: Floats, apart: Floats) -> Floats:
    """Return Krippendorff's alpha of each resample, from coincidences and squared distances of categories."""
    observed = (together * apart).sum(axis=(1, 2))
    expected = (counts[:, :, None] * counts[:, None, :] * apart).sum(axis=(1, 2))
    return 1 - _share((counts.sum(axis=1) - 1) * observed, expected)


def _share(part: Floats, total: Floats) -> Floats:
    """Return the share of a part in the total, unknown where the total is rounding error."""
    blank = np.full(len(part), np.nan)
    return np.asarray(np.divide(part, total, out=blank, where=total > 1e-12))


def annotators(rated: Panel, gold: pl.DataFrame) -> pl.DataFrame:
    """Return each annotator's ratings, and how often the others' majority and gold agree.

    Columns: annotator, ratings, always (the only rating given, else null) and, for `others` and `gold`, the
    share `X`, `X_low` and `X_high` (Wilson 1927) and how many were `X_compared`.

    Args:
        rated: ratings of one criterion.
        gold: the right ratings (`RATINGS`); there may be none.
    """
    others = rated.counts[rated.item]
    others[np.arange(len(others)), rated.category] -= 1
    has_majority = others.max(axis=1) * 2 > others.sum(axis=1)
    counted = (
        rated.rows.with_columns(
            is_compared=has_majority, as_others=has_majority & (others.argmax(axis=1) == rated.category)
        )
        .join(gold.select("item", right="rating"), on="item", how="left")
        .group_by("annotator")
        .agg(
            ratings=pl.len(),
            always=pl.when(pl.col("rating").n_unique() == 1).then(pl.col("rating").first()),
            others_right=pl.col("as_others").sum(),
            others_compared=pl.col("is_compared").sum(),
            gold_right=(pl.col("rating") == pl.col("right")).sum(),
            gold_compared=pl.col("right").count(),
        )
        .sort("annotator")
    )
    return counted.select("annotator", "ratings", "always", *_shares("others"), *_shares("gold"))


def _shares(name: str) -> list[pl.Expr]:
    right, compared = pl.col(f"{name}_right"), pl.col(f"{name}_compared")
    low, high = wilson_interval(right, compared)
    return [
        pl.when(compared > 0).then(right / compared).alias(name),
        low.alias(f"{name}_low"),
        high.alias(f"{name}_high"),
        compared.alias(f"{name}_compared"),
    ]


def pairs(rated: Panel) -> pl.DataFrame:
    """Return every two annotators: first, second, common items, share rated alike; null without any."""
    table = np.full((len(rated.annotators), len(rated.items)), -1)
    table[rated.annotator, rated.item] = rated.category
    pairs_found = []
    for first, second in combinations(range(len(table)), 2):
        both = (table[first] >= 0) & (table[second] >= 0)
        common, alike = int(both.sum()), int((table[first] == table[second])[both].sum())
        names = rated.annotators[first], rated.annotators[second]
        pairs_found.append((*names, common, alike / common if common else None))
    schema = {"first": pl.String(), "second": pl.String(), "common": pl.Int64(), "alike": pl.Float64()}
    return pl.DataFrame(pairs_found, schema=schema, orient="row")
