from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf.columns import order_lines, remove_running_lines, split_columns
from qa_pipeline.documents.formats.pdf.lines import Line
from qa_pipeline.text.characters import clean
from qa_pipeline_tests.documents.builders import doubted, outline
from qa_pipeline_tests.documents.formats.pdf.builders import (
    at,
    blank,
    counts,
    each_page,
    marks,
    parse,
    prose,
    with_table,
    wrapped,
)


def text_of(document: FPDF) -> str:
    return "\n".join(block.text for block in parse(document).blocks)


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 800), st.integers(5, 300)), max_size=60))
def test_no_line_is_lost_or_doubled_by_ordering(places: list[tuple[int, int, int]]) -> None:
    lines = [line(x, y, x + width, number) for number, (x, y, width) in enumerate(places)]
    read = [one for stretch in split_columns(lines) for one in stretch]
    assert sorted(read, key=lambda one: one.start) == lines
    assert sorted(order_lines(lines), key=lambda one: one.start) == lines


@given(st.text(alphabet="0123456789ivxlcIVXLCİıſ¹٣ ", min_size=1, max_size=9))
def test_any_number_near_the_edge_can_be_read(text: str) -> None:
    pages = [[Line(text, page, 20, 30, 60, 40, 10.0, bold=False, fixed=False)] for page in (1, 2)]
    left_out = Omissions()
    running = remove_running_lines(pages, [842.0, 842.0], 10.0, left_out)
    remaining = sum(map(len, (*running.pages, running.heads, running.feet)))
    assert remaining + sum(part.pieces for part in left_out.record()) == len(pages)


def test_columns_that_the_file_holds_line_by_line_are_read_one_after_the_other() -> None:
    document = blank()
    columns = [wrapped(document, prose(name, 20)) for name in ("left", "right")]
    for number, (left, right) in enumerate(zip(*columns, strict=False)):
        document.text(15, 20 + 5 * number, left)
        document.text(110, 20 + 5 * number, right)
    text = text_of(document)
    assert text.index("left15") < text.index("right0")
    assert marks(text, "left") == sorted(marks(text, "left"))
    assert marks(text, "right") == sorted(marks(text, "right"))


def test_a_title_and_a_summary_over_both_columns_come_first() -> None:
    document = blank()
    document.set_font("Helvetica", size=18)
    document.text(15, 20, "A Title That Stands Above Both Columns")
    document.set_font("Helvetica", size=10)
    end = at(document, 15, 30, prose("summary", 8), width=180)
    at(document, 15, end + 8, prose("left", 18))
    at(document, 110, end + 8, prose("right", 18))
    blocks = outline(parse(document))
    assert blocks[0] == ("heading", "A Title That Stands Above Both Columns")
    text = " ".join(text for _, text in blocks)
    assert text.index("summary7") < text.index("left0") < text.index("left17") < text.index("right0")


def test_a_table_over_both_columns_parts_what_is_above_it_from_what_is_below() -> None:
    document = blank()
    at(document, 15, 20, prose("left", 8))
    at(document, 110, 20, prose("right", 8))
    document.set_xy(15, 110)
    with_table(document, [("Name", "Town", "Year"), ("Ada", "London", "1815"), ("Bo", "Lund", "1902")])
    at(document, 15, 160, prose("lower", 8))
    at(document, 110, 160, prose("last", 8))
    text = text_of(document)
    words = ("left0", "left7", "right0", "right7", "Name: Ada", "lower0", "last0")
    places = [text.index(word) for word in words]
    assert places == sorted(places)


def test_lines_the_file_holds_in_another_order_are_read_from_top_to_bottom() -> None:
    document = blank()
    for y, text in ((60, "third line of it."), (40, "First comes this"), (50, "then that, and the")):
        document.text(20, y, text)
    sentence = "First comes this then that, and the third line of it."
    assert " ".join(clean(text_of(document)).split()) == sentence
    assert doubted(parse(document)) == [("order", sentence)]


def test_a_right_margin_note_tears_nothing_apart() -> None:
    document = blank()
    end = at(document, 15, 20, prose("body", 16), width=120)
    document.set_font("Helvetica", size=7)
    document.text(150, end / 2, "See appendix B")
    document.set_font("Helvetica", size=10)
    at(document, 15, end + 10, prose("more", 16), width=120)
    paragraphs = [text for _, text in outline(parse(document))]
    assert paragraphs[0] == "See appendix B"
    assert marks(paragraphs[1], "body") == list(range(16))


def line(left: float, bottom: float, right: float, start: int) -> Line:
    return Line(f"line {start} of text", 1, left, bottom, right, bottom + 10, 10, False, False, start=start)


def pages(count: int, chapter_length: int = 100) -> FPDF:
    """Pages with a head that names the chapter, a foot, and a number."""
    document = blank()
    for number in each_page(document, range(1, count + 1)):
        document.text(20, 10, "Chapter " + "ABCDEFGH"[(number - 1) // chapter_length])
        at(document, 20, 40, prose(f"page{number}x", 4), width=160)
        document.text(20, 285, "Annual report")
        document.text(190, 291, str(number))
    return document


def test_heads_and_feet_stay_once_and_are_counted_by_kind_with_page_numbers() -> None:
    parsed = parse(pages(5))
    assert counts(parsed) == {"page_number": (5, 5), "running_foot": (4, 48), "running_head": (4, 32)}
    others = [block.text for block in parsed.blocks if not block.text.startswith("page")]
    assert others == ["Chapter A", "Annual report"]


def test_a_head_that_changes_with_the_chapter_is_left_out_but_once_where_it_stays_three_pages() -> None:
    parsed = parse(pages(12, chapter_length=4))
    assert counts(parsed)["running_head"] == (9, 72)


def test_a_number_near_the_edge_that_counts_no_pages_is_text() -> None:
    document = blank()
    for number in each_page(document, range(1, 5)):
        at(document, 20, 40, prose(f"page{number}x", 4), width=160)
        document.text(20, 280, str(3909717 + number * number))
    assert counts(parse(document)) == {}


def test_roman_and_spelt_out_page_numbers_are_page_numbers() -> None:
    document = blank()
    for number, roman in each_page(document, enumerate(("i", "ii", "iii", "iv"), start=1)):
        at(document, 20, 40, prose(f"page{number}x", 4), width=160)
        document.text(100, 285, f"Page {number} of 4")
        document.text(20, 291, roman)
    found = counts(parse(document))
    assert found["page_number"][0] >= 4
    assert "running_foot" not in found


def test_a_line_whose_numbers_differ_is_text_on_each_page() -> None:
    document = blank()
    for number in each_page(document, (1, 2, 3, 5)):
        document.text(20, 10, f"Customer {number} pays {7 * number} %")
        at(document, 20, 40, prose(f"page{number}x", 4), width=160)
    texts = " ".join(block.text for block in parse(document).blocks)
    assert all(f"Customer {number} pays {7 * number} %" in texts for number in (1, 2, 3, 5))


def test_pages_whose_every_line_returns_lose_none_of_them() -> None:
    document = blank()
    for _ in each_page(document, range(4)):
        for row in range(50):
            document.text(20, 10 + 5.5 * row, f"Line {row} of the form says this.")
    parsed = parse(document)
    assert sum(block.text.count("of the form") for block in parsed.blocks) == 200
