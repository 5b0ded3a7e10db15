"""Choose which configuration to try next, by what came of each so far (Thompson sampling).

    python -m qa_pipeline_tests.benchmarks.quality.try_configurations choose FILE --arm small --arm large
    python -m qa_pipeline_tests.benchmarks.quality.try_configurations record FILE large --right 9 --wrong 1

The file holds the trial and fixes the draw; several processes may record at once. Prints one JSON line.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.reports.summaries import rounded
from qa_pipeline.storage.files import locked, write_bytes
from qa_pipeline_tests.benchmarks.support.command_line import errors_as_messages, parser_of, print_json

Document = dict[str, Any]
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
    with locked(path.parent, wait=True):
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
    with locked(path.parent, wait=True):
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
        raise InputError(
            f"{path} cannot be read: {os.strerror(error.errno or 0)}; begin with choose"
        ) from error
    except ValidationError as error:
        raise InputError(f"{path}: {_problem(error)}; restore it from a copy, or begin anew") from error


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _write(path: Path, trial: Trial) -> None:
    write_bytes(path, f"{trial.model_dump_json(indent=2)}\n".encode())


def main() -> None:
    """Choose, or record."""
    parser = parser_of(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    choosing, recording = commands.add_parser("choose"), commands.add_parser("record")
    choosing.add_argument("trial", type=Path)
    choosing.add_argument("--arm", action="append", default=[], help="a configuration that joins")
    choosing.add_argument("--seed", type=int, default=0, help="of a new trial")
    recording.add_argument("trial", type=Path)
    recording.add_argument("arm")
    recording.add_argument("--right", type=int, default=0)
    recording.add_argument("--wrong", type=int, default=0)
    options = parser.parse_args()
    with errors_as_messages():
        if options.command == "choose":
            print_json(rounded(choose(options.trial, options.arm, seed=options.seed)))
        else:
            counts = record(options.trial, options.arm, right=options.right, wrong=options.wrong)
            print_json({options.arm: counts.model_dump()})


if __name__ == "__main__":
    main()
