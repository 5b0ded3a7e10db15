"""What a person or a program sees of a run: progress bars, tables, one JSON document."""

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Literal
from unicodedata import category

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from qa_pipeline.errors import TableError
from qa_pipeline.pipeline import BatchOutcome, StageObserver, no_observer
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.reporting.report import Report, report
from qa_pipeline.review.document_view import Row, Shown, facts, in_context, pieces
from qa_pipeline.storage import Layout, read_table
from qa_pipeline.tables import PAIRS, VERDICTS
from qa_pipeline.verification.deciding import SIMILARITY_ONLY

NARROWEST = 120
"""Columns below which tables would lose words; a pipe or a log has no width of its own."""

TEXT_COLUMNS = {
    "table", "stage", "what", "reason", "batch", "expected_verdict", "expected_kind", "path", "detail",
    "kind", "model", "role", "expected", "age", "state", "job", "file", "set", "scorer",
    "step", "side", "to", "verdict", "question", "unsupported", "question_type", "lost", "document",
    "section", "decision", "used", "agreement", "annotator", "first", "second", "query", "on held-out groups",
    "metric", "check", "outcome",
}  # fmt: skip
LONGEST_UNBROKEN = 30
"""Characters up to which a text stays on one line; names of batches and files may be of any length."""
MOST_REASONS = 3
"""Reasons that are named on the screen for the questions of a type that were lost."""
MOST_UNREAD = 20
"""Files that could not be read and are listed on the screen."""
MOST_VERDICTS = 20
"""Pairs whose verdict is listed on the screen."""
LONGEST_CELL = 60
COLOURS = {"succeeded": "green", "unchanged": "green", "pending": "yellow", "failed": "red"}
BATCH_COLUMNS = (
    "batch", "documents", "parsed", "chunks", "pairs", "accepted", "rejected", "needs_review", "failed",
    "examples",
)  # fmt: skip
SCORE_COLUMNS = (
    "batch", "sections", "covered", "pass_rate", "pass_rate_of_all", "average_score", "average_score_of_all",
    "citation_accuracy",
)  # fmt: skip
DIVERSITY_COLUMNS = ("batch", "cluster_entropy", "self_similarity")

CANARY_COLUMNS = (
    "expected", "kind", "canaries", "rejected", "accepted", "rejected_share", "rejected_low", "rejected_high",
)  # fmt: skip


