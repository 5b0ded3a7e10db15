"""`qa-pipeline eval generation`: what a provider makes of a corpus, and what other settings change."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.arguments import (
    Change,
    Json,
    MaxCalls,
    MaxCost,
    Model,
    OnlyBatch,
    Out,
    Provider,
    Resampled,
    batches_at,
    check_models,
    chosen_batches,
    located,
    named_settings,
    overrides,
)
from qa_pipeline.cli.exit_codes import FAILED, OK, PENDING, errors_as_exit_codes
from qa_pipeline.storage.hashes import hash_text

if TYPE_CHECKING:
    import polars as pl

    from qa_pipeline.llm.budget.amounts import Amount
    from qa_pipeline.pipeline.running import BatchOutcome, StageObserver
    from qa_pipeline.settings.tree import Settings

ARMS = "arms"
"""Folder of the other runs below the output folder."""
_OF_ARM = re.compile(r"((?:changed|repeat)-\w+)-[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Arm:
    """A run over the batches: settings, outcome of each, and the tables of those that can be read."""

    settings: "Settings"
    outcomes: "list[BatchOutcome]"
    frames: "Mapping[str, Mapping[str, pl.DataFrame]]"
    incomplete: Mapping[str, str]
    spent: "Amount | None"

    @property
    def together(self) -> "dict[str, pl.DataFrame]":
        """Return the tables of all batches, concatenated."""
        import polars as pl

        frame_sets = list(self.frames.values())
        shared = [name for name in frame_sets[0] if all(name in frame for frame in frame_sets)]
        return {name: pl.concat([frame_set[name] for frame_set in frame_sets]) for name in shared}

    def figures(self, frames: "Mapping[str, pl.DataFrame]") -> dict[str, Any]:
        """Return the figures of one batch, or of all."""
        from qa_pipeline.evaluation.generation import generation_figures

        mix = self.settings.generation.mix.weights
        return generation_figures(frames, mix)


def generation(
    corpus: Annotated[str, typer.Argument(help="Folder of batches, or an address of one, as for run.")],
    out: Out = Path("data/generation"),
    batch: OnlyBatch = None,
    provider: Provider = None,
    model: Model = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    change: Change = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=VALUE",
            help="Run a second time with this setting changed, and pair the questions; repeatable.",
        ),
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, max=20, help="Runs, each with another seed, to see how far they differ.")
    ] = 1,
    resamples: Resampled = 1000,
    as_json: Json = False,
) -> None:
    """Run batches and show the figures of generation: mix, coverage, duplicates, quotes, guard, round trips.

    The tables lie in the output folder like those of `run`. The further runs of --compare and --repeat lie
    in its folder arms and share its store of replies: what an earlier one was answered is not asked again.
    The caps hold for all of them together.
    """
    from qa_pipeline.cli.console import print_document, watching
    from qa_pipeline.cli.evaluation_tables import show_generation
    from qa_pipeline.errors import InputError
    from qa_pipeline.evaluation.reports.summaries import rounded
    from qa_pipeline.settings.tree import load_settings

    with errors_as_exit_codes(resumable=True):
        location, single = located(corpus)
        named_values = named_settings(provider, model, max_calls, max_cost)
        settings = load_settings(**overrides(location, out, change, named_values))
        check_models(settings, model)
        planned = _arms(settings, repeat)
        if compare:
            compared = {text.partition("=")[0].strip() for text in compare}
            rest = {path: value for path, value in named_values.items() if path not in compared}
            changed = load_settings(**overrides(location, out, [*(change or []), *compare], rest))
            planned[_changed_name(settings, changed, compare)] = changed
        batches = chosen_batches(batch, batches_at(settings, single), settings.corpus)
        with watching(quiet=as_json) as watch:
            arms = _run_arms(planned, batches, watch)
        base = arms[""]
        if not base.frames:
            why = "; ".join(outcome.error or outcome.outcome for outcome in base.outcomes)
            raise InputError(f"no batch has all its tables: {why}")
        document = _document(arms, resamples)
        if as_json:
            print_document(rounded(document))
        else:
            show_generation(document)
        raise typer.Exit(_code(list(arms.values())))


def _code(arms: Sequence[Arm]) -> int:
    """Return the exit code: only a batch without tables is a failure, one with failed gates has figures."""
    if any(outcome.outcome == "pending" for arm in arms for outcome in arm.outcomes):
        return PENDING
    return FAILED if any(arm.incomplete for arm in arms) else OK


def _arms(settings: "Settings", repeat: int) -> "dict[str, Settings]":
    """Return the settings of each run by its name; the first, in the output folder itself, has none."""
    seeds = {
        f"repeat-{number}": settings.llm.model_copy(update={"seed": settings.llm.seed + number})
        for number in range(1, repeat)
    }
    return {"": settings} | {name: settings.model_copy(update={"llm": llm}) for name, llm in seeds.items()}


def _changed_name(settings: "Settings", changed: "Settings", compare: Sequence[str]) -> str:
    """Return the name of the run with changed settings: another comparison has another folder.

    Raises:
        SettingsError: nothing is changed.
    """
    from qa_pipeline.errors import SettingsError

    if settings == changed:
        raise SettingsError(f"--compare {' '.join(compare)} changes nothing: these settings are in force")
    return f"changed-{hash_text(chr(10).join(sorted(compare)))[:8]}"


def _run_arms(
    planned: "Mapping[str, Settings]", batches: Sequence[str], watch: "StageObserver"
) -> dict[str, Arm]:
    arms: dict[str, Arm] = {}
    for name, settings in planned.items():
        remaining = settings
        for arm in arms.values():
            remaining = _less(remaining, arm.spent)
        arms[name] = _run_arm(name, remaining, batches, watch)
    return arms


def _less(settings: "Settings", spent: "Amount | None") -> "Settings":
    """Return the settings with caps reduced by what was spent before."""
    if spent is None:
        return settings
    taken = {"max_calls": spent.calls, "max_tokens": spent.tokens, "max_cost": float(spent.cost)}
    caps = {name: getattr(settings.llm.budget, name) for name in taken}
    caps_left = {name: max(0, cap - taken[name]) for name, cap in caps.items() if cap is not None}
    budget = settings.llm.budget.model_copy(update=caps_left)
    return settings.model_copy(update={"llm": settings.llm.model_copy(update={"budget": budget})})


def _run_arm(name: str, settings: "Settings", batches: Sequence[str], watch: "StageObserver") -> Arm:
    import uuid

    import polars as pl

    from qa_pipeline.errors import TableError
    from qa_pipeline.pipeline.report import read_tables
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.pipeline.running import run_batches
    from qa_pipeline.settings.llm import HOSTED
    from qa_pipeline.storage.files import prepare_folder
    from qa_pipeline.storage.tables import LLM_CALLS

    arm_settings = settings.model_copy(update={"out": settings.out / ARMS / name}) if name else settings
    run = f"{name}-{uuid.uuid4().hex}" if name else None
    prepare_folder(arm_settings.out)
    resources = Resources(arm_settings, shared=settings.out, run=run)
    outcomes = run_batches(resources, batches, watch)
    hosted = any(model.provider in HOSTED for model in arm_settings.llm.models)
    frames, incomplete = {}, {}
    of_arm = pl.col("run").str.extract(f"^{_OF_ARM.pattern}$").fill_null("")
    for outcome in outcomes:
        try:
            tables = read_tables(resources.layout, outcome.batch)
        except TableError as error:
            incomplete[outcome.batch] = outcome.error or str(error)
            continue
        # Runs share the store of replies, whose record of calls knows them all.
        frames[outcome.batch] = tables | {LLM_CALLS.name: tables[LLM_CALLS.name].filter(of_arm == name)}
    return Arm(settings, outcomes, frames, incomplete, resources.models.budget.spent if hosted else None)


def _document(arms: Mapping[str, Arm], resamples: int) -> dict[str, Any]:
    from qa_pipeline.evaluation.generation import compare_ends, question_ends, repeat_figures

    complete = {name: arm for name, arm in arms.items() if arm.frames}
    figures = {name: arm.figures(arm.together) for name, arm in complete.items()}
    ends = {name: question_ends(arm.together) for name, arm in complete.items()}
    base = arms[""]
    document: dict[str, Any] = {
        "out": str(base.settings.out),
        "provider": base.settings.llm.provider,
        "model": base.settings.llm.model,
        "batches": {name: base.figures(frames) for name, frames in base.frames.items()},
        "all": figures[""],
        "incomplete": {
            str(Path(name, batch)): why for name, arm in arms.items() for batch, why in arm.incomplete.items()
        },
        "failed_gates": {
            str(Path(name, outcome.batch)): outcome.failed_gates
            for name, arm in arms.items()
            for outcome in arm.outcomes
            if outcome.failed_gates
        },
    }
    repeats = [name for name in figures if not name.startswith("changed")]
    if len(arms) > 1 and len(repeats) > 1:
        document["repeats"] = repeat_figures(
            [figures[repeat] for repeat in repeats], [ends[repeat] for repeat in repeats]
        )
    for name in figures:
        if name.startswith("changed"):
            compared = compare_ends(ends[""], ends[name], resamples=resamples)
            document["compared"] = {"folder": f"{ARMS}/{name}", **compared, "all": figures[name]}
    return document
