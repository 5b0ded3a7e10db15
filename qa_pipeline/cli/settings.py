"""Settings and batches that a command works with, and the command `settings`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.console import show
from qa_pipeline.cli.options import Change, Json
from qa_pipeline.errors import CorpusError, SettingsError
from qa_pipeline.settings.base import read_assignments
from qa_pipeline.settings.llm import HOSTED, same_model_warning
from qa_pipeline.settings.tree import Settings, load_settings, settings_in_force
from qa_pipeline.storage.layout import check_batch_name
from qa_pipeline.text.rendering import first_names

if TYPE_CHECKING:
    from qa_pipeline.documents.corpus.corpora import FoundBatches


def model_options(
    provider: str | None = None,
    model: str | None = None,
    max_calls: int | None = None,
    max_cost: float | None = None,
    accept_unjudged: bool | None = None,
) -> dict[str, Any]:
    """Return the settings of these options by path, without options that were left out."""
    values = {
        "llm.provider": provider,
        "llm.model": model,
        "llm.budget.max_calls": max_calls,
        "llm.budget.max_cost": max_cost,
        "judging.accept_unjudged": accept_unjudged,
    }
    return {path: value for path, value in values.items() if value is not None}


def read_changes(
    change: list[str] | None, options: dict[str, Any] | None = None, *arguments: str
) -> dict[str, Any]:
    """Return the tree of settings that `--set` and options change; options win.

    `--set` must not change `arguments`, the settings that the command takes as arguments.
    """
    tree = read_assignments(change or [], options)
    for name in arguments:
        if name in tree:
            raise SettingsError(f"--set {name}: pass this as an argument of the command instead")
    return tree


def settings_at(out: Path, change: list[str] | None, options: dict[str, Any] | None = None) -> Settings:
    """Load the settings of a command that works on an output folder."""
    return load_settings(**read_changes(change, options, "out"), out=out)


def run_settings(corpus: str, out: Path, change: list[str] | None, options: dict[str, Any]) -> Settings:
    """Load the settings of a run, which must name the model of a server of its own."""
    settings = load_settings(**read_changes(change, options, "corpus", "out"), corpus=corpus, out=out)
    if settings.llm.provider == "openai" and "model" not in settings.llm.model_fields_set:
        raise SettingsError("the model is missing; add --model NAME (or set llm.model)")
    if "llm.model" in options and not settings.llm.hosted_models:
        raise SettingsError(
            f"--model {options['llm.model']} would not be used: the provider is {settings.llm.provider}; "
            f"add --provider {' or --provider '.join(HOSTED)}"
        )
    return settings


def check_models(settings: Settings) -> None:
    """Check models, keys and prompts before documents are read; warn about a model that judges itself."""
    from qa_pipeline.prompts.loading import check_own_prompts

    check_own_prompts(settings.llm)
    from qa_pipeline.pipeline.resources import Resources

    resources = Resources(settings)
    _ = resources.entailment  # checks that its files exist without loading its weights
    if settings.llm.hosted_models:
        llm = settings.llm
        judges = [llm.reviewer("judge")] if settings.judging.enabled else []
        resources.models.check([llm.generator, llm.reviewer("verifier"), *judges])
    if settings.judging.enabled and (warning := same_model_warning(settings.llm)):
        sys.stderr.write(f"Note: {warning}\n")


def choose_batches(
    settings: Settings, single: str | None, names: list[str] | None
) -> tuple[list[str], "FoundBatches"]:
    """Return the chosen batches, by default all, and all batches of the corpus.

    If the corpus is a folder of documents instead of batches, `single` is the name of its only batch.
    """
    from qa_pipeline.documents.corpus.corpora import FoundBatches, open_corpus

    if single is None:
        found = open_corpus(settings.corpus).find_batches()
    else:
        check_batch_name(single)
        found = FoundBatches(names=(single,), refused={}, loose=())
    for name in names or []:
        if name in found.refused:
            raise CorpusError(found.refused[name])
        if name not in found.names:
            raise CorpusError(f"{settings.corpus} has no batch {name!r}; it has {first_names(found.names)}")
    return list(dict.fromkeys(names or found.names)), found


def show_settings(
    prefix: Annotated[
        str | None, typer.Argument(help="A setting or group, such as llm or llm.budget.")
    ] = None,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """List settings with their values and meanings.

    Values come from --set, environment variables, the settings file, the profile and the defaults, in this
    order. Secrets are masked.
    """
    rows = [
        row
        for row in settings_in_force(read_changes(change))
        if prefix is None or f"{row['path']}.".startswith(f"{prefix}.")
    ]
    if not rows:
        raise SettingsError(f"{prefix} is not a setting; run qa-pipeline settings to list all settings")
    show({"settings": rows}, as_json=as_json, every=True)
