"""What several annotators agree on, item by item: by majority, or by the model of Dawid and Skene."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.review.annotations import GOLD, Panel, agreement, annotators, pairs, panel
from qa_pipeline.statistics import Floats

Method = Literal["majority", "dawid-skene"]
LEAST_KAPPA = 0.6
"""Fleiss' kappa above which agreement is called substantial (Landis and Koch 1977), and consensus is used."""


@dataclass(frozen=True)
class DawidSkene:
    """The estimates of Dawid and Skene (1979).

    Args:
        posterior: probability of each category being right: shape (items, categories).
        prior: how frequent each right category is.
        confusion: of each annotator, how often each category is said of each right one: shape (annotators,
            right, said).
        objectives: penalised log-likelihood before each step, never falling.
        converged: whether the last step gained less than the tolerance.
    """

    posterior: Floats
    prior: Floats
    confusion: Floats
    objectives: list[float]
    converged: bool


_LEAST = 1e-300  # keeps the logarithm of zero finite


def dawid_skene(
    rated: Panel, *, smoothing: float = 0.01, tolerance: float = 1e-9, most: int = 500
) -> DawidSkene:
    """Fit by expectation and maximisation, beginning with the shares of the ratings of each item.

    The model cannot tell a category from another under which all annotators err; to begin with shares takes
    the solution in which most of them are right.

    Args:
        rated: ratings; several of one annotator and item count each.
        smoothing: ratings added to each cell of each annotator's confusion, so that nothing is impossible.
        tolerance: gain of log-likelihood for each item below which a step is the last.
        most: steps.
    """
    from scipy.sparse import csr_array
    from scipy.special import logsumexp

    size, people = len(rated.categories), len(rated.annotators)
    places = rated.annotator * size + rated.category
    rating_counts = csr_array(
        (np.ones(len(places)), (rated.item, places)), shape=(len(rated.items), people * size)
    )
    said_by = rating_counts.T.tocsr()
    posterior = rated.counts / rated.counts.sum(axis=1, keepdims=True)
    objectives: list[float] = []
    while True:
        prior = posterior.mean(axis=0)
        cells = (said_by @ posterior).reshape(people, size, size).transpose(0, 2, 1) + smoothing
        totals = cells.sum(axis=2, keepdims=True)
        confusion = np.divide(cells, totals, out=np.full(cells.shape, 1 / size), where=totals > 0)
        logs = np.log(np.maximum(confusion, _LEAST))
        joint = rating_counts @ logs.transpose(0, 2, 1).reshape(people * size, size)
        joint += np.log(np.maximum(prior, _LEAST))
        joint_sums = logsumexp(joint, axis=1, keepdims=True)
        posterior = np.exp(joint - joint_sums)
        objectives.append(float(joint_sums.sum() + smoothing * logs.sum()))
        converged = len(objectives) > 1 and objectives[-1] - objectives[-2] <= tolerance * len(posterior)
        if converged or len(objectives) == most:
            return DawidSkene(posterior, prior, confusion, objectives, converged)


def consensus(rated: Panel, fitted: DawidSkene | None = None, least: float = 0.8) -> pl.DataFrame:
    """Return the consensus of the annotators on each item; one rating is no consensus.

    Args:
        rated: ratings of one criterion.
        fitted: for the most likely category; without it, that of more than half of the ratings.
        least: probability below which the most likely category is no consensus.

    Returns:
        item, group, ratings (how many), label (null without consensus), reason for none (`one_rating`,
        `no_majority` or `unlikely`), and the share of the most frequent rating, or the probability of the
        most likely one.
    """
    total = rated.counts.sum(axis=1)
    shares = rated.counts / total[:, None] if fitted is None else fitted.posterior
    most = shares.max(axis=1)
    return pl.DataFrame(
        {
            "item": rated.items,
            "group": rated.groups,
            "ratings": total.astype(np.int64),
            "best": [rated.categories[place] for place in shares.argmax(axis=1)],
            "agreed": most > 0.5 if fitted is None else most >= least,
            "share": most,
        }
    ).select(
        "item",
        "group",
        "ratings",
        label=pl.when("agreed", pl.col("ratings") > 1).then("best"),
        reason=pl.when(pl.col("ratings") < 2)
        .then(pl.lit("one_rating"))
        .when(~pl.col("agreed"))
        .then(pl.lit("no_majority" if fitted is None else "unlikely")),
        share="share",
    )


def annotation_figures(
    rows: pl.DataFrame,
    method: Method = "majority",
    *,
    gold: str = GOLD,
    order: Sequence[str] = (),
    resamples: int = 1000,
    least_kappa: float = LEAST_KAPPA,
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Return all figures of one criterion's ratings, about items and annotators.

    Args:
        rows: `RATINGS` of one criterion.
        method: of the consensus: more than half of the ratings, or the model of Dawid and Skene.
        gold: the annotator whose ratings are known to be right; no annotator is compared with it but by them.
        order: categories from low to high.
        resamples: of the intervals.
        least_kappa: Fleiss' kappa that has to be exceeded before a consensus is used: below it, and where
            kappa is unknown, no item gets a label (`low_agreement`).

    Returns:
        A document of `items`, `ratings`, `categories`, `agreement`, frames `annotators` and `pairs`, and
        `consensus`: the method, the kappa asked for and whether it was exceeded, items with a label, those
        without by reason, steps and convergence of the model, and how often each annotator says what of each
        label; and the `consensus` itself.

    Raises:
        InputError: there are only gold ratings, or what `panel` refuses.
    """
    people = rows.filter(pl.col("annotator") != gold)
    if not people.height:
        raise InputError(f"all ratings are of {gold!r}, which is gold; there is no annotator to compare")
    rated = panel(people, order)
    fitted = dawid_skene(rated) if method == "dawid-skene" else None
    agreements = agreement(rated, resamples)
    kappa = next(row["value"] for row in agreements if row["name"] == "fleiss_kappa")
    is_used = kappa is not None and kappa > least_kappa
    agreed = consensus(rated, fitted)
    if not is_used:
        withheld = pl.when(pl.col("label").is_not_null()).then(pl.lit("low_agreement")).otherwise("reason")
        agreed = agreed.with_columns(reason=withheld).with_columns(label=pl.lit(None, pl.String()))
    confusion = (
        people.join(agreed.select("item", "label").drop_nulls(), on="item")
        .group_by("annotator", "label", "rating")
        .agg(count=pl.len().cast(pl.Int64))
        .sort("annotator", "label", "rating")
    )
    return {
        "criterion": rows["criterion"][0],
        "items": len(rated.items),
        "ratings": people.height,
        "categories": rated.categories,
        "agreement": agreements,
        "annotators": annotators(rated, rows.filter(pl.col("annotator") == gold)),
        "pairs": pairs(rated),
        "consensus": {
            "method": method,
            "least_kappa": least_kappa,
            "is_used": is_used,
            "labelled": agreed["label"].count(),
            "set_aside": dict(agreed["reason"].drop_nulls().value_counts().sort("reason").rows()),
            "steps": None if fitted is None else len(fitted.objectives),
            "converged": None if fitted is None else fitted.converged,
            "confusion": confusion,
        },
    }, agreed
