"""What a person or a program sees of a run: progress bars, tables, one JSON document."""

import json
import re
import shlex
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any
from unicodedata import category

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from qa_pipeline.cli.samples import Sample, sample_pairs
from qa_pipeline.curation.coverage import count_outcomes
from qa_pipeline.curation.gates.gates import VERDICT_WORDS
from qa_pipeline.curation.reasons import in_words
from qa_pipeline.errors import TableError
from qa_pipeline.pipeline.outcomes import WARNING, BatchOutcome
from qa_pipeline.pipeline.report import Report, report
from qa_pipeline.pipeline.resources import StageObserver, no_observer
from qa_pipeline.records import ProgressCallback
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import PAIRS, VERDICTS
from qa_pipeline.text.rendering import figure, first_names, plural, words
from qa_pipeline.verification.deciding import SIMILARITY_ONLY

NARROWEST = 120
"""Columns of a pipe or a log, which have no width of their own; narrower terminals get narrow tables."""

_NUMBER = re.compile(r"|–|[-+]?[\d.,]{1,40}(?: ?[^\W\d]\w{0,20}| ?%)?")
"""A cell that is empty, unknown, or a number with or without a unit; a column of such is on the right."""
LONGEST_UNBROKEN = 30
"""Characters up to which a text stays on one line; names of batches and files may be of any length."""
MOST_UNCOVERED = 20
"""Sections without a row that are listed on the screen."""
MOST_UNREAD = 20
"""Files that could not be read and are listed on the screen."""
MOST_VERDICTS = 20
"""Pairs whose verdict is listed on the screen."""
LONGEST_CELL = 60
"""Characters of a question in the table of verdicts, whose other columns need the rest of a line."""
LONGEST_SILENCE_S = 60.0
"""Seconds between two lines about one stage, at most."""
LONGEST_TEXT = 800
"""Characters of a question, an answer or a reason that are shown."""
MOST_NAMES = 5
"""Files or batches that are named where there are many."""
MOST_BATCHES = 20
"""Batches that get a line of their own at the end of a run."""
COLOURS = {
    "failed": "red",
    "waiting": "yellow",
    "empty": "yellow",
    "succeeded": "green",
    "unchanged": "green",
}
"""By outcome, those that need a person first."""
BATCH_COLUMNS = (
    "batch", "documents", "parsed", "chunks", "pairs", "accepted", "rejected", "needs_review", "failed",
    "examples",
)  # fmt: skip
SCORE_COLUMNS = (
    "batch", "sections", "covered", "pass_rate", "pass_rate_of_all", "average_score",
    "average_score_of_passed",
    "citation_accuracy",
)  # fmt: skip

CANARY_COLUMNS = (
    "asks", "expected", "kind", "canaries", "rejected", "accepted",
    "rejected_share", "rejected_low", "rejected_high",
)  # fmt: skip


@contextmanager
def watching(*, quiet: bool) -> Iterator[StageObserver]:
    """Show the stage at work on standard error: a bar on a terminal, lines elsewhere, nothing if quiet."""
    console = Console(stderr=True)
    if quiet:
        yield no_observer
    elif console.is_terminal:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=console, transient=True) as progress:
            yield watch_bars(progress)
    else:
        yield watch_lines()


def watch_bars(progress: Progress) -> StageObserver:
    """Show one bar, for the stage at work; batches run one after the other."""

    def watch(batch: str, stage: str) -> ProgressCallback:
        for finished in progress.task_ids:
            progress.remove_task(finished)
        task = progress.add_task(escape(f"{batch}  {words(stage)}"), total=None)
        return lambda done, total: progress.update(task, completed=done, total=total)

    return watch


def watch_lines(clock: Callable[[], float] = time.monotonic) -> StageObserver:
    """Print a line for each batch, and one a minute in long stages."""
    last_batch = None

    def watch(batch: str, stage: str) -> ProgressCallback:
        nonlocal last_batch
        if batch != last_batch:
            sys.stderr.write(f"{batch}\n")
            last_batch = batch
        last_line = clock()

        def notify(done: int, total: int) -> None:
            nonlocal last_line
            if clock() - last_line >= LONGEST_SILENCE_S:
                last_line = clock()
                sys.stderr.write(f"{batch}: {words(stage)}, {done} of {total}\n")

        return notify

    return watch


