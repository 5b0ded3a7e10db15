"""Options that several commands have, and the batches and settings that arguments name."""

import difflib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from qa_pipeline.errors import CorpusError, InputError, SettingsError
from qa_pipeline.settings.removed import leftovers, removal_of
from qa_pipeline.storage.layout import check_batch_name

if TYPE_CHECKING:
    from qa_pipeline.documents.corpus.places import FoundBatches
    from qa_pipeline.settings.tree import Settings

MOST_NAMES = 5
"""Batches or models that are named where there are many."""
_NO_CAP = 10**15
"""Calls: a cap that no run reaches, for settings that are refused without one."""


class Commands(TyperGroup):
    """A group of commands that says what replaces a command or option of an earlier version."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the first argument names."""
        path = " ".join(["qa-pipeline", *ctx.command_path.split()[1:], args[0]])
        options = [argument.partition("=")[0] for argument in args[1:] if argument.startswith("--")]
        for name in (path, *(f"{path} {option}" for option in options)):
            if removal := removal_of(name):
                ctx.fail(removal)
        return super().resolve_command(ctx, args)


def out_folder(value: object) -> Path:
    """Return the output folder that a command names.

    Raises:
        BadParameter: results cannot be written there.
    """
    from qa_pipeline.settings.location import output_folder

    try:
        return output_folder(value)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def check_exists(*paths: Path | None, advice: str = "check the path") -> None:
    """Check input before anything slow is loaded.

    Raises:
        InputError: a local path does not exist.
    """
    from qa_pipeline.storage.object_stores import store_of

    for path in paths:
        if path is not None and store_of(path) is None and not path.exists():
            raise InputError(f"{path} does not exist; {advice}")


RUN_FIRST = "run qa-pipeline run CORPUS --out FOLDER first, or name its folder with --out"


Out = Annotated[
    Path,
    typer.Option(
        help="Output folder or address.",
        parser=out_folder,
        metavar="FOLDER",
    ),
]
ReleaseFolder = Annotated[
    Path, typer.Argument(help="A release, or a folder of releases.", parser=out_folder, metavar="RELEASE")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
OnlyBatch = Annotated[list[str] | None, typer.Option(help="Only this batch; repeatable.")]
Provider = Annotated[
    str | None, typer.Option(help="gemini, openai, ollama, llama.cpp, vllm, extractive (rules), none.")
]
Model = Annotated[str | None, typer.Option(help="Model of the provider.")]
Change = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a setting; repeatable.")
]
MaxCalls = Annotated[int | None, typer.Option(help="Cap on model calls.")]
MaxCost = Annotated[float | None, typer.Option(help="Cap on their cost, in USD.")]


def choose_batches(
    settings: "Settings", single: str | None, names: list[str] | None
) -> tuple[list[str], "FoundBatches"]:
    """Return the batches to work on, and all of the corpus; `single` is its only one.

    Raises:
        CorpusError: the corpus cannot be used, or has no such batch.
    """
    from qa_pipeline.documents.corpus.corpora import open_corpus
    from qa_pipeline.documents.corpus.places import FoundBatches
    from qa_pipeline.text.rendering import first_names

    if single is None:
        batches = open_corpus(settings.corpus).find_batches()
    else:
        check_batch_name(single)
        batches = FoundBatches((single,), {}, ())
    for name in names or []:
        if name in batches.refused:
            raise CorpusError(batches.refused[name])
        if name not in batches.names:
            near = difflib.get_close_matches(name, batches.names, n=MOST_NAMES)
            nearest_first = list(dict.fromkeys([*near, *batches.names]))
            raise CorpusError(
                f"{settings.corpus} has no batch {name!r}; it has {first_names(nearest_first, MOST_NAMES)}"
            )
    return list(dict.fromkeys(names or batches.names)), batches


