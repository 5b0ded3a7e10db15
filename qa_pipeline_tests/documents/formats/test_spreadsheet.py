import io
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from xlsxwriter import Workbook

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.corpus.files import LIMITS
from qa_pipeline.documents.formats import spreadsheet
from qa_pipeline.records import ParsedFile
from qa_pipeline_tests.documents.builders import SETTINGS, refusal, source
from qa_pipeline_tests.documents.formats.office.archives import zip_bytes
from qa_pipeline_tests.documents.formats.office.builders import edited, left_out


def made(fill: Callable[[Workbook], None]) -> bytes:
    target = io.BytesIO()
    with Workbook(target, {"in_memory": True}) as workbook:
        fill(workbook)
    return target.getvalue()


def parse(content: bytes) -> ParsedFile:
    return spreadsheet.parse(source(content), SETTINGS)


def text_of(content: bytes) -> str:
    return assemble(parse(content).blocks).text


def sheet_text(fill: Callable[[Workbook], None]) -> str:
    return text_of(made(fill))


def pumps(workbook: Workbook) -> None:
    sheet = workbook.add_worksheet("Pumps")
    for number, row in enumerate([["Part", "Pressure", "Share"], ["valve", 3, 0.25], ["filter", 4.5, 1]]):
        sheet.write_row(number, 0, row)
    sheet.write(5, 0, "Checked")
    sheet.write_datetime(5, 1, date(2024, 1, 2), workbook.add_format({"num_format": "yyyy-mm-dd"}))
    sheet.write_formula(6, 0, "=B2*2", None, 6)
    workbook.add_worksheet("Empty")
    hidden = workbook.add_worksheet("Old")
    hidden.write(0, 0, "Secret")
    hidden.hide()
    sheet.write_comment(0, 0, "until 2032", {"author": ""})


def test_each_sheet_is_a_section_and_each_row_a_line_with_its_columns() -> None:
    assert sheet_text(pumps) == (
        "## Pumps\n\nPart: valve | Pressure: 3 | Share: 0.25\nPart: filter | Pressure: 4.5 | Share: 1\n"
        "Checked | 2024-01-02\n6"
    )
    assert left_out(parse(made(pumps))) == {"comment": (1, 9), "hidden": (1, 6)}


def test_the_only_sheet_needs_no_heading_and_merged_cells_hold_for_every_row_they_cover() -> None:
    def fill(workbook: Workbook) -> None:
        sheet = workbook.add_worksheet()
        sheet.write(0, 0, "Prices of 2024")
        sheet.write_row(1, 0, ["City", "Street", "Price"])
        sheet.merge_range(2, 0, 3, 0, "Umeå")
        sheet.write_row(2, 1, ["Storgatan", 12])
        sheet.write_row(3, 1, ["Kungsgatan", 14])

    assert sheet_text(fill) == (
        "Prices of 2024\n\nCity: Umeå | Street: Storgatan | Price: 12\n"
        "City: Umeå | Street: Kungsgatan | Price: 14"
    )


@pytest.mark.parametrize(
    ("part", "root", "cell"),
    [("xl/sharedStrings.xml", b"<sst", b"valve"), ("xl/worksheets/sheet1.xml", b"<worksheet", b"3</v>")],
)
def test_entities_and_links_to_other_files_are_not_followed(part: str, root: bytes, cell: bytes) -> None:
    entity = b'<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    used = cell.replace(b"3", b"&x;").replace(b"valve", b"&x;")
    content = edited(made(pumps), part, lambda xml: xml.replace(root, entity + root, 1).replace(cell, used))
    if refusal(lambda: text_of(content)) is None:
        assert "root:" not in text_of(content)


@pytest.mark.parametrize(
    ("name", "most", "reason"), [("decompressed_bytes", 1000, "archive_bomb"), ("rows", 1, "too_many_rows")]
)
def test_a_workbook_over_a_limit_is_refused(
    name: str, most: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LIMITS, name, most)
    assert refusal(lambda: spreadsheet.parse(source(made(pumps)), SETTINGS)) == reason


def case(name: str) -> bytes:
    return (Path(__file__).parent / "sheets" / name).read_bytes()


