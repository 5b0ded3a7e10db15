"""Ratings of several annotators: how far they agree, and how far each can be trusted.

A figure is unknown where it has no meaning, and says why. Nobody's rating is preferred, but for gold ones.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError
from scipy.sparse import csr_array

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets import (
    LEFT_OUT,
    LIMITS,
    Fault,
    Labelled,
    LabelledRow,
    Row,
    Text,
    is_number,
    labelled_files,
    read_file,
)
from qa_pipeline.evaluation.statistics import Floats, Resamples, estimate
from qa_pipeline.settings.generation import PairsFileSettings
from qa_pipeline.verification.outcomes import wilson_interval

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
MOST_CATEGORIES = 30
_MOST_BLOCKS = 2_000
_MOST_WHOLE = 1e15
_KEY = ("item", "annotator", "criterion")


def _category(value: object) -> object:
    """A rating as a text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if not np.isfinite(value):
            raise PydanticCustomError("not_finite", "is no number")
        return str(int(value)) if value.is_integer() and abs(value) < _MOST_WHOLE else repr(value)
    return str(value) if isinstance(value, int) else value.strip() if isinstance(value, str) else value


def _is_rating(dtype: pl.DataType) -> bool:
    return dtype in (pl.String(), pl.Boolean()) or is_number(dtype)


Types = Mapping[str, tuple[Callable[[pl.DataType], bool], str]]
Category = Annotated[Text, BeforeValidator(_category)]


class _Rated(LabelledRow):
    id: Text = Field(description="a text: what is rated")
    criterion: Text | None = None
    group: Text | None = None
    dataset: Text | None = None

    @classmethod
    def columns(cls) -> pl.Schema:
        """`id` is the row's place in the file, from 0."""
        return pl.Schema(dict.fromkeys(("file", "id", "item", *list(cls.model_fields)[1:]), pl.String()))

    def row(self) -> Row | Fault:
        """The values, the item under a name of its own."""
        row = self.model_dump()
        return {"item": row.pop("id"), **row}


class Rating(_Rated):
    """One rating of one annotator."""

    types: ClassVar[Types] = {"rating": (_is_rating, "texts or numbers")}
    annotator: Text = Field(description="a text: who rated")
    rating: Category = Field(description="a category or a number")


class RatedItem(_Rated):
    """One item with the ratings of all annotators."""

    types: ClassVar[Types] = {
        "ratings": (lambda dtype: isinstance(dtype, pl.Struct), "an object: annotator to rating")
    }
    ratings: dict[Text, Category | None] = Field(description="an object: annotator to rating")

    @classmethod
    def columns(cls) -> pl.Schema:
        """The ratings as a list."""
        said = pl.List(pl.Struct({"annotator": pl.String(), "rating": pl.String()}))
        return pl.Schema({**super().columns(), "ratings": said})

    def row(self) -> Row | Fault:
        """The item with its ratings; null is none."""
        said = [{"annotator": who, "rating": one} for who, one in self.ratings.items() if one]
        row = self.model_dump() | {"ratings": said}
        return {"item": row.pop("id"), **row}


def read_ratings(
    places: Sequence[Path], categories: Sequence[str] = (), limits: PairsFileSettings = LIMITS
) -> Labelled:
    """Ratings (`RATINGS`) of files and folders, and what is left out of them (`LEFT_OUT`).

    A row is a rating (id, annotator, rating) or an item with an object of ratings by annotator; criterion and
    group are optional. An annotator's ratings of an item that contradict each other are all left out, reason
    `conflicting_ratings`; one that is repeated counts once, reason `repeated_rating`.

    Args:
        places: files and folders.
        categories: the ratings there may be; others are left out, reason `unknown_category`. None: any.
        limits: bytes and rows of a file, bytes of a line.

    Raises:
        InputError: a file cannot be read as a whole, lacks a column or holds no rating that can be used.
    """
    files = [
        read_file(path, lambda columns: RatedItem if "ratings" in columns else Rating, limits)
        for path in labelled_files(places)
    ]
    flat = [
        one.items.explode("ratings").drop_nulls("ratings").unnest("ratings")
        if "ratings" in one.items.columns
        else one.items
        for one in files
    ]
    rows = pl.concat([one.with_columns(row=pl.col("id").cast(pl.Int64) + 1) for one in flat], how="diagonal")
    used, set_aside = _usable(
        rows.with_columns(pl.col("criterion").fill_null(CRITERION)).select(RATINGS.names()), categories
    )
    if not used.height:
        raise InputError(f"{', '.join(map(str, places))}: no rating can be used; name a file of ratings")
    return Labelled(used, pl.concat([*(one.left_out for one in files), set_aside]))