def show_outcomes(
    layout: Layout,
    outcomes: Sequence[BatchOutcome],
    *,
    as_json: bool,
    verbose: bool = False,
    in_dagster: bool = False,
) -> None:
    """Print what came of a run: some of its pairs in full, the totals, the outcomes, the next commands.

    Args:
        layout: the output folder.
        outcomes: of the batches that ran.
        as_json: print all counts as one JSON document instead.
        verbose: print the tables of counts and the warnings of gates too.
        in_dagster: whether the run is in a Dagster instance, so that its UI shows it.
    """
    summary = report(layout, [outcome.batch for outcome in outcomes])
    if as_json:
        print_document(
            {**report_document(summary, layout), "outcomes": [asdict(outcome) for outcome in outcomes]}
        )
        return
    failed = {outcome.batch for outcome in outcomes if outcome.outcome == "failed"}
    if verbose:
        show_report(summary, layout, reported=failed)
    _show_samples(summary, layout)
    _show_totals(summary, {outcome.batch for outcome in outcomes})
    _show_batches(outcomes, verbose=verbose)
    passed = any(outcome.passed for outcome in outcomes)
    _show_next_commands(summary, layout, can_release=passed, in_dagster=in_dagster)


def _show_samples(summary: Report, layout: Layout) -> None:
    """Print some accepted pairs and some that were not accepted."""
    if not summary.batches.height:
        return
    refused = pl.sum_horizontal("rejected", "needs_review", "failed")
    for title, count in {"Accepted": pl.col("accepted"), "Not accepted": refused}.items():
        counted = summary.batches.select("batch", count=count).filter(pl.col("count") > 0)
        if not counted.height:
            continue
        samples = sample_pairs(layout, counted["batch"].to_list(), accepted=title == "Accepted")
        of_all = "" if len(samples) == counted["count"].sum() else f" of {counted['count'].sum()}"
        print_line(f"{title}, {len(samples)}{of_all}\n", "bold cyan")
        for sample in samples:
            show_pair(sample)


def show_pair(pair: Sample, when: str = "") -> None:
    """Print a pair beside its source; `when` tells when it was decided."""
    print_block(pair.question, "bold")
    print_block(pair.answer)
    if pair.why:
        print_block(f"{words(pair.verdict)}{when}: {pair.why}", "yellow")
    elif when:
        print_block(f"{words(pair.verdict)}{when}", "green")
    if pair.quote:
        print_block(f"“{pair.quote}”", "cyan")
    print_block(pair.source, "dim")
    print_line("")


def print_block(text: str, style: str = "") -> None:
    """Print a text of anybody's on lines of the terminal's width, indented; a very long one is cut."""
    cut = " ".join(_harmless(text).split())
    if (rest := len(cut) - LONGEST_TEXT) > 0:
        cut = f"{cut[:LONGEST_TEXT]} … ({rest} characters more)"
    Console(highlight=False).print(Padding(Text(cut, style=style), (0, 0, 0, 2), expand=False))