def test_cells_stand_as_a_person_sees_them() -> None:
    assert text_of(case("formats.xlsx")) == (
        "## Stock\n\nPart: Bolt | Share: 5.0% | Price: 1,234.50 kr | Date: 2031-05-03 | Zip: 00123 | "
        "Time: 09:30:00 | Big: 1.23456789012346e+16 | Neg: (1,500.5) | Ratio: 0.67 | Flag: TRUE\n"
        "Part: Nut | Share: 12.5% | Price: 12.00 kr | Date: 2031-05-03 | Zip: 04560 | Time: 30:00:00 | "
        "Big: 0.3 | Neg: (3.0) | Ratio: 0.00 | Flag: FALSE\nPart: Sum\n\n"
        "## Merged\n\nRegion: North | Year 2030: 5 | Year 2031: 6\n\n## Codes\n\nCode: 007 | Name: Seven"
    )


def coloured(workbook: Workbook) -> None:
    """White text, text of a format that shows nothing, and white text on a dark ground."""
    looks = [
        {"font_color": "white"},
        {"num_format": ";;;"},
        {"font_color": "white", "bg_color": "navy"},
    ]
    sheet = workbook.add_worksheet()
    sheet.write_row(0, 0, ["Name", "A", "B", "C"])
    sheet.write(1, 0, "Ann")
    for column, look in enumerate(looks, 1):
        sheet.write(1, column, 90_000 + column, workbook.add_format(look))


@pytest.mark.parametrize(
    ("content", "text", "hidden"),
    [
        (
            case("hidden.xlsx"),
            "## Prices\n\nArticle: Screw | Price: 1.5\nArticle: Bolt | Price: 3.5",
            (8, 69),
        ),
        (case("hidden.ods"), "## Prices\n\nArticle: Screw | Price: 1.50", (4, 27)),
        (made(coloured), "Name: Ann | C: 90003", (2, 10)),
    ],
)
def test_what_a_person_does_not_see_is_left_out_and_counted(
    content: bytes, text: str, hidden: tuple[int, int]
) -> None:
    assert text_of(content) == text
    assert left_out(parse(content))["hidden"] == hidden


def test_raised_and_struck_out_text_in_cells_keeps_its_meaning() -> None:
    def fill(workbook: Workbook) -> None:
        sheet = workbook.add_worksheet()
        raised, struck = workbook.add_format({"font_script": 1}), workbook.add_format({"font_strikeout": 1})
        sheet.write_row(0, 0, ["Part", "Amount"])
        sheet.write(1, 0, "Cells")
        sheet.write_rich_string(1, 1, "10", raised, "6", " per ml")
        sheet.write(2, 0, "Jacket")
        sheet.write_rich_string(2, 1, struck, "799 kr", " 499 kr")
        sheet.write(3, 0, "Cap")
        sheet.write(3, 1, 99, struck)

    content = made(fill)
    assert text_of(content) == "Part: Cells | Amount: 10^6 per ml\nPart: Jacket | Amount: 499 kr\nPart: Cap"
    assert left_out(parse(content)) == {"deleted_text": (2, 7)}


ODS = """<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"><style:style style:name="Up">
<style:text-properties style:text-position="super 58%"/></style:style><style:style style:name="Struck">
<style:text-properties style:text-line-through-style="solid"/></style:style><office:body><office:spreadsheet>
<table:table table:name="A"><table:table-row><table:table-cell><text:p>10<text:span text:style-name="Up">6
</text:span> per<text:line-break/>ml</text:p></table:table-cell><table:table-cell><text:p><text:span
text:style-name="Struck">799</text:span> 499</text:p></table:table-cell></table:table-row></table:table>
</office:spreadsheet></office:body></office:document-content>"""


def test_raised_and_struck_out_text_in_open_document_cells_keeps_its_meaning() -> None:
    parsed = parse(zip_bytes({"content.xml": ODS}))
    assert [block.text for block in parsed.blocks] == ["A", "10^6 per ml | 499"]
    assert left_out(parsed) == {"deleted_text": (1, 3)}


def test_a_cell_over_a_billion_columns_is_read_in_as_many_as_a_sheet_has() -> None:
    wide = ODS.replace("<table:table-cell>", '<table:table-cell table:number-columns-spanned="999999999">', 1)
    assert "10^6 per ml" in text_of(zip_bytes({"content.xml": wide}))
