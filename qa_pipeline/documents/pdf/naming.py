"""Cells of a PDF table to lines of text that name their columns.

What belongs here: which rows are a header, and the text of rows. What does not: where tables and their cells
are (`tables`, `alignment`, `grids`, `cells`).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from qa_pipeline.documents.pdf.cells import Gap, Strip, lines_of_column, strips_of
from qa_pipeline.documents.pdf.hyphens import Spelling
from qa_pipeline.documents.pdf.joining import joined_text
from qa_pipeline.documents.pdf.lines import Line, part_of, words_of
from qa_pipeline.documents.rows import Cell, render_table

_HEADER_PIECE = 0.6
_NUMBER = re.compile(r"^[^\w\s]?\s?\d[\d.,:/\s%+–-]*[^\W\d_]{0,3}[%‰°)]?$")


def text_rows(
    header: Sequence[Sequence[Line]],
    strips: Sequence[Sequence[Strip]],
    gaps: Sequence[Gap],
    spelling: Spelling,
) -> tuple[list[str], list[str]]:
    """Rows of cells as text, each with the names of its columns; and the names that no row writes.

    Args:
        header: printed lines of the header, from the top; empty where the first rows may be one.
        strips: rows of cells.
        gaps: the white between the columns.
        spelling: how the document spells words.
    """
    columns = range(len(gaps) + 1)
    cells = [
        [Cell(joined_text(lines_of_column(row, column), spelling)) for column in columns] for row in strips
    ]
    if header:
        return render_table([*(_header_row(row, gaps) for row in header), *cells])
    bold = [all(line.bold for strip in row for column in strip for line in column) for row in strips]
    return render_table(with_header(cells, bold))


def with_header(rows: Sequence[Sequence[Cell]], bold: Sequence[bool]) -> list[list[Cell]]:
    """The rows of a table with no marked header, those that name its columns marked.

    They are the bold rows at its top, or a row of words above columns of numbers.

    Args:
        rows: the table.
        bold: which of them are printed bold.
    """
    count = len(list(takewhile(bool, bold)))
    if not 0 < count < len(rows):
        count = int(_above_numbers([[cell.text for cell in row] for row in rows]))
    if count == 1 and len(rows) > 2 and any(cell.columns > 1 for cell in rows[0]):
        count = 2  # names that stand over several columns have a name for each below them
    named = [[replace(cell, header=True) for cell in row] for row in rows[:count]]
    return [*named, *(list(row) for row in rows[count:])]


def _above_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is all words and stands above a column that is mostly numbers."""
    names, rest = rows[0], rows[1:]
    if not all(names[1:]) or any(_NUMBER.match(name) or name.endswith(":") for name in names):
        return False
    numbers = (
        sum(bool(_NUMBER.match(row[place])) for row in rest if place < len(row))
        for place in range(1, len(names))
    )
    return any(2 * count > len(rest) for count in numbers)


def _header_row(row: Sequence[Line], gaps: Sequence[Gap]) -> list[Cell]:
    """One printed line of a header; a word that stands over several columns names them all."""
    names = [""] * (len(gaps) + 1)
    for line in row:
        for piece in pieces_of(line, _HEADER_PIECE * line.size):
            over = [place for place, gap in enumerate(gaps) if piece.left < gap[0] and piece.right > gap[1]]
            if over and len(words_of(piece)) <= len(over):
                for place in range(over[0], over[-1] + 2):
                    names[place] = f"{names[place]} {piece.text}".strip()
                continue
            for place, column in enumerate(strips_of([[piece]], gaps)[0]):
                for part in column:
                    names[place] = f"{names[place]} {part.text}".strip()
    return [Cell(name, header=True) for name in names]


def pieces_of(line: Line, gap: float) -> list[Line]:
    """A line cut wherever its words stand farther apart than `gap`."""
    if not line.words:
        return [line]
    groups = [[line.words[0]]]
    for word in line.words[1:]:
        if word.left - groups[-1][-1].right > gap:
            groups.append([])
        groups[-1].append(word)
    return [part_of(line, words) for words in groups]
