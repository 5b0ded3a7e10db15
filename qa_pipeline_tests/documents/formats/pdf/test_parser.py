import pytest

from qa_pipeline.documents.assembly import assemble
from qa_pipeline_tests.documents.builders import new_pdf, outline, pdf_bytes, refusal
from qa_pipeline_tests.documents.formats.pdf.builders import parse

PROSE = (
    "The committee met in the spring and decided that the old rules would stay in force until the end of the"
    " year. A second meeting in the autumn confirmed this, and the members were told about it by letter. "
)


def test_lines_of_a_paragraph_are_joined_to_flowing_text() -> None:
    assert outline(parse(pdf_bytes(PROSE * 2))) == [("paragraph", (PROSE * 2).strip())]


def test_a_paragraph_over_a_page_break_is_one_and_each_half_is_on_its_page() -> None:
    document = new_pdf()
    document.add_page()
    document.multi_cell(0, 6, (PROSE * 30).strip())
    assembled = assemble(parse(document).blocks)
    assert assembled.text == (PROSE * 30).strip()
    assert [page["number"] for page in assembled.pages] == [1, 2]
    assert "".join(assembled.text[page["start"] : page["end"]] for page in assembled.pages) == assembled.text


def test_larger_type_is_a_heading_and_its_size_gives_the_level() -> None:
    document = new_pdf()
    document.add_page()
    for size, text in ((22, "Annual Report"), (15, "Members"), (11, PROSE), (15, "Money"), (11, PROSE)):
        document.set_font("Helvetica", size=size)
        document.multi_cell(0, size * 0.6, text, new_x="LMARGIN", new_y="NEXT")
        document.ln(4)
    parsed = parse(document)
    headings = [(block.text, block.level) for block in parsed.blocks if block.kind == "heading"]
    assert headings == [("Annual Report", 1), ("Members", 2), ("Money", 2)]


def test_numbered_lines_become_list_items_that_keep_their_numbers_and_wrapped_lines() -> None:
    document = new_pdf()
    document.add_page()
    document.multi_cell(0, 6, PROSE, new_x="LMARGIN", new_y="NEXT")
    for item in ("1. First of all, count the members.", "2. " + PROSE):
        document.multi_cell(0, 6, item, new_x="LMARGIN", new_y="NEXT")
    items = [block for block in parse(document).blocks if block.kind == "list_item"]
    assert [(one.marker, one.text) for one in items] == [
        ("1.", "First of all, count the members."),
        ("2.", PROSE.strip()),
    ]


def test_an_encrypted_file_is_named_so_and_one_without_user_password_is_read() -> None:
    assert refusal(lambda: parse(pdf_bytes("secret", password="closed"))) == "encrypted"
    document = new_pdf()
    document.set_encryption(owner_password="owner")
    document.add_page()
    document.multi_cell(0, 6, "Open to read.")
    assert outline(parse(document)) == [("paragraph", "Open to read.")]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.98])
def test_a_cut_off_file_is_damaged_rather_than_read_in_part(share: float) -> None:
    content = pdf_bytes(*(PROSE * 9 for _ in range(5)))
    assert refusal(lambda: parse(content[: int(share * len(content))])) == "damaged"


def test_the_title_is_the_largest_line_above_the_text() -> None:
    document = new_pdf()
    document.add_page()
    for size, text in ((12, "Institute of Lakes"), (20, "The depth of lakes")):
        document.set_font("Helvetica", size=size)
        document.multi_cell(0, 10, text, new_x="LMARGIN", new_y="NEXT")
    document.set_font("Helvetica", size=10)
    document.multi_cell(0, 6, PROSE)
    assert parse(document).title == "The depth of lakes"
