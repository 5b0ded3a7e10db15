"""Commands that turn documents into pairs: run, validate and estimate."""

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.cli import console, options
from qa_pipeline.documents.corpus.corpora import single_batch, split_batch
from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.files import locked, prepare_folder
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.layout import Layout, check_batch_name
from qa_pipeline.text.rendering import first_names

if TYPE_CHECKING:
    from qa_pipeline.pipeline.fingerprint import BatchOutcome
    from qa_pipeline.pipeline.resources import StageObserver

MOST_TRIED = 3
"""Batches of a trial."""
_NO_CAP = 10**15
"""Calls of an estimate, which needs no cap."""

Corpus = Annotated[
    str, typer.Argument(help="Folder, file or address of documents. Each sub-folder is a batch.")
]


def run(
    corpus: Corpus,
    out: options.Out = Path("data"),
    batch: options.OnlyBatch = None,
    provider: options.Provider = None,
    model: options.Model = None,
    max_calls: options.MaxCalls = None,
    max_cost: options.MaxCost = None,
    accept_unjudged: options.Unjudged = None,
    change: options.Change = None,
    try_chunks: Annotated[
        int | None, typer.Option("--try", min=1, metavar="N", help="Only run N chunks, into OUT/try.")
    ] = None,
    dagster: Annotated[bool, typer.Option("--dagster", help="Record runs at DAGSTER_HOME.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Run unchanged batches too.")] = False,
    as_json: options.Json = False,
) -> None:
    """Generate training examples from batches of documents.

    Unchanged batches are skipped. After an interruption, the same command resumes.
    """
    # a file, or a folder of files alone, is the single batch of the folder around it
    location, single = single_batch(corpus) or (corpus, None)
    overrides = options.model_options(provider, model, max_calls, max_cost, accept_unjudged)
    settings = options.run_settings(location, out, change, overrides)
    home = os.environ.get("DAGSTER_HOME")
    if dagster and not (home and Path(home).is_dir()):
        raise SettingsError("DAGSTER_HOME must name the folder of a Dagster instance")
    batches, found = options.choose_batches(settings, single, batch)
    options.check_models(settings)
    prepare_folder(settings.out)
    if found.loose:
        sys.stderr.write(
            f"Not read: {first_names(found.loose)} in {corpus}. "
            "Each sub-folder is a batch, so files next to them belong to none. Move them into a sub-folder.\n"
        )
    from qa_pipeline.cli.report import show_outcomes
    from qa_pipeline.curation.withdrawals import withdraw_missing
    from qa_pipeline.pipeline import fingerprint
    from qa_pipeline.pipeline.resources import Resources

    if try_chunks is not None:
        with locked(settings.out, shared=True), console.watching(quiet=as_json) as watch:
            outcomes = _run_trial(settings, batches, try_chunks, watch)
        trial = Layout(settings.out / "try")
        raise typer.Exit(show_outcomes(trial, outcomes, as_json=as_json, is_trial=True))
    layout = Layout(settings.out, cache=settings.cache)
    with locked(settings.out, shared=True), console.watching(quiet=as_json) as watch:
        if not batch and single is None:  # the run is for the whole corpus
            withdraw_missing(layout, settings.corpus, {*found.names, *found.refused})
        resources = Resources(settings, watch=watch)
        done = {} if force else fingerprint.unchanged_outcomes(resources, batches)  # by batch
        if due := [name for name in batches if name not in done]:
            from qa_pipeline.defs.running import run_batches  # loads Dagster

            done |= {outcome.batch: outcome for outcome in run_batches(resources, due, recorded=dagster)}
        outcomes = [done[name] for name in batches]
    if not batch:
        outcomes += [fingerprint.BatchOutcome(name, "failed", why) for name, why in found.refused.items()]
    raise typer.Exit(show_outcomes(layout, outcomes, as_json=as_json))


