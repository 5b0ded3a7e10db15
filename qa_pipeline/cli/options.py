"""Options that commands share, the settings and batches they name, and the command `settings`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from qa_pipeline.cli.console import show
from qa_pipeline.documents.corpus.corpora import FoundBatches, open_corpus
from qa_pipeline.errors import CorpusError, InputError, SettingsError
from qa_pipeline.settings.base import output_folder, read_assignments
from qa_pipeline.settings.llm import HOSTED, same_model_warning
from qa_pipeline.settings.tree import Settings, load_settings, settings_in_force
from qa_pipeline.storage.layout import check_batch_name
from qa_pipeline.storage.object_stores import store_of
from qa_pipeline.text.rendering import first_names

RUN_FIRST = "run qa-pipeline run CORPUS --out FOLDER first, or name its folder with --out"


def out_folder(value: object) -> Path:
    """Return the output folder that an argument names, if results can be written there."""
    try:
        return output_folder(value)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def check_exists(*paths: Path | None, advice: str = "check the path") -> None:
    """Check that local paths exist, before anything slow is loaded."""
    for path in paths:
        if path is not None and store_of(path) is None and not path.exists():
            raise InputError(f"{path} does not exist; {advice}")


def folder_option(text: str, metavar: str = "FOLDER") -> Any:
    """Return an option that names an output folder or a release."""
    return typer.Option(help=text, parser=out_folder, metavar=metavar)


Out = Annotated[Path, folder_option("Output folder or address.")]
Release = Annotated[
    Path, typer.Argument(help="A release or a folder of releases.", parser=out_folder, metavar="RELEASE")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
OnlyBatch = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this batch; repeatable.")]
Provider = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="gemini, openai, ollama, llama.cpp, vllm, extractive (rules), none."),
]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="Model of the provider.")]
Change = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a setting; repeatable.")
]
MaxCalls = Annotated[int | None, typer.Option(metavar="N", help="Maximum number of model calls.")]
MaxCost = Annotated[float | None, typer.Option(metavar="USD", help="Maximum cost of model calls.")]
Unjudged = Annotated[
    bool | None,
    typer.Option(
        "--accept-unjudged/--require-judge",
        help="Accept pairs without a judge's scores.",
        show_default="accept offline",
    ),
]


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
    """Return the tree of settings that `--set` and options change, such as {llm: {workers: 20}}.

    `change` has the texts of `--set`, and `options` values by path, which take precedence. `--set` must not
    change `arguments`, the settings that the command takes as arguments.
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
    """Load the settings of a run; refuse an openai server without a model, and a model that is not used."""
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
) -> tuple[list[str], FoundBatches]:
    """Return the chosen batches, by default all, and all batches of the corpus.

    If the corpus is a file, or a folder of documents instead of batches, `single` is the name of its only
    batch. `names` are the values of `--batch`.
    """
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
        # with the dots, `llm` chooses llm and llm.model, and `ll` nothing
        if prefix is None or f"{row['path']}.".startswith(f"{prefix}.")
    ]
    if not rows:
        raise SettingsError(f"{prefix} is not a setting; run qa-pipeline settings to list all settings")
    show({"settings": rows}, as_json=as_json, all_rows=True)
