"""Results and progress on the screen. Text of documents and models cannot control the terminal."""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.text.rendering import figure, words

if TYPE_CHECKING:
    from qa_pipeline.pipeline.resources import StageObserver

NARROWEST = 120
"""Columns of a pipe or a log, which have no width of their own."""
LONGEST_UNBROKEN = 30
"""Characters up to which a cell stays on one line."""
LONGEST_TEXT = 800
"""Characters of a question, an answer or a reason that are shown."""
MOST_ROWS = 20
"""Rows of a table on the screen; --json has all."""
_NUMBER = re.compile(r"|–|[-+]?[\d.,]{1,40}(?: ?[^\W\d]\w{0,20}| ?%)?")
"""A cell that is empty, a dash for an unknown value, or a number, such as `-1.5`, `12 ms` or `3 %`."""
_CONTROLS = dict.fromkeys(
    [*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd"
)
"""Control characters but tab and newline, and changes of direction."""


def show(
    document: Mapping[str, Any],
    *,
    as_json: bool,
    screen: Mapping[str, Any] | None = None,
    all_rows: bool = False,
) -> None:
    """Print a result as a JSON document, or `screen` (by default the document) as tables and lines.

    Values are scalars, lists, mappings, frames or lists of rows. Without `all_rows` a table ends after
    `MOST_ROWS` rows.
    """
    if as_json:
        sys.stdout.write(json.dumps(document, indent=2, default=lambda frame: frame.to_dicts()) + "\n")
        return
    for name, value in (document if screen is None else screen).items():
        title, content = words(name), _as_rows(value)
        if content is None:
            continue  # an unset value has no line
        if not isinstance(content, list | tuple):
            print_line(f"{title}: {_cell(content)}")
        elif content and isinstance(content[0], Mapping):  # rows of a table
            shown = content if all_rows else content[:MOST_ROWS]
            show_table(title, shown)
            if len(shown) < len(content):
                print_line(f"and {len(content) - len(shown)} more; --json has all of them")
        else:
            for line in content:
                print_line(f"{title}: {line}")


def _as_rows(value: Any) -> Any:
    """Return the rows of a frame, a row for each entry of a mapping, or another value unchanged."""
    if hasattr(value, "to_dicts"):
        return value.to_dicts()
    if isinstance(value, Mapping):
        return [{"name": name, "value": entry} for name, entry in value.items()]
    return value


def show_table(title: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Print a table: a dash for unknown values, three decimals, numbers on the right."""
    console = _console()
    console.print(Text(title, "bold cyan"))  # rich would wrap a title to the width of its table
    is_narrow = console.width < NARROWEST
    table = Table(box=SIMPLE_HEAD, collapse_padding=is_narrow, pad_edge=not is_narrow)
    columns = {name: [_cell(row[name]) for row in rows] for name in (rows[0] if rows else ())}
    for name, cells in columns.items():
        is_text = not all(_NUMBER.fullmatch(cell) for cell in cells)
        longest = max(map(len, cells))
        is_short = longest <= LONGEST_UNBROKEN
        table.add_column(
            Text(words(name)),
            justify="left" if is_text else "right",
            no_wrap=is_text and is_short,
            overflow="fold",
            min_width=longest if is_short else None,
        )
    for line in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, line))
    console.print(table)


def print_line(text: str, style: str = "") -> None:
    """Print a line without wrapping."""
    _console().print(Text(text.translate(_CONTROLS), style=style), soft_wrap=True)


def print_block(text: str, style: str = "") -> None:
    """Print an indented text, wrapped to the terminal. A very long text is cut."""
    line = " ".join(text.translate(_CONTROLS).split())
    if len(line) > LONGEST_TEXT:
        line = f"{line[:LONGEST_TEXT]} … ({len(line) - LONGEST_TEXT} characters more)"
    Console(highlight=False).print(Padding(Text(line, style=style), (0, 0, 0, 2), expand=False))


@contextmanager
def watching(*, quiet: bool) -> "Iterator[StageObserver]":
    """Show the current stage on standard error: as a bar on a terminal, else as a line."""
    console = Console(stderr=True)
    is_plain = quiet or not console.is_terminal
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=is_plain) as progress:

        def watch(batch: str, stage: str) -> ProgressCallback:
            text = f"{batch}: {words(stage)}".translate(_CONTROLS)
            if is_plain:
                sys.stderr.write("" if quiet else f"{text}\n")
                return no_progress
            for finished in progress.task_ids:
                progress.remove_task(finished)
            # escaped, since brackets in a name would be a style; the total is not known yet
            task = progress.add_task(Text(text).markup, total=None)
            return lambda done, total: progress.update(task, completed=done, total=total)

        yield watch


def _cell(value: object) -> str:
    """Return a value as text: lists as JSON, numbers with three decimals, a dash for None."""
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False).translate(_CONTROLS)
    if value is None or isinstance(value, float):
        return figure(value)
    return str(value).translate(_CONTROLS)


def _console() -> Console:
    """Return the console; a pipe or a log gets at least `NARROWEST` columns."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=max(console.width, NARROWEST), highlight=False)
