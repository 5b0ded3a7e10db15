from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.formats.pdf.columns import split_columns
from qa_pipeline.documents.formats.pdf.lines import Line
from qa_pipeline.text.words import clean
from qa_pipeline_tests.documents.builders import doubted, outline
from qa_pipeline_tests.documents.formats.pdf.builders import (
    at,
    blank,
    marks,
    parse,
    prose,
    wrapped,
)


def text_of(document: FPDF) -> str:
    return "\n".join(block.text for block in parse(document).blocks)


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


def test_lines_the_file_holds_in_another_order_are_read_from_top_to_bottom() -> None:
    document = blank()
    for y, text in ((60, "third line of it."), (40, "First comes this"), (50, "then that, and the")):
        document.text(20, y, text)
    sentence = "First comes this then that, and the third line of it."
    assert " ".join(clean(text_of(document)).split()) == sentence
    assert doubted(parse(document)) == [("order", sentence)]


def line(left: float, bottom: float, right: float, start: int) -> Line:
    return Line(f"line {start} of text", 1, left, bottom, right, bottom + 10, 10, False, False, start=start)


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 800), st.integers(5, 300)), max_size=60))
def test_no_line_is_lost_or_doubled_by_ordering(places: list[tuple[int, int, int]]) -> None:
    lines = [line(x, y, x + width, number) for number, (x, y, width) in enumerate(places)]
    read = [one for stretch in split_columns(lines) for one in stretch]
    assert sorted(read, key=lambda one: one.start) == lines
