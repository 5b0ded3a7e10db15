"""`qa-pipeline sample`: rows as a person reads them, labels by key, and what the labels add up to."""

import getpass
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.arguments import Json, Out
from qa_pipeline.cli.exit_codes import errors_as_exit_codes
from qa_pipeline.errors import InputError

if TYPE_CHECKING:
    from qa_pipeline.review.sheets import Sheets

_END_KEYS = ("q", "\x03", "\x04", "")
"""q, Ctrl-C, Ctrl-D and the end of the input."""


def sample(
    out: Out = Path("data"),
    count: Annotated[int, typer.Option("--rows", min=1, max=100_000, help="Rows to draw.")] = 10,
    language: Annotated[str, typer.Option(help="Only rows of this language, such as sv.")] = "",
    question_type: Annotated[str, typer.Option("--type", help="Only rows of this question type.")] = "",
    batch: Annotated[str, typer.Option(help="Only rows of this batch.")] = "",
    document: Annotated[str | None, typer.Option(help="Only rows of this document, by its path.")] = None,
    verdict: Annotated[str, typer.Option(help="Verdict of the rows.")] = "accepted",
    seed: Annotated[str, typer.Option(help="Another one draws other rows.")] = "0",
    to: Annotated[
        Path | None, typer.Option(help="JSONL file to write the rows to, as a rating sheet.")
    ] = None,
    label: Annotated[
        Path | None,
        typer.Option(help="Label the rows of this file by keys; without it, rows are drawn into it first."),
    ] = None,
    report: Annotated[
        list[Path] | None, typer.Option(help="Add up the labels of this file; repeatable.")
    ] = None,
    who: Annotated[str | None, typer.Option(help="Name that labels carry. Default: the account's.")] = None,
    as_json: Json = False,
) -> None:
    """Show rows drawn by lot, spread over languages, types and documents; label them, and add labels up.

    The labels are good (would train on it), thin (true, and teaches next to nothing) and bad, the last two
    with a reason. The review app labels the same files: write them to OUT/sheets.
    """
    from qa_pipeline.cli.console import print_document, print_line
    from qa_pipeline.review.queue import Filters
    from qa_pipeline.review.sample_sheet import draw_rows, label_figures, read_labels
    from qa_pipeline.review.sheets import Sheets
    from qa_pipeline.storage.files import write_bytes
    from qa_pipeline.storage.layout import Layout

    with errors_as_exit_codes():
        if sum(option is not None for option in (to, label, report)) > 1:
            raise InputError("--to, --label and --report are three tasks; give one of them")
        if to is not None and to.exists():
            raise InputError(f"{to} exists, and may hold labels; name another file with --to")
        if report:
            figures = label_figures(read_labels(report))
            print_document(figures) if as_json else _print_report(figures)
            return
        file = to or label
        if label is None or not label.exists():
            filters = Filters("all", batch, language, question_type, verdict)
            rows = draw_rows(Layout(out), count, filters, document, seed)
            if file is None:
                _print_rows(rows, as_json=as_json)
                return
            lines = (json.dumps(row, ensure_ascii=False) for row in rows)
            write_bytes(file, "".join(f"{line}\n" for line in lines).encode())
            print_line(f"{file}: {len(rows)} rows to label")
        if label is not None:
            _label_rows(Sheets(Layout(out), [label]), label.name, who or getpass.getuser())


