"""Which lines of a PDF make up a paragraph where paragraphs are single lines."""

import pytest
from fpdf import FPDF

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf import layout
from qa_pipeline.documents.formats.pdf.groups import Group
from qa_pipeline.documents.formats.pdf.lines import Line, Spelling
from qa_pipeline.records import ParsedFile
from qa_pipeline_tests.documents.builders import doubted, texts
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


def test_a_statement_over_two_lines_stays_one() -> None:
    long = "Bo: The bridge is closed until May, since the river took away one of its piers in the flood of"
    assert paragraphs_of("Anna: We begin.", long, "last week, and nobody knows when.", "Anna: Who asks?") == [
        "Anna: We begin.", f"{long} last week, and nobody knows when.", "Anna: Who asks?",
    ]  # fmt: skip


def test_each_term_of_a_list_is_a_paragraph() -> None:
    terms = ["CPU: the part that computes", "RAM: memory that forgets", "SSD: a disk without moving parts"]
    assert paragraphs_of(*terms) == terms


def test_lines_beside_a_figure_stay_one_paragraph() -> None:
    document = blank()
    at(document, 19, 15, prose("above", 12), width=170)
    at(document, 19, 80, prose("beside", 5), width=80)
    beside = [block.text for block in parse(document).blocks][1:]
    assert [text[:7] for text in beside] == ["beside0"]


def test_the_rest_of_a_word_left_of_most_lines_is_no_note_in_the_margin() -> None:
    document = blank()
    for number in range(12):
        document.text(26, 20 + 6 * number, f"Absatz {number} beginnt hier und geht weiter bis an den Rand.")
    document.text(20, 100, "Derzeit sind die Portierungen noch nicht offiziell verfüg-")
    document.text(20, 105, "bar.")
    document.text(26, 110, "Das älteste Bestreben ist Hurd.")
    texts = [block.text for block in parse(document).blocks][-2:]
    assert texts == [
        "Derzeit sind die Portierungen noch nicht offiziell verfügbar.", "Das älteste Bestreben ist Hurd.",
    ]  # fmt: skip


def test_a_broken_small_word_does_not_go_on_with_a_capital() -> None:
    document = blank()
    document.text(20, 280, "Derzeit sind die Portierungen noch nicht offiziell verfüg-")
    document.add_page()
    document.text(20, 20, "Das Bestreben ist Hurd.")
    torn = ["Derzeit sind die Portierungen noch nicht offiziell verfüg-", "Das Bestreben ist Hurd."]
    assert texts(parse(document).blocks) == torn
    assert doubted(parse(document)) == [("order", " ".join(torn))]


def test_a_short_line_at_the_end_of_a_page_is_not_joined_to_a_capital_on_the_next() -> None:
    document = blank()
    at(document, 19, 15, prose("above", 8), width=170)
    document.text(20, 280, "The answer of the town")
    document.add_page()
    document.text(20, 20, "Bridges are painted in the spring.")
    torn = ["The answer of the town", "Bridges are painted in the spring."]
    assert texts(parse(document).blocks)[1:] == torn
    assert doubted(parse(document)) == [("order", text) for text in torn]


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


def test_a_line_on_the_next_page_that_begins_with_a_capital_or_number_goes_on_in_doubt() -> None:
    for text in ("Bridges of the river.", "94 of the bridges."):
        assert turned_to(FULL, text) == [("order", f"{FULL} {text}")]


def test_a_line_on_the_next_page_that_begins_with_a_small_letter_goes_on_without_doubt() -> None:
    assert turned_to(FULL, "bridges of the river.") == []


def test_no_order_is_in_doubt_where_a_sentence_ends_with_its_page() -> None:
    assert turned_to("The bridge is closed.", "Boats sail in the summer.") == []


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
    blocks = layout._blocks([written], Spelling([text]), Omissions())
    return doubted(ParsedFile(tuple(blocks)))


@pytest.mark.parametrize(
    "text", ["A 4 × 4 matrix is in it.", "It is c = a + b ± m, m ∈ N here.", "A B C D E F G are letters."]
)
def test_a_number_word_or_list_of_letters_is_no_formula_in_doubt(text: str) -> None:
    assert sentence_doubts(text) == []
