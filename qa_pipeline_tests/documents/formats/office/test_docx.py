import re
from collections import Counter
from functools import partial

import docx as python_docx
import pytest
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.formats.office import docx
from qa_pipeline_tests.documents.builders import SETTINGS, outline, source
from qa_pipeline_tests.documents.formats.office.builders import (
    add_notes,
    left_out,
    paragraph,
    read_docx,
    run,
    saved,
)

# What becomes of a word in each of these places: it is kept, or left out under this name.
PLACES: dict[str, tuple[str, str | None]] = {
    "plain": (run("{word}"), None),
    "inserted": ('<w:ins w:id="1">' + run("{word}") + "</w:ins>", None),
    "linked": ('<w:hyperlink w:anchor="x">' + run("{word}") + "</w:hyperlink>", None),
    "controlled": ("<w:sdt><w:sdtContent>" + run("{word}") + "</w:sdtContent></w:sdt>", None),
    "unknown": ("<w:later>" + run("{word}") + "</w:later>", None),
    "result": (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r>' + run("{word}") +
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
        None,
    ),
    "box": (
        "<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><wps:txbx><w:txbxContent>"
        + paragraph(run("{word}"))
        + "</w:txbxContent></wps:txbx></w:drawing></mc:Choice><mc:Fallback/></mc:AlternateContent></w:r>",
        None,
    ),
    "deleted": ('<w:del w:id="2"><w:r><w:delText>{word}</w:delText></w:r></w:del>', "deleted_text"),
    "moved": ('<w:moveFrom w:id="3">' + run("{word}") + "</w:moveFrom>", "moved_text"),
    "hidden": (run("{word}", "<w:vanish/>"), "hidden"),
    "struck": (run("{word}", "<w:strike/>"), "deleted_text"),
    "simple field": ('<w:fldSimple w:instr=" REF x ">' + run("{word}") + "</w:fldSimple>", None),
    "contents": (
        "<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val='Table of Contents'/></w:docPartObj></w:sdtPr>"
        "<w:sdtContent>" + run("{word}") + "</w:sdtContent></w:sdt>",
        "navigation",
    ),
    "not struck": (run("{word}", '<w:strike w:val="0"/>'), None),
    "prompt": (
        "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>"
        + run("{word}")
        + "</w:sdtContent></w:sdt>",
        "placeholder",
    ),
}  # fmt: skip


AROUND = ("paragraph", "heading", "item", "cell", "note")


@given(st.lists(st.tuples(st.sampled_from(sorted(PLACES)), st.sampled_from(AROUND)), min_size=1, max_size=8))
def test_every_word_is_in_the_text_once_or_counted_as_left_out(words: list[tuple[str, str]]) -> None:
    elements, notes, expected = [], {}, Counter[str]()
    for number, (place, around) in enumerate(words):
        inside = PLACES[place][0].format(word=f"word{number}x")
        expected[PLACES[place][1] or "kept"] += len(f"word{number}x")
        if around == "cell":
            cell = f"<w:tc>{paragraph(inside)}</w:tc><w:tc>{paragraph(run('.'))}</w:tc>"
            elements.append(f"<w:tbl><w:tr>{cell}</w:tr></w:tbl>")
        elif around == "note":
            notes[str(number)] = paragraph(inside)
            elements.append(paragraph(f'<w:r><w:footnoteReference w:id="{number}"/></w:r>'))
        else:
            elements.append(paragraph(inside, {"heading": "Heading2", "item": "ListBullet"}.get(around)))
    parsed = read_docx(*elements, prepare=partial(add_notes, kind="footnote", notes=notes))
    kept = re.findall(r"word\d+x", " ".join(block.text for block in parsed.blocks))
    counted = {what: characters for what, (_, characters) in left_out(parsed).items()}
    assert len(kept) == len(set(kept))
    assert {"kept": sum(map(len, kept)), **counted} == {"kept": 0, **expected}


def test_headings_lists_tables_and_paragraphs_of_an_ordinary_document() -> None:
    document = python_docx.Document()
    document.add_heading("Annual report", 0)
    document.add_heading("Figures", 1)
    document.add_paragraph("All in tonnes.")
    document.add_paragraph("first", style="List Bullet")
    document.add_paragraph("deeper", style="List Bullet 2")
    document.add_paragraph("second", style="List Number")
    table = document.add_table(3, 2, style="Light List")
    for cell, text in zip(table._cells, ["Year", "Sales", "2023", "12", "2024", "15"], strict=True):
        cell.text = text
    document.add_heading("Outlook", 2)
    parsed = docx.parse(source(saved(document)), SETTINGS)
    assert [(block.kind, block.text, block.level) for block in parsed.blocks] == [
        ("heading", "Annual report", 1),
        ("heading", "Figures", 1),
        ("paragraph", "All in tonnes.", 0),
        ("list_item", "first", 0),
        ("list_item", "deeper", 1),
        ("list_item", "1. second", 0),
        ("table_row", "Year: 2023 | Sales: 12", 0),
        ("table_row", "Year: 2024 | Sales: 15", 0),
        ("heading", "Outlook", 2),
    ]
    assert parsed.left_out == ()


