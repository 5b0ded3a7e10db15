import docx as python_docx
import pytest
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.formats.office import docx
from qa_pipeline_tests.documents.builders import SETTINGS, outline, source
from qa_pipeline_tests.documents.formats.office.builders import (
    add_notes,
    add_part,
    docx_of,
    element,
    left_out,
    members_of,
    paragraph,
    read_docx,
    run,
    saved,
    wordprocessing,
    zip_bytes,
)


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
        ("heading", "Figures", 2),
        ("paragraph", "All in tonnes.", 0),
        ("list_item", "first", 0),
        ("list_item", "deeper", 1),
        ("list_item", "second", 0),
        ("table_row", "Year: 2023 | Sales: 12", 0),
        ("table_row", "Year: 2024 | Sales: 15", 0),
        ("heading", "Outlook", 3),
    ]
    assert parsed.left_out == ()


def test_without_a_title_headings_keep_their_levels() -> None:
    parsed = read_docx(paragraph(run("One"), "Heading1"), paragraph(run("Two"), "Heading2"))
    assert [block.level for block in parsed.blocks] == [1, 2]


def test_several_titles_are_headings_of_the_first_level() -> None:
    parsed = read_docx(
        *[paragraph(run(text), style) for text, style in (("A", "Title"), ("a", "Heading2"), ("B", "Title"))]
    )
    assert [block.level for block in parsed.blocks] == [1, 2, 1]


@pytest.mark.parametrize(
    ("name", "kind", "level"),
    [
        ("Rubrik 2", "heading", 2),
        ("Überschrift 3", "heading", 3),
        ("Titre 8", "heading", 6),
        ("Rubrik", "heading", 1),
        ("Quelltext", "code", 0),
        ("Källkod", "code", 0),
        ("HTML Preformatted", "code", 0),
        ("Intensives Zitat", "quote", 0),
        ("Brödtext", "paragraph", 0),
        ("Codename", "paragraph", 0),
    ],
)
def test_the_name_of_a_style_says_what_its_paragraphs_are(name: str, kind: str, level: int) -> None:
    def prepare(document: Document) -> None:
        style = document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH, builtin=True)
        style.element.set(f"{{{style.element.nsmap['w']}}}styleId", "own")

    block = read_docx(paragraph(run("Text"), "own"), prepare=prepare).blocks[0]
    assert (block.kind, block.level) == (kind, level)


def test_a_style_based_on_a_heading_is_one_and_a_ring_of_styles_ends() -> None:
    def prepare(document: Document) -> None:
        first = document.styles.add_style("Chapter", WD_STYLE_TYPE.PARAGRAPH)
        first.base_style = document.styles["Heading 2"]
        ring = document.styles.add_style("Ring", WD_STYLE_TYPE.PARAGRAPH)
        other = document.styles.add_style("Other", WD_STYLE_TYPE.PARAGRAPH)
        ring.base_style, other.base_style = other, ring

    parsed = read_docx(paragraph(run("A"), "Chapter"), paragraph(run("B"), "Ring"), prepare=prepare)
    assert [(block.kind, block.level) for block in parsed.blocks] == [("heading", 2), ("paragraph", 0)]


def test_an_outline_level_makes_a_heading_and_takes_one_back() -> None:
    parsed = read_docx(
        paragraph(run("A"), None, '<w:outlineLvl w:val="3"/>'),
        paragraph(run("B"), "Heading1", '<w:outlineLvl w:val="9"/>'),
        paragraph(run("C"), "Heading7Missing"),
    )
    assert [(block.kind, block.level) for block in parsed.blocks] == [
        ("heading", 4),
        ("paragraph", 0),
        ("paragraph", 0),
    ]


def test_lists_take_level_and_membership_from_their_numbering() -> None:
    def listed(number: int, level: int) -> str:
        return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'

    parsed = read_docx(
        paragraph(run("a"), None, listed(1, 0)),
        paragraph(run("b"), None, listed(1, 2)),
        paragraph(run("c"), "ListBullet", listed(0, 0)),
        paragraph(run("d"), "Heading1", listed(1, 0)),
    )
    assert [(block.kind, block.level) for block in parsed.blocks] == [
        ("list_item", 0),
        ("list_item", 2),
        ("paragraph", 0),
        ("heading", 1),
    ]


def test_a_level_without_bullet_or_number_is_no_list() -> None:
    def prepare(document: Document) -> None:
        numbering = document.part.numbering_part.element
        bare = '<w:lvl w:ilvl="0"><w:numFmt w:val="none"/><w:lvlText w:val=""/></w:lvl>'
        numbering.append(element(f'<w:abstractNum w:abstractNumId="77">{bare}</w:abstractNum>'))
        numbering.append(element('<w:num w:numId="78"><w:abstractNumId w:val="77"/></w:num>'))

    properties = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="78"/></w:numPr>'
    assert outline(read_docx(paragraph(run("a"), None, properties), prepare=prepare)) == [("paragraph", "a")]


def test_lines_in_a_style_for_code_are_one_block_kept_verbatim() -> None:
    def prepare(document: Document) -> None:
        document.styles.add_style("Code", WD_STYLE_TYPE.PARAGRAPH)

    lines = ["def f():", "    return 1", "", "f()"]
    parsed = read_docx(
        *[paragraph(run(line), "Code") for line in lines], paragraph(run("after")), prepare=prepare
    )
    assert [block.text for block in parsed.blocks] == ["\n".join(lines), "after"]


