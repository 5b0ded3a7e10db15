from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline_tests.documents.builders import outline
from qa_pipeline_tests.documents.formats.office.builders import left_out, paragraph, read_docx, run

BOLD = "<w:b/>"


def cell(inside: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inside}</w:tc>"


def row(*cells: str, properties: str = "") -> str:
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(cells)}</w:tr>"


def plain(*texts: str, bold: bool = False) -> str:
    return row(*[cell(paragraph(run(text, BOLD if bold else ""))) for text in texts])


def table(*rows: str) -> str:
    return f"<w:tbl><w:tblPr/>{''.join(rows)}</w:tbl>"


def lines(*rows: str) -> list[str]:
    return [text for kind, text in outline(read_docx(table(*rows))) if kind == "table_row"]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=4), min_size=1, max_size=5
    )
)
def test_whatever_the_grid_no_cell_is_lost(grid: list[list[tuple[int, bool]]]) -> None:
    rows = [
        row(
            *[
                cell(
                    paragraph(run(f"cell{place}x{column}x")),
                    f'<w:gridSpan w:val="{span}"/>'
                    + ("<w:vMerge/>" if merged else '<w:vMerge w:val="restart"/>'),
                )
                for column, (span, merged) in enumerate(cells)
            ]
        )
        for place, cells in enumerate(grid)
    ]
    parsed = read_docx(table(*rows))
    text = "\n".join(block.text for block in parsed.blocks)
    assert all(
        f"cell{place}x{column}x" in text for place, cells in enumerate(grid) for column in range(len(cells))
    )
    assert parsed.left_out == ()


def test_a_first_row_in_bold_or_over_figures_names_the_columns() -> None:
    assert lines(plain("Ort", "Einwohner"), plain("Kiel", "247 000")) == ["Ort: Kiel | Einwohner: 247 000"]
    assert lines(plain("Namn", "Ort", bold=True), plain("Bo", "Kiel")) == ["Namn: Bo | Ort: Kiel"]
    assert lines(plain("Anna", "Lund"), plain("Bo", "Kiel")) == ["Anna | Lund", "Bo | Kiel"]


def test_cells_of_a_row_that_begins_further_right_stay_in_their_columns() -> None:
    later = '<w:gridBefore w:val="1"/>'
    head = plain("Item", "Price", "Unit", bold=True)
    first = row(*(cell(paragraph(run(text))) for text in ("Nail", "2")), merged("kr", "restart"))
    second = row(cell(paragraph(run("3"))), merged("", "continue"), properties=later)
    last = row(merged("Screw", "restart"), *(cell(paragraph(run(text))) for text in ("4", "euro")))
    third = row(merged("", "continue"), *(cell(paragraph(run(text))) for text in ("5", "euro")))
    assert lines(head, first, second, last, third) == [
        "Item: Nail | Price: 2 | Unit: kr", "Price: 3 | Unit: kr",
        "Item: Screw | Price: 4 | Unit: euro", "Item: Screw | Price: 5 | Unit: euro",
    ]  # fmt: skip


def merged(text: str, state: str) -> str:
    return cell(paragraph(run(text)), f'<w:vMerge w:val="{state}"/>')


def test_hidden_and_deleted_rows_and_cells_are_left_out_and_counted() -> None:
    gone = row(cell(paragraph(run("old"))), cell(paragraph(run("row"))), properties='<w:del w:id="1"/>')
    half = row(cell(paragraph(run("kept"))), cell(paragraph(run("cell")), '<w:cellDel w:id="2"/>'))
    hidden = row(cell(paragraph(run("Fee"))), cell(paragraph(run("40"))), properties="<w:hidden/>")
    parsed = read_docx(table(plain("a", "b"), gone, half, hidden))
    assert [text for _, text in outline(parsed)] == ["a | b", "kept"]
    assert left_out(parsed) == {"deleted_text": (2, len("oldrowcell")), "hidden": (1, 5)}
