"""Experiments with configurations: how many rows one needs, who wins, and which one to try next."""

import math
import os
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from scipy.stats import nct, t

from qa_pipeline.errors import InputError
from qa_pipeline.storage import locked, write_bytes

Document = dict[str, Any]
SIGNIFICANCE, LEAST_EFFECT, POWER = 0.05, 0.1, 0.8
MOST_ROWS = 10**9


def ab_decision(compared: Document) -> Document:
    """Whether to deploy what was tried: p < 0.05 and Cohen's d > 0.1 for the better, else keep what is there.

    The metric is to be chosen before the figures are seen: p is not adjusted for others. d is the gain by
    the pooled deviation of scores, so that it means the same of paired and unpaired runs (Lakens 2013).

    Args:
        compared: one metric of `compare_paired` or `compare_unpaired`.

    Returns:
        decision (`deploy` or `keep`), p, cohens_d, and why in words.
    """
    p, effect = compared["p"], compared["cohens_d"]
    if p is None or effect is None:
        why = "no test: too few scores are known, or all are equal"
    elif effect <= 0:
        why = "it is not better"
    elif p >= SIGNIFICANCE:
        why = f"chance alone would do this: p is {p:.3g}, {SIGNIFICANCE} or more"
    elif effect <= LEAST_EFFECT:
        why = f"it is better by too little: d is {effect:.3f}, {LEAST_EFFECT} or less"
    else:
        why = f"p is {p:.3g}, below {SIGNIFICANCE}, and d is {effect:.3f}, above {LEAST_EFFECT}"
        return {"decision": "deploy", "p": p, "cohens_d": effect, "why": why}
    return {"decision": "keep", "p": p, "cohens_d": effect, "why": why}


def rows_needed(
    difference: float,
    deviation: float,
    *,
    paired: bool = True,
    power: float = POWER,
    significance: float = SIGNIFICANCE,
) -> int | None:
    """The least rows, of each run, in which a two-sided t test finds a difference so often (`power`).

    By the noncentral t distribution (Cohen 1988), for rows that do not depend on each other.

    Args:
        difference: of the means, that is to be found.
        deviation: standard deviation of the differences of rows where paired, else of scores.
        paired: whether both runs answer the same rows.
        power: how often it is to be found.
        significance: how often a difference may be called that is none.

    Returns:
        None where more than a thousand million would be needed.

    Raises:
        InputError: a number makes no sense.
    """
    if not (math.isfinite(difference) and math.isfinite(deviation) and difference and deviation > 0):
        raise InputError("the difference should not be zero, and the deviation above it")
    if not 0 < significance < power < 1:
        raise InputError("significance should lie above 0, and power between it and 1")
    effect = min(abs(difference) / deviation, _OBVIOUS)

    def found(rows: int) -> bool:
        return _power(rows, effect, significance, paired=paired) >= power

    high = 2
    while not found(high):
        high *= 2
        if high > MOST_ROWS:
            return None
    return bisect_left(range(high), True, lo=2, key=found)


_OBVIOUS = 30.0
"""Deviations from which on any two rows show a difference."""


def _power(rows: int, effect: float, significance: float, *, paired: bool) -> float:
    free = rows - 1 if paired else 2 * rows - 2
    shift = effect * math.sqrt(rows if paired else rows / 2)
    # only the right side counts as found: the other one is next to nothing, and NaN far out in SciPy
    return float(nct.sf(t.ppf(1 - significance / 2, free), free, shift))


Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, Field(pattern=r"^[\w.:/@+-]{1,100}$")]
_DRAWS = 10_000


class Arm(BaseModel):
    """What came of one configuration: answers that were right, and that were wrong."""

    model_config = ConfigDict(strict=True, extra="forbid", validate_assignment=True)

    right: Count = 0
    wrong: Count = 0


class Trial(BaseModel):
    """Configurations on trial; `choices` counts the choices made, and with `seed` fixes the next one."""

    model_config = ConfigDict(strict=True, extra="forbid", validate_assignment=True)

    format: Literal[1] = 1
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    choices: Count = 0
    arms: dict[Name, Arm] = Field(default_factory=dict, max_length=100)


def choose(path: Path, arms: Sequence[str] = (), *, seed: int = 0) -> Document:
    """Choose the configuration to try next by Thompson sampling (Thompson 1933; Chapelle and Li 2011).

    Each has the distribution Beta(1 + right, 1 + wrong) of its true share of right answers; one share is
    drawn of each, and the greatest wins. So what may be the best is tried as often as it may be.

    Args:
        path: the file of the trial; made where there is none.
        arms: names of configurations; new ones join a trial that runs.
        seed: of a new trial.

    Returns:
        chosen, and of each configuration right, wrong, mean and `best`: how likely it is the best one.

    Raises:
        InputError: the file cannot be used, or there is no configuration.
        StorageError: it cannot be written.
    """
    with locked(path.parent):
        trial = _read(path) if path.exists() else Trial(seed=seed)
        together = {**dict.fromkeys(arms, Arm()), **trial.arms}
        if not together:
            raise InputError(f"{path} has no configuration yet; name those to try (--arm)")
        try:
            trial.arms = {name: together[name] for name in sorted(together)}
        except ValidationError as error:
            raise InputError(f"--arm: {_problem(error)}") from error
        names, drawn = list(trial.arms), np.random.default_rng([trial.seed, trial.choices])
        right = np.array([1.0 + arm.right for arm in trial.arms.values()])
        wrong = np.array([1.0 + arm.wrong for arm in trial.arms.values()])
        chosen = names[int(np.argmax(drawn.beta(right, wrong)))]
        trial.choices += 1
        _write(path, trial)
    leads = np.argmax(drawn.beta(right, wrong, size=(_DRAWS, len(names))), axis=1)
    best = np.bincount(leads, minlength=len(names)) / _DRAWS
    means = right / (right + wrong)
    figures = {
        name: {"right": arm.right, "wrong": arm.wrong, "mean": float(mean), "best": float(lead)}
        for (name, arm), mean, lead in zip(trial.arms.items(), means, best, strict=True)
    }
    return {"chosen": chosen, "choices": trial.choices, "arms": figures}


def record(path: Path, arm: str, *, right: int = 0, wrong: int = 0) -> Arm:
    """Record what came of a configuration; processes may record at the same time.

    Raises:
        InputError: the file cannot be used, or knows no such configuration; nothing is recorded.
        StorageError: it cannot be written.
    """
    with locked(path.parent):
        trial = _read(path)
        if arm not in trial.arms:
            raise InputError(f"{path} knows no configuration {arm!r}; it has {', '.join(sorted(trial.arms))}")
        if min(right, wrong) < 0:
            raise InputError(f"{right} right and {wrong} wrong cannot be recorded; counts only grow")
        counted = trial.arms[arm]
        counted.right += right
        counted.wrong += wrong
        _write(path, trial)
    return counted


def _read(path: Path) -> Trial:
    try:
        return Trial.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {os.strerror(error.errno or 0)}; choose first") from error
    except ValidationError as error:
        raise InputError(f"{path}: {_problem(error)}; restore it from a copy, or begin anew") from error


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _write(path: Path, trial: Trial) -> None:
    write_bytes(path, f"{trial.model_dump_json(indent=2)}\n".encode())