def _show_totals(summary: Report, ran: Collection[str]) -> None:
    """Print the sums over all batches in a few lines, and what a person should know of them."""
    counts = summary.batches.select(pl.col(pl.Int64).sum()).to_dicts()[0] if summary.batches.height else {}
    if counts:
        verdicts = ", ".join(f"{counts[word]} {words(word)}" for word in VERDICT_WORDS if counts[word])
        chunks = plural(counts["chunks"], "chunk")
        lines = {
            "documents": f"{counts['parsed']} of {counts['documents']} read, {chunks}",
            "sections": f"{counts['covered']} of {counts['sections']} gave an accepted pair",
            "pairs": f"{counts['pairs']}: {verdicts}" if verdicts else str(counts["pairs"]),
            "training examples": str(counts["examples"]),
        }
        if summary.known_answers.height:
            answers = summary.known_answers
            hits = answers.filter(pl.col("verdict") == pl.col("expected_verdict"))["pairs"].sum()
            wrong = answers.filter(pl.col("expected_verdict") != "accepted", verdict="accepted")[
                "pairs"
            ].sum()
            lines["known answers"] = (
                f"{hits} of {answers['pairs'].sum()} as expected, {wrong} wrongly accepted"
            )
        if summary.cost.calls:
            cost = "" if summary.cost.cost is None else f", {summary.cost.cost:.2f} {summary.cost.currency}"
            lines["model calls"] = f"{summary.cost.calls}{cost}"
        if summary.decisions:
            lines["decisions"] = _decision_states(summary)
        for name, figures in lines.items():
            print_line(f"{name:<19}{figures}")
        print_line("")
    for line in summary.cost.message() if summary.cost.calls else ():
        print_line(line)
    lost = summary.steps.filter(stage="questions").drop_nulls("reason")
    if lost.height and not summary.cost.calls:
        reasons = "; ".join(f"{in_words(reason)} ({count})" for *_, reason, count in lost.iter_rows())
        print_line(
            f"The offline rules did not ask everything: {reasons}. They ask only what is plainly stated; a "
            "model asks more: name one with --provider",
            "yellow",
        )
    _show_not_judged(summary.batches)
    _show_unread(summary.unread)
    withdrawn = {batch: stone for batch, stone in summary.withdrawn.items() if batch not in ran}
    for batch, stone in list(withdrawn.items())[:MOST_NAMES]:
        print_line(f"{batch} is withdrawn since {stone.since}: {stone.message()}", "yellow")
    if len(withdrawn) > MOST_NAMES:
        print_line(f"and {len(withdrawn) - MOST_NAMES} more batches are withdrawn", "yellow")


def _show_unread(unread: pl.DataFrame) -> None:
    """Name the first files of each reason that were not read."""
    for (reason,), files in unread.group_by("reason", maintain_order=True):
        paths = files.select(pl.concat_str("batch", pl.lit("/"), "path")).to_series().to_list()
        problem = f"not read, {in_words(str(reason))}: {first_names(paths, MOST_NAMES)}"
        print_line(f"{plural(files.height, 'file')} {problem}", "yellow")


def _show_batches(outcomes: Sequence[BatchOutcome], *, verbose: bool) -> None:
    """Print a line for each batch, those that failed first; of many that did not fail, how many there are."""
    ordered = sorted(outcomes, key=lambda outcome_: list(COLOURS).index(outcome_.outcome))
    console = _console()
    for outcome in ordered[:MOST_BATCHES]:
        colour = COLOURS[outcome.outcome]
        failing = [gate for gate in outcome.failed_gates if not gate.startswith(WARNING)]
        gates = outcome.failed_gates if verbose else failing
        count = len(outcome.failed_gates) - len(failing)
        warnings = "" if verbose or not count else f" ({plural(count, 'warning')}, see --verbose)"
        error = f": {escape(_harmless(outcome.error))}" if outcome.error else ""
        line = f"[{colour}]{escape(_harmless(outcome.batch))} {outcome.outcome}[/{colour}]{error}{warnings}"
        for text in (line, *(f"  {escape(_harmless(gate))}" for gate in gates)):
            console.print(text, soft_wrap=True, highlight=False)
    for word in COLOURS:
        if rest := sum(outcome.outcome == word for outcome in ordered[MOST_BATCHES:]):
            print_line(f"and {rest} more {word}", COLOURS[word])


def _show_next_commands(summary: Report, layout: Layout, *, can_release: bool, in_dagster: bool) -> None:
    """Print the commands that come next, with the output folder of this run."""
    columns = pl.col("examples", "needs_review", "sections", "covered")
    counts = summary.batches.select(columns.sum()) if summary.batches.height else None
    examples, review, sections, covered = (0, 0, 0, 0) if counts is None else counts.row(0)
    out = f"--out {shlex.quote(str(layout.out))}"
    commands = []
    if examples and can_release:
        commands.append((f"qa-pipeline release {out}", "the accepted rows for training, in splits"))
    if review:
        waiting = "1 pair waits" if review == 1 else f"{review} pairs wait"
        commands.append((f"qa-pipeline review {out}", f"{waiting} for a person: decide in a browser"))
    if uncovered := sections - covered:
        why = f"why {plural(uncovered, 'section')} gave no accepted pair"
        commands.append((f"qa-pipeline status --coverage {out}", why))
    commands.append((f"qa-pipeline status {out}", "all counts"))
    if in_dagster:
        commands.append(("make ui", "the same in Dagster, at http://127.0.0.1:3000"))
    width = max(len(command) for command, _ in commands)
    print_line("\nNext", "bold cyan")
    for command, purpose in commands:
        print_line(f"  {command:<{width}}  # {purpose}")


