"""Arguments and options that commands share, and the group of all commands."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from qa_pipeline.cli.exit_codes import errors_as_exit_codes
from qa_pipeline.errors import InputError
from qa_pipeline.settings.base import output_folder
from qa_pipeline.storage.object_stores import store_of

RUN_FIRST = "run qa-pipeline run CORPUS --out FOLDER first, or name its folder with --out"


class Application(TyperGroup):
    """The group of all commands. It turns their errors into exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with errors_as_exit_codes():
            return super().invoke(ctx)


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
OnlyBatch = Annotated[list[str] | None, typer.Option(help="Only this batch; repeatable.")]
Provider = Annotated[
    str | None, typer.Option(help="gemini, openai, ollama, llama.cpp, vllm, extractive (rules), none.")
]
Model = Annotated[str | None, typer.Option(help="Model of the provider.")]
Change = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a setting; repeatable.")
]
MaxCalls = Annotated[int | None, typer.Option(help="Maximum number of model calls.")]
MaxCost = Annotated[float | None, typer.Option(help="Maximum cost of model calls, in USD.")]
Unjudged = Annotated[
    bool | None,
    typer.Option(
        "--accept-unjudged/--require-judge",
        help="Accept pairs without a judge's scores.",
        show_default="accept offline",
    ),
]