def named_settings(
    provider: str | None = None,
    model: str | None = None,
    max_calls: int | None = None,
    max_cost: float | None = None,
    accept_unjudged: bool | None = None,
) -> dict[str, Any]:
    """Return the settings that have options of their own, by path."""
    values = {
        "llm.provider": provider,
        "llm.model": model,
        "llm.budget.max_calls": max_calls,
        "llm.budget.max_cost": max_cost,
        "judging.accept_unjudged": accept_unjudged,
    }
    return {path: value for path, value in values.items() if value is not None}


def overrides(
    corpus: str, out: Path, changes: list[str] | None, named_values: dict[str, Any]
) -> dict[str, Any]:
    """Return the settings in the arguments: the options, then corpus, output folder and `--set`.

    Raises:
        SettingsError: a `--set` cannot be read, or stands for an argument.
    """
    from qa_pipeline.settings.base import read_assignments

    tree = read_assignments(changes or [], named_values)
    for name in ("corpus", "out"):
        if name in tree:
            raise SettingsError(f"--set {name}: give it as an argument of the command instead")
    return {**tree, "corpus": corpus, "out": out}


def run_settings(values: dict[str, Any]) -> "Settings":
    """Load the settings of a run; a server of this machine is asked for its model where none is named.

    Raises:
        KeyRejectedError: the provider needs a key; this is said before the cap that it needs too.
        SettingsError: a setting cannot be used, or the server has no model or several.
    """
    from qa_pipeline.settings.tree import load_settings

    try:
        settings = load_settings(**values)
    except SettingsError:
        uncapped = uncapped_settings(values)
        from qa_pipeline.pipeline.resources import Resources

        Resources(uncapped).models.check(uncapped.llm.hosted_models)
        raise
    llm = settings.llm
    if llm.provider != "openai" or "model" in llm.model_fields_set:
        return settings
    if not llm.is_local:
        raise SettingsError("no model is named; add --model NAME (or llm.model)")
    from qa_pipeline.llm.openai_compatible import served_models
    from qa_pipeline.text.rendering import first_names

    names = served_models(llm.base_url or "", os.environ)
    if len(names) != 1:
        has = first_names(names, MOST_NAMES) if names else "no model"
        raise SettingsError(f"the server at {llm.base_url} has {has}; name one with --model")
    return load_settings(**{**values, "llm": {**values.get("llm", {}), "model": names[0]}})


def uncapped_settings(values: dict[str, Any]) -> "Settings":
    """Load the settings of a run that may cost money and has no cap, as an estimate needs none.

    Raises:
        SettingsError: a setting cannot be used.
    """
    from qa_pipeline.settings.tree import load_settings

    llm = values.get("llm", {})
    budget = llm.get("budget", {}) if isinstance(llm, dict) else None
    if not isinstance(budget, dict) or "max_calls" in budget:
        return load_settings(**values)
    capped = load_settings(**{**values, "llm": {**llm, "budget": {**budget, "max_calls": _NO_CAP}}})
    budget = capped.llm.budget.model_copy(update={"max_calls": None})
    return capped.model_copy(update={"llm": capped.llm.model_copy(update={"budget": budget})})


def check_models(settings: "Settings", role: str | None) -> None:
    """Report what is wrong with the models, and with what they are told, before hours of parsing.

    Raises:
        SettingsError: a model, the prices, the caps, or the user's prompts cannot be used.
        KeyRejectedError: a key is missing.
    """
    from qa_pipeline.prompts.loading import check_own_prompts
    from qa_pipeline.settings.tree import check_model, notes
    from qa_pipeline.storage.object_stores import store_of

    check_model(settings, role)
    check_own_prompts(settings.llm)
    from qa_pipeline.pipeline.resources import Resources

    resources = Resources(settings)
    _ = resources.entailment  # its files are looked for; its weights are not loaded
    if settings.llm.hosted_models:
        llm = settings.llm
        judges = [llm.reviewer("judge")] if settings.judging.enabled else []
        resources.models.check([llm.generator, llm.reviewer("verifier"), *judges])
    earlier = [] if store_of(settings.out) else leftovers(settings.out)
    for note in (*notes(settings), *earlier):
        sys.stderr.write(f"Note: {note}\n")