def show_report(summary: Report, layout: Layout, *, reported: Collection[str] = ()) -> None:
    """Print what the tables hold, batch by batch and over all, and where they lie.

    Args:
        summary: the counts.
        layout: the output folder.
        reported: batches whose faults are printed elsewhere.
    """
    if summary.steps.height:
        show_table("Yield", ["stage", "what", "reason", "count"], stage_rows(summary.steps))
    show_frame("Known-answer pairs", summary.known_answers)
    title = "Canaries: claims and pairs of known verdict (no estimate of a release's errors)"
    show_frame(title, summary.canaries, CANARY_COLUMNS)
    show_frame("Batches", summary.batches, BATCH_COLUMNS)
    title = "Sections covered; pass rates and scores of accepted and rejected pairs, and of all pairs"
    show_frame(title, summary.batches, SCORE_COLUMNS)
    _show_not_judged(summary.batches)
    show_frame("Left out of the texts, by kind", summary.left_out)
    show_frame("Personal data found", summary.masked)
    if summary.decisions:
        print_line(f"Decisions of people: {_decision_states(summary)}\n")
    if summary.cost.calls:
        show_frame("Model calls", summary.cost.stages)
        for line in summary.cost.message():
            print_line(line)
    show_frame("Files that were not read", summary.unread.head(MOST_UNREAD))
    if summary.unread.height > MOST_UNREAD:
        print_line(
            f"and {summary.unread.height - MOST_UNREAD} more: see table documents, failed and skipped\n"
        )
    for batch, problem in _problems(summary, reported):
        print_line(f"{batch}: {problem}", "yellow")
    print_line(f"Tables, indexes, exports: {layout.out.resolve()}")


def show_coverage(outcomes: pl.DataFrame, *, as_json: bool) -> None:
    """Print why sections gave no row, what each format gave, and the first of those sections."""
    by_reason = count_outcomes(outcomes, "reason").select("reason", "sections", "documents")
    by_format = count_outcomes(outcomes, "format")
    if as_json:
        print_document({"by_reason": by_reason, "by_format": by_format, "sections": outcomes})
        return
    meaning = pl.col("reason").map_elements(in_words, pl.String, skip_nulls=True)
    without = by_reason.drop_nulls("reason").with_columns(meaning=meaning)
    show_frame("Sections that gave no row, by reason", without)
    show_frame("By format", by_format)
    name = pl.col("section_path").list.join(" › ").str.head(LONGEST_CELL)
    empty = outcomes.filter(pl.col("accepted") == 0).select("batch", "path", name.alias("section"), "reason")
    show_frame(f"The first of {plural(empty.height, 'section')} that gave none", empty.head(MOST_UNCOVERED))
    if empty.height > MOST_UNCOVERED:
        print_line("All sections: --json. What raises the yield: docs/questions.md")


def _show_not_judged(batches: pl.DataFrame) -> None:
    """Print how many pairs were accepted without a judge, and how many without a proof."""
    if not batches.height:
        return
    if count := batches["accepted_not_judged"].sum():
        many = "1 pair is" if count == 1 else f"{count} pairs are"
        print_line(
            f"{many} accepted, not judged: no model judged relevance, correctness and completeness. Every "
            "sentence is verified against its source. To have pairs judged, name a model: --provider gemini "
            "--max-cost N, or llm.judge.provider.\n",
            "yellow",
        )
    if count := batches["accepted_unproved"].sum():
        advice = "verification.policy=cascade accepts only what is proved."
        print_line(f"{count} accepted by similarity alone. {SIMILARITY_ONLY} {advice}\n", "yellow")


