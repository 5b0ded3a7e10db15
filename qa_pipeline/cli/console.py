"""The screen: one way to show a result, one to show progress; texts of anybody's never steer a terminal."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unicodedata import category

from rich.box import SIMPLE_HEAD
from rich.console import Console
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

from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.text.rendering import figure, words

if TYPE_CHECKING:
    from qa_pipeline.pipeline.resources import StageObserver

NARROWEST = 120
"""Columns of a pipe or a log, which have no width of their own."""
LONGEST_UNBROKEN = 30
"""Characters up to which a cell stays on one line; names of batches and files may be of any length."""
LONGEST_TEXT = 800
"""Characters of a question, an answer or a reason that are shown."""
MOST_ROWS = 20
"""Rows of a table on the screen; all are in --json."""
_NUMBER = re.compile(r"|–|[-+]?[\d.,]{1,40}(?: ?[^\W\d]\w{0,20}| ?%)?")
"""A cell that is empty, unknown, or a number with or without a unit; a column of such is on the right."""
_DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def show(
    document: Mapping[str, Any],
    *,
    as_json: bool,
    screen: Mapping[str, Any] | None = None,
    every: bool = False,
) -> None:
    """Print a result as one JSON document, or as tables and lines.

    Args:
        document: values by name; frames are lists of rows.
        as_json: print the document for a program.
        screen: replaces the document for a person.
        every: show tables of any length whole.
    """
    if as_json:
        sys.stdout.write(json.dumps(document, indent=2, default=lambda frame: frame.to_dicts()) + "\n")
        return
    for name, value in (document if screen is None else screen).items():
        title = words(name)
        rows = value.to_dicts() if hasattr(value, "to_dicts") else value
        if isinstance(rows, Mapping):
            rows = [{"what": what, "value": of_what} for what, of_what in rows.items()]
        if not isinstance(rows, list | tuple):
            if rows is not None:
                print_line(f"{title}: {_cell(rows)}")
        elif rows and isinstance(rows[0], Mapping):
            show_table(title, rows if every else rows[:MOST_ROWS])
            if len(rows) > MOST_ROWS and not every:
                print_line(f"and {len(rows) - MOST_ROWS} more; --json has all of them")
        else:
            for row in rows:
                print_line(f"{title}: {row}")


def show_table(title: str, rows: Iterable[Mapping[str, object]]) -> None:
    """Print a table: unknown values as dashes, fractions with three digits, numbers on the right."""
    cells = [{words(name): _cell(value) for name, value in row.items()} for row in rows]
    console = _console()
    # a title of the table would be wrapped to its width
    console.print(Text(title, "bold cyan"))
    table = Table(box=SIMPLE_HEAD)
    table.collapse_padding = is_narrow = console.width < NARROWEST
    table.pad_edge = not is_narrow
    for column in cells[0] if cells else ():
        of_column = [row[column] for row in cells]
        is_text = not all(_NUMBER.fullmatch(cell) for cell in of_column)
        longest = max(map(len, of_column))
        is_short = longest <= LONGEST_UNBROKEN
        table.add_column(
            Text(column),
            justify="left" if is_text else "right",
            no_wrap=is_text and is_short,
            overflow="fold",
            min_width=longest if is_short else None,
        )
    for row in cells:
        table.add_row(*map(Text, row.values()))
    console.print(table)


def print_line(text: str, style: str = "") -> None:
    """Print one line without wrapping."""
    _console().print(Text(_harmless(text), style=style), soft_wrap=True)


def print_block(text: str, style: str = "") -> None:
    """Print a text on lines of the terminal's width, indented; a very long one is cut."""
    cut = " ".join(_harmless(text).split())
    if (rest := len(cut) - LONGEST_TEXT) > 0:
        cut = f"{cut[:LONGEST_TEXT]} … ({rest} characters more)"
    Console(highlight=False).print(Padding(Text(cut, style=style), (0, 0, 0, 2), expand=False))


@contextmanager
def watching(*, quiet: bool) -> "Iterator[StageObserver]":
    """Show the stage at work on standard error: a bar on a terminal, a line elsewhere, nothing if quiet."""
    console = Console(stderr=True)
    is_plain = quiet or not console.is_terminal
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, disable=is_plain
    ) as progress:

        def watch(batch: str, stage: str) -> ProgressCallback:
            text = f"{_harmless(batch)}: {words(stage)}"
            if is_plain:
                sys.stderr.write("" if quiet else f"{text}\n")
                return no_progress
            for finished in progress.task_ids:
                progress.remove_task(finished)
            task = progress.add_task(Text(text).markup, total=None)
            return lambda done, total: progress.update(task, completed=done, total=total)

        yield watch


def _cell(value: object) -> str:
    if isinstance(value, Mapping | list):
        return _harmless(json.dumps(value, ensure_ascii=False))
    return figure(value) if value is None or isinstance(value, float) else _harmless(str(value))


def _harmless(text: str) -> str:
    """Return the text without controls, newline and tab aside, and without changes of direction."""
    if text.isprintable():
        return text
    return "".join(
        "\ufffd" if (category(sign) == "Cc" and sign not in "\n\t") or sign in _DIRECTIONS else sign
        for sign in text
    )


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=max(console.width, NARROWEST), highlight=False)
