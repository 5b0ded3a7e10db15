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

from qa_pipeline.text.words import clean
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


def test_a_stamp_in_the_margin_is_left_out_and_counted() -> None:
    document = blank()
    at(document, 40, 20, prose("body", 20), width=150)
    with document.rotation(90, x=15, y=150):
        document.text(15, 150, "Preprint 2301.00001")
    parsed = parse(document)
    assert counts(parsed) == {"rotated_text": (1, 18)}
    assert [block.kind for block in parsed.blocks] == ["paragraph"]


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_a_page_that_is_turned_as_a_whole_is_read_like_one_that_is_not(angle: int) -> None:
    document = blank()
    with document.rotation(angle, x=105, y=148):
        at(document, 40, 80, prose("body", 12), width=130)
    paragraphs = outline(parse(document))
    assert [kind for kind, _ in paragraphs] == ["paragraph"]
    assert marks(paragraphs[0][1], "body") == list(range(12))


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_page_that_is_shown_turned_is_read_as_it_is_written(turn: int) -> None:
    content = "BT /F1 12 Tf 72 700 Td 14 TL (First a line,) Tj T* (then a second one.) Tj ET"
    parsed = parse(one_page(content, page=f"/Rotate {turn}"))
    assert outline(parsed) == [("paragraph", "First a line, then a second one.")]


def test_blanks_within_lines_of_code_are_kept() -> None:
    document = blank(font="Courier")
    code = "x = 1      # one\nlonger = 2 # two\ndef area(r):\n    return 3 * r"
    for number, line in enumerate(code.split("\n")):
        document.text(20, 30 + 5 * number, line)
    assert [block.text for block in of_kind(parse(document), "code")] == [code]


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
