"""The command line: arguments in, settings and calls out, a summary on the screen.

What belongs here: commands, their help, exit codes, and which error gets which code. What does not: what
a run does (`batch.py`), how tables are counted (`report.py`) or printed (`console.py`).
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.calibration.command import calibrate
from qa_pipeline.calibration.what_if_command import what_if
from qa_pipeline.estimating.command import estimate
from qa_pipeline.evaluation.command import evaluation
from qa_pipeline.exit_codes import BAD_INPUT as BAD_INPUT
from qa_pipeline.exit_codes import FAILED as FAILED
from qa_pipeline.exit_codes import OK as OK
from qa_pipeline.exit_codes import PENDING as PENDING
from qa_pipeline.exit_codes import STOPPED as STOPPED
from qa_pipeline.exit_codes import errors_as_exit_codes
from qa_pipeline.jobs_command import jobs
from qa_pipeline.llm.fake_server.command import serve_fake
from qa_pipeline.refusals_command import refusals
from qa_pipeline.replies_cli import replies
from qa_pipeline.review.command import decide
from qa_pipeline.show_command import show
from qa_pipeline.verification.combined.command import fit_combined

if TYPE_CHECKING:  # heavy: imported where a command needs them, so that --help answers at once
    from qa_pipeline.batch import BatchOutcome, Watch
    from qa_pipeline.documents.batches import FoundBatches
    from qa_pipeline.settings.tree import Settings

NAMED_FILES = 5

app = typer.Typer(
    name="qa-pipeline",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Turn folders of documents into question-answer training data in which every sentence is proved "
        "from its source.\n\n"
        "Start with: qa-pipeline run FOLDER. Each sub-folder is a batch. It works offline by rules; "
        "--provider gemini --max-cost N asks Gemini; estimate FOLDER says what that would cost.\n\n"
        "Exit codes: 0 all is well; 1 a batch failed or did not pass its gates; 2 the arguments, settings or "
        "input cannot be used; 3 the model provider stopped the run (key, budget): run it again to resume; "
        "4 replies are awaited from batch jobs (llm.delivery=batch): run it again when they have come."
    ),
)

app.add_typer(replies)
app.add_typer(evaluation)

Out = Annotated[Path, typer.Option(help="Folder for tables, indexes, exports and caches.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Provider = Annotated[
    str | None, typer.Option(help="extractive (offline rules), gemini, or none (only verify existing pairs).")
]
MaxCalls = Annotated[int | None, typer.Option(help="Cap on model calls; a paid provider needs some cap.")]
MaxCost = Annotated[float | None, typer.Option(help="Cap on what calls cost, in the currency of the prices.")]
Unjudged = Annotated[
    bool, typer.Option("--accept-unjudged", help="Accept verified pairs that no judge has seen.")
]


@app.command()
def run(
    corpus: Annotated[
        str,
        typer.Argument(
            help="Folder whose sub-folders and .zip files are batches of documents; or an address of such a "
            "place, as s3://bucket/folder."
        ),
    ],
    out: Out = Path("data"),
    batch: Annotated[list[str] | None, typer.Option(help="Only this batch; may be given again.")] = None,
    provider: Provider = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    accept_unjudged: Unjudged = False,
    dagster: Annotated[
        bool, typer.Option("--dagster", help="Run as partitions of the Dagster instance at DAGSTER_HOME.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run batches of documents from files to training examples.

    What an earlier run stored is used again: an unchanged batch asks no model and changes no byte, and a
    run that was stopped goes on where it was.
    """
    from qa_pipeline.console import show_outcomes, watching
    from qa_pipeline.documents.sources.corpora import open_corpus
    from qa_pipeline.layout import Layout
    from qa_pipeline.storage import prepare_folder

    with errors_as_exit_codes():
        settings = _settings(corpus, out, provider, (max_calls, max_cost), accept_unjudged=accept_unjudged)
        found = open_corpus(settings.corpus, settings.documents).find_batches()
        batches = chosen_batches(batch, found, settings.corpus)
        prepare_folder(settings.out)
        _tell_loose_files(found, settings.corpus)
        with watching(quiet=as_json) as watch:
            outcomes = _run_dagster(settings, batches, watch) if dagster else _run(settings, batches, watch)
        outcomes += [] if batch else _refused(found)
        steps = _next_steps(settings, dagster=dagster)
        show_outcomes(Layout(settings.out), outcomes, as_json=as_json, next_steps=steps)
        raise typer.Exit(_code(outcomes))


