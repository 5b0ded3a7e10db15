from functools import partial

from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline_tests.documents.builders import doubted, outline
from qa_pipeline_tests.documents.formats.office.builders import add_notes, left_out, paragraph, read_docx, run

# What becomes of a word in each of these places: it is kept, or left out under this name.
PLACES: dict[str, tuple[str, str | None]] = {
    "plain": (run("{word}"), None),
    "inserted": ('<w:ins w:id="1">' + run("{word}") + "</w:ins>", None),
    "linked": ('<w:hyperlink w:anchor="x">' + run("{word}") + "</w:hyperlink>", None),
    "controlled": ("<w:sdt><w:sdtContent>" + run("{word}") + "</w:sdtContent></w:sdt>", None),
    "tagged": ('<w:smartTag w:element="x">' + run("{word}") + "</w:smartTag>", None),
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
    "struck twice": (run("{word}", "<w:dstrike/>"), "deleted_text"),
    "not struck": (run("{word}", '<w:strike w:val="0"/>'), None),
    "prompt": (
        "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>"
        + run("{word}")
        + "</w:sdtContent></w:sdt>",
        "placeholder",
    ),
    "fallback": (
        ("<w:r><mc:AlternateContent><mc:Choice Requires='x'><w:t>.</w:t></mc:Choice>"
         "<mc:Fallback><w:t>{word}</w:t></mc:Fallback></mc:AlternateContent></w:r>"),
        "alternative",
    ),
}  # fmt: skip
AROUND = ("paragraph", "heading", "item", "cell", "note")


def numbered(words: list[tuple[str, str]]) -> tuple[list[str], dict[str, str]]:
    """Elements of a document, and the text of its notes."""
    elements, notes = [], {}
    for number, (place, around) in enumerate(words):
        inside = PLACES[place][0].format(word=f"word{number}x")
        if around == "cell":
            cell = f"<w:tc>{paragraph(inside)}</w:tc><w:tc>{paragraph(run('.'))}</w:tc>"
            elements.append(f"<w:tbl><w:tr>{cell}</w:tr></w:tbl>")
        elif around == "note":
            notes[str(number)] = paragraph(inside)
            elements.append(paragraph(f'<w:r><w:footnoteReference w:id="{number}"/></w:r>'))
        else:
            styles = {"heading": "Heading2", "item": "ListBullet"}
            elements.append(paragraph(inside, styles.get(around)))
    return elements, notes


@given(st.lists(st.tuples(st.sampled_from(sorted(PLACES)), st.sampled_from(AROUND)), min_size=1, max_size=8))
def test_every_word_of_a_file_is_in_its_text_once_or_counted_as_left_out(
    words: list[tuple[str, str]],
) -> None:
    elements, notes = numbered(words)
    parsed = read_docx(*elements, prepare=partial(add_notes, kind="footnote", notes=notes))
    text = "\n".join(block.text for block in parsed.blocks)
    counted = left_out(parsed)
    expected: dict[str, int] = {}
    for number, (place, _) in enumerate(words):
        what = PLACES[place][1]
        assert text.count(f"word{number}x") == (what is None)
        if what is not None:
            expected[what] = expected.get(what, 0) + len(f"word{number}x")
    counted.pop("field_code", None)
    assert {what: characters for what, (_, characters) in counted.items()} == expected


def test_text_where_none_should_be_is_counted_as_unread() -> None:
    parsed = read_docx(
        paragraph(run("kept")), "<w:r><w:t>stray</w:t></w:r>", "<w:tbl><w:t>lost</w:t></w:tbl>"
    )
    assert outline(parsed) == [("paragraph", "kept")]
    assert left_out(parsed)["unread"][1] == len("straylost")


def test_breaks_tabs_hyphens_and_symbols() -> None:
    inside = (
        "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t><w:softHyphen/>"
        '<w:t>e</w:t><w:sym w:font="Symbol" w:char="F0A3"/><w:t>5</w:t>'
        '<w:sym w:font="Odd" w:char="F041"/></w:r>'
    )
    parsed = read_docx(paragraph(inside))
    assert parsed.blocks[0].text == "a\tb\nc-de≤5"
    assert left_out(parsed) == {"symbol": (1, 0)}


