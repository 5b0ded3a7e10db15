"""Table rows as cells: a value is proof only for its own row and its own column."""

import functools
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import groupby

from qa_pipeline.verification.consistency.findings import Findings
from qa_pipeline.verification.consistency.quantities import equal
from qa_pipeline.verification.consistency.reading import Reading, read

_BAR, _COLON = " | ", ": "
_LONGEST_NAME = 120
_SHORT_VALUE = 4
"""Terms of a value that a claim can be expected to repeat whole."""
_MOST_ROWS = 500
_NOTHING: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a row and the name of its column, empty where the table has none."""

    column: Reading
    value: Reading

    @property
    def is_figure(self) -> bool:
        """Whether the value is a number or date and not only words."""
        return bool(self.value.numbers or self.value.dates)


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one line, the first of them the row's key; `named` tells a table from a key-value line."""

    cells: tuple[Cell, ...]
    named: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, which the rows of one table share."""
        return tuple(cell.column.text for cell in self.cells)

    @property
    def key(self) -> frozenset[str]:
        """Terms of the key; none where the first cell is a bare figure like the others."""
        first = self.cells[0].value
        return frozenset(first.terms if any(not term.startswith("=") for term in first.terms) else ())

    @property
    def first(self) -> int:
        """Place of the first cell that is no key."""
        return 1 if self.key else 0


@dataclass(frozen=True, slots=True)
class _Mention:
    """Words of a claim that name columns, or that stand in the values of columns."""

    names: bool
    cells: frozenset[int]


def row_cells(text: str, language: str) -> Row | None:
    """Read a line as `Column: value | Column: value`, `Key: value | value` or `Key: value`."""
    parts = text.strip().split(_BAR)
    split = [part.partition(_COLON) for part in parts]
    if len(split[0][0]) > _LONGEST_NAME or not (split[0][1] or len(parts) > 1):
        return None
    if any(colon for _, colon, _ in split[1:]):
        named = [(name, value) if colon else ("", name) for name, colon, value in split]
    elif split[0][1]:
        named = [("", split[0][0]), ("", split[0][2]), *(("", part) for part in parts[1:])]
    else:
        named = [("", part) for part in parts]
    cells = tuple(Cell(read(name, language), read(value, language)) for name, value in named)
    return Row(cells, any(name for name, _ in named))


def cell_findings(claim: Reading, question: Reading, evidence: Reading, around: Reading) -> Findings:
    """Hold a claim against the cells of a row.

    Args:
        claim: the claim.
        question: what it answers; it may name the row and the column that the claim leaves out.
        evidence: the row.
        around: the passage the row stands in, with the other rows of its table.
    """
    row = row_cells(evidence.text, evidence.language)
    if row is None:
        return Findings()
    siblings = [one for one in _rows(around) if one.columns == row.columns and one.key != row.key]
    return _other_row(claim, question, row, siblings) + _other_column(claim, question, row)


@functools.lru_cache(maxsize=256)
def _rows(passage: Reading) -> tuple[Row, ...]:
    lines = [line for line in passage.text.split("\n") if _BAR in line or _COLON in line]
    found = (row_cells(line, passage.language) for line in lines[:_MOST_ROWS])
    return tuple(row for row in found if row is not None)


def _other_row(claim: Reading, question: Reading, row: Row, siblings: Sequence[Row]) -> Findings:
    """The claim names the key of another row, of several rows alike, or of none.

    A key-value line that says "Description" is quoted by its value alone, so there another key counts only
    where this one is named in part.
    """
    stated = frozenset((*claim.terms, *question.terms))
    mine = row.key & stated
    whole = bool(row.key) and mine == row.key
    for other in siblings if row.named or mine else ():
        theirs = other.key & stated
        if other.key and theirs == other.key and (theirs > mine or (theirs == mine and not whole)):
            return _of_other_row(claim, row, other)
    if not row.named or not row.key or whole or not siblings:
        return Findings()
    if not mine and len({cells for cells in _value_places(claim, row).values() if len(cells) == 1}) <= 1:
        return Findings(open_points=("the claim does not name the row of the table",))
    if mine and any(other.key & stated == mine for other in siblings):
        return Findings(open_points=("the claim may mean another row of the table",))
    return Findings()


def _of_other_row(claim: Reading, row: Row, other: Row) -> Findings:
    """What the claim takes from this row although it names the other; nothing where both say it."""
    held = {term for cell in other.cells for term in (*cell.value.terms, *cell.column.terms)}
    taken = [
        place for place, term in claim.placed_terms if place in _value_places(claim, row) and term not in held
    ]
    if not taken:
        return Findings()
    name = other.cells[0].value.text
    stated = f"the row of {name} has another value"
    figures = {term for _, term in claim.placed_terms if term.startswith("=")}
    return Findings((stated,)) if figures - held else Findings(open_points=(stated,))


def _other_column(claim: Reading, question: Reading, row: Row) -> Findings:
    """The claim names a column, or is asked for it, and gives it what stands in another."""
    asked = _named_columns(question, row)
    wanted = _named_columns(claim, row)
    stated = _mentions(claim, row, wanted or asked)
    values = [one for one in stated if not one.names]
    if not (wanted or asked):
        return Findings()
    if not values:
        missing = ("the claim gives no value for the column it names",) if wanted else ()
        return Findings(open_points=missing)
    if wanted:
        pairs = _paired(_without_extras(claim, row, stated, wanted))
    else:
        own = [one for one in values if one.cells & asked]
        pairs = [(frozenset(asked), one) for one in own or values]
    wrong = [(columns, one) for columns, one in pairs if not columns & one.cells]
    if not pairs:
        return Findings(open_points=("which value belongs to which column of the table is not clear",))
    if not wrong:
        return Findings()
    own_cell = row.cells[min(wrong[0][0])]
    text = f"{own_cell.column.text} is {own_cell.value.text} in the table"
    sure = all(_refutes(claim, row, columns, one, asked) for columns, one in wrong)
    return Findings((text,)) if sure else Findings(open_points=(text,))


def _named_columns(text: Reading, row: Row) -> set[int]:
    """Columns besides the key's that are named whole, or by a word that no other column and no value has."""
    stated = frozenset(text.terms)
    names = [frozenset(cell.column.terms) for cell in row.cells]
    held = {term for cell in row.cells for term in cell.value.terms}
    whole = {place for place, name in enumerate(names) if name and name <= stated}
    part = {
        place
        for place, name in enumerate(names)
        if (name & stated) - held - {t for at, other in enumerate(names) if at != place for t in other}
    }
    return {
        place
        for place in (whole | part) - set(range(row.first))
        if not any(names[place] < names[other] for other in whole if other != place)
    }