def test_a_paragraph_whose_end_was_deleted_goes_on_in_the_next() -> None:
    ended = '<w:rPr><w:del w:id="1"/></w:rPr>'
    row = f"<w:tbl><w:tr><w:tc>{paragraph(run('x'))}</w:tc><w:tc>{paragraph(run('y'))}</w:tc></w:tr></w:tbl>"
    assert outline(read_docx(paragraph(run("one "), None, ended), paragraph(run("piece")))) == [
        ("paragraph", "one piece")
    ]
    assert outline(read_docx(paragraph(run("end"), None, ended), row)) == [
        ("paragraph", "end"),
        ("table_row", "x | y"),
    ]
    assert outline(read_docx(paragraph(run("last"), None, ended))) == [("paragraph", "last")]


def test_notes_stand_at_the_end_of_the_section_that_refers_to_them() -> None:
    mark = '<w:r><w:footnoteReference w:id="{}"/></w:r>'
    end = '<w:r><w:endnoteReference w:id="1"/></w:r>'

    def prepare(document: Document) -> None:
        add_notes(
            document,
            "footnote",
            {"1": paragraph(run("Foot.") + mark.format(2)), "2": paragraph(run("Deeper."))},
        )
        add_notes(
            document, "endnote", {"1": paragraph(run("End.")), "9": paragraph(run("Nobody refers to me."))}
        )

    parsed = read_docx(
        paragraph(run("Text") + mark.format(1) + mark.format(1)),
        paragraph(run("more")),
        paragraph(run("Next") + end, "Heading1"),
        paragraph(run("Last.")),
        prepare=prepare,
    )
    assert [text for _, text in outline(parsed)] == [
        "Text",
        "more",
        "Foot.",
        "Deeper.",
        "Next",
        "Last.",
        "End.",
    ]
    assert left_out(parsed) == {"unreferenced_note": (1, len("Nobodyreferstome."))}


def test_a_table_of_contents_is_navigation() -> None:
    control = (
        '<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr>'
        f"<w:sdtContent>{paragraph(run('Intro 1'))}</w:sdtContent></w:sdt>"
    )
    assert left_out(read_docx(control, paragraph(run("Text"))))["navigation"] == (1, 6)

    def prepare(document: Document) -> None:
        document.styles.add_style("toc 1", WD_STYLE_TYPE.PARAGRAPH).element.set(
            "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}styleId", "TOC1"
        )

    parsed = read_docx(paragraph(run("Intro 1"), "TOC1"), paragraph(run("Text")), prepare=prepare)
    assert outline(parsed) == [("paragraph", "Text")]


def test_what_is_beside_the_text_is_counted() -> None:
    def prepare(document: Document) -> None:
        document.sections[0].header.paragraphs[0].text = "Head of page"
        document.sections[0].footer.paragraphs[0].text = "Foot"
        document.add_comment(document.add_paragraph("Commented.").runs, "Not so sure.", author="A")
        add_part(document, "vbaProject.bin", "vbaProject", b"\x00macro")
        add_part(document, "glossary.xml", "glossaryDocument", wordprocessing("Building block"))

    parsed = read_docx(prepare=prepare)
    assert outline(parsed) == [("paragraph", "Commented.")]
    assert left_out(parsed) == {
        "building_block": (1, 13),
        "comment": (1, 10),
        "macro": (1, 0),
        "running_foot": (1, 4),
        "running_head": (1, 10),
    }


def test_a_part_that_nothing_links_to_is_counted() -> None:
    content = docx_of(paragraph(run("Text")))
    stray = zip_bytes({**members_of(content), "word/stray.xml": wordprocessing("astray")})
    assert left_out(docx.parse(source(stray), SETTINGS)) == {"unlinked_part": (1, 6)}


def test_items_of_ordered_lists_keep_their_numbers() -> None:
    def level(number: int, form: str, shown: str, start: int = 1) -> str:
        return (
            f'<w:lvl w:ilvl="{number}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>'
            f'<w:lvlText w:val="{shown}"/></w:lvl>'
        )

    def define(document: Document) -> None:
        numbering = document.part.numbering_part.element
        levels = level(0, "decimal", "%1.", 3) + level(1, "lowerLetter", "%2)") + level(2, "decimal", "%1.%3")
        numbering.append(element(f'<w:abstractNum w:abstractNumId="77">{levels}</w:abstractNum>'))
        numbering.append(element('<w:num w:numId="78"><w:abstractNumId w:val="77"/></w:num>'))
        again = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
        numbering.append(element(f'<w:num w:numId="79"><w:abstractNumId w:val="77"/>{again}</w:num>'))

    def item(text: str, depth: int, number: int = 78) -> str:
        listed = f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>'
        return paragraph(run(text), None, listed)

    parsed = read_docx(
        item("three", 0), item("x", 1), item("y", 1), paragraph(run("Text.")), item("four", 0), item("z", 1),
        item("deep", 2), item("anew", 0, 79), item("two", 0, 79), prepare=define,
    )  # fmt: skip
    assert assemble(parsed.blocks).text == (
        "- 3. three\n  - a) x\n  - b) y\n\nText.\n\n- 4. four\n  - a) z\n    - 4.1. deep\n- 1. anew\n- 2. two"
    )
