"""The command line: arguments in, settings and calls out, a summary on the screen."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.cli.arguments import (
    RUN_FIRST,
    Change,
    Commands,
    Json,
    MaxCalls,
    MaxCost,
    Model,
    OnlyBatch,
    Out,
    Provider,
    check_exists,
    check_models,
    choose_batches,
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
        "Turn folders of documents into question-answer training data that is proved from its sources.\n\n"
        "Start with: qa-pipeline run FOLDER. It works offline by rules; --provider gemini --max-cost N asks "
        "Gemini.\n\n"
        "Exit codes: 0 done; 1 not all is well; 2 arguments, settings or input cannot be used; 3 the model "
        "provider stopped it."
    ),
)

RUNNING, REVIEWING, RELEASING, MEASURING, KEEPING = (
    "Run", "Look and decide", "Release", "Measure", "Settings",
)  # fmt: skip
"""Groups of commands in the help, in the order of a first use."""

Unjudged = Annotated[
    bool | None,
    typer.Option(
        "--accept-unjudged/--require-judge",
        help="Accept pairs that no model judged.",
        show_default="accept offline",
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
            help="Folder or address. Each sub-folder and .zip file is a batch; documents alone are one batch."
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
            help="Run N chunks; project the rest.",
        ),
    ] = None,
    dagster: Annotated[bool, typer.Option("--dagster", help="Record runs at DAGSTER_HOME.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Run unchanged batches too.")] = False,
    as_json: Json = False,
) -> None:
    """Run batches of documents from files to training examples.

    Batches in which nothing changed are not run. A run that was stopped goes on where it was.
    """
    from qa_pipeline.documents.corpus.corpora import single_batch

    with errors_as_exit_codes(resumable=True):
        location, single = single_batch(corpus) or (corpus, None)
        named_values = named_settings(provider, model, max_calls, max_cost, accept_unjudged)
        settings = run_settings(overrides(location, out, change, named_values))
        home = os.environ.get("DAGSTER_HOME")
        if dagster and not (home and Path(home).is_dir()):
            raise SettingsError("DAGSTER_HOME must name the folder of a Dagster instance")
        batches, found = choose_batches(settings, single, batch)
        check_models(settings, model)
        prepare_folder(settings.out)
        if found.loose:
            from qa_pipeline.text.rendering import first_names

            sys.stderr.write(
                f"Not read: {first_names(found.loose)} in {corpus}. It has sub-folders, so each of them "
                "is a batch, and files beside them belong to none. Move these files into a sub-folder.\n"
            )
        with locked(settings.out, shared=True):
            if try_chunks is not None:
                from qa_pipeline.cli.trial import try_chunks as run_trial

                outcomes = run_trial(settings, batches, try_chunks, as_json=as_json)
                raise typer.Exit(OK if all(outcome.passed for outcome in outcomes) else FAILED)
            if not batch and single is None:
                from qa_pipeline.curation.withdrawals import withdraw_missing

                layout = Layout(settings.out, cache=settings.cache)
                withdraw_missing(layout, settings.corpus, {*found.names, *found.refused})
            from qa_pipeline.cli.console import watching
            from qa_pipeline.pipeline.resources import Resources

            with watching(quiet=as_json) as watch:
                resources = Resources(settings, watch=watch)
                outcomes = bring_up_to_date(resources, batches, dagster=dagster, force=force)
        if not batch:  # folders that can be no batch fail by themselves; the others have run
            from qa_pipeline.pipeline.outcomes import BatchOutcome

            outcomes += [BatchOutcome(name, "failed", error=why) for name, why in found.refused.items()]
        from qa_pipeline.cli.outcomes import show_outcomes

        layout = Layout(settings.out)
        raise typer.Exit(show_outcomes(layout, outcomes, as_json=as_json, in_dagster=dagster))


@app.command(rich_help_panel=RUNNING)
def validate(
    pairs: Annotated[Path, typer.Argument(help="JSONL, JSON, CSV or Parquet file.")],
    corpus: Annotated[str, typer.Option(help="Folder, .zip file or address of the documents.")],
    out: Out = Path("data/validation"),
    provider: Provider = None,
    model: Model = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    accept_unjudged: Unjudged = None,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Check existing pairs against their documents.

    Writes each row of PAIRS with its `validation`: verdict, scores and evidence.
    """
    with errors_as_exit_codes(resumable=True):
        check_exists(pairs)
        from qa_pipeline.documents.corpus.corpora import split_batch

        location, name = split_batch(corpus)
        check_batch_name(name)
        named_values = named_settings(provider, model, max_calls, max_cost, accept_unjudged)
        settings = run_settings(overrides(location, out, change, named_values))
        check_models(settings, model)
        from qa_pipeline.cli.console import print_line, watching
        from qa_pipeline.cli.outcomes import show_outcomes
        from qa_pipeline.curation.exports import VALIDATED, write_validated
        from qa_pipeline.defs.running import run_batches
        from qa_pipeline.generation.pair_entries import LIMITS, SUFFIXES, read_pairs
        from qa_pipeline.pipeline.resources import Resources
        from qa_pipeline.pipeline.stages import batch_files
        from qa_pipeline.storage.row_files import open_rows

        resources = Resources(settings, pairs_file=pairs)
        batch_files(resources, name)  # here what is wrong with the arguments is an error of theirs
        read_pairs(pairs)
        prepare_folder(settings.out)
        with locked(settings.out, shared=True), watching(quiet=as_json) as watch:
            resources.watch = watch
            outcomes = run_batches(resources, [name])
        layout = resources.layout
        code = show_outcomes(layout, outcomes, as_json=as_json)
        if layout.export("passed", name).is_file():
            write_validated(layout, name, open_rows(pairs, LIMITS, SUFFIXES).rows())
            if not as_json:
                print_line(f"All rows with their verdicts: {layout.export(VALIDATED, name)}")
        raise typer.Exit(code)


@app.command(rich_help_panel=REVIEWING)
def status(
    out: Out = Path("data"),
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Show why sections gave no row, by reason and format.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what each batch holds, what waits, and what to do next."""
    with errors_as_exit_codes():
        check_exists(out, advice=RUN_FIRST)
        from qa_pipeline.cli.outcomes import show_coverage, show_report
        from qa_pipeline.pipeline.report import finished_batches, read_outcomes, report

        layout = Layout(out)
        if coverage:
            show_coverage(read_outcomes(layout), as_json=as_json)
            return
        summary = report(layout, finished_batches(layout))
        if not (summary.batches.height or summary.incomplete or summary.withdrawn):
            raise InputError(f"{out} holds no tables; run qa-pipeline run CORPUS --out {out} first")
        show_report(summary, layout, as_json=as_json)


def bring_up_to_date(
    resources: "Resources", batches: Sequence[str], *, dagster: bool, force: bool
) -> "list[BatchOutcome]":
    """Run the batches in which something changed; neither models nor Dagster are loaded for the others."""
    from qa_pipeline.pipeline.fingerprint import unchanged_outcomes

    unchanged = {} if force else unchanged_outcomes(resources, batches)
    due = [batch for batch in batches if batch not in unchanged]
    made = {}
    if due:
        from qa_pipeline.defs.running import run_batches

        made = {outcome.batch: outcome for outcome in run_batches(resources, due, recorded=dagster)}
    return [unchanged.get(batch) or made[batch] for batch in batches]


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
