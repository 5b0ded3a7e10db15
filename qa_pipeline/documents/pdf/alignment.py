"""Tables of a PDF page that only the alignment of their columns shows.

What belongs here: rows of words with wide gaps that stand above one another, and telling them from text in
columns, lists, equations and code. What does not: tables with ruled lines (`tables`).
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from qa_pipeline.documents.pdf.cells import Gap, Strip, gaps_between, is_prose, rows_of_cells, strips_of
from qa_pipeline.documents.pdf.glyphs import Box
from qa_pipeline.documents.pdf.hyphens import Spelling
from qa_pipeline.documents.pdf.lines import Line, rows_of
from qa_pipeline.documents.pdf.naming import pieces_of, text_rows
from qa_pipeline.documents.pdf.tables import Row, Table

_WIDE_GAP = 1.0
_WIDEST_STEP = 2.6
_LEAST_ROWS = 3
_LEAST_CELLS = 6
_MARK = re.compile(r"^(?:[•‣▪●○◦∙–*-]|[\[(]?(?:\d{1,3}|[a-z]|[ivx]{1,5})[\]).]*)$")
_EQUATION_NUMBER = re.compile(r"^\(\d+(?:\.\d+)*[a-z]?\)$")
_ALIGNED = 1.5


def find_aligned(lines: Sequence[Line], spelling: Spelling) -> list[tuple[Table, list[Line]]]:
    """Tables among the lines of one column of a page, from the top, and the lines that make up each.

    Args:
        lines: the lines, the loose ones with their words.
        spelling: how the document spells words.
    """
    if not any(line.words for line in lines) and not _stand_beside(lines):
        return []
    found = []
    for run in _runs(list(rows_of([line for line in lines if not line.turned]))):
        size = Counter(line.size for row in run for line in row).most_common(1)[0][0]
        gaps = gaps_between(run, size, margins=True)
        strips = strips_of(run, gaps)
        filled = [place for place in range(len(gaps) + 1) if any(strip[place] for strip in strips)]
        if len(filled) <= len(gaps):  # white beside all columns, which a few words reach into
            gaps = [gaps[place - 1] for place in filled[1:]]
            strips = strips_of(run, gaps)
        if gaps and _is_table(strips, gaps):
            right = max(row[-1].right for row in run)
            cells = rows_of_cells(strips)
            parts = [line for row in run for line in row]
            box = Box(
                min(line.left for line in parts), min(line.bottom for line in parts),
                right, max(line.top for line in parts),
            )  # fmt: skip
            start = min(line.start for line in parts)
            rows, unused = text_rows([], cells, gaps, spelling)
            found.append((Table(rows, parts[0].page, box, start, unused), parts))
    return found


def _stand_beside(lines: Sequence[Line]) -> bool:
    return any(
        one.bottom < other.top and other.bottom < one.top
        for one, other in pairwise(lines)
        if one.left > other.right or other.left > one.right
    )


def _runs(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows one below the other that begin and end with one of several pieces."""
    runs: list[list[Row]] = []
    run: list[Row] = []
    for row in rows:
        near = run and run[-1][0].bottom - row[0].bottom < _WIDEST_STEP * row[0].size
        if run and not near:
            runs.append(run)
            run = []
        run.append(row)
    return [part for whole in (*runs, run) for part in _trimmed(whole)]


def _trimmed(run: list[Row]) -> list[list[Row]]:
    """The stretches of a run in which most rows have several pieces."""
    stretches: list[list[Row]] = []
    current: list[Row] = []
    tail: list[Row] = []
    for row in run:
        if len([piece for line in row for piece in pieces_of(line, _WIDE_GAP * line.size)]) > 1:
            current += [*tail, row] if current else [row]
            tail = []
        elif current:
            tail.append(row)
            if len(tail) > _LEAST_ROWS:
                stretches.append(current)
                current, tail = [], []
    if current:
        stretches.append(current)
    return stretches


def _is_table(strips: Sequence[Strip], gaps: Sequence[Gap]) -> bool:
    columns = [[line for strip in strips for line in strip[place]] for place in range(len(gaps) + 1)]
    several = sum(sum(map(bool, strip)) > 1 for strip in strips)
    cells = sum(sum(map(bool, strip)) for strip in strips if sum(map(bool, strip)) > 1)
    if (
        several < 2
        or cells < _LEAST_CELLS
        or (several < _LEAST_ROWS and len(gaps) < 2)
        or 2 * several < len(strips)
    ):
        return False
    if all(line.fixed for column in columns for line in column):
        return False
    if len(gaps) == 1 and all(_MARK.match(line.text) for line in columns[0]):
        return False
    if all(_EQUATION_NUMBER.match(line.text) for line in columns[-1]):
        return False
    return not any(map(is_prose, columns)) and any(map(_is_aligned, columns))


def _is_aligned(column: Sequence[Line]) -> bool:
    """Whether the cells of a column begin or end above one another."""
    for edge in ([line.left for line in column], [line.right for line in column]):
        usual = Counter(map(round, edge)).most_common(1)[0][0]
        if len(edge) > 1 and sum(abs(place - usual) <= _ALIGNED for place in edge) >= 0.6 * len(edge):
            return True
    return False
