"""Which lines of a PDF make up a paragraph where paragraphs are single lines."""

from fpdf import FPDF

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


def test_each_name_and_each_term_of_a_list_is_a_paragraph() -> None:
    names = ["Anna Berg, who took the chair", "Bo Ek", "Cecilia Lind", "David Falk of the town council"]
    assert paragraphs_of(*names) == names
    terms = ["CPU: the part that computes", "RAM: memory that forgets", "SSD: a disk without moving parts"]
    assert paragraphs_of(*terms) == terms


def test_lines_beside_a_figure_stay_one_paragraph() -> None:
    document = blank()
    at(document, 19, 15, prose("above", 12), width=170)
    at(document, 19, 80, prose("beside", 5), width=80)
    beside = [block.text for block in parse(document).blocks][1:]
    assert [text[:7] for text in beside] == ["beside0"]
