"""Figures of every scorer and baseline over labelled items, set by set and as a mean over the sets.

What belongs here: which figures are computed of what, and differences to the baselines. What does not: a
single figure (`metrics.py`), intervals (`resampling.py`), scores (`scoring.py`) and printing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation import scorers as baselines
from qa_pipeline.evaluation.metrics import METRICS, Floats, Task, measure, overlaps, span_f1
from qa_pipeline.evaluation.scorers import HALF, ScoreColumn
from qa_pipeline.evaluation.statistics import Estimate, Resamples, estimate
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.settings.verification import VerificationSettings


@dataclass(frozen=True, slots=True)
class Difference:
    """How far a scorer is ahead of a baseline on the same resamples of the items both know."""

    figure: str
    baseline: str
    best: bool
    ahead: Estimate


@dataclass(frozen=True, slots=True)
class ScorerFigures:
    """One scorer or baseline over one set, or over the mean of sets.

    `unknown` counts items without a score; `sets` tells for each figure over how many sets the mean goes.
    """

    name: str
    baseline: bool
    threshold: float | None
    unknown: int
    figures: dict[str, Estimate]
    differences: tuple[Difference, ...] = ()
    sets: dict[str, int] | None = None


@dataclass(frozen=True, slots=True)
class SetFigures:
    """All scorers over one set of items."""

    key: str
    items: int
    groups: int
    supported: int
    claims: int
    without_claims: int
    seconds: float
    scorers: tuple[ScorerFigures, ...]

    @property
    def claims_per_second(self) -> float | None:
        """Claims scored a second by stage 1; None where nothing was."""
        return self.claims / self.seconds if self.seconds else None


@dataclass(frozen=True, slots=True)
class Grounding:
    """Figures of all sets, and their mean: each set counts alike, however large."""

    sets: tuple[SetFigures, ...]
    mean: tuple[ScorerFigures, ...]
    mean_over: tuple[str, ...]


FIGURES = (*METRICS, "span_f1")
COMPARED = {"auroc": "auroc", "balanced_accuracy": "balanced_accuracy_best"}
"""Figure of a scorer, and the figure of a baseline it is held against: a baseline without a threshold of its
own gets its best one, chosen on these very items, which favours it."""

Measured = dict[str, Floats]

RIVALS = (*baselines.NAMES, "similarity")
"""What a scorer is held against: the baselines, and the cosine to the best sentence where it is measured."""


@dataclass(frozen=True, slots=True)
class Options:
    """How figures are computed.

    Args:
        by: column that parts the items into sets.
        target: precision that `coverage_at_target` asks for.
        resamples: of the intervals.
        seed: of the resamples.
        without: sets that are reported and left out of the mean.
    """

    by: str = "dataset"
    target: float = 0.98
    resamples: int = 1000
    seed: int = 0
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Set:
    """What was measured on a set, resamples and all."""

    message: SetFigures
    measured: Mapping[str, Measured]
    ahead: Mapping[tuple[str, str], Measured]


def measure_grounding(
    items: pl.DataFrame,
    scorers: Sequence[ScoreColumn],
    settings: VerificationSettings,
    options: Options,
    notify: ProgressCallback = no_progress,
) -> Grounding:
    """Measure all sets and their mean.

    Args:
        items: `Scored.items`.
        scorers: those that scored them.
        settings: whose thresholds are the shipped ones.
        options: how.
        notify: hears how many sets are done.

    Raises:
        InputError: a set to be left out of the mean does not exist.
    """
    named = items.with_columns(pl.col(options.by).fill_null("(none)"))
    keys = named[options.by].unique().sort().to_list()
    _check_known(options.without, keys)
    sets: list[_Set] = []
    for key in keys:
        of_set = named.filter(pl.col(options.by) == key)
        sets.append(_measure_set(key, of_set, scorers, settings, options))
        notify(len(sets), len(keys))
    averaged = [one for one in sets if one.message.key not in options.without]
    return Grounding(
        tuple(one.message for one in sets),
        _mean(averaged) if averaged else (),
        tuple(one.message.key for one in averaged),
    )


def _check_known(without: Sequence[str], keys: Sequence[str]) -> None:
    for name in without:
        if name not in keys:
            raise InputError(f"--without {name}: there is no such set; there are {', '.join(keys)}")


def _measure_set(
    key: str,
    items: pl.DataFrame,
    scorers: Sequence[ScoreColumn],
    settings: VerificationSettings,
    options: Options,
) -> _Set:
    tasks = _tasks(items, scorers, settings)
    draws = Resamples(
        items.select(pl.format("{}\x1f{}", "dataset", "group_id").alias("group"))["group"].to_list(),
        key,
        options.resamples,
        options.seed,
    )
    measured = {
        name: draws.over(partial(measure, task, target=options.target)) for name, task in tasks.items()
    }
    for name, task in tasks.items():
        found = (
            _span_figures(items, name, draws) if name not in baselines.NAMES and task.known.any() else None
        )
        measured[name]["span_f1"] = np.full(options.resamples + 1, np.nan) if found is None else found
    ahead = {
        (name, trivial): _ahead(tasks, measured, (name, trivial), draws, options.target)
        for name in tasks
        for trivial in RIVALS
        if name not in RIVALS and trivial in tasks
    }
    message = SetFigures(
        key=key,
        items=items.height,
        groups=items.select("dataset", "group_id").n_unique(),
        supported=int((items["label"] == 1).sum()),
        claims=int(items["claims"].sum()),
        without_claims=int((items["claims"] == 0).sum()),
        seconds=float(items["seconds"].sum()),
        scorers=tuple(
            _message(name, task.accept, int((~task.known).sum()), measured, ahead)
            for name, task in tasks.items()
        ),
    )
    return _Set(message, measured, ahead)


def _tasks(
    items: pl.DataFrame, scorers: Sequence[ScoreColumn], settings: VerificationSettings
) -> dict[str, Task]:
    supported = (items["label"] == 1).to_numpy()
    rules: dict[str, tuple[float | None, float | None, bool]] = {}
    for one in scorers:
        accept = one.threshold(settings)
        rules[one.name] = (accept, HALF if one.decides else accept, one.probability)
    for name in baselines.NAMES:
        shipped = baselines.threshold(name, settings)
        rules[name] = (shipped, shipped, False)
    return {
        name: Task(items[f"score_{name}"].cast(pl.Float64).to_numpy(), supported, *rule)
        for name, rule in rules.items()
    }


def _span_figures(items: pl.DataFrame, name: str, draws: Resamples) -> Floats | None:
    counts = overlaps(items, name)
    if not counts[2].any():
        return None
    return draws.over(lambda weights: {"span_f1": span_f1(counts, weights)})["span_f1"]


def _ahead(
    tasks: Mapping[str, Task],
    measured: Mapping[str, Measured],
    names: tuple[str, str],
    draws: Resamples,
    target: float,
) -> Measured:
    """Scorer minus baseline, resample by resample; items that one of them lacks are left out of both."""
    both = tasks[names[0]].known & tasks[names[1]].known
    sides = [
        measured[name]
        if (tasks[name].known == both).all()
        else draws.over(partial(measure, _only(tasks[name], both), target=target))
        for name in names
    ]
    return {figure: sides[0][figure] - sides[1][held] for figure, held in COMPARED.items()}


def _only(task: Task, kept: "np.typing.NDArray[np.bool_]") -> Task:
    return replace(task, scores=np.where(kept, task.scores, np.nan))


def _message(
    name: str,
    threshold: float | None,
    unknown: int,
    measured: Mapping[str, Measured],
    ahead: Mapping[tuple[str, str], Measured],
    sets: dict[str, int] | None = None,
) -> ScorerFigures:
    return ScorerFigures(
        name=name,
        baseline=name in baselines.NAMES,
        threshold=threshold,
        unknown=unknown,
        figures={figure: estimate(measured[name][figure]) for figure in FIGURES},
        differences=tuple(_differences(name, measured, ahead)),
        sets=sets,
    )


def _differences(
    name: str, measured: Mapping[str, Measured], ahead: Mapping[tuple[str, str], Measured]
) -> list[Difference]:
    found = []
    rivals = [rival for of, rival in ahead if of == name]
    for figure, held in COMPARED.items():
        known = {one: measured[one][held][0] for one in rivals if not np.isnan(measured[one][held][0])}
        best = max(known, key=known.__getitem__, default=None)
        found += [Difference(figure, one, one == best, estimate(ahead[name, one][figure])) for one in rivals]
    return found


def _mean(sets: Sequence[_Set]) -> tuple[ScorerFigures, ...]:
    """Each set counts alike; a set in which a figure has no meaning is left out of its mean."""
    measured = {
        one.name: {figure: _average([of.measured[one.name][figure] for of in sets]) for figure in FIGURES}
        for one in sets[0].message.scorers
    }
    ahead = {
        names: {figure: _average([of.ahead[names][figure] for of in sets]) for figure in COMPARED}
        for names in sets[0].ahead
    }
    return tuple(
        _message(one.name, one.threshold, _unknown(one.name, sets), measured, ahead, _counted(one.name, sets))
        for one in sets[0].message.scorers
    )


def _average(values: Sequence[Floats]) -> Floats:
    usable = [one for one in values if not np.isnan(one[0])]
    return np.mean(usable, axis=0) if usable else values[0]


def _unknown(name: str, sets: Sequence[_Set]) -> int:
    return sum(one.unknown for of in sets for one in of.message.scorers if one.name == name)


def _counted(name: str, sets: Sequence[_Set]) -> dict[str, int]:
    return {figure: sum(not np.isnan(of.measured[name][figure][0]) for of in sets) for figure in FIGURES}


_PLACES = 4


def grounding_document(found: Grounding) -> dict[str, Any]:
    """Sets, and the mean over those it goes over."""
    return {
        "sets": [_set(one) for one in found.sets],
        "mean": {"over": list(found.mean_over), "scorers": [_scorer(one) for one in found.mean]},
    }


def _set(one: SetFigures) -> dict[str, Any]:
    return {
        "key": one.key,
        "items": one.items,
        "groups": one.groups,
        "base_rate": _rounded(one.supported / one.items),
        "claims": one.claims,
        "items_without_claims": one.without_claims,
        "claims_per_second": _rounded(one.claims_per_second),
        "scorers": [_scorer(of) for of in one.scorers],
    }


def _scorer(one: ScorerFigures) -> dict[str, Any]:
    return {
        "name": one.name,
        "baseline": one.baseline,
        "threshold": one.threshold,
        "unknown": one.unknown,
        **{figure: _estimate(value) for figure, value in one.figures.items()},
        "ahead_of_baselines": [_difference(of) for of in one.differences],
        **({"sets": one.sets} if one.sets is not None else {}),
    }


def _difference(one: Difference) -> dict[str, Any]:
    return {"figure": one.figure, "baseline": one.baseline, "best": one.best, **_interval(one.ahead)}


def _estimate(one: Estimate) -> dict[str, Any] | None:
    return None if one.value is None else _interval(one)


def _interval(one: Estimate) -> dict[str, Any]:
    return {"value": _rounded(one.value), "low": _rounded(one.low), "high": _rounded(one.high)}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _PLACES)
