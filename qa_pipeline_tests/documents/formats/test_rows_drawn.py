import pytest

from qa_pipeline.documents.formats import markdown, text
from qa_pipeline.records import SourceFile
from qa_pipeline.settings.documents import DocumentSettings

ROWS = ["Name: AX-100 | Power: 3 kW", "Name: AX-200 | Power: 4 kW"]
BORDERS_AFTER_EACH = """
+--------+-------+
| Name   | Power |
+========+=======+
| AX-100 | 3 kW  |
+--------+-------+
| AX-200 | 4     |
|        | kW    |
+--------+-------+
"""
ONE_BORDER = """
+--------+-------+
| Name   | Power |
+--------+-------+
| AX-100 | 3 kW  |
| AX-200 | 4 kW  |
+--------+-------+
"""
RULED = """
  Name     Power
  -------  -------
  AX-100   3 kW
  AX-200   4 kW
"""
ALIGNED = """
Name      Power
AX-100    3 kW
AX-200    4 kW
"""
COLUMNS_OF_TEXT = """
The pump runs all day       The valve is shut at
and stops at night.         seven in the morning.
"""


def lines_of(content: str, *, is_markdown: bool = False) -> list[tuple[str, str]]:
    parse = markdown.parse if is_markdown else text.parse
    blocks = parse(SourceFile("a.txt", content.encode()), DocumentSettings()).blocks
    return [(block.kind, block.text) for block in blocks]


@pytest.mark.parametrize("drawn", [BORDERS_AFTER_EACH, ONE_BORDER, RULED, ALIGNED])
def test_rows_of_a_drawn_table_carry_the_names_of_its_columns(drawn: str) -> None:
    assert lines_of(drawn) == [("table_row", row) for row in ROWS]


@pytest.mark.parametrize("drawn", [BORDERS_AFTER_EACH, RULED])
def test_tables_of_pandoc_are_read_in_markdown(drawn: str) -> None:
    assert lines_of(f"# A\n{drawn}", is_markdown=True)[1:] == [("table_row", row) for row in ROWS]


@pytest.mark.parametrize("drawn", [COLUMNS_OF_TEXT, "+--+\n| a |\n", "Name  Power\n", "| a | b |\n| c |\n"])
def test_other_text_is_no_table(drawn: str) -> None:
    assert all(kind != "table_row" for kind, _ in lines_of(drawn))
