"""The order in which the lines of a PDF page are read.

What belongs here: columns, what stands across them, and lines that the file does not hold in their order on
paper. What does not: notes beside the text and below it (`layout`), and tables, which have columns too
(`tables`, `alignment`).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from qa_pipeline.documents.pdf.lines import Line, part_of

_LEAST_SHARE = 0.2
_MOST_ACROSS = 0.45
_LEAST_LINES = 4
_MIDDLE = (0.25, 0.75)
_STEP = 4.0
_GUTTER = 0.8
_DEEPEST = 2
_BESIDE = 0.5
_MOST_TURNS = 0.2
_PROSE_LENGTH = 25


def in_columns(lines: Sequence[Line], depth: int = 0) -> list[list[Line]]:
    """Lines of a page as stretches to be read one after another, each a column or part of one.

    What stands across two columns parts what is above it from what is below: above it the left column is
    read before the right one, and so below it.

    Args:
        lines: the lines, the loose ones with their words.
        depth: how often the page was parted into columns already.
    """
    gutter = _gutter(lines) if depth < _DEEPEST else None
    if gutter is None:
        return [in_order(lines)]
    stretches: list[list[Line]] = []
    for left, right, across in _bands(_cut(lines, gutter), gutter):
        for part in (left, right):
            if part:
                stretches += in_columns(part, depth + 1)
        if across:
            stretches.append(across)
    return stretches


def in_order(lines: Sequence[Line]) -> list[Line]:
    """Lines from top to bottom, in the order of the file where that is plainly no other."""
    lowest: Line | None = None
    for line in lines:
        if lowest is None or line.top < lowest.top:
            lowest = line
        elif line.bottom > lowest.top or (_middle(line) > lowest.top and _overlap(line, lowest)):
            return _sorted(lines)
    return list(lines)


def _middle(line: Line) -> float:
    return (line.bottom + line.top) / 2


def _overlap(one: Line, other: Line) -> bool:
    return one.left < other.right and other.left < one.right


def _sorted(lines: Sequence[Line]) -> list[Line]:
    """Lines by height; those that stand side by side keep their order in the file, unless it is reversed."""
    ordered: list[Line] = []
    row: list[Line] = []
    for line in sorted(lines, key=lambda line: -(line.bottom + line.top)):
        if row and (line.bottom + line.top) / 2 < row[0].bottom:
            ordered += sorted(row, key=lambda part: part.left)
            row = []
        row.append(line)
    return ordered + sorted(row, key=lambda part: part.left)


def _gutter(lines: Sequence[Line]) -> float | None:
    """Where white runs down between two columns of text, if they are columns."""
    if len(lines) < 2 * _LEAST_LINES:
        return None
    lefts = sorted([line.left for line in lines])
    left, right = lefts[0], max(line.right for line in lines)
    starts_aside = lefts[-_LEAST_LINES] > left + _MIDDLE[0] * (right - left)
    if not starts_aside and not any(line.words for line in lines):
        return None
    total = sum(len(line.text) for line in lines)
    best, least = None, _MOST_ACROSS * total
    for place in _places(lines, left, right):
        across = sum(len(line.text) for line in lines if _crosses(line, place))
        if across < least or (across == least and best is None):
            best, least = place, across
    if best is None:
        return None
    parts = [line for line in _cut(lines, best) if not _crosses(line, best)]
    left_side = [line for line in parts if line.right <= best + 1]
    right_side = [line for line in parts if line.right > best + 1]
    return best if _are_columns(left_side, right_side, total) else None


def _places(lines: Sequence[Line], left: float, right: float) -> list[float]:
    """Places where a column may begin: where several lines do, away from the edges of the text."""
    width = right - left
    counts: dict[float, int] = {}
    for line in lines:
        starts = [line.left]
        if line.words:
            starts += [
                after.left
                for before, after in pairwise(line.words)
                if after.left - before.right > _GUTTER * line.size
            ]
        for start in starts:
            if left + _MIDDLE[0] * width < start < left + _MIDDLE[1] * width:
                place = round(start / _STEP) * _STEP
                counts[place] = counts.get(place, 0) + 1
    common = sorted(counts, key=lambda place: (-counts[place], place))[: _DEEPEST + 2]
    return [place - _STEP for place in common if counts[place] >= _LEAST_LINES]


def _crosses(line: Line, place: float) -> bool:
    return line.left < place - 1 and line.right > place + 1 and not _splits(line, place)


def _splits(line: Line, place: float) -> bool:
    """Whether a line that PDFium read as one has a gap at a place, wide enough to part two columns."""
    return any(
        before.right <= place + 1
        and after.left >= place - 1
        and after.left - before.right > _GUTTER * line.size
        for before, after in pairwise(line.words)
    )


def _are_columns(left: Sequence[Line], right: Sequence[Line], total: int) -> bool:
    """Both sides hold much of the text, side by side, and are columns of text rather than of a table.

    The file holds columns one after the other and the cells of a table row by row; where it holds all row
    by row, both sides must be running text.
    """
    sides = (left, right)
    if any(len(side) < _LEAST_LINES or _length(side) < _LEAST_SHARE * total for side in sides):
        return False
    low = max(min(line.bottom for line in side) for side in sides)
    high = min(max(line.top for line in side) for side in sides)
    if high - low < _BESIDE * min(_height(side) for side in sides):
        return False
    order = sorted([(line.start, 0) for line in left] + [(line.start, 1) for line in right])
    turns = sum(before[1] != after[1] for before, after in pairwise(order))
    return turns <= _MOST_TURNS * len(order) or all(map(_is_prose, sides))


def _length(lines: Sequence[Line]) -> int:
    return sum(len(line.text) for line in lines)


def _height(lines: Sequence[Line]) -> float:
    return max(line.top for line in lines) - min(line.bottom for line in lines)


def _is_prose(lines: Sequence[Line]) -> bool:
    """Whether most lines fill the column, once what belongs to the other column is cut off."""
    lengths = sorted(len(line.text) for line in lines)
    return lengths[len(lengths) // 3] >= _PROSE_LENGTH


def _cut(lines: Sequence[Line], gutter: float) -> Iterator[Line]:
    for line in lines:
        if line.left < gutter < line.right and _splits(line, gutter):
            yield part_of(line, [word for word in line.words if word.right <= gutter + 1])
            yield part_of(line, [word for word in line.words if word.right > gutter + 1])
        else:
            yield line


def _bands(lines: Iterator[Line], gutter: float) -> Iterator[tuple[list[Line], list[Line], list[Line]]]:
    """What is read in turn: lines left of the gutter, lines right of it, then what stands across below."""
    left: list[Line] = []
    right: list[Line] = []
    across: list[Line] = []
    for line in sorted(lines, key=lambda line: -line.top):
        crossing = _crosses(line, gutter)
        if across and not crossing:
            yield left, right, across
            left, right, across = [], [], []
        (across if crossing else left if line.right <= gutter + 1 else right).append(line)
    yield left, right, across