def _print_rows(rows: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    from qa_pipeline.cli.console import print_document

    if as_json:
        print_document({"rows": rows})
        return
    for number, row in enumerate(rows, start=1):
        _print_row(row, f"{number} of {len(rows)}")


def _print_row(row: dict[str, Any], place: str) -> None:
    from qa_pipeline.cli.console import print_block, print_line
    from qa_pipeline.text.rendering import words

    described = (row["language"], words(row["question_type"]), words(row["verdict"]))
    print_line(f"{place}, {', '.join(filter(None, described))}", "cyan")
    print_block(row["question"] or "(no question)", "bold")
    print_block(row["answer"] or "(no answer)")
    for statement in row["statements"]:
        where = " › ".join(filter(None, [row["batch"], statement["document"], statement["section"]]))
        page = f", page {statement['page']}" if statement["page"] else ""
        print_block(f"“{statement['quote']}”", "dim")
        print_block(f"{where}{page}", "dim")
    print_line("")


def _label_rows(sheets: "Sheets", name: str, who: str) -> None:
    """Show the rows of a file that a person has not labelled, one by one, and write down each label."""
    from qa_pipeline.cli.console import print_line
    from qa_pipeline.review.sample_sheet import CATEGORIES
    from qa_pipeline.review.sheets import LIMITS
    from qa_pipeline.storage.row_files import json_lines

    keys = {category[0]: category for category in CATEGORIES}
    rows: dict[str, dict[str, Any]] = {}
    for line in json_lines(sheets.paths()[name], LIMITS):
        rows.setdefault(line.value.get("id"), line.value)
    labelled: list[str] = []
    skipped: set[str] = set()
    while True:
        sheet = sheets.read(name)
        done = sheet.labels(who)
        waiting = [row for row in sheet.items if row.id not in done and row.id not in skipped]
        if not waiting:
            break
        row = waiting[0]
        _print_row(rows[row.id], f"{len(done) + 1} of {len(sheet.items)}")
        key = _pressed("g good, t thin, b bad, s skip, u undo, q quit: ", [*keys, "s", "u"])
        if key in _END_KEYS:
            break
        if key == "u":
            if labelled:
                sheets.put_label(name, labelled.pop(), None, who)
        elif key == "s":
            skipped.add(row.id)
        else:
            why = _reason() if keys[key] != "good" else None
            sheets.put_label(name, row.id, keys[key], who, why)
            labelled.append(row.id)
    print_line(f"{len(done)} of {len(sheet.items)} rows labelled.")


def _reason() -> str | None:
    """Ask why a row is not good; None where no reason is given."""
    from qa_pipeline.cli.console import print_line
    from qa_pipeline.review.sample_sheet import REASONS

    for number, words in enumerate(REASONS.values(), start=1):
        print_line(f"  {number} {words}")
    key = _pressed("Reason, or Enter for none: ", [*map(str, range(1, len(REASONS) + 1)), "\r", "\n"])
    return [*REASONS][int(key) - 1] if key.isdigit() else None


def _pressed(prompt: str, keys: Sequence[str]) -> str:
    """Return the next key that means something."""
    typer.echo(prompt, nl=False)
    while True:
        try:
            key = typer.getchar() if sys.stdin.isatty() else sys.stdin.read(1)
        except (EOFError, KeyboardInterrupt):
            key = "q"
        if key in (*keys, *_END_KEYS):
            typer.echo("" if key in ("\r", "\n") else key)
            return key


def _print_report(figures: dict[str, Any]) -> None:
    from qa_pipeline.cli.console import print_line, show_table
    from qa_pipeline.review.sample_sheet import CATEGORIES, REASONS
    from qa_pipeline.text.rendering import words

    def interval(bounds: list[float] | None) -> str:
        return f"{100 * bounds[0]:.0f}–{100 * bounds[1]:.0f} %" if bounds else ""

    show_table(
        "Labels, with 95 % intervals of the share of good and of bad rows",
        ["part", "rows", *CATEGORIES, "good share", "bad share"],
        [
            [
                " ".join(filter(None, [words(part["part"]), part["value"]])),
                *(part[name] for name in ("rows", *CATEGORIES)),
                *(interval(part[f"{name}_interval"]) for name in ("good", "bad")),
            ]
            for part in figures["parts"]
        ],
    )
    if figures["reasons"]:
        rows = [
            [reason["rating"], REASONS.get(reason["why"], reason["why"]), reason["rows"]]
            for reason in figures["reasons"]
        ]
        show_table("Reasons", ["label", "reason", "rows"], rows)
    if figures["unlabelled"]:
        print_line(f"{figures['unlabelled']} rows have no label yet.")
