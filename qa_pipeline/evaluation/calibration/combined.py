"""Fitting the combined score on labelled sets.

Every set counts alike and in it both labels do, so that 0.5 is the one threshold whatever the sets' sizes and
shares. An item of several claims stands and falls with its least supported one, which is chosen by the
model of the round before (multiple instances, Andrews et al. 2002). The curves rise or fall only: each is a
sum of steps whose heights have one sign, found by bounded quasi-Newton. Slope and offset of the calibration
come from sets left out in turn, so that a probability holds for texts of a shape not fitted on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.calibration.rows import LabelledSet
from qa_pipeline.verification.combined import (
    FEATURES,
    Calibration,
    CombinedModel,
    Source,
    Term,
    feature_matrix,
)

Array = npt.NDArray[np.float64]
_ROUNDS = 3
_LOWEST, _HIGHEST = 0.01, 0.99
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How curves are fitted: `segments` straight pieces each, `ridge` times the sum of squared weights."""

    features: tuple[str, ...] = tuple(FEATURES)
    segments: int = 1
    ridge: float = 0.003


@dataclass(frozen=True)
class Curves:
    """Fitted terms before they are calibrated."""

    intercept: float
    terms: tuple[Term, ...]

    def log_odds(self, claims: pl.DataFrame) -> Array:
        """Uncalibrated log odds of each claim."""
        matrix = feature_matrix(claims, [term.feature for term in self.terms])
        columns = (
            np.where(np.isnan(column), term.missing, np.interp(column, term.at, term.adds))
            for column, term in zip(matrix.T, self.terms, strict=True)
        )
        return np.asarray(self.intercept + np.sum(list(columns), axis=0), dtype=np.float64)


def fit_model(
    sets: Sequence[LabelledSet],
    embedding_model: str,
    embedding_revision: str,
    *,
    name: str = "combined",
    fitted_on: date,
    licence_note: str = "",
    options: FitOptions = FitOptions(),
) -> CombinedModel:
    """Fit and calibrate a model on labelled sets.

    Raises:
        InputError: a set lacks items of one of the labels.
    """
    for one in sets:
        labels = set(one.items["label"].to_list())
        if labels != {0, 1}:
            raise InputError(f"{one.name} needs items of both labels to fit on, it has {sorted(labels)}")
    curves = fit_curves(sets, options)
    return CombinedModel(
        format=1,
        name=name,
        fitted_on=fitted_on.isoformat(),
        licence_note=licence_note,
        embedding_model=embedding_model,
        embedding_revision=embedding_revision,
        data=tuple(Source(file=one.name, sha256=one.sha256, items=one.items.height) for one in sets),
        intercept=curves.intercept,
        terms=curves.terms,
        calibration=calibrate(sets, options),
    )


def fit_curves(sets: Sequence[LabelledSet], options: FitOptions) -> Curves:
    """The terms that part supported from unsupported items best."""
    claims = pl.concat([one.claims for one in sets])
    matrix = feature_matrix(claims, options.features)
    knots = [_knots(column, options.segments) for column in matrix.T]
    design, owners = _design(matrix, knots)
    groups = np.concatenate([np.full(one.claims.height, place) for place, one in enumerate(sets)])
    items = np.concatenate([one.claims["item"].to_numpy() for one in sets])
    labels = np.concatenate([one.items["label"].to_numpy()[one.claims["item"].to_numpy()] for one in sets])
    chosen = np.ones(len(labels), dtype=bool)
    signs = np.array([1.0 if FEATURES[options.features[o]][1] == "rising" else -1.0 for o in owners])
    weights = np.zeros(1)
    for _ in range(_ROUNDS):
        shares = _balanced(groups, labels, chosen)
        weights = _bounded_logistic(design * signs, labels, shares, options.ridge)
        scores = (design * signs) @ weights[1:]
        chosen = _least(groups, items, scores)
    return _curves(weights[0], signs * weights[1:], owners, knots, matrix, options)


def _knots(column: Array, segments: int) -> Array:
    """Places where the pieces of a curve meet: even quantiles, at least two."""
    known = column[~np.isnan(column)]
    if not known.size:
        return np.array([0.0, 1.0])
    places = np.unique(np.quantile(known, np.linspace(_LOWEST, _HIGHEST, segments + 1)).round(_DIGITS))
    return places if len(places) > 1 else np.array([places[0], places[0] + 1.0])


