"""Clauses have the numbers that Word shows."""

from collections.abc import Mapping

from docx.document import Document

from qa_pipeline.documents.assembly import assemble
from qa_pipeline_tests.documents.formats.office.builders import element, paragraph, read_docx, run


def level(depth: int, form: str, shown: str, start: int = 1, more: str = "") -> str:
    return (
        f'<w:lvl w:ilvl="{depth}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>'
        f'{more}<w:lvlText w:val="{shown}"/></w:lvl>'
    )


def read(levels: str, *paragraphs: str, lists: str = "", linked: Mapping[str, int] = {}) -> str:
    """The text of a document with a list 78 of these levels, and styles linked to levels of it."""

    def define(document: Document) -> None:
        numbering = document.part.numbering_part.element
        numbering.append(element(f'<w:abstractNum w:abstractNumId="77">{levels}</w:abstractNum>'))
        numbering.append(element('<w:num w:numId="78"><w:abstractNumId w:val="77"/></w:num>'))
        for listed in filter(None, lists.split("\n")):
            numbering.append(element(listed))
        for name, depth in linked.items():
            properties = document.styles[name].element.get_or_add_pPr()
            properties.append(element(item("", depth))[0][0])

    return assemble(read_docx(*paragraphs, prepare=define).blocks).text


def item(text: str, depth: int, number: int = 78) -> str:
    listed = f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>'
    return paragraph(run(text) if text else "", None, listed)


def test_headings_and_clauses_of_one_list_count_together() -> None:
    levels = level(0, "decimal", "§ %1") + level(1, "decimal", "%1.%2") + level(2, "lowerLetter", "(%3)")
    text = read(
        levels,
        paragraph(run("Fee"), "Heading1"), item("first", 1), item("second", 1), item("deep", 2),
        paragraph(run("End"), "Heading1"), item("third", 1),
        linked={"Heading 1": 0},
    )  # fmt: skip
    assert text.split("\n\n") == [
        "# § 1 Fee", "  - 1.1 first\n  - 1.2 second\n    - (a) deep", "# § 2 End", "  - 2.1 third",
    ]  # fmt: skip


def test_numbers_go_on_behind_text_and_begin_anew_where_a_list_says_so() -> None:
    levels = level(0, "decimal", "%1.", 3) + level(1, "lowerLetter", "%2)") + level(2, "decimal", "%1.%3")
    again = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    text = read(
        levels,
        item("three", 0), item("x", 1), item("y", 1), paragraph(run("Text.")), item("four", 0), item("z", 1),
        item("deep", 2), item("anew", 0, 79), item("two", 0, 79),
        lists=f'<w:num w:numId="79"><w:abstractNumId w:val="77"/>{again}</w:num>',
    )  # fmt: skip
    assert text == (
        "- 3. three\n  - a) x\n  - b) y\n\nText.\n\n- 4. four\n  - a) z\n    - 4.1 deep\n- 1. anew\n- 2. two"
    )
