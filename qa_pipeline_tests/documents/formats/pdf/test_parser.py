import pytest

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf import parser as pdf
from qa_pipeline.records import ParsedFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import SETTINGS, new_pdf, outline, pdf_bytes, source

PROSE = (
    "The committee met in the spring and decided that the old rules would stay in force until the end of the"
    " year. A second meeting in the autumn confirmed this, and the members were told about it by letter. "
)


def parse(content: bytes, settings: DocumentSettings = SETTINGS) -> ParsedFile:
    return pdf.parse(source(content), settings)


def reason(content: bytes, settings: DocumentSettings = SETTINGS) -> str:
    with pytest.raises(DocumentFailure) as refused:
        parse(content, settings)
    return refused.value.reason


def test_lines_of_a_paragraph_are_joined_to_flowing_text() -> None:
    assert outline(parse(pdf_bytes(PROSE * 2))) == [("paragraph", (PROSE * 2).strip())]


def test_a_paragraph_over_a_page_break_is_one_and_each_half_is_on_its_page() -> None:
    document = new_pdf()
    document.add_page()
    document.multi_cell(0, 6, (PROSE * 30).strip())
    assembled = assemble(parse(bytes(document.output())).blocks)
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
    parsed = parse(bytes(document.output()))
    headings = [(block.text, block.level) for block in parsed.blocks if block.kind == "heading"]
    assert headings == [("Annual Report", 1), ("Members", 2), ("Money", 2)]


def test_names_in_large_type_between_title_and_first_heading_are_no_heading() -> None:
    document = new_pdf()
    document.add_page()
    for size, text in ((22, "Annual Report"), (13, "Ada Berg and Bo Ek"), (16, "Summary"), (11, PROSE)):
        document.set_font("Helvetica", size=size)
        document.multi_cell(0, size * 0.6, text, new_x="LMARGIN", new_y="NEXT")
        document.ln(4)
    kinds = {text: kind for kind, text in outline(parse(bytes(document.output())))}
    assert kinds["Ada Berg and Bo Ek"] == "paragraph"
    assert kinds["Summary"] == "heading"


def test_numbered_lines_become_list_items_that_keep_their_numbers_and_wrapped_lines() -> None:
    document = new_pdf()
    document.add_page()
    document.multi_cell(0, 6, PROSE, new_x="LMARGIN", new_y="NEXT")
    for item in ("1. First of all, count the members.", "2. " + PROSE):
        document.multi_cell(0, 6, item, new_x="LMARGIN", new_y="NEXT")
    items = [block for block in parse(bytes(document.output())).blocks if block.kind == "list_item"]
    assert [(one.marker, one.text) for one in items] == [
        ("1.", "First of all, count the members."),
        ("2.", PROSE.strip()),
    ]


def test_margin_notes_stand_before_the_text_of_their_page_and_tear_nothing_apart() -> None:
    document = new_pdf()
    document.set_left_margin(60)
    document.add_page()
    document.set_font("Helvetica", size=8)
    document.text(8, 60, "Published: 1 May")
    document.set_font("Helvetica", size=11)
    document.set_xy(60, 20)
    document.multi_cell(0, 6, PROSE * 5)
    blocks = outline(parse(bytes(document.output())))
    assert blocks == [("paragraph", "Published: 1 May"), ("paragraph", (PROSE * 5).strip())]


def test_an_encrypted_file_is_named_so_and_one_without_user_password_is_read() -> None:
    assert reason(pdf_bytes("secret", password="closed")) == "encrypted"
    document = new_pdf()
    document.set_encryption(owner_password="owner")
    document.add_page()
    document.multi_cell(0, 6, "Open to read.")
    assert outline(parse(bytes(document.output()))) == [("paragraph", "Open to read.")]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.98])
def test_a_cut_off_file_is_damaged_rather_than_read_in_part(share: float) -> None:
    content = pdf_bytes(*(PROSE * 9 for _ in range(5)))
    assert reason(content[: int(share * len(content))]) == "damaged"


def test_pages_without_text_are_a_failure_of_their_own() -> None:
    assert reason(pdf_bytes("", "")) == "no_text"


def test_limits_on_pages_and_characters_hold() -> None:
    content = pdf_bytes("one", "two", "three")
    assert reason(content, DocumentSettings(max_pages=2)) == "too_many_pages"
    assert reason(content, DocumentSettings(max_characters=5)) == "too_long"


@pytest.mark.parametrize(
    ("headings", "stated", "title"),
    [
        ([(12, "Institute of Lakes"), (20, "The depth of lakes")], "", "The depth of lakes"),
        (
            [(12, "Institute of Lakes"), (20, "The depth of lakes")],
            "The depth of lakes",
            "The depth of lakes",
        ),
        ([(16, "1 Introduction")], "A study of lakes", "A study of lakes"),
        ([(16, "2 Methods")], "", None),
    ],
)
def test_the_title_is_the_largest_line_above_the_text_or_the_stated_one(
    headings: list[tuple[int, str]], stated: str, title: str | None
) -> None:
    document = new_pdf()
    document.set_title(stated)
    document.add_page()
    for size, text in headings:
        document.set_font("Helvetica", size=size)
        document.multi_cell(0, 10, text, new_x="LMARGIN", new_y="NEXT")
    document.set_font("Helvetica", size=10)
    document.multi_cell(0, 6, PROSE)
    assert parse(bytes(document.output())).title == title