@contextmanager
def watching(*, quiet: bool) -> Iterator[StageObserver]:
    """Show the stage at work on standard error: a bar on a terminal, a line for each stage elsewhere."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield no_observer if quiet else _print_stages()
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.fields[batch]}  {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield watch_bars(progress)


def _print_stages() -> StageObserver:
    """Print a line for each stage of each batch, once."""
    printed: set[tuple[str, str]] = set()

    def watch(batch: str, stage: str) -> ProgressCallback:
        if (batch, stage) not in printed:
            printed.add((batch, stage))
            sys.stderr.write(f"{batch}: {stage.replace('_', ' ')}\n")
            sys.stderr.flush()
        return no_progress

    return watch


def watch_bars(progress: Progress) -> StageObserver:
    """Show one bar, for the stage at work; batches run one after the other."""
    shown: dict[str, TaskID] = {}

    def watch(batch: str, stage: str) -> ProgressCallback:
        for other in [name for name in shown if name != batch]:
            progress.remove_task(shown.pop(other))
        if batch not in shown:
            shown[batch] = progress.add_task(stage, total=None, batch=escape(batch))
        task = shown[batch]
        progress.reset(task, total=None, description=stage.replace("_", " "))

        def notify(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        return notify

    return watch


def show_outcomes(
    layout: Layout, outcomes: Sequence[BatchOutcome], *, as_json: bool, next_step: str | None = None
) -> None:
    """Print what became of the batches and what lies in their tables."""
    found = report(layout, [outcome.batch for outcome in outcomes])
    if as_json:
        print_document({**report_document(found, layout), "outcomes": [asdict(one) for one in outcomes]})
        return
    show_report(found, layout, reported={outcome.batch for outcome in outcomes if outcome.error})
    console = _console()
    for outcome in outcomes:
        colour = COLOURS[outcome.outcome]
        error = f": {escape(outcome.error)}" if outcome.error else ""
        words = f"[{colour}]{escape(outcome.batch)} {outcome.outcome}[/{colour}]{error}"
        console.print(words, soft_wrap=True)
        for gate in outcome.failed_gates:
            console.print(f"  {escape(gate)}", soft_wrap=True)
    if next_step:
        console.print(f"[bold]Next:[/bold] {escape(next_step)}", soft_wrap=True)


def show_report(found: Report, layout: Layout, *, reported: Collection[str] = ()) -> None:
    """Print what the tables hold, batch by batch and over all, and where they lie.

    Args:
        found: the counts.
        layout: the output folder.
        reported: batches whose faults are printed elsewhere.
    """
    show_table("Rows", ["table", "rows"], found.tables.items())
    if found.steps.height:
        show_table("Yield", ["stage", "what", "reason", "count"], stage_rows(found.steps))
    show_frame("Questions by type", with_losses(found.types, found.shortfalls))
    show_frame("Known-answer pairs", _with_total(found.known))
    title = "Canaries: claims made from the documents, of known verdict (no estimate of a release's errors)"
    show_frame(title, found.canaries, CANARY_COLUMNS)
    show_frame("Batches", found.batches, BATCH_COLUMNS)
    title = "Sections covered; pass rates and scores of accepted and rejected pairs, and of all pairs"
    show_frame(title, found.batches, SCORE_COLUMNS)
    show_frame("Diversity of the questions", found.batches, DIVERSITY_COLUMNS)
    _show_not_judged(found.batches)
    _show_unproved(found.batches)
    show_frame("Left out of the texts, by kind", found.left_out)
    show_frame("Personal data found", found.masked)
    if found.decisions:
        states = ", ".join(f"{count} {state}" for state, count in sorted(found.decisions.items()))
        print_line(f"Decisions of people: {states}\n")
    if found.cost.calls:
        show_frame("Model calls", found.cost.stages)
        for line in found.cost.message():
            print_line(line)
    show_frame("Files that could not be read", found.unread.head(MOST_UNREAD))
    if found.unread.height > MOST_UNREAD:
        print_line(f"and {found.unread.height - MOST_UNREAD} more: see table documents, status failed\n")
    _show_skipped(found.steps)
    for batch, problem in _problems(found, reported):
        print_line(f"{batch}: {problem}", "yellow")
    for row in found.batches.iter_rows(named=True):
        if not row["documents"]:
            print_line(f"{row['batch']}: its folder holds no files; put documents there", "yellow")
    print_line(f"Tables, indexes, exports: {layout.out.resolve()}")


def _show_not_judged(batches: pl.DataFrame) -> None:
    count = batches["accepted_not_judged"].sum() if batches.height else 0
    if count:
        many = "1 pair is" if count == 1 else f"{count} pairs are"
        print_line(
            f"{many} accepted, not judged: no model judged relevance, correctness and completeness. Every "
            "sentence is verified against its source. To have pairs judged, name a model: --provider gemini "
            "--max-cost N, or llm.judge.provider.\n",
            "yellow",
        )


def _show_unproved(batches: pl.DataFrame) -> None:
    count = batches["accepted_unproved"].sum() if batches.height else 0
    if count:
        advice = "verification.policy=cascade accepts only what is proved."
        print_line(f"{count} accepted by similarity alone. {SIMILARITY_ONLY} {advice}\n", "yellow")


def _problems(found: Report, reported: Collection[str]) -> list[tuple[str, str]]:
    """Batches without training examples, or without tables that can be counted, and why."""
    withdrawn = [
        (batch, f"withdrawn since {stone.since}, no training examples: {stone.message()}")
        for batch, stone in found.withdrawn.items()
    ]
    return withdrawn + [(batch, why) for batch, why in found.incomplete.items() if batch not in reported]


def show_verdicts(layout: Layout, batch: str) -> None:
    """Print the verdict of each pair, those that were not accepted first, and how many have which reason."""
    try:
        pairs = read_table(layout.table(PAIRS.name, batch), PAIRS)
        verdicts = read_table(layout.table(VERDICTS.name, batch), VERDICTS)
    except TableError:  # the run ended before them, and its error is printed
        return
    counts = verdicts.group_by("verdict", "reason").len("pairs")
    show_table("Verdicts", counts.columns, counts.sort("pairs", "verdict", "reason", descending=True).rows())
    first = pl.col("unsupported_spans").list.first()
    span = pl.col("answer").str.slice(
        first.struct.field("start"), first.struct.field("end") - first.struct.field("start")
    )
    rows = (
        pairs.with_columns(pair=pl.coalesce("source_id", pl.col("source_line").cast(pl.String)))
        .join(verdicts, on="pair_id", how="left", maintain_order="left", suffix="_of_verdict")
        .sort(pl.col("verdict") == "accepted", maintain_order=True)
        .select("pair", "verdict", pl.col("reason_of_verdict").alias("reason"), "question", unsupported=span)
    )
    shown = rows.head(MOST_VERDICTS).with_columns(
        pl.col("question", "unsupported").str.replace_all(r"\s+", " ").str.head(LONGEST_CELL)
    )
    title = f"Pairs, the first {shown.height} of {rows.height}" if shown.height < rows.height else "Pairs"
    show_table(title, shown.columns, shown.rows())
    print_line(
        f"All of them: {batch}.jsonl in passed, rejected, needs_review and failed below exports; "
        f"table {layout.table(VERDICTS.name, batch)}"
    )


def _show_skipped(steps: pl.DataFrame) -> None:
    skipped = steps.filter(pl.col("what") == "skipped")["count"].sum() if steps.height else 0
    if skipped:
        many = "1 file" if skipped == 1 else f"{skipped} files"
        print_line(
            f"{many} skipped, of no known format, or a linked folder: see table documents, status skipped\n"
        )


def _with_total(known: pl.DataFrame) -> pl.DataFrame:
    """Expected verdicts and kinds in order, and a line that adds them up."""
    if not known.height:
        return known
    counts = known.select(pl.exclude("expected_verdict", "expected_kind").sum())
    total = counts.with_columns(expected_verdict=pl.lit("all"), expected_kind=pl.lit(""))
    return pl.concat([known.sort("expected_verdict", "expected_kind"), total.select(known.columns)])


def with_losses(types: pl.DataFrame, shortfalls: pl.DataFrame) -> pl.DataFrame:
    """The types with the most frequent reasons for which planned questions of them were lost, in words."""
    most = shortfalls.sort("questions", descending=True, maintain_order=True)
    words = pl.format("{} {}", "questions", "reason").head(MOST_REASONS).str.join(", ")
    lost = most.group_by("question_type", maintain_order=True).agg(lost=words)
    return types.join(lost, on="question_type", how="left", maintain_order="left")


def show_frame(title: str, frame: pl.DataFrame, columns: Sequence[str] | None = None) -> None:
    """Print some columns of a frame, unless it is empty."""
    if frame.height:
        shown = frame if columns is None else frame.select(columns)
        show_table(title, shown.columns, shown.rows())


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print one table of any values: null as a dash, fractions with three digits."""
    cells = [[_cell(value) for value in row] for row in rows]
    table = Table(title=title, title_justify="left", title_style="bold cyan", box=SIMPLE_HEAD)
    for place, column in enumerate(columns):
        words = column in TEXT_COLUMNS
        short = all(len(row[place]) <= LONGEST_UNBROKEN for row in cells)
        justify: Literal["left", "right"] = "left" if words else "right"
        table.add_column(column.replace("_", " "), justify=justify, no_wrap=words and short, overflow="fold")
    for row in cells:
        table.add_row(*map(escape, row))
    _console().print(table)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else _harmless(str(value))