def _value_places(claim: Reading, row: Row) -> dict[int, frozenset[int]]:
    """Where in the claim the words and figures of which cells stand; the key's, once each, are left out."""
    numbers = {number.start: number for number in claim.numbers}
    key = set(row.key)
    found: dict[int, frozenset[int]] = {}
    for place, term in claim.placed_terms:
        if term in key:
            key.discard(term)
            continue
        number = numbers.get(place)
        cells = frozenset(
            at
            for at, cell in enumerate(row.cells)
            if at >= row.first
            and (
                term in cell.value.terms
                or (number is not None and any(equal(number, other) for other in cell.value.numbers))
            )
        )
        if cells:
            found[place] = cells
    return found


def _mentions(claim: Reading, row: Row, wanted: Set[int]) -> list[_Mention]:
    """Names of the wanted columns and values of any, in the order of the claim, each once."""
    values = _value_places(claim, row)
    found: list[_Mention] = []
    for place, term in claim.placed_terms:
        columns = frozenset(at for at in wanted if term in row.cells[at].column.terms)
        cells = columns or values.get(place, _NOTHING)
        last = found[-1] if found else None
        if last and cells & last.cells and last.names == bool(columns):
            found[-1] = _Mention(last.names, cells & last.cells)
        elif cells:
            found.append(_Mention(bool(columns), cells))
    return list(dict.fromkeys(found))


def _without_extras(claim: Reading, row: Row, stated: Sequence[_Mention], wanted: Set[int]) -> list[_Mention]:
    """The mentions without whole values of unnamed columns that stand not between a name and its value."""
    kept = []
    for place, one in enumerate(stated):
        beside = [*stated[max(0, place - 1) : place], *stated[place + 1 : place + 2]]
        parted = any(it.names for it in beside) and any(not it.names and it.cells & wanted for it in beside)
        alone = not any(not it.names and it.cells & wanted for it in stated)
        if one.names or one.cells & wanted or alone or parted or not _whole(claim, row, one):
            kept.append(one)
    return kept


def _paired(stated: Sequence[_Mention]) -> list[tuple[frozenset[int], _Mention]]:
    """Which value the claim gives to which columns; empty where its order leaves that open."""
    runs = [list(group) for _, group in groupby(stated, key=lambda one: one.names)]
    if len(runs) % 2 or any(
        len(left) != len(right) for left, right in zip(runs[::2], runs[1::2], strict=True)
    ):
        return []
    pairs = []
    for left, right in zip(runs[::2], runs[1::2], strict=True):
        names, values = (left, right) if left[0].names else (right, left)
        pairs += [(name.cells, value) for name, value in zip(names, values, strict=True)]
    return pairs


def _whole(claim: Reading, row: Row, mention: _Mention) -> bool:
    """Whether the claim states the whole value of a cell."""
    stated = frozenset(claim.terms)
    return any(stated.issuperset(row.cells[at].value.terms) for at in mention.cells)


def _refutes(claim: Reading, row: Row, columns: frozenset[int], mention: _Mention, asked: Set[int]) -> bool:
    """Whether the value of another column surely stands in the place of this one's: whole and of its sort."""
    own = row.cells[min(columns)]
    others = [row.cells[at] for at in mention.cells]
    named = frozenset(claim.terms).issuperset(own.column.terms) or bool(columns & asked)
    return (
        named
        and _whole(claim, row, mention)
        and all(
            other.is_figure == own.is_figure and len(other.value.terms) <= _SHORT_VALUE for other in others
        )
        and (own.is_figure or bool(columns & asked))
    )
