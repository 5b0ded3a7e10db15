"""Which lines of a PDF make up a paragraph where paragraphs are single lines."""

import pytest
from fpdf import FPDF

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf import layout
from qa_pipeline.documents.formats.pdf.groups import Group
from qa_pipeline.documents.formats.pdf.lines import Line, Spelling
from qa_pipeline.records import ParsedFile
from qa_pipeline_tests.documents.builders import doubted
from qa_pipeline_tests.documents.formats.pdf.builders import at, blank, parse, prose


def close_lines(document: FPDF, y: float, *texts: str) -> float:
    for text in texts:
        document.text(20, y, text)
        y += 5
    return y


def paragraphs_of(*texts: str) -> list[str]:
    """Paragraphs below one that fills the column, in whose lines texts stand one close below the other."""
    document = blank()
    at(document, 19, 15, prose("above", 8), width=170)
    close_lines(document, 80, *texts)
    return [block.text for block in parse(document).blocks][1:]


def test_each_statement_in_minutes_is_a_paragraph() -> None:
    minutes = [
        "Anna: We begin at nine and go through the list of last week.",
        "Bo: The bridge is closed until May.",
        "Anna: Who tells the school?",
        "Cecilia: I call them today.",
    ]
    assert paragraphs_of(*minutes) == minutes


def turned_to(*texts: str) -> list[tuple[str, str]]:
    """Doubts about a paragraph that runs over a page break before its second line."""
    document = blank()
    at(document, 19, 15, prose("above", 8), width=170)
    for number, text in enumerate(texts):
        if number:
            document.add_page()
        document.text(20, 20 if number else 280, text)
    return doubted(parse(document))


FULL = (
    f"A line fills its column to the very end of it and names {'all the things of the town ' * 2}and the old"
)


@pytest.mark.parametrize(
    "formula",
    ["L = 1 n ∑ i=1 n y", "x = a + b c + d", "the area is √ x + 1 here", "∫ f dx is F", "\x12 a \x13"],
)
def test_a_sentence_with_a_formula_of_fractions_or_limits_is_in_doubt(formula: str) -> None:
    with_formula = sentence_doubts(f"The loss is {formula} of the town. Boats sail in the summer.")
    assert {kind for kind, _ in with_formula} == {"formula"}
    assert all(text.startswith("The loss") and text.endswith("the town.") for _, text in with_formula)


def sentence_doubts(text: str) -> list[tuple[str, str]]:
    written = Group("paragraph", [Line(text, 1, 20, 20, 300, 30, 10, False, False)])
    blocks = layout._write_blocks([written], Spelling([text]), Omissions())
    return doubted(ParsedFile(tuple(blocks)))


@pytest.mark.parametrize(
    "text", ["A 4 × 4 matrix is in it.", "It is c = a + b ± m, m ∈ N here.", "A B C D E F G are letters."]
)
def test_a_number_word_or_list_of_letters_is_no_formula_in_doubt(text: str) -> None:
    assert sentence_doubts(text) == []


@pytest.mark.parametrize(
    ("line", "text", "is_sure"),
    [
        (FULL, "Bridges of the river.", False),
        (FULL, "94 of the bridges.", False),
        (FULL, "bridges of the river.", True),
        ("The bridge is closed.", "Boats sail in the summer.", True),
    ],
)
def test_a_line_goes_on_over_a_page_break_without_doubt_with_a_small_letter_alone(
    line: str, text: str, is_sure: bool
) -> None:
    assert turned_to(line, text) == ([] if is_sure else [("order", f"{line} {text}")])