def _design(matrix: Array, knots: Sequence[Array]) -> tuple[Array, list[int]]:
    """How far each value has climbed each piece, 0 to 1; an unknown value stands at the mean."""
    columns, owners = [], []
    for owner, (column, places) in enumerate(zip(matrix.T, knots, strict=True)):
        for low, high in pairwise(places):
            climbed = np.clip((column - low) / (high - low), 0.0, 1.0)
            columns.append(np.where(np.isnan(climbed), _mean(climbed), climbed))
            owners.append(owner)
    return np.column_stack(columns), owners


def _mean(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else 0.0


def _balanced(groups: npt.NDArray[np.int64], labels: Array, chosen: npt.NDArray[np.bool_]) -> Array:
    """Weights by which every label of every set counts alike; they sum to 1."""
    keys = groups * 2 + labels
    counts = np.bincount(keys[chosen].astype(np.int64), minlength=int(keys.max()) + 1)
    weights = np.where(chosen, 1.0 / np.maximum(counts[keys.astype(np.int64)], 1), 0.0)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _bounded_logistic(design: Array, labels: Array, shares: Array, ridge: float) -> Array:
    """Intercept and weights of 0 or more that minimise the weighted log loss plus ridge."""
    from scipy.optimize import minimize

    used = shares > 0
    x, y, w = design[used], labels[used], shares[used]

    def loss(weights: Array) -> tuple[float, Array]:
        scores = weights[0] + x @ weights[1:]
        value = w @ (np.logaddexp(0.0, scores) - y * scores) + ridge * weights[1:] @ weights[1:] / 2
        slope = w * (1.0 / (1.0 + np.exp(-scores)) - y)
        return float(value), np.concatenate([[slope.sum()], x.T @ slope + ridge * weights[1:]])

    bounds = [(None, None), *[(0.0, None)] * x.shape[1]]
    found = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x, dtype=np.float64)


def _least(
    groups: npt.NDArray[np.int64], items: npt.NDArray[np.int64], scores: Array
) -> npt.NDArray[np.bool_]:
    """The claim with the lowest score of each item."""
    order = np.lexsort((scores, items, groups))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(groups[order]) != 0) | (np.diff(items[order]) != 0)
    chosen = np.zeros(len(order), dtype=bool)
    chosen[order[new]] = True
    return chosen


def _curves(
    intercept: float,
    heights: Array,
    owners: Sequence[int],
    knots: Sequence[Array],
    matrix: Array,
    options: FitOptions,
) -> Curves:
    terms = []
    for owner, name in enumerate(options.features):
        own = heights[np.array(owners) == owner]
        adds = np.concatenate([[0.0], np.cumsum(own)]).round(_DIGITS)
        at = knots[owner]
        column = matrix[:, owner]
        values = np.interp(column[~np.isnan(column)], at, adds)
        missing = round(float(values.mean()) if values.size else 0.0, _DIGITS)
        if np.any(adds):
            terms.append(Term(feature=name, at=tuple(at), adds=tuple(adds), missing=missing))
    return Curves(round(float(intercept), _DIGITS), tuple(terms))


def calibrate(sets: Sequence[LabelledSet], options: FitOptions) -> Calibration:
    """Slope and offset from each set scored by a model of the others; with one set there is none to leave."""
    if len(sets) < 2:
        return Calibration()
    scores, labels, groups = [], [], []
    for place, left_out in enumerate(sets):
        curves = fit_curves([one for one in sets if one is not left_out], options)
        lowest = item_minimum(left_out, curves.log_odds(left_out.claims))
        known = ~np.isnan(lowest)
        scores.append(lowest[known])
        labels.append(left_out.items["label"].to_numpy()[known])
        groups.append(np.full(int(known.sum()), place))
    y, g = np.concatenate(labels), np.concatenate(groups)
    shares = _balanced(g, y, np.ones(len(y), dtype=bool))
    weights = _bounded_logistic(np.concatenate(scores)[:, None], y, shares, 0.0)
    slope = max(float(weights[1]), 1e-3)
    return Calibration(slope=round(slope, _DIGITS), offset=round(float(weights[0]), _DIGITS))


def item_minimum(one: LabelledSet, scores: Array) -> Array:
    """The lowest score of each item's claims, in order of the items; NaN for an item without claims."""
    lowest = np.full(one.items.height, np.inf)
    np.minimum.at(lowest, one.claims["item"].to_numpy(), scores)
    return np.where(np.isinf(lowest), np.nan, lowest)
