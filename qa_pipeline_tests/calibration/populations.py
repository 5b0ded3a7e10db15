"""Labelled scores drawn from populations whose true precision at every threshold is known."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from qa_pipeline.calibration.fitting import fit_side


@dataclass(frozen=True)
class Population:
    """Scores are uniform in 0..1; `support` is the chance that a row of a score is right.

    `mean` is the mean of that chance over the scores from a threshold on: the true precision there, whatever
    the groups. In a group of `rows` rows that hold together, one draw decides all of them.
    """

    support: Callable[[np.ndarray], np.ndarray]
    mean: Callable[[float], float]
    rows: int = 1


def draw(population: Population, groups: int, generator: np.random.Generator) -> pl.DataFrame:
    size = groups * population.rows
    group = np.repeat(np.arange(groups), population.rows)
    score = generator.random(size)
    luck = generator.random(groups)[group]
    order = generator.permutation(size)
    right = luck < population.support(score)
    return pl.DataFrame({"group": group[order], "right": right[order], "score": score[order]})


def broken_promises(population: Population, *, target: float, groups: int, trials: int, seed: int) -> float:
    """Share of calibrations that choose a threshold whose true precision misses the target."""
    generator = np.random.default_rng(seed)
    broken = 0
    for _ in range(trials):
        fit = fit_side(draw(population, groups, generator), "accept", target=target, confidence=0.95)
        broken += fit.threshold is not None and population.mean(fit.threshold) < target
    return broken / trials


def rising(low: float, rows: int = 1) -> Population:
    """The chance rises in a straight line from `low` to 1."""
    return Population(
        lambda score: low + (1 - low) * score, lambda limit: low + (1 - low) * (1 + limit) / 2, rows
    )


def level(chance: float, rows: int = 1) -> Population:
    """The score says nothing."""
    return Population(lambda score: np.full(score.shape, chance), lambda _limit: chance, rows)


def falling_off(high: float, low: float, rows: int = 1) -> Population:
    """The highest fifth of the scores is right with the one chance, the rest with the other."""
    return Population(
        lambda score: np.where(score >= 0.8, high, low),
        lambda limit: (min(1 - limit, 0.2) * high + max(0.8 - limit, 0.0) * low) / (1 - limit),
        rows,
    )
