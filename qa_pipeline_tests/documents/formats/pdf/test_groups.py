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
    assert [block.text for block in parse(document).blocks] == [
        "Derzeit sind die Portierungen noch nicht offiziell verfüg-", "Das Bestreben ist Hurd.",
    ]  # fmt: skip


def test_a_short_line_at_the_end_of_a_page_is_not_joined_to_a_capital_on_the_next() -> None:
    document = blank()
    at(document, 19, 15, prose("above", 8), width=170)
    document.text(20, 280, "The answer of the town")
    document.add_page()
    document.text(20, 20, "Bridges are painted in the spring.")
    texts = [block.text for block in parse(document).blocks][1:]
    assert texts == ["The answer of the town", "Bridges are painted in the spring."]
