from collections.abc import Sequence

import pytest
from fpdf import FPDF

from qa_pipeline_tests.documents.builders import outline
from qa_pipeline_tests.documents.formats.pdf.builders import (
    at,
    blank,
    counts,
    parse,
    prose,
    rows,
    with_table,
    wrapped,
)

TEXT = prose("body", 16)


def manuscript(numbers: Sequence[int], size: float = 6, left: float = 18) -> FPDF:
    """A page of text whose lines have numbers in the margin."""
    document = blank()
    for row, line in enumerate(wrapped(document, TEXT, width=150)):
        if row < len(numbers):
            document.set_font("Helvetica", size=size)
            document.set_xy(left - 10, 30 + 6 * row)
            document.cell(10, 6, str(numbers[row]), align="R")
            document.set_font("Helvetica", size=10)
        document.set_xy(25, 30 + 6 * row)
        document.cell(150, 6, line)
    return document


@pytest.mark.parametrize(("first", "step"), [(1, 1), (98, 1), (5, 5)])
def test_numbers_of_lines_are_left_out_and_counted(first: int, step: int) -> None:
    numbers = range(first, first + 10 * step, step)
    parsed = parse(manuscript(numbers))
    assert outline(parsed) == [("paragraph", TEXT)]
    assert counts(parsed) == {"line_number": (10, sum(len(str(number)) for number in numbers))}


@pytest.mark.parametrize(
    ("numbers", "size", "left"),
    [
        (range(1, 5), 6, 18),
        (range(1, 11), 10, 18),
        (range(1, 11), 6, 25),
        ((3, 1, 4, 15, 9, 2, 6, 5, 35, 8), 6, 18),
    ],
    ids=["too few", "as large as the text", "close to the text", "not counting"],
)
def test_other_numbers_before_lines_are_kept(numbers: Sequence[int], size: float, left: float) -> None:
    parsed = parse(manuscript(numbers, size, left))
    assert "line_number" not in counts(parsed)
    words = " ".join(block.text for block in parsed.blocks).replace(":", "").split()
    assert {str(number) for number in numbers} <= set(words)


def test_numbers_of_rows_and_of_items_are_kept() -> None:
    document = blank()
    document.set_xy(15, 20)
    with_table(document, [("No", "Town"), *((str(n), f"Town {n}") for n in range(1, 10))])
    at(document, 15, document.get_y() + 10, "\n".join(f"{n}. Item of a list" for n in range(1, 9)))
    parsed = parse(document)
    assert rows(parsed)[3] == "No: 4 | Town: Town 4"
    assert "line_number" not in counts(parsed)