def _usable(rows: pl.DataFrame, categories: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    unknown = ~pl.col("rating").is_in(list(categories)) if categories else pl.lit(value=False)
    several = pl.col("rating").n_unique().over(_KEY) > 1
    marked = rows.with_columns(unknown=unknown).with_columns(
        conflict=~pl.col("unknown") & several, first=pl.struct(_KEY).is_first_distinct()
    )
    reasons = {
        "unknown_category": (pl.col("unknown"), "{} rated {} outside the categories named"),
        "conflicting_ratings": (pl.col("conflict"), "{} rated {} in more than one way"),
        "repeated_rating": (
            ~pl.col("unknown") & ~pl.col("conflict") & ~pl.col("first"),
            "{} rated {} so before",
        ),
    }
    left_out = [
        marked.filter(which)
        .group_by("file", maintain_order=True)
        .agg(
            reason=pl.lit(reason),
            rows=pl.len().cast(pl.Int64),
            first_row=pl.col("row").first(),
            detail=pl.format(words, "annotator", "item").first(),
        )
        for reason, (which, words) in reasons.items()
    ]
    used = marked.filter(~pl.any_horizontal(which for which, _ in reasons.values()))
    told = [LEFT_OUT.to_frame(), *(one.select(LEFT_OUT.names()) for one in left_out)]
    return used.select(rows.columns), pl.concat(told)


def of_criterion(rows: pl.DataFrame, name: str | None) -> pl.DataFrame:
    """The ratings of one criterion.

    Raises:
        InputError: there is no such criterion, or several and none is named.
    """
    there = rows["criterion"].unique().sort().to_list()
    if name not in there and (name is not None or len(there) > 1):
        raise InputError(f"--criterion {name or 'NAME'}: name one of {', '.join(there)}")
    return rows.filter(pl.col("criterion") == (name or there[0]))


@dataclass(frozen=True)
class Panel:
    """Ratings of one criterion, as places in lists: of items, annotators and categories.

    Args:
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
        """Ratings of each item and category: shape (items, categories)."""
        shape = len(self.items), len(self.categories)
        flat = np.bincount(self.item * shape[1] + self.category, minlength=shape[0] * shape[1])
        return flat.reshape(shape).astype(np.float64)

    @property
    def few(self) -> bool:
        """Whether there are few enough categories to be counted by category."""
        return len(self.categories) <= MOST_CATEGORIES


def panel(rows: pl.DataFrame, order: Sequence[str] = ()) -> Panel:
    """The ratings (`RATINGS`) of one criterion, each annotator and item once.

    Args:
        rows: without gold ones.
        order: all categories, from low to high; numbers have an order of their own.

    Raises:
        InputError: there are more than `MOST_ANNOTATORS`, or `order` lacks a category.
    """
    categories = rows["rating"].unique().sort().to_list()
    annotators = rows["annotator"].unique().sort().to_list()
    if len(annotators) > MOST_ANNOTATORS:
        raise InputError(f"{len(annotators)} annotators, at most {MOST_ANNOTATORS} are compared; part them")
    if order and (strange := [one for one in categories if one not in order]):
        raise InputError(f"rating {strange[0]!r} is none of the ordered ones: {', '.join(order)}")
    categories = list(order or categories)
    numbers = pl.Series(categories, dtype=pl.String()).cast(pl.Float64, strict=False)
    values = numbers.to_numpy() if numbers.is_finite().fill_null(value=False).all() else None
    if values is not None:
        categories = [categories[place] for place in np.argsort(values)]
        values = np.sort(values)
    items = rows.group_by("item", maintain_order=True).agg(pl.col("group").drop_nulls().first())
    codes = rows.select(
        pl.col("item").cast(pl.Enum(items["item"])).to_physical().cast(pl.Int64),
        pl.col("annotator").cast(pl.Enum(annotators)).to_physical().cast(pl.Int64),
        pl.col("rating").cast(pl.Enum(categories)).to_physical().cast(pl.Int64),
    )
    return Panel(
        item=codes["item"].to_numpy(),
        annotator=codes["annotator"].to_numpy(),
        category=codes["rating"].to_numpy(),
        items=items["item"].to_list(),
        groups=items.select(pl.coalesce("group", "item"))["group"].to_list(),
        annotators=annotators,
        categories=categories,
        values=values,
        ordered=bool(order) or values is not None,
    )


def agreement(rated: Panel, resamples: int = 1000, seed: int = 0) -> list[dict[str, Any]]:
    """Agreement with 95 % intervals over resampled groups: name, value, low, high and why it is unknown.

    `fleiss_kappa` (Fleiss 1971; with unequal numbers of ratings an item's shares count alike, Gwet 2014) and
    Krippendorff's alpha (2011) for nominal, ordinal and interval ratings. Only items that two annotators
    rated say anything. With more than 2,000 groups these are drawn in 2,000 blocks; a
    single group has no interval.
    """
    compared = rated.counts.sum(axis=1) >= 2 if rated.few else np.bincount(rated.item) >= 2
    names = ("fleiss_kappa", "alpha_nominal", "alpha_ordinal", "alpha_interval")
    why = {name: _unknown(name, rated, int(compared.sum())) for name in names}
    sums = _block_sums(rated, compared)
    found: dict[str, Floats] = {}
    if len(sums):
        places = [str(place) for place in range(len(sums))]
        found = Resamples(places, "agreement", resamples if len(sums) > 1 else 0, seed).over(
            lambda weights: _agreement_of(weights @ sums, rated)
        )
    told = []
    for name in names:
        known = why[name] is None
        of = estimate(found[name]) if known else estimate(np.array([np.nan]))
        same = known and of["value"] is None
        told.append({"name": name, **of, "unknown": "all ratings are the same" if same else why[name]})
    return told


def _unknown(name: str, rated: Panel, compared: int) -> str | None:
    if len(rated.annotators) < 2:
        return "there is one annotator"
    if not compared:
        return "no item was rated by two annotators"
    if name == "alpha_interval":
        return None if rated.values is not None else "ratings are no numbers"
    if not rated.few:
        return f"more than {MOST_CATEGORIES} different ratings"
    return None if name != "alpha_ordinal" or rated.ordered else "categories have no order"


def _block_sums(rated: Panel, compared: npt.NDArray[np.bool_]) -> Floats:
    """What the figures need, added up over the items of a block of groups: shape (blocks, sums)."""
    blocks = pl.Series(rated.groups).rank("dense").to_numpy().astype(np.int64) - 1
    blocks = np.unique(blocks[compared] % _MOST_BLOCKS, return_inverse=True)[1]
    size, many = (int(blocks.max()) + 1 if len(blocks) else 0), len(blocks)
    adding = csr_array((np.ones(many), (blocks, np.arange(many))), shape=(size, many))
    parts = [_number_sums(rated)[compared]]
    if rated.few:
        counts = rated.counts[compared]
        total = counts.sum(axis=1, keepdims=True)
        same = (counts**2).sum(axis=1, keepdims=True)
        parts += [(same - total) / (total * (total - 1)), (total**2 - same) / (total - 1)]
        parts += [counts / total, counts]
        parts += [counts * counts[:, [place]] / (total - 1) for place in range(counts.shape[1])]
    sums: Floats = np.hstack([adding @ part for part in parts])
    return sums


def _number_sums(rated: Panel) -> Floats:
    """Of each item: one, ratings, their sum, sum of squares, squared differences of pairs of ratings."""
    values = np.zeros(len(rated.categories)) if rated.values is None else rated.values - rated.values.mean()
    of = values[rated.category]
    many = np.bincount(rated.item).astype(np.float64)
    first, second = (np.bincount(rated.item, weights=of**power) for power in (1, 2))
    apart = 2 * (many * second - first**2) / np.maximum(many - 1, 1)
    return np.column_stack([np.ones(len(many)), many, first, second, np.maximum(apart, 0)])


def _agreement_of(sums: Floats, rated: Panel) -> dict[str, Floats]:
    items, total, first, second, apart = sums[:, :5].T
    found = {"alpha_interval": _alpha(apart, 2 * (total * second - first**2), total)}
    if not rated.few:
        return found
    size = len(rated.categories)
    alike, differ = sums[:, 5:7].T
    shares, counts = sums[:, 7 : 7 + size] / items[:, None], sums[:, 7 + size : 7 + 2 * size]
    together = sums[:, 7 + 2 * size :].reshape(-1, size, size)
    by_chance = (shares**2).sum(axis=1)
    # the distance of two ranks is the number of ratings between their middles
    ranks = counts.cumsum(axis=1) - counts / 2
    squared = (ranks[:, :, None] - ranks[:, None, :]) ** 2
    expected = np.einsum("bc,bk,bck->b", counts, counts, squared)
    return found | {
        "fleiss_kappa": _beyond(alike / items - by_chance, 1 - by_chance),
        "alpha_nominal": _alpha(differ, total**2 - (counts**2).sum(axis=1), total),
        "alpha_ordinal": _alpha((together * squared).sum(axis=(1, 2)), expected, total),
    }


def _alpha(observed: Floats, expected: Floats, total: Floats) -> Floats:
    return 1 - _beyond((total - 1) * observed, expected)


def _beyond(part: Floats, whole: Floats) -> Floats:
    """Part of whole, unknown where the whole is nothing but rounding."""
    blank = np.full(len(part), np.nan)
    shares: Floats = np.divide(part, whole, out=blank, where=whole > 1e-12)
    return shares


def annotators(rated: Panel, gold: Collection[tuple[str, str]] = ()) -> pl.DataFrame:
    """Each annotator: ratings, how often right by the majority of the others, and by gold ratings.

    Columns: annotator, ratings, always (the only rating given, else null) and, for `others` and `gold`, the
    share `X`, `X_low` and `X_high` (Wilson 1927) and how many were `X_compared`.

    Args:
        rated: ratings of one criterion.
        gold: items and their right ratings.
    """
    told, by_others = _majority_of_others(rated)
    frame = pl.DataFrame(
        {
            "item": np.array(rated.items, dtype=object)[rated.item],
            "annotator": np.array(rated.annotators, dtype=object)[rated.annotator],
            "rating": np.array(rated.categories, dtype=object)[rated.category],
            "by_others": told & (by_others == rated.category),
            "told": told,
        },
        schema_overrides={"item": pl.String(), "annotator": pl.String(), "rating": pl.String()},
    )
    right = pl.DataFrame(list(gold), schema={"item": pl.String(), "right": pl.String()}, orient="row")
    counted = (
        frame.join(right, on="item", how="left")
        .group_by("annotator")
        .agg(
            ratings=pl.len(),
            always=pl.when(pl.col("rating").n_unique() == 1).then(pl.col("rating").first()),
            others_right=pl.col("by_others").sum(),
            others_compared=pl.col("told").sum(),
            gold_right=(pl.col("rating") == pl.col("right")).sum(),
            gold_compared=pl.col("right").count(),
        )
        .sort("annotator")
    )
    return counted.select("annotator", "ratings", "always", *_shares("others"), *_shares("gold"))


def _majority_of_others(rated: Panel) -> tuple[npt.NDArray[np.bool_], Codes]:
    """Of each rating, whether the others of its item have a majority, and which."""
    if not rated.few:
        return np.zeros(len(rated.item), dtype=np.bool_), rated.category
    others = rated.counts[rated.item]
    others[np.arange(len(others)), rated.category] -= 1
    return others.max(axis=1) * 2 > others.sum(axis=1), others.argmax(axis=1)


def _shares(name: str) -> list[pl.Expr]:
    right, compared = pl.col(f"{name}_right"), pl.col(f"{name}_compared")
    low, high = wilson_interval(right, compared)
    known = compared > 0
    return [
        pl.when(known).then(right / compared).alias(name),
        pl.when(known).then(low).alias(f"{name}_low"),
        pl.when(known).then(high).alias(f"{name}_high"),
        compared.alias(f"{name}_compared"),
    ]


def pairs(rated: Panel) -> pl.DataFrame:
    """Every two annotators: first, second, items in common, and the share rated alike; null without any."""
    size = len(rated.annotators)
    table = np.full((size, len(rated.items)), -1, dtype=np.int16 if len(rated.categories) < 30_000 else int)
    table[rated.annotator, rated.item] = rated.category
    found = []
    for first in range(size):
        both = (table[first] >= 0) & (table[first + 1 :] >= 0)
        alike = ((table[first] == table[first + 1 :]) & both).sum(axis=1)
        many = both.sum(axis=1)
        found += [
            (
                rated.annotators[first],
                rated.annotators[first + 1 + place],
                int(many[place]),
                int(alike[place]),
            )
            for place in range(len(many))
        ]
    schema = {"first": pl.String(), "second": pl.String(), "common": pl.Int64(), "alike": pl.Float64()}
    frame = pl.DataFrame(found, schema=schema, orient="row")
    return frame.with_columns(alike=pl.when(pl.col("common") > 0).then(pl.col("alike") / pl.col("common")))
