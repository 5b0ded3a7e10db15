"""Table rows as cells: a value is proof only for its own row and its own column."""

from dataclasses import dataclass

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
