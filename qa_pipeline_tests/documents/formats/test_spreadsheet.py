import io
from collections.abc import Callable
from datetime import date

import pytest
from xlsxwriter import Workbook

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.formats import spreadsheet
from qa_pipeline.records import LeftOut
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import SETTINGS, refusal, source
from qa_pipeline_tests.documents.formats.office.builders import members_of, zip_bytes


def made(fill: Callable[[Workbook], None]) -> bytes:
    target = io.BytesIO()
    with Workbook(target, {"in_memory": True}) as workbook:
        fill(workbook)
    return target.getvalue()


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


def test_each_sheet_is_a_section_and_each_row_a_line_with_its_columns() -> None:
    parsed = spreadsheet.parse(source(made(pumps)), SETTINGS)
    assert assemble(parsed.blocks).text == (
        "## Pumps\n\nPart: valve | Pressure: 3 | Share: 0.25\nPart: filter | Pressure: 4.5 | Share: 1\n"
        "Checked | 2024-01-02\n6"
    )
    assert parsed.left_out == (LeftOut("hidden_sheet", 1, 6),)


def test_the_only_sheet_needs_no_heading_and_merged_cells_hold_for_every_row_they_cover() -> None:
    def fill(workbook: Workbook) -> None:
        sheet = workbook.add_worksheet()
        sheet.write(0, 0, "Prices of 2024")
        sheet.write_row(1, 0, ["City", "Street", "Price"])
        sheet.merge_range(2, 0, 3, 0, "Umeå")
        sheet.write_row(2, 1, ["Storgatan", 12])
        sheet.write_row(3, 1, ["Kungsgatan", 14])

    assert assemble(spreadsheet.parse(source(made(fill)), SETTINGS).blocks).text == (
        "Prices of 2024\n\nCity: Umeå | Street: Storgatan | Price: 12\n"
        "City: Umeå | Street: Kungsgatan | Price: 14"
    )


def rows(workbook: Workbook) -> None:
    sheet = workbook.add_worksheet()
    for number in range(20):
        sheet.write(number, 0, number)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PK\x03\x04", "damaged"),
        (b"no spreadsheet", "damaged"),
        (made(pumps)[:3000], "damaged"),
        (zip_bytes({"a.txt": "x"}), "damaged"),
        (made(rows), "too_many_rows"),
    ],
)
def test_what_is_no_readable_spreadsheet_is_refused(content: bytes, reason: str) -> None:
    few = DocumentSettings(max_rows=10)
    assert refusal(lambda: spreadsheet.parse(source(content), few)) == reason


def test_entities_and_links_to_other_files_are_not_followed() -> None:
    members = members_of(made(pumps))
    strings = members["xl/sharedStrings.xml"].decode()
    evil = '<!DOCTYPE sst [<!ENTITY x SYSTEM "file:///etc/passwd">]><sst'
    members["xl/sharedStrings.xml"] = strings.replace("<sst", evil, 1).replace("valve", "&x;").encode()
    content = zip_bytes(members)
    if refusal(lambda: spreadsheet.parse(source(content), SETTINGS)) is None:
        assert "root:" not in assemble(spreadsheet.parse(source(content), SETTINGS).blocks).text


def test_a_container_that_grows_too_much_is_refused() -> None:
    few = DocumentSettings(max_decompressed_bytes=1000)
    assert refusal(lambda: spreadsheet.parse(source(made(pumps)), few)) == "archive_bomb"