def _harmless(text: str) -> str:
    """The text without what would steer a terminal; names and ratings come from files of anybody."""
    if text.isprintable():
        return text
    return "".join("\ufffd" if category(sign) == "Cc" and sign not in "\n\t" else sign for sign in text)


def print_line(text: str, colour: str | None = None) -> None:
    """Print one line without wrapping."""
    words = escape(_harmless(text))
    _console().print(f"[{colour}]{words}[/{colour}]" if colour else words, soft_wrap=True)


def _console() -> Console:
    console = Console()
    return console if console.width >= NARROWEST else Console(width=NARROWEST)


def stage_rows(steps: pl.DataFrame) -> list[list[Any]]:
    """The rows of a funnel: each stage named once, its parts below it, unknown ones empty."""
    again = pl.col("stage") == pl.col("stage").shift()
    named = steps.with_columns(
        stage=pl.when(again.fill_null(value=False)).then(pl.lit("")).otherwise("stage")
    )
    return [list(row) for row in named.with_columns(pl.col("what", "reason").fill_null("")).iter_rows()]


def report_document(found: Report, layout: Layout) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "out": str(layout.out),
        "tables": found.tables,
        "yield": found.steps,
        "known_answers": found.known,
        "canaries": found.canaries,
        "batches": found.batches,
        "left_out": found.left_out,
        "masked": found.masked,
        "unread": found.unread,
        "question_types": found.types,
        "shortfalls": found.shortfalls,
        "incomplete": found.incomplete,
        "withdrawn": {batch: stone.model_dump() for batch, stone in found.withdrawn.items()},
        "cost": found.cost.document(),
        "decisions": found.decisions,
    }


def print_document(document: dict[str, Any]) -> None:
    """Print one JSON document to standard output; frames are lists of rows."""
    sys.stdout.write(json.dumps(document, indent=2, default=pl.DataFrame.to_dicts) + "\n")


STYLES = {"page": "bold magenta", "section": "bold cyan", "chunk": "bold green", "chunk_end": "green"}
MARKS = {"page": "═══", "section": "───", "chunk": "▼", "chunk_end": "▲"}


def show_document(shown: Shown, chunk: Row | None = None) -> None:
    """Print a document, or one chunk of it within its section; borders stand on lines of their own."""
    console = Console(highlight=False, soft_wrap=True)
    for name, value in facts(shown):
        console.print(Text(f"{name:<18}", style="bold").append(value, style="default"))
    console.print()
    if shown.document["text"] is None:
        return
    for piece in pieces(shown) if chunk is None else in_context(shown, chunk):
        if piece.kind != "text":
            console.print(Text(f"{MARKS[piece.kind]} {piece.text}", style=STYLES[piece.kind]))
        elif piece.text.strip():  # blank lines at borders aside
            console.print(Text(piece.text.strip("\n")))