def _problems(summary: Report, reported: Collection[str]) -> list[tuple[str, str]]:
    """Return the batches without training examples, or without countable tables, and the reason."""
    withdrawn = [
        (batch, f"withdrawn since {stone.since}, no training examples: {stone.message()}")
        for batch, stone in summary.withdrawn.items()
    ]
    return withdrawn + [(batch, why) for batch, why in summary.incomplete.items() if batch not in reported]


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
    first_rows = rows.head(MOST_VERDICTS).with_columns(
        pl.col("question", "unsupported").str.replace_all(r"\s+", " ").str.head(LONGEST_CELL)
    )
    title = (
        f"Pairs, the first {first_rows.height} of {rows.height}"
        if first_rows.height < rows.height
        else "Pairs"
    )
    show_table(title, first_rows.columns, first_rows.rows())
    print_line(
        f"All of them: {batch}.jsonl in passed, rejected, needs_review and failed below exports; "
        f"table {layout.table(VERDICTS.name, batch)}"
    )


def _decision_states(summary: Report) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(summary.decisions.items()))


def show_frame(title: str, frame: pl.DataFrame, columns: Sequence[str] | None = None) -> None:
    """Print some columns of a frame, unless it is empty."""
    if frame.height:
        columns_shown = frame if columns is None else frame.select(columns)
        show_table(title, columns_shown.columns, columns_shown.rows())


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print one table of any values: null as a dash, fractions with three digits."""
    cells = [[_cell(value) for value in row] for row in rows]
    console = _console()
    table = Table(title=title, title_justify="left", title_style="bold cyan", box=SIMPLE_HEAD)
    table.collapse_padding = narrow = console.width < NARROWEST
    table.pad_edge = not narrow
    for place, column in enumerate(columns):
        column_cells = [row[place] for row in cells]
        is_text = not all(_NUMBER.fullmatch(cell) for cell in column_cells)
        longest = max(map(len, column_cells), default=0)
        table.add_column(
            words(column),
            justify="left" if is_text else "right",
            no_wrap=is_text and longest <= LONGEST_UNBROKEN,
            overflow="fold",
            min_width=longest if longest <= LONGEST_UNBROKEN else None,
        )
    for row in cells:
        table.add_row(*map(escape, row))
    console.print(table)


_DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def _cell(value: object) -> str:
    return figure(value) if value is None or isinstance(value, float) else _harmless(str(value))


def _harmless(text: str) -> str:
    """Return the text without what would steer a terminal; names and ratings come from anybody's files."""
    if text.isprintable():
        return text
    return "".join("\ufffd" if _steers(sign) else sign for sign in text)


def _steers(sign: str) -> bool:
    """Return whether a character is a control, newline and tab aside, or turns the direction of writing."""
    return (category(sign) == "Cc" and sign not in "\n\t") or sign in _DIRECTIONS


def print_line(text: str, colour: str | None = None) -> None:
    """Print one line without wrapping."""
    line = escape(_harmless(text))
    _console().print(f"[{colour}]{line}[/{colour}]" if colour else line, soft_wrap=True)


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=max(console.width, NARROWEST))


def stage_rows(steps: pl.DataFrame) -> list[list[Any]]:
    """Return the rows of a funnel: each stage shown once, its parts below it, unknown ones empty."""
    is_first = pl.col("stage").ne_missing(pl.col("stage").shift())
    rows = steps.with_columns(pl.when(is_first).then("stage"), pl.col("what", "reason")).fill_null("")
    return [list(row) for row in rows.iter_rows()]


def report_document(summary: Report, layout: Layout) -> dict[str, Any]:
    """Return the report as JSON values."""
    return {
        "out": str(layout.out),
        "yield": summary.steps,
        "known_answers": summary.known_answers,
        "canaries": summary.canaries,
        "batches": summary.batches,
        "left_out": summary.left_out,
        "masked": summary.masked,
        "unread": summary.unread,
        "incomplete": summary.incomplete,
        "withdrawn": {batch: stone.model_dump() for batch, stone in summary.withdrawn.items()},
        "cost": summary.cost.document(),
        "decisions": summary.decisions,
    }


def print_document(document: dict[str, Any]) -> None:
    """Print one JSON document to standard output; frames are lists of rows."""
    sys.stdout.write(json.dumps(document, indent=2, default=pl.DataFrame.to_dicts) + "\n")