def test_raised_digits_after_a_number_are_a_power() -> None:
    raised = '<w:vertAlign w:val="superscript"/>'
    inside = run("10") + run("6", raised) + run(" on the 1") + run("st", raised)
    assert outline(read_docx(paragraph(inside))) == [("paragraph", "10^6 on the 1st")]


def test_lowered_text_and_marks_of_notes_keep_apart() -> None:
    raised, lowered = ('<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>')
    inside = run("H") + run("2", lowered) + run("O at 10") + run("−", raised) + run("4", raised)
    inside += run(" in 2030") + run("3", raised) + run(", base 101") + run("2", lowered)
    parsed = read_docx(paragraph(inside))
    assert outline(parsed) == [("paragraph", "H2O at 10^−4 in 2030, base 101_2")]
    assert left_out(parsed) == {"footnote_mark": (1, 1)}


def test_a_mark_that_the_writer_chose_for_a_note_is_left_out() -> None:
    note = '<w:footnoteReference w:customMarkFollows="1" w:id="1"/><w:t>7</w:t>'
    mark = f'<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr>{note}</w:r>'
    parsed = read_docx(paragraph(run("Paid 25") + mark + run(" euros.")))
    assert outline(parsed) == [("paragraph", "Paid 25 euros.")]
    assert left_out(parsed)["footnote_mark"] == (1, 1)


def test_styles_strike_out_what_they_hold() -> None:
    def prepare(document: Document) -> None:
        document.styles.add_style("Old", WD_STYLE_TYPE.CHARACTER).font.strike = True
        document.styles.add_style("OldBlock", WD_STYLE_TYPE.PARAGRAPH).font.strike = True

    inside = run("30", '<w:rStyle w:val="Old"/>') + run("45", '<w:rStyle w:val="Old"/><w:strike w:val="0"/>')
    parsed = read_docx(paragraph(inside), paragraph(run("Gone."), "OldBlock"), prepare=prepare)
    assert outline(parsed) == [("paragraph", "45")]
    assert left_out(parsed) == {"deleted_text": (2, 7)}


def test_equations_are_read_as_a_line() -> None:
    def signs(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    equation = (
        f"<m:oMath>{signs('E=')}<m:f><m:num>{signs('a+b')}</m:num><m:den>{signs('c')}</m:den></m:f>"
        f"<m:sSup><m:e>{signs('x')}</m:e><m:sup>{signs('2')}</m:sup></m:sSup>"
        f"<m:rad><m:deg/><m:e>{signs('y')}</m:e></m:rad></m:oMath>"
    )
    assert outline(read_docx(paragraph(run("So ") + equation))) == [
        ("paragraph", "So E=((a+b)/c)x^2 sqrt(y)")
    ]
    odd = f"<m:oMath><m:f>{signs('lost')}<m:num>{signs('a')}</m:num></m:f></m:oMath>"
    parsed = read_docx(paragraph(run("So ") + odd))
    assert outline(parsed) == [("paragraph", "So")]
    assert doubted(parsed) == [("formula", "So")]
    assert left_out(parsed) == {"formula": (1, 5)}


def test_instructions_of_fields_are_left_out_and_a_broken_field_costs_its_paragraph_only() -> None:
    begin = '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
    parsed = read_docx(
        paragraph(run("See ") + '<w:fldSimple w:instr=" REF x ">' + run("page 3") + "</w:fldSimple>"),
        paragraph(run("kept") + begin + run("lost")),
        paragraph(run("after")),
    )
    assert outline(parsed) == [("paragraph", "See page 3"), ("paragraph", "kept"), ("paragraph", "after")]
    assert left_out(parsed) == {"field_code": (2, len("REFxlost"))}


def test_pictures_and_objects_are_counted_with_what_describes_them() -> None:
    picture = (
        '<w:r><w:drawing><wp:inline><wp:docPr id="1" name="P" descr="A red house"/><a:graphic><a:graphicData>'
        '<pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"/>'
        "</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
    )
    parsed = read_docx(paragraph(run("Text") + picture + "<w:r><w:object/></w:r>"))
    assert left_out(parsed) == {"image": (1, len("Aredhouse")), "embedded_object": (1, 0)}
