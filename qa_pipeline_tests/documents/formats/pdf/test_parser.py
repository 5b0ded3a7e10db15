import pytest
from fpdf import FPDF

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import new_pdf, outline, pdf_bytes, refusal
from qa_pipeline_tests.documents.formats.pdf.builders import of_kind, parse

PROSE = (
    "The committee met in the spring and decided that the old rules would stay in force until the end of the"
    " year. A second meeting in the autumn confirmed this, and the members were told about it by letter. "
)


def page(*lines: tuple[float, str], font: str = "Helvetica", title: str = "") -> FPDF:
    """A page with lines of these sizes above prose."""
    document = new_pdf()
    document.set_title(title)
    document.add_page()
    for size, text in lines:
        document.set_font(font, size=size)
        document.multi_cell(0, size * 0.6, text, new_x="LMARGIN", new_y="NEXT")
    document.set_font("Helvetica", size=11)
    document.multi_cell(0, 6, PROSE)
    return document


def test_a_paragraph_over_a_page_break_is_one_and_each_half_is_on_its_page() -> None:
    assembled = assemble(parse(pdf_bytes((PROSE * 30).strip())).blocks)
    assert assembled.text == (PROSE * 30).strip()
    assert [page.number for page in assembled.pages] == [1, 2]
    assert "".join(assembled.text[page.start : page.end] for page in assembled.pages) == assembled.text


def test_numbered_lines_become_list_items_that_keep_their_numbers_and_wrapped_lines() -> None:
    parsed = parse(page((11, PROSE), (11, "1. First of all, count the members."), (11, "2. " + PROSE)))
    items = [(block.marker, block.text) for block in of_kind(parsed, "list_item")]
    assert items[0] == ("1.", "First of all, count the members.")
    assert items[1][0] == "2."
    assert items[1][1].startswith(PROSE.strip())


def test_text_in_a_typewriter_font_is_code_with_its_indentation() -> None:
    parsed = parse(page((10, "def area(r):\n    return 3 * r"), font="Courier"))
    assert [block.text for block in of_kind(parsed, "code")] == ["def area(r):\n    return 3 * r"]


def test_footnotes_stand_where_they_tear_no_paragraph_apart() -> None:
    document = new_pdf()
    document.set_auto_page_break(False)
    first, second = "The rules began to apply", "in the year that followed."
    document.add_page()
    document.set_y(40)
    document.multi_cell(0, 6, PROSE + first, new_x="LMARGIN", new_y="NEXT")
    document.set_font("Helvetica", size=7)
    document.text(15, 280, "1 See the minutes of the meeting.")
    document.set_font("Helvetica", size=11)
    document.add_page()
    document.set_y(20)
    document.multi_cell(0, 6, f"{second} {PROSE}")
    texts = [text for _, text in outline(parse(document))]
    assert texts[0].startswith("1 See the minutes")
    assert " ".join(texts[1:]) == f"{PROSE}{first} {second} {PROSE}".strip()


def test_an_encrypted_file_is_named_so_and_one_without_user_password_is_read() -> None:
    assert refusal(lambda: parse(pdf_bytes("secret", password="closed"))) == "encrypted"
    document = page()
    document.set_encryption(owner_password="owner")
    assert outline(parse(document)) == [("paragraph", PROSE.strip())]


WHOLE = pdf_bytes(*(PROSE * 9 for _ in range(5)))


@pytest.mark.parametrize("content", [WHOLE[: len(WHOLE) // 2], WHOLE[:-90], b"text", b"%PDF-1.4\n\xff%%EOF"])
def test_a_cut_off_file_and_what_is_no_pdf_are_damaged(content: bytes) -> None:
    assert refusal(lambda: parse(content)) == "damaged"


def test_limits_on_pages_and_characters_hold() -> None:
    content = pdf_bytes("one", "two", "three")
    assert refusal(lambda: parse(content, DocumentSettings(max_pages=2))) == "too_many_pages"
    assert refusal(lambda: parse(content, DocumentSettings(max_characters=5))) == "too_long"


INSTITUTE = [(13.0, "Institute of Lakes"), (20.0, "The depth of lakes")]


@pytest.mark.parametrize(
    ("headings", "stated", "title"),
    [
        (INSTITUTE, "", "The depth of lakes"),
        (INSTITUTE, "The depth of lakes", "The depth of lakes"),
        ([(16.0, "1 Introduction")], "A study of lakes", "A study of lakes"),
        ([(16.0, "Abstract")], "", None),
        ([], "Minutes of May", "Minutes of May"),
        ([], "untitled", None),
        ([], "Microsoft Word - draft.docx", None),
    ],
)
def test_the_title_is_the_largest_line_above_the_text_or_the_stated_one(
    headings: list[tuple[float, str]], stated: str, title: str | None
) -> None:
    assert parse(page(*headings, title=stated)).title == title
