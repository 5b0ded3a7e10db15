"""The command line: arguments in, settings and calls out, a summary on the screen.

What belongs here: commands, their help, exit codes, and which error gets which code. What does not: what
a run does (`pipeline.py`), how tables are counted (`waterfall.py`) or printed (`console.py`).
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from qa_pipeline.settings import Settings

OK, FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 3

app = typer.Typer(
    name="qa-pipeline",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help=(
        "Turn folders of documents into question-answer training data in which every sentence is proved "
        "from its source.\n\n"
        "Start with **qa-pipeline run FOLDER**: each sub-folder is a batch. It works offline by rules; "
        "**--provider gemini --max-calls N** asks Gemini.\n\n"
        "Exit codes: 0 all is well; 1 a batch failed or did not pass its gates; 2 the arguments, settings or "
        "input cannot be used; 3 the model provider stopped the run (key, budget), which resumes when run "
        "again."
    ),
)

Out = Annotated[Path, typer.Option(help="Folder for tables, indexes, exports and caches.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Provider = Annotated[
    str | None, typer.Option(help="extractive (offline rules), gemini, or none. [default: extractive]")
]
MaxCalls = Annotated[int | None, typer.Option(help="Cap on model calls; a paid provider needs one.")]
Unjudged = Annotated[
    bool, typer.Option("--accept-unjudged", help="Accept verified pairs that no judge has seen.")
]


@app.command()
def run(
    corpus: Annotated[Path, typer.Argument(help="Folder whose sub-folders are batches of documents.")],
    out: Out = Path("data"),
    batch: Annotated[
        list[str] | None, typer.Option(help="Only this batch; may be given more than once.")
    ] = None,
    provider: Provider = None,
    max_calls: MaxCalls = None,
    accept_unjudged: Unjudged = False,
    dagster: Annotated[
        bool, typer.Option("--dagster", help="Run as partitions of the Dagster instance at DAGSTER_HOME.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run batches of documents from files to training examples.

    What an earlier run has stored is used again: unchanged batches ask no model and change no byte.
    """
    from qa_pipeline.console import show_summary, watching
    from qa_pipeline.documents.batches import list_batches

    with _errors_as_exit_codes():
        settings = _settings(corpus, out, provider, max_calls, accept_unjudged=accept_unjudged)
        chosen = batch or list_batches(settings.corpus)
        _check_known(chosen, list_batches(settings.corpus), settings.corpus)
        with watching(quiet=as_json) as watch:
            outcomes = _runner(dagster=dagster)(settings, chosen, watch)
        show_summary(settings, outcomes, as_json=as_json)
        raise typer.Exit(OK if all(outcome.passed for outcome in outcomes) else FAILED)
