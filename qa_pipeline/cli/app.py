"""The application: its commands in the order of a first use."""

import sys
from collections.abc import Callable
from importlib import metadata
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from qa_pipeline.cli.evaluate import evaluation
from qa_pipeline.cli.exit_codes import OK, errors_as_exit_codes
from qa_pipeline.cli.options import show_settings
from qa_pipeline.cli.releases import audit, forget, release, verify
from qa_pipeline.cli.review import decide, review, show, status
from qa_pipeline.cli.run import estimate, run, validate
from qa_pipeline.cli.thresholds import calibrate, monitor


class Application(TyperGroup):
    """The group of all commands. It turns their errors into exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with errors_as_exit_codes():
            return super().invoke(ctx)


app = typer.Typer(
    name="qa-pipeline",
    cls=Application,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Turn folders of documents into question-answer training data with verified sources.\n\n"
        "Start with: qa-pipeline run FOLDER. It runs offline; --provider gemini --max-cost N asks Gemini.\n\n"
        "Exit codes: 0 success; 1 a result that needs attention; 2 unusable arguments, settings or input; "
        "3 the model provider stopped the command; 130 interrupted."
    ),
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        sys.stdout.write(f"qa-pipeline {metadata.version('qa-pipeline')}\n")
        raise typer.Exit(OK)


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", is_eager=True, callback=_print_version)] = False,
) -> None:
    """Read the options before a command."""


COMMANDS: tuple[Callable[..., None], ...] = (
    *(run, validate, estimate, status, show, review, decide),
    *(release, verify, audit, forget, calibrate, monitor),
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(evaluation)
app.command("settings")(show_settings)
