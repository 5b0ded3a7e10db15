import pytest

from qa_pipeline.documents.formats.html import parser
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

CELLS = {
    "picture": '<img src="x.png" alt="{}">',
    "label": '<i class="fa fa-check" aria-label="{}"></i>',
    "title": '<i class="icon" title="{}"></i>',
    "drawing": "<svg role=img><title>{}</title><path d='M0'/></svg>",
}


def read(markup: str) -> ParsedFile:
    source = SourceFile("a.html", f"<html><body><h1>Page</h1>{markup}</body></html>".encode())
    return parser.parse(source, DocumentSettings())


def texts(markup: str) -> list[str]:
    return [block.text for block in read(markup).blocks if block.kind != "heading"]


def table(*cells: str) -> str:
    head = "<tr><th>Plan<th>Basic<th>Pro</tr>"
    return (
        f"<table><thead>{head}</thead><tr><td>Backups{''.join(f'<td>{cell}' for cell in cells)}</tr></table>"
    )


@pytest.mark.parametrize("way", CELLS)
def test_the_name_of_an_icon_stands_in_a_cell_that_has_nothing_else(way: str) -> None:
    cells = [CELLS[way].format(name) for name in ("No", "Yes")]
    assert texts(table(*cells)) == ["Plan: Backups | Basic: No | Pro: Yes"]


@pytest.mark.parametrize("icon", ["<img alt='Logo'>", CELLS["drawing"].format("info")])
def test_a_picture_beside_text_is_left_out(icon: str) -> None:
    assert texts(table(f"{icon} 5", "6")) == ["Plan: Backups | Basic: 5 | Pro: 6"]


def test_check_boxes_and_drop_downs_have_their_state() -> None:
    assert texts("<p><input type=checkbox checked> Parking <input type=checkbox> Breakfast</p>") == [
        "☒ Parking ☐ Breakfast"
    ]
    options = "<option>Monthly<option selected>Yearly"
    assert texts(f"<p>Payment: <select>{options}</select></p>") == ["Payment: Yearly"]


TABS = {
    "roles": "<div><ul role=tablist><li role=tab>{0}<li role=tab>{1}</ul>"
    "<div role=tabpanel><p>{2}</p></div><div role=tabpanel hidden><p>{3}</p></div></div>",
    "styles": "<div class=tabbed-set><input type=radio checked><input type=radio><div class=tabbed-labels>"
    "<label>{0}</label><label>{1}</label></div><div class=tabbed-content>"
    "<div class=tabbed-block><p>{2}</p></div><div class=tabbed-block><p>{3}</p></div></div></div>",
}


@pytest.mark.parametrize("way", TABS)
def test_each_tab_is_read_with_its_label(way: str) -> None:
    markup = TABS[way].format("Linux", "Windows", "It is port 8100.", "It is port 8200.")
    assert texts(markup) == ["Linux: It is port 8100.", "Windows: It is port 8200."]
