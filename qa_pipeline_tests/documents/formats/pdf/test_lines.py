"""Text of PDFs that does not simply run from left to right, line by line; and that none of it is lost."""

from collections import Counter
from pathlib import Path

import pypdfium2
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fpdf import FPDF
from hypothesis import example, given
from hypothesis import strategies as st

from qa_pipeline.documents.formats.pdf.lines import Line, _is_same_line, _join_runs
from qa_pipeline.text.characters import clean
from qa_pipeline_tests.documents.builders import outline
from qa_pipeline_tests.documents.formats.pdf.builders import (
    at,
    blank,
    counts,
    marks,
    of_kind,
    one_page,
    parse,
    prose,
    stream,
)


def write_font(letters: str, file: Path) -> None:
    """A font whose every letter is a box: enough to write letters that the built-in fonts lack."""
    pen = TTGlyphPen(None)
    for step, point in enumerate(((50, 0), (50, 600), (450, 600), (450, 0))):
        (pen.lineTo if step else pen.moveTo)(point)
    pen.closePath()
    box = pen.glyph()
    names = {ord(letter): f"u{ord(letter):04X}" for letter in letters + " "}
    order = [".notdef", *names.values()]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(order)
    builder.setupCharacterMap(names)
    builder.setupGlyf(dict.fromkeys(order, box))
    builder.setupHorizontalMetrics(dict.fromkeys(order, (500, 50)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Boxes", "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=800, usWinAscent=800, usWinDescent=200)
    builder.setupPost()
    builder.save(file)


def in_font(folder: Path, *lines: str) -> FPDF:
    document = FPDF()
    document.add_page()
    write_font("".join(lines), folder / "boxes.ttf")
    document.add_font("Boxes", fname=folder / "boxes.ttf")
    document.set_font("Boxes", size=10)
    for number, line in enumerate(lines):
        document.set_xy(20, 20 + 7 * number)
        document.cell(0, 6, line)
    return document


def test_letters_beyond_sixteen_bits_and_ligatures_are_kept(tmp_path: Path) -> None:
    parsed = parse(in_font(tmp_path, "where 𝑐 is the speed and ﬁne ﬂow 𝑟 of it"))
    assert clean(parsed.blocks[0].text).replace("fi", "ﬁ").replace("fl", "ﬂ") == (
        "where 𝑐 is the speed and ﬁne ﬂow 𝑟 of it"
    )


def test_hebrew_is_in_the_order_in_which_it_is_read(tmp_path: Path) -> None:
    drawn = "שלום עולם"[::-1]  # as it stands on paper, from left to right
    assert " ".join(parse(in_font(tmp_path, drawn)).blocks[0].text.split()) == "שלום עולם"


@pytest.mark.parametrize("blank_code", ["001C", "001F", "0085", "00A0", "2003"])
def test_a_line_that_begins_with_an_odd_blank_has_its_own_place(blank_code: str) -> None:
    to_unicode = stream(f"1 beginbfchar <40> <{blank_code}> endbfchar")
    content = one_page(
        "BT /F1 12 Tf 72 700 Td 14 TL (@@@First a line,) Tj T* (@@@then one.) Tj ET", o10=to_unicode
    )
    content = content.replace(b"/BaseFont", b"/ToUnicode 10 0 R /BaseFont", 1)
    content = content.replace(b"startxref", b"startxref\n0 %", 1)  # PDFium finds the moved objects again
    assert outline(parse(content)) == [("paragraph", "First a line, then one.")]


def test_a_stamp_in_the_margin_is_left_out_and_counted() -> None:
    document = blank()
    at(document, 40, 20, prose("body", 20), width=150)
    with document.rotation(90, x=15, y=150):
        document.text(15, 150, "Preprint 2301.00001")
    parsed = parse(document)
    assert counts(parsed) == {"rotated_text": (1, 18)}
    assert [block.kind for block in parsed.blocks] == ["paragraph"]


def test_turned_text_within_the_page_is_kept_and_tears_nothing_apart() -> None:
    document = blank()
    end = at(document, 40, 20, prose("upper", 6), width=150)
    with document.rotation(90, x=100, y=end + 40):
        document.text(100, end + 40, "Turned label")
    at(document, 40, end + 50, prose("lower", 6), width=150)
    assert [text for _, text in outline(parse(document))].count("Turned label") == 1


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_a_page_that_is_turned_as_a_whole_is_read_like_one_that_is_not(angle: int) -> None:
    document = blank()
    with document.rotation(angle, x=105, y=148):
        at(document, 40, 80, prose("body", 12), width=130)
    paragraphs = outline(parse(document))
    assert [kind for kind, _ in paragraphs] == ["paragraph"]
    assert marks(paragraphs[0][1], "body") == list(range(12))


def test_lines_of_a_turned_page_are_distinguished_below_an_upright_head() -> None:
    lines = ((100, "Towns of the north"), (120, "Lund is old"), (132, "and Falun is not"), (144, "as old."))
    turned = "".join(f"BT /F1 10 Tf 0 1 -1 0 {place} 100 Tm ({text}) Tj ET\n" for place, text in lines)
    parsed = parse(one_page(f"BT /F1 10 Tf 50 800 Td (16 of the book) Tj ET\n{turned}"))
    assert [block.text for block in parsed.blocks] == [
        "Towns of the north",
        "Lund is old and Falun is not as old.",
    ]
    assert counts(parsed) == {"rotated_text": (1, 11)}


def marked(text: str, left: float, right: float, bottom: float, top: float) -> Line:
    return Line(text, 1, left, bottom, right, top, 10.0, False, False)


def test_raised_and_lowered_marks_above_one_another_tear_no_line_apart() -> None:
    base = marked("We use that B1,2", 72, 167, 700, 711.4)
    lowered = marked("39 is small", 158.2, 210, 697.3, 709)
    assert _is_same_line(base, lowered)
    assert _join_runs(base, lowered).text == "We use that B1,2 39 is small"
    narrow = marked("k", 162, 166, 697.3, 709)
    assert _is_same_line(base, narrow)
    assert _join_runs(base, narrow).right == 167


@pytest.mark.parametrize(
    ("left", "right", "bottom", "top"),
    [(100, 150, 697, 709), (72, 210, 697, 709), (158, 210, 686, 697)],
    ids=["within the line", "from its beginning", "below it"],
)
def test_what_is_under_a_line_does_not_go_on_in_it(
    left: float, right: float, bottom: float, top: float
) -> None:
    assert not _is_same_line(marked("base", 72, 167, 700, 711), marked("other", left, right, bottom, top))


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_page_that_is_shown_turned_is_read_as_it_is_written(turn: int) -> None:
    content = "BT /F1 12 Tf 72 700 Td 14 TL (First a line,) Tj T* (then a second one.) Tj ET"
    parsed = parse(one_page(content, page=f"/Rotate {turn}"))
    assert outline(parsed) == [("paragraph", "First a line, then a second one.")]


def test_blank_lines_and_blanks_within_lines_of_code_are_kept() -> None:
    document = blank(font="Courier")
    code = "x = 1      # one\nlonger = 2 # two\n\ndef area(r):\n    return 3 * r"
    for number, line in enumerate(code.split("\n")):
        document.text(20, 30 + 5 * number, line)
    assert [block.text for block in of_kind(parse(document), "code")] == [code]


def test_items_set_in_further_are_nested() -> None:
    document = blank()
    for number, (inset, text) in enumerate(((0, "outer"), (8, "inner"), (8, "inner too"), (0, "outer too"))):
        document.text(20 + inset, 30 + 6 * number, f"- {text} item of the list")
    assert [block.level for block in of_kind(parse(document), "list_item")] == [0, 1, 1, 0]


def test_names_broken_at_an_underscore_go_on_without_a_blank() -> None:
    document = blank()
    document.text(20, 30, "call the function plot_beam")
    document.text(20, 35, "_diagram to draw it.")
    texts = [text for _, text in outline(parse(document))]
    assert texts == ["call the function plot_beam_diagram to draw it."]


def letters_of(content: bytes) -> Counter[str]:
    """All characters PDFium finds, but blanks, hyphens at line ends as such."""
    found: Counter[str] = Counter()
    document = pypdfium2.PdfDocument(content)
    for page in document:
        text = page.get_textpage().get_text_range().replace("\ufffe", "-")
        found.update("".join(clean(text).split()))
    document.close()
    return found


lines = st.text("abc defg-hij KLM. 12()–•", min_size=1, max_size=60)


@example([(0, 0, "1. 1")], 1)  # the number of an item is its block's marker
@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 27), lines), max_size=25), st.integers(1, 3))
def test_every_character_of_a_page_is_in_a_block_or_counted_as_left_out(
    pieces: list[tuple[int, int, str]], pages: int
) -> None:
    document = blank()
    for number in range(pages):
        if number:
            document.add_page()
        for x, y, text in pieces:
            document.text(5 + 10 * x, 10 + 10 * y, text.replace("–", "-").replace("•", "*"))
    document.text(100, 150, "Never without this line.")
    content = bytes(document.output())
    parsed = parse(content)
    written = (clean(f"{block.marker or ''}{block.text}") for block in parsed.blocks)
    blocks = Counter("".join("".join(text.split()) for text in written))
    missing = letters_of(content) - blocks
    if any(block.kind == "table_row" for block in parsed.blocks):
        assert missing.total() <= sum(part.characters for part in parsed.left_out)
    else:
        assert missing.total() == sum(part.characters for part in parsed.left_out)