@app.command()
def validate(
    pairs: Annotated[Path, typer.Argument(help="JSONL or Parquet: question, answer, citations.")],
    corpus: Annotated[
        str, typer.Option(help="Folder, .zip file or address with the documents that the pairs cite.")
    ],
    out: Out = Path("data/validation"),
    provider: Provider = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    accept_unjudged: Unjudged = False,
    as_json: Json = False,
) -> None:
    """Check existing pairs against their documents: source verification and judging, no generation."""
    from qa_pipeline.batch import validate_pairs
    from qa_pipeline.console import show_outcomes, show_verdicts, watching
    from qa_pipeline.documents.batches import check_batch_name
    from qa_pipeline.documents.sources.corpora import split_batch
    from qa_pipeline.layout import Layout
    from qa_pipeline.parts import Parts
    from qa_pipeline.storage import prepare_folder

    with errors_as_exit_codes():
        location, name = split_batch(corpus)
        settings = _settings(location, out, provider, (max_calls, max_cost), accept_unjudged=accept_unjudged)
        check_batch_name(name)
        prepare_folder(settings.out)
        with watching(quiet=as_json) as watch:
            outcome = validate_pairs(Parts(settings), name, pairs, watch)
        if not as_json:
            show_verdicts(Layout(settings.out), name)
        show_outcomes(Layout(settings.out), [outcome], as_json=as_json)
        raise typer.Exit(_code([outcome]))


@app.command()
def status(out: Out = Path("data"), as_json: Json = False) -> None:
    """Show what lies in the output folder: rows, yield, known answers, verdicts a batch."""
    from qa_pipeline.console import print_document, report_document, show_report
    from qa_pipeline.errors import InputError
    from qa_pipeline.layout import Layout
    from qa_pipeline.report import finished_batches, report

    with errors_as_exit_codes():
        layout = Layout(out)
        batches = finished_batches(layout)
        if not batches:
            raise InputError(f"{out} holds no tables; run qa-pipeline run CORPUS --out {out} first")
        found = report(layout, batches)
        if as_json:
            print_document(report_document(found, layout))
        else:
            show_report(found, layout)


def _code(outcomes: "Sequence[BatchOutcome]") -> int:
    """While anything is awaited the run is not over; what has failed is told again by the last one."""
    if any(outcome.outcome == "pending" for outcome in outcomes):
        return PENDING
    return OK if all(outcome.passed for outcome in outcomes) else FAILED


def _run(settings: "Settings", batches: Sequence[str], watch: "Watch") -> "list[BatchOutcome]":
    from qa_pipeline.batch import run_batches
    from qa_pipeline.parts import Parts

    return run_batches(Parts(settings), batches, watch)


def _run_dagster(settings: "Settings", batches: Sequence[str], watch: "Watch") -> "list[BatchOutcome]":
    from qa_pipeline.defs.command_line import run_on_instance  # noqa: TID251 - the one way to Dagster

    return run_on_instance(settings, batches, watch)


def _next_steps(settings: "Settings", *, dagster: bool) -> list[str]:
    if dagster:
        return ["make ui, then open http://127.0.0.1:3000"]
    return [f"qa-pipeline status --out {settings.out}"]


def chosen_batches(asked: list[str] | None, found: "FoundBatches", corpus: str) -> list[str]:
    """The batches asked for, or all there are.

    Raises:
        CorpusError: there is no such batch.
    """
    from qa_pipeline.errors import CorpusError

    for name in asked or []:
        if name in found.refused:
            raise CorpusError(found.refused[name])
        if name not in found.names:
            raise CorpusError(f"{corpus} has no batch {name!r}; it has {', '.join(found.names)}")
    return list(dict.fromkeys(asked or found.names))


def _refused(found: "FoundBatches") -> "list[BatchOutcome]":
    """Folders that can be no batch fail by themselves; the others have run."""
    from qa_pipeline.batch import BatchOutcome

    return [BatchOutcome(name, "failed", error=problem) for name, problem in found.refused.items()]


def _tell_loose_files(found: "FoundBatches", corpus: str) -> None:
    if found.loose:
        named = ", ".join(found.loose[:NAMED_FILES])
        more = f" and {len(found.loose) - NAMED_FILES} more" if len(found.loose) > NAMED_FILES else ""
        sys.stderr.write(f"Not read, since they lie in no batch: {named}{more} in {corpus}\n")


def _settings(
    corpus: str,
    out: Path,
    provider: str | None,
    caps: tuple[int | None, float | None],
    *,
    accept_unjudged: bool,
) -> "Settings":
    from qa_pipeline.settings.tree import load_settings

    llm: dict[str, Any] = {}
    if provider is not None:
        llm["provider"] = provider
    budget = {name: cap for name, cap in zip(("max_calls", "max_cost"), caps, strict=True) if cap is not None}
    if budget:
        llm["budget"] = budget
    judging = {"accept_unjudged": True} if accept_unjudged else {}
    settings = load_settings(corpus=corpus, out=out, llm=llm, judging=judging)
    _check_models(settings)
    return settings


def _check_models(settings: "Settings") -> None:
    """Say what is wrong with the choice of models now, and not after hours of parsing."""
    from qa_pipeline.parts import Parts
    from qa_pipeline.settings.models import HOSTED
    from qa_pipeline.settings.notes import notes

    if any(model.provider in HOSTED for model in settings.llm.models):
        Parts(settings).check_models()
    for note in notes(settings):
        sys.stderr.write(f"Note: {note}\n")


app.command()(estimate)
app.command()(show)
app.command()(fit_combined)
app.command()(calibrate)
app.command()(what_if)
app.command()(refusals)
app.command()(decide)
app.command("jobs")(errors_as_exit_codes()(jobs))
app.command("serve-fake")(errors_as_exit_codes()(serve_fake))
