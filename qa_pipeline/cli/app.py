"""The command line: arguments in, settings and calls out, a summary on the screen."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.cli.arguments import (
    Change,
    Commands,
    Json,
    MaxCalls,
    MaxCost,
    Model,
    OnlyBatch,
    Out,
    Provider,
    batches_at,
    check_models,
    chosen_batches,
    located,
    named_settings,
    overrides,
    run_settings,
)
from qa_pipeline.cli.audits import audit
from qa_pipeline.cli.calibrate import calibrate
from qa_pipeline.cli.decide import decide
from qa_pipeline.cli.estimate import estimate
from qa_pipeline.cli.evaluate import evaluation
from qa_pipeline.cli.exit_codes import FAILED, OK, errors_as_exit_codes
from qa_pipeline.cli.forget import forget
from qa_pipeline.cli.monitor import monitor
from qa_pipeline.cli.releases import release, verify
from qa_pipeline.cli.review import review
from qa_pipeline.cli.sample import sample
from qa_pipeline.cli.settings import show_settings
from qa_pipeline.cli.show import show
from qa_pipeline.errors import InputError, SettingsError
from qa_pipeline.storage.files import locked, prepare_folder
from qa_pipeline.storage.layout import Layout, check_batch_name

if TYPE_CHECKING:
    from qa_pipeline.documents.corpus.places import FoundBatches
    from qa_pipeline.pipeline.outcomes import BatchOutcome
    from qa_pipeline.pipeline.resources import Resources

app = typer.Typer(
    name="qa-pipeline",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Turn folders of documents into question-answer training data in which every sentence is proved "
        "from its source.\n\n"
        "Start with: qa-pipeline run FOLDER. Each sub-folder is a batch. It works offline by rules; "
        "--provider gemini --max-cost N asks Gemini; estimate FOLDER estimates the cost.\n\n"
        "Exit codes: 0 all is well; 1 a batch failed or did not pass its gates; 2 the arguments, settings or "
        "input cannot be used; 3 the model provider stopped the run (key, budget): run it again to resume."
    ),
)

RUNNING, REVIEWING, RELEASING, MEASURING, KEEPING = (
    "Run", "Look and decide", "Release", "Measure", "Settings",
)  # fmt: skip
"""Groups of commands in the help, in the order of a first use."""

Verbose = Annotated[bool, typer.Option("--verbose", help="Show the tables of counts that status shows, too.")]
Unjudged = Annotated[
    bool | None,
    typer.Option(
        "--accept-unjudged/--require-judge",
        help="Whether verified pairs that no model judged are accepted.",
        show_default="accepted offline, sent to review where a hosted model is configured",
    ),
]


def _print_version(*, is_wanted: bool) -> None:
    if is_wanted:
        from importlib import metadata

        sys.stdout.write(f"qa-pipeline {metadata.version('qa-pipeline')}\n")
        raise typer.Exit(OK)


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=lambda is_wanted: _print_version(is_wanted=is_wanted)
        ),
    ] = False,
) -> None:
    """Read the options before a command."""


@app.command(rich_help_panel=RUNNING)
def run(
    corpus: Annotated[
        str,
        typer.Argument(
            help="Folder whose sub-folders and .zip files are batches of documents, or an address of such a "
            "place, such as s3://bucket/folder. A folder of documents without sub-folders is one batch."
        ),
    ],
    out: Out = Path("data"),
    batch: OnlyBatch = None,
    provider: Provider = None,
    model: Model = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    accept_unjudged: Unjudged = None,
    change: Change = None,
    try_chunks: Annotated[
        int | None,
        typer.Option(
            "--try",
            min=1,
            metavar="N",
            help="Run N chunks only, show their pairs as they are decided, and project the cost of the rest.",
        ),
    ] = None,
    dagster: Annotated[
        bool, typer.Option("--dagster", help="Run as partitions of the Dagster instance at DAGSTER_HOME.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Run batches too in which nothing changed; nothing is paid twice.")
    ] = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Run batches of documents from files to training examples.

    A batch in which nothing changed is not run: neither files, settings, code and decisions, nor its tables.
    What an earlier run stored is used again, and a run that was stopped goes on where it was.
    """
    from qa_pipeline.cli.console import show_outcomes, watching
    from qa_pipeline.curation.withdrawals import withdraw_missing
    from qa_pipeline.pipeline.outcomes import BatchOutcome
    from qa_pipeline.pipeline.resources import Resources

    with errors_as_exit_codes(resumable=True):
        location, single = located(corpus)
        named_values = named_settings(provider, model, max_calls, max_cost, accept_unjudged)
        settings = run_settings(overrides(location, out, change, named_values))
        check_models(settings, model)
        corpus_batches = batches_at(settings, single)
        batches = chosen_batches(batch, corpus_batches, settings.corpus)
        prepare_folder(settings.out)
        if not batch and single is None:
            layout = Layout(settings.out, cache=settings.cache)
            withdraw_missing(layout, settings.corpus, {*corpus_batches.names, *corpus_batches.refused})
        _tell_loose_files(corpus_batches, settings.corpus)
        if try_chunks is not None:
            from qa_pipeline.cli import trial

            with locked(settings.out, shared=True):
                raise typer.Exit(_code(trial.try_chunks(settings, batches, try_chunks, as_json=as_json)))
        with (
            locked(settings.out, shared=True),
            watching(quiet=as_json) as watch,
        ):
            outcomes = bring_up_to_date(
                Resources(settings, watch=watch), batches, dagster=dagster, force=force
            )
        if not batch:  # folders that can be no batch fail by themselves; the others have run
            outcomes += [
                BatchOutcome(name, "failed", error=why) for name, why in corpus_batches.refused.items()
            ]
        show_outcomes(Layout(settings.out), outcomes, as_json=as_json, verbose=verbose, in_dagster=dagster)
        raise typer.Exit(_code(outcomes))


