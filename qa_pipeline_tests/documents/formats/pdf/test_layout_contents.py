"""Tables of contents and indexes are left out and counted; other text with dots stays."""

from collections.abc import Sequence

from fpdf import FPDF

from qa_pipeline_tests.documents.builders import outline
from qa_pipeline_tests.documents.formats.pdf.builders import at, blank, counts, parse, prose

CHAPTERS = [
    ("1 Rivers", 3), ("1.1 The Torne", 3), ("1.2 The Ume", 5), ("2 Mountains", 8), ("2.1 Kebnekaise", 9),
    ("3 Forests", 12),
]  # fmt: skip


def led(document: FPDF, y: float, entries: Sequence[tuple[str, object]], dots: int = 30) -> float:
    for name, number in entries:
        document.text(20, y, f"{name} {'. ' * dots}{number}")
        y += 6
    return y


def texts(document: FPDF) -> list[str]:
    return [text for _, text in outline(parse(document))]


def test_a_table_of_contents_is_left_out_and_counted() -> None:
    document = blank()
    document.set_font_size(16)
    document.text(20, 30, "Contents")
    document.set_font_size(10)
    end = led(document, 40, CHAPTERS)
    at(document, 20, end + 10, prose("body", 4), width=170)
    parsed = parse(document)
    assert [block.kind for block in parsed.blocks] == ["heading", "paragraph"]
    pieces, characters = counts(parsed)["table_of_contents"]
    assert pieces == len(CHAPTERS)
    assert characters == sum(len(f"{name}{number}".replace(" ", "")) + 30 for name, number in CHAPTERS)


def test_prices_and_forms_with_dots_are_text() -> None:
    document = blank()
    led(
        document,
        30,
        [("Soup of the day", "7.50"), ("Fish", "19"), ("Bread", "3"), ("Cake", "5.20"), ("Tea", "2")],
    )
    led(document, 90, [("Name", ""), ("Street", ""), ("Town", ""), ("Country", "")])
    joined = " ".join(texts(document))
    assert all(
        word in joined for word in ("Soup", "Fish", "Bread", "Cake", "Tea", "Name", "Street", "Country")
    )
    assert "table_of_contents" not in counts(parse(document))