def _run_trial(
    settings: Settings, batches: list[str], count: int, watch: "StageObserver"
) -> "list[BatchOutcome]":
    """Run `count` chunks of a few batches into OUT/try. A full run finds the replies in the store."""
    from qa_pipeline.defs.running import run_batches
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.storage.tables import VERDICTS

    drawn = sorted(batches, key=hash_text)[: min(count, MOST_TRIED)]  # random, but always the same
    outcomes = []
    for number, batch in enumerate(drawn):
        chunks = (count + number) // len(drawn)  # 10 chunks in 3 batches: 3, 3, 4
        generation = settings.generation.model_copy(update={"max_chunks": chunks})
        stores = Layout(settings.out, settings.cache).stores  # those of a full run
        changes = {"generation": generation, "out": settings.out / "try", "cache": stores}
        resources = Resources(settings.model_copy(update=changes), watch=watch)
        # a trial that fails must not show the verdicts of an earlier one
        resources.layout.table(VERDICTS.name, batch).unlink(missing_ok=True)
        outcomes += run_batches(resources, [batch])
    return outcomes


def validate(
    pairs: Annotated[Path, typer.Argument(help="JSONL, JSON, CSV or Parquet file.")],
    corpus: Annotated[str, typer.Option(metavar="CORPUS", help="Folder or address of the documents.")],
    out: options.Out = Path("data/validation"),
    provider: options.Provider = None,
    model: options.Model = None,
    max_calls: options.MaxCalls = None,
    max_cost: options.MaxCost = None,
    accept_unjudged: options.Unjudged = None,
    change: options.Change = None,
    as_json: options.Json = False,
) -> None:
    """Check existing pairs against their documents.

    Writes each row of PAIRS with its `validation`: verdict, scores and evidence.
    """
    options.check_exists(pairs)
    location, name = split_batch(corpus)
    check_batch_name(name)
    overrides = options.model_options(provider, model, max_calls, max_cost, accept_unjudged)
    settings = options.run_settings(location, out, change, overrides)
    options.check_models(settings)
    from qa_pipeline.cli.report import show_outcomes
    from qa_pipeline.curation import exports
    from qa_pipeline.defs.running import run_batches
    from qa_pipeline.generation import pair_entries
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.pipeline.stages import batch_files
    from qa_pipeline.storage.row_files import open_rows

    resources = Resources(settings, pairs_file=pairs)
    batch_files(resources, name)  # errors in the arguments are raised here, before the run
    pair_entries.read_pairs(pairs)
    prepare_folder(settings.out)
    with locked(settings.out, shared=True), console.watching(quiet=as_json) as watch:
        resources.watch = watch
        outcomes = run_batches(resources, [name])
    layout = resources.layout
    code = show_outcomes(layout, outcomes, as_json=as_json)
    if layout.export("passed", name).is_file():  # the pairs were decided
        rows = open_rows(pairs, pair_entries.LIMITS, pair_entries.SUFFIXES).rows
        exports.write_validated(layout, name, rows)
        if not as_json:
            console.print_line(f"All rows with their verdicts: {layout.export(exports.VALIDATED, name)}")
    raise typer.Exit(code)


def estimate(
    corpus: Corpus,
    out: options.Out = Path("data"),
    batch: options.OnlyBatch = None,
    provider: options.Provider = None,
    model: options.Model = None,
    change: options.Change = None,
    as_json: options.Json = False,
) -> None:
    """Estimate the model calls and cost of a run.

    Questions in the output folder are not counted again.
    """
    location, single = single_batch(corpus) or (corpus, None)
    overrides = options.model_options(provider, model, max_calls=_NO_CAP)
    settings = options.run_settings(location, out, change, overrides)
    batches, _ = options.choose_batches(settings, single, batch)
    import time

    from qa_pipeline.llm.budget import CURRENCY
    from qa_pipeline.pipeline.costs import estimate_run
    from qa_pipeline.pipeline.resources import Resources

    estimated = estimate_run(Resources(settings), batches, now=time.time())
    stages = estimated.stages
    # a Decimal cannot be written as JSON
    costs = [None if stage.cost is None else float(stage.cost) for stage in stages]
    document = {
        "stages": [asdict(stage) | {"cost": cost} for stage, cost in zip(stages, costs, strict=True)],
        "currency": CURRENCY,
        "calls": sum(stage.calls for stage in stages),
        "tokens": sum(stage.input_tokens + stage.output_tokens for stage in stages),
        "cost": None if estimated.cost is None else float(estimated.cost),
    }
    screen = document if stages else {"estimate": "llm.provider names no hosted model: it costs nothing"}
    console.show(document, as_json=as_json, screen=screen, all_rows=True)