@app.command(rich_help_panel=RUNNING)
def validate(
    pairs: Annotated[Path, typer.Argument(help="JSONL, JSON, CSV or Parquet of questions and answers.")],
    corpus: Annotated[
        str, typer.Option(help="Folder, .zip file or address with the documents that the pairs cite.")
    ],
    out: Out = Path("data/validation"),
    provider: Provider = None,
    model: Model = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    accept_unjudged: Unjudged = None,
    change: Change = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Check existing pairs against their documents: source verification and judging, no generation.

    Writes each row of PAIRS as it is, with its verdict, scores and evidence as `validation`, to
    OUT/exports/validated.
    """
    from qa_pipeline.cli.console import show_outcomes, show_verdicts, watching
    from qa_pipeline.curation.exports import write_validated
    from qa_pipeline.defs.running import run_batches
    from qa_pipeline.documents.corpus.corpora import split_batch
    from qa_pipeline.generation.pairs_file import LIMITS, SUFFIXES, read_pairs
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.pipeline.stages import batch_files
    from qa_pipeline.storage.row_files import open_rows

    with errors_as_exit_codes(resumable=True):
        location, name = split_batch(corpus)
        named_values = named_settings(provider, model, max_calls, max_cost, accept_unjudged)
        settings = run_settings(overrides(location, out, change, named_values))
        check_models(settings, model)
        check_batch_name(name)
        resources = Resources(settings, pairs_file=pairs)
        batch_files(resources, name)  # here what is wrong with the arguments is an error of theirs
        read_pairs(pairs)
        prepare_folder(settings.out)
        with (
            locked(settings.out, shared=True),
            watching(quiet=as_json) as watch,
        ):
            resources.watch = watch
            (outcome,) = run_batches(resources, [name])
        if resources.layout.export("passed", name).is_file():
            write_validated(resources.layout, name, open_rows(pairs, LIMITS, SUFFIXES).rows())
        if not as_json:
            show_verdicts(Layout(settings.out), name)
        show_outcomes(Layout(settings.out), [outcome], as_json=as_json, verbose=verbose)
        raise typer.Exit(_code([outcome]))


@app.command(rich_help_panel=REVIEWING)
def status(
    out: Out = Path("data"),
    coverage: Annotated[
        bool,
        typer.Option(
            "--coverage",
            help="Show which sections gave no row and why, by reason and format; --json has all.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what the output folder contains: rows, yield, known answers, verdicts by batch."""
    from qa_pipeline.cli.console import print_document, report_document, show_coverage, show_report
    from qa_pipeline.pipeline.report import finished_batches, read_outcomes, report

    with errors_as_exit_codes():
        layout = Layout(out)
        if coverage:
            show_coverage(read_outcomes(layout), as_json=as_json)
            return
        summary = report(layout, finished_batches(layout))
        if not (summary.batches.height or summary.incomplete or summary.withdrawn):
            raise InputError(f"{out} holds no tables; run qa-pipeline run CORPUS --out {out} first")
        if as_json:
            print_document(report_document(summary, layout))
        else:
            show_report(summary, layout)


def bring_up_to_date(
    resources: "Resources", batches: "Sequence[str]", *, dagster: bool, force: bool
) -> "list[BatchOutcome]":
    """Run the batches in which something changed; neither models nor Dagster are loaded for the others.

    Raises:
        SettingsError: runs are to be recorded, and DAGSTER_HOME does not name a folder.
    """
    from qa_pipeline.pipeline.fingerprint import unchanged_outcomes

    home = os.environ.get("DAGSTER_HOME")
    if dagster and not (home and Path(home).is_dir()):
        raise SettingsError(
            "DAGSTER_HOME must name the folder of a Dagster instance; make demo and make ui use data/dagster"
        )
    unchanged = {} if force else unchanged_outcomes(resources, batches)
    due = [batch for batch in batches if batch not in unchanged]
    made = {}
    if due:
        from qa_pipeline.defs.running import run_batches

        made = {outcome.batch: outcome for outcome in run_batches(resources, due, recorded=dagster)}
    return [unchanged.get(batch) or made[batch] for batch in batches]


def _code(outcomes: "Sequence[BatchOutcome]") -> int:
    """Return the exit code of several runs."""
    return OK if all(outcome.passed for outcome in outcomes) else FAILED


def _tell_loose_files(batches: "FoundBatches", corpus: str) -> None:
    from qa_pipeline.text.rendering import first_names

    if batches.loose:
        sys.stderr.write(
            f"Not read: {first_names(batches.loose)} in {corpus}. {corpus} has sub-folders, so each of them "
            "is a batch, and files beside them belong to none. Move these files into a sub-folder to have "
            "them read.\n"
        )


app.command(rich_help_panel=RUNNING)(estimate)
app.command(rich_help_panel=REVIEWING)(show)
app.command(rich_help_panel=REVIEWING)(review)
app.command(rich_help_panel=REVIEWING)(decide)
app.command(rich_help_panel=REVIEWING)(sample)
app.command(rich_help_panel=RELEASING)(release)
app.command(rich_help_panel=RELEASING)(verify)
app.command(rich_help_panel=RELEASING)(forget)
app.add_typer(audit, rich_help_panel=RELEASING)
app.add_typer(evaluation, rich_help_panel=MEASURING)
app.add_typer(monitor, rich_help_panel=MEASURING)
app.command(rich_help_panel=MEASURING)(calibrate)
app.command("settings", rich_help_panel=KEEPING)(show_settings)