@pytest.mark.parametrize(
    ("name", "kind", "level"),
    [
        ("Rubrik 2", "heading", 2),
        ("Quelltext", "code", 0),
        ("Intensives Zitat", "quote", 0),
        ("Codename", "paragraph", 0),
    ],
)
def test_the_name_of_a_style_says_what_its_paragraphs_are(name: str, kind: str, level: int) -> None:
    def prepare(document: Document) -> None:
        style = document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH, builtin=True)
        style.element.set(f"{{{style.element.nsmap['w']}}}styleId", "own")

    block = read_docx(paragraph(run("Text"), "own"), prepare=prepare).blocks[0]
    assert (block.kind, block.level) == (kind, level)


def test_notes_follow_the_paragraph_that_refers_to_them() -> None:
    mark = '<w:r><w:footnoteReference w:id="{}"/></w:r>'
    feet = {"1": paragraph(run("Foot.")) + paragraph(run("More."))}
    ends = {"1": paragraph(run("End.")), "9": paragraph(run("Nobody refers to me."))}

    def prepare(document: Document) -> None:
        add_notes(document, "footnote", feet)
        add_notes(document, "endnote", ends)

    parsed = read_docx(
        paragraph(run("Text") + mark.format(1) + mark.format(1)),
        paragraph(run("Next") + '<w:r><w:endnoteReference w:id="1"/></w:r>', "Heading1"),
        paragraph(run("Last.")),
        prepare=prepare,
    )
    assert [text for _, text in outline(parsed)] == ["Text", "Foot.", "More.", "Next", "End.", "Last."]
    assert left_out(parsed) == {"unreferenced_note": (1, len("Nobodyreferstome."))}


def test_what_is_beside_the_text_is_counted() -> None:
    def prepare(document: Document) -> None:
        document.sections[0].header.paragraphs[0].text = "Head of page"
        document.sections[0].footer.paragraphs[0].text = "Foot"
        document.add_comment(document.add_paragraph("Commented.").runs, "Not so sure.", author="A")

    parsed = read_docx(prepare=prepare)
    assert outline(parsed) == [("paragraph", "Commented.")]
    assert left_out(parsed) == {
        "comment": (1, 10), "running_foot": (1, 4), "running_head": (1, 10),
    }  # fmt: skip


def test_breaks_tabs_hyphens_and_symbols() -> None:
    inside = (
        "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t>"
        "<w:softHyphen/><w:t>e</w:t>"
        '<w:sym w:font="Symbol" w:char="F0A3"/><w:t>5</w:t><w:sym w:font="Wingdings" w:char="F0FE"/>'
        '<w:sym w:font="Odd" w:char="F041"/></w:r>'
    )
    parsed = read_docx(paragraph(inside, None, '<w:tabs><w:tab w:val="left" w:pos="9"/></w:tabs>'))
    assert parsed.blocks[0].text == "a\tb\nc-de≤5☑"
    assert left_out(parsed) == {"symbol": (1, 0)}


@pytest.mark.parametrize(
    ("raised", "lowered"),
    [
        ('<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'),
        ('<w:rStyle w:val="Raised"/>', '<w:vertAlign w:val="subscript"/>'),
    ],
)
def test_raised_and_lowered_text_keeps_its_meaning(raised: str, lowered: str) -> None:
    def prepare(document: Document) -> None:
        document.styles.add_style("Raised", WD_STYLE_TYPE.CHARACTER).font.superscript = True

    inside = run("10") + run("6", raised) + run(" of H") + run("2", lowered)
    inside += run("O in 2030") + run("3", raised)
    parsed = read_docx(paragraph(inside), prepare=prepare)
    assert outline(parsed) == [("paragraph", "10^6 of H2O in 2030")]
    assert left_out(parsed) == {"footnote_mark": (1, 1)}


def form_field(data: str, code: str, result: str | None = None) -> str:
    shown = "" if result is None else f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{run(result)}'
    return (
        f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{data}</w:ffData></w:fldChar></w:r>'
        f'<w:r><w:instrText>{code}</w:instrText></w:r>{shown}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def test_form_fields_show_their_state() -> None:
    entries = '<w:listEntry w:val="Monthly"/><w:listEntry w:val="Yearly"/>'
    off = "<w:default w:val='0'/>"
    fields = [
        form_field(f"<w:checkBox>{off}<w:checked/></w:checkBox>", "FORMCHECKBOX"),
        form_field(f"<w:checkBox>{off}</w:checkBox>", "FORMCHECKBOX"),
        form_field("<w:checkBox><w:default/><w:checked w:val='0'/></w:checkBox>", "FORMCHECKBOX", ""),
        form_field(f'<w:ddList><w:result w:val="1"/>{entries}</w:ddList>', "FORMDROPDOWN"),
        form_field(f"<w:ddList>{entries}</w:ddList>", "FORMDROPDOWN"),
        form_field("<w:textInput/>", "FORMTEXT", "Ada"),
    ]
    assert outline(read_docx(paragraph(run(" ").join(fields)))) == [("paragraph", "☒ ☐ ☐ Yearly Monthly Ada")]
