import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.formats.rows import Cell, render_table
from qa_pipeline.text.doubt import SIGNS

CELLS = st.builds(
    Cell,
    st.text("abc: ", max_size=6).map(str.strip),
    st.booleans(),
    st.integers(0, 9999),
    st.integers(0, 9999),
)


def lines_of(grid: list[list[Cell]]) -> list[str]:
    return render_table(grid)[0]


def unused_of(grid: list[list[Cell]]) -> list[str]:
    return render_table(grid)[1]


def row(*texts: str, header: bool = False) -> list[Cell]:
    return [Cell(text, header) for text in texts]


@given(st.lists(st.lists(CELLS, max_size=5), max_size=6))
def test_any_grid_becomes_lines_and_no_data_cell_is_lost(grid: list[list[Cell]]) -> None:
    lines = lines_of(grid)
    assert all(line.strip() for line in lines)
    written = "\n".join(lines)
    assert all(cell.text.strip(": ") in written for cells in grid for cell in cells if not cell.header)
    assert set(unused_of(grid)) <= {cell.text for cells in grid for cell in cells if cell.header}


GRIDS = [
    (
        [row("Name", "Price", header=True), row("Nail", "2 kr"), row("Screw", "3 kr")],
        ["Name: Nail | Price: 2 kr", "Name: Screw | Price: 3 kr"],
    ),
    (
        [[Cell("Status:", True), Cell("Base")], [Cell("Syntax", True), Cell("a|b")]],
        ["Status: Base", "Syntax: a|b"],
    ),
    ([row("Telefon:", "08-123"), row("left", "right")], ["Telefon: 08-123", "left | right"]),
    (
        [row("Land", "Stad", header=True), [Cell("Sverige", rows=2), Cell("Lund")], [Cell("Umeå")]],
        ["Land: Sverige | Stad: Lund", "Land: Sverige | Stad: Umeå"],
    ),
    (
        [
            [Cell("", True), Cell("Temperatur", True, columns=2)],
            row("Ort", "min", "max", header=True),
            row("Kiel", "3", "9"),
        ],
        ["Ort: Kiel | Temperatur min: 3 | Temperatur max: 9"],
    ),
    (
        [row("A", "B", header=True), [Cell("Part two", True, columns=2)], row("1", "2")],
        ["Part two", "A: 1 | B: 2"],
    ),
    (
        [
            row("Sales", "Costs", header=True),
            [Cell("2023", True, rows=2), Cell("2024", True)],
            row("May", header=True),
            row("3", "4"),
        ],
        ["Sales 2023: 3 | Costs 2024 May: 4"],
    ),
]


@pytest.mark.parametrize(("grid", "lines"), GRIDS)
def test_each_row_says_its_header_and_keys(grid: list[list[Cell]], lines: list[str]) -> None:
    assert lines_of(grid) == lines


def test_names_that_no_line_repeats_are_known() -> None:
    head = [Cell("", True), Cell("Temperatur", True, columns=2), Cell("Wind", True)]
    grid = [head, row("Ort", "min", "max", "", header=True), row("Kiel", "3", "", "")]
    assert unused_of(grid) == ["Wind", "max"]
    assert unused_of([row("A", "B", header=True)]) == []
    assert unused_of([row("a", "b"), row("c", "")]) == []


def test_a_row_whose_cells_overlap_is_in_doubt_and_its_neighbours_are_not() -> None:
    tall, wide = Cell("tall", rows=2), Cell("wide", columns=2)
    grid = [row("A", "B", "C", header=True), row("1", "2", "3"), [Cell("x"), tall, Cell("y")]]
    signed = [line for line in lines_of([*grid, [wide, Cell("z")]]) if SIGNS["table"] in line]
    assert [line.replace(SIGNS["table"], "") for line in signed] == ["A: wide | C: z"]


@pytest.mark.parametrize("short", [row("a"), [Cell("a", columns=3)]])
def test_a_cell_over_several_rows_covers_no_row_below_them(short: list[Cell]) -> None:
    grid = [[Cell("x"), Cell("y"), Cell("Z", rows=2)], short, row("b", "c"), row("d", "e", "f")]
    lines = [line.replace(SIGNS["table"], "") for line in lines_of(grid)]
    assert lines == ["x | y | Z", "a | Z" if short == row("a") else "a", "b | c", "d | e | f"]


def test_a_cell_below_a_short_row_is_kept_for_the_rows_that_it_covers() -> None:
    grid = [row("A", "B", "C", header=True), [Cell("x"), Cell("y"), Cell("Z", rows=3)], row("a"), row("b")]
    assert lines_of(grid)[1:] == ["A: a | C: Z", "A: b | C: Z"]
