from collections.abc import Sequence

import pytest
from fpdf import FPDF
from fpdf.enums import VAlign

from qa_pipeline_tests.documents.builders import doubted, outline
from qa_pipeline_tests.documents.formats.pdf.builders import (
    at,
    blank,
    marks,
    parse,
    prose,
    rows,
    with_table,
)

LONG = "Lived in London and wrote about a machine that somebody else had thought of long before"
PEOPLE = [
    ("Name", "Age", "Remark"),
    ("Ada", "36", LONG),
    ("Bo Ek", "41", "Lund"),
    ("Cy", "7", "Falun"),
]
NAMED = [
    f"Name: Ada | Age: 36 | Remark: {LONG}",
    "Name: Bo Ek | Age: 41 | Remark: Lund",
    "Name: Cy | Age: 7 | Remark: Falun",
]


def between_prose(layout: str, table: Sequence[Sequence[str]] = PEOPLE) -> FPDF:
    document = blank()
    document.set_xy(15, at(document, 15, 20, prose("above", 4), width=180) + 5)
    with_table(document, table, layout, v_align=VAlign.T)
    at(document, 15, document.get_y() + 5, prose("below", 4), width=180)
    return document


@pytest.mark.parametrize("layout", ["ALL", "INTERNAL", "HORIZONTAL_LINES", "NO_HORIZONTAL_LINES"])
def test_each_row_of_a_table_is_one_line_with_the_names_of_its_columns(layout: str) -> None:
    assert rows(parse(between_prose(layout))) == NAMED


def test_the_rows_of_a_table_without_ruled_lines_are_lines_of_their_own() -> None:
    document = blank()
    for number, row in enumerate((("Town", "People"), ("Lund", "87000"), ("Falun", "many"))):
        document.text(15, 20 + 5 * number, row[0])
        document.text(70, 20 + 5 * number, row[1])
    assert outline(parse(document)) == [
        ("paragraph", "Town People"), ("paragraph", "Lund 87000"), ("paragraph", "Falun many"),
    ]  # fmt: skip


def scientific(document: FPDF, y: float, table: Sequence[Sequence[str]], bottom: bool = True) -> float:
    """Three lines across, as in journals: above and below the names of the columns, and at the end."""
    places = (20, 60, 110)
    document.line(18, y, 190, y)
    for number, row in enumerate(table):
        for place, text in zip(places, row, strict=True):
            document.text(place, y + 5 + 5 * number + (2 if number else 0), text)
    document.line(18, y + 6.5, 190, y + 6.5)
    end = y + 5 * len(table) + 4
    if bottom:
        document.line(18, end, 190, end)
    return end


SHORT = [
    ("Unit", "Topic", "Hours"), ("One", "Rivers", "12"), ("Two", "Mountains", "9"), ("Three", "Forests", "4")
]  # fmt: skip
SHORT_NAMED = [
    "Unit: One | Topic: Rivers | Hours: 12",
    "Unit: Two | Topic: Mountains | Hours: 9",
    "Unit: Three | Topic: Forests | Hours: 4",
]


@pytest.mark.parametrize("bottom", [True, False])
def test_a_table_with_lines_around_its_header_alone_is_read_to_its_end(bottom: bool) -> None:
    document = blank()
    at(document, 15, 20, prose("above", 3), width=180)
    end = scientific(document, 60, SHORT, bottom)
    at(document, 15, end + 10, prose("below", 3), width=180)
    parsed = parse(document)
    assert rows(parsed) == SHORT_NAMED
    assert marks(parsed.blocks[-1].text, "below") == [0, 1, 2]


def drawn(
    document: FPDF, y: float, table: Sequence[Sequence[str]], upright: Sequence[float], across: Sequence[int]
) -> None:
    """A table of rows 6 mm high, with upright lines at some places and lines across above some rows."""
    for place in upright:
        document.line(place, y, place, y + 6 * len(table))
    for number in across:
        document.line(20, y + 6 * number, 180, y + 6 * number)
    for number, row in enumerate(table):
        document.set_font(style="" if number else "B")
        for place, text in zip((22, 72, 112), row, strict=False):
            document.text(place, y + 4.2 + 6 * number, text)


PACKAGES = [
    ("Package", "Size", "Purpose"), ("mc", "1482", "Manage files in a terminal"), ("sudo", "59", "Get root"),
    ("vim", "3570", "Edit text"), ("gpm", "521", "Use a mouse in a terminal"), ("w3m", "2828", "Read pages"),
]  # fmt: skip
PACKAGES_NAMED = [
    f"Package: {name} | Size: {size} | Purpose: {purpose}" for name, size, purpose in PACKAGES[1:]
]


@pytest.mark.parametrize("across", [(0, 1, 6), (0, 1, 4, 6)])
@pytest.mark.parametrize("upright", [(70, 110), (20, 70, 110, 180)], ids=["open", "closed"])
def test_rows_without_a_line_between_them_are_rows(upright: Sequence[float], across: Sequence[int]) -> None:
    document = blank()
    drawn(document, 60, PACKAGES, upright, across)
    assert rows(parse(document)) == PACKAGES_NAMED


def test_lines_at_the_edges_of_a_page_and_between_its_columns_make_no_table() -> None:
    document = blank()
    document.line(15, 15, 195, 15)
    document.line(105, 15, 105, 270)
    at(document, 15, 20, prose("left", 24))
    at(document, 110, 20, prose("right", 24))
    document.line(15, 270, 195, 270)
    parsed = parse(document)
    assert rows(parsed) == []
    text = " ".join(block.text for block in parsed.blocks)
    assert text.index("left23") < text.index("right0")


def test_a_ruled_table_of_one_row_is_in_doubt_and_of_two_it_is_not() -> None:
    document = blank()
    at(document, 15, 20, prose("above", 3), width=180)
    scientific(document, 60, [("Name", "Age", "Town"), ("Ada", "36", "Lund")])
    assert [kind for kind, _ in doubted(parse(document))] == ["table"]
    document = blank()
    at(document, 15, 20, prose("above", 3), width=180)
    scientific(document, 60, [("Name", "Age", "Town"), ("Ada", "36", "Lund"), ("Bo", "41", "Falun")])
    assert doubted(parse(document)) == []


def test_a_lone_row_with_an_empty_corner_is_no_header() -> None:
    document = blank()
    at(document, 15, 20, prose("above", 4), width=180)
    drawn(document, 60, [("", "5", "5")], (20, 70, 110, 180), (0, 1))
    assert rows(parse(document)) == ["5 | 5"]


def test_a_row_between_the_lines_of_two_tables_is_in_one_of_them() -> None:
    document = blank()
    at(document, 15, 20, prose("above", 4), width=180)
    lines = [
        ("Lund", "a town with many streets and houses near"), ("Falun", "mine", "12"),
        ("Falun and other towns of it", "", "7"), ("Lund and other towns of it", "", "8"),
    ]  # fmt: skip
    for number, line in enumerate(lines):
        for place, text in zip((20, 60, 110), line, strict=False):
            document.text(place, 65 + 5 * number, text)
    for y in (60, 67, 77, 85):
        document.line(18, y, 190, y)
    assert " ".join(text for _, text in outline(parse(document))).count("mine") == 1
