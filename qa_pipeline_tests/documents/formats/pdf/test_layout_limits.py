import pytest

from qa_pipeline.documents.corpus.files import LIMITS
from qa_pipeline_tests.documents.builders import outline, refusal
from qa_pipeline_tests.documents.formats.pdf.builders import (
    blank,
    counts,
    one_page,
    parse,
    prose,
    raw_pdf,
    stream,
)
from qa_pipeline_tests.support.work import lines_run

HELLO = "BT /F1 12 Tf 72 700 Td (Hello there.) Tj ET"


def test_a_page_of_too_many_objects_is_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    squares = "".join(f"{number % 500} {number % 800} 1 1 re f\n" for number in range(3000))
    monkeypatch.setattr(LIMITS, "page_objects", 1000)
    assert refusal(lambda: parse(one_page(squares + HELLO))) == "too_many_objects"


@pytest.mark.slow
def test_a_page_of_many_tiny_letters_is_work_in_proportion() -> None:
    def work(letters: int) -> int:
        places = (f"BT /F1 1 Tf {n % 590} {(n // 590) % 840} Td (x) Tj ET\n" for n in range(letters))
        content = one_page("".join(places))
        return lines_run(lambda: parse(content))

    work(500)  # what is done once in a process
    assert work(8_000) < 2.2 * work(4_000)


def rewritten(content: bytes) -> bytes:
    """The file with its table of places left to PDFium to rebuild."""
    return content.replace(b"startxref", b"startxref\n0 %", 1)


@pytest.mark.parametrize(
    "pages",
    [
        {2: "<</Type /Pages /Kids [2 0 R] /Count 1>>"},
        {
            2: "<</Type /Pages /Kids [3 0 R] /Count 9>>",
            3: "<</Type /Pages /Kids [2 0 R] /Parent 2 0 R /Count 9>>",
        },
        {2: "<</Type /Pages /Kids [] /Count 7>>"},
        {2: "<</Type /Pages /Kids [99 0 R] /Count 1>>"},
    ],
)
def test_a_page_tree_that_leads_nowhere_or_back_to_itself_is_damaged(pages: dict[int, str]) -> None:
    content = raw_pdf({1: "<</Type /Catalog /Pages 2 0 R>>", **pages})
    assert refusal(lambda: parse(content)) in ("damaged", "no_text")


def test_forms_within_forms_end_somewhere() -> None:
    objects: dict[int, str | bytes] = {
        1: "<</Type /Catalog /Pages 2 0 R>>",
        2: "<</Type /Pages /Kids [3 0 R] /Count 1>>",
        3: "<</Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources <</XObject <</X 5 0 R>>>>"
        " /Contents 4 0 R>>",
        4: stream("/X Do"),
        5: stream(
            "/X Do", "/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources <</XObject <</X 5 0 R>>>>"
        ),
    }
    assert refusal(lambda: parse(raw_pdf(objects))) == "no_text"


def test_text_is_read_where_the_page_does_not_begin_in_the_origin() -> None:
    content = one_page("BT /F1 12 Tf 1072 2700 Td (Hello there.) Tj ET")
    content = content.replace(b"[0 0 595 842]", b"[1000 2000 1595 2842]")
    parsed = parse(rewritten(content))
    assert outline(parsed) == [("paragraph", "Hello there.")]
    assert counts(parsed) == {}


def test_scripts_and_files_are_counted_and_left_alone() -> None:
    link = "<</Type /Annot /Subtype /Link /Rect [72 690 200 720] /A <</S /Launch /F (calc.exe)>>>>"
    content = one_page(
        HELLO,
        page="/Annots [10 0 R]",
        catalog="/Names <</JavaScript <</Names [(run) 11 0 R]>> /EmbeddedFiles <</Names [(a.exe) 12 0 R]>>>>",
        o10=link,
        o11="<</S /JavaScript /JS (app.alert\\(1\\))>>",
        o12="<</Type /Filespec /F (a.exe) /UF (a.exe) /EF <</F 13 0 R>>>>",
        o13=stream("MZ", "/Type /EmbeddedFile"),
    )
    parsed = parse(content)
    assert outline(parsed) == [("paragraph", "Hello there.")]
    assert counts(parsed) == {"attachment": (1, 0), "script": (1, 0)}


def test_comments_are_counted_and_left_out() -> None:
    document = blank()
    document.multi_cell(0, 5, prose("body", 3))
    document.text_annotation(20, 20, "Is this right?")
    parsed = parse(document)
    assert counts(parsed) == {"comment": (1, 12)}
    assert "right" not in parsed.blocks[0].text


def field(name: str, value: str, more: str = "") -> str:
    return f"<</Type /Annot /Subtype /Widget /FT /Tx /T ({name}) /V {value} /Rect [72 500 300 520] {more}>>"


def test_values_filled_into_a_form_are_rows_with_their_names() -> None:
    parsed = parse(
        one_page(
            HELLO,
            page="/Annots [10 0 R 11 0 R 12 0 R 13 0 R 14 0 R]",
            catalog="/AcroForm <</Fields [10 0 R 11 0 R 12 0 R 13 0 R 14 0 R]>>",
            o10=field("name", "(Ada Berg)", "/TU (Full name:)"),
            o11=field("town", "(Lund)"),
            o12=field("empty", "()"),
            o13=field("pin", "(1234)", "/Ff 8192"),
            o14="<</Type /Annot /Subtype /Widget /FT /Btn /T (yes) /V /On /Rect [72 400 80 408]>>",
        )
    )
    assert outline(parsed)[1:] == [("table_row", "Full name: Ada Berg"), ("table_row", "town: Lund")]
    assert counts(parsed) == {"form_field": (3, 4)}
    assert "1234" not in " ".join(text for _, text in outline(parsed))


def test_a_note_says_that_an_xfa_form_is_not_read() -> None:
    parsed = parse(
        one_page(
            "BT /F1 12 Tf 72 700 Td (Please wait.) Tj ET",
            catalog="/NeedsRendering true /AcroForm <</Fields [] /XFA 10 0 R>>",
            o10=stream("<xdp:xdp xmlns:xdp='http://ns.adobe.com/xdp/'/>"),
        )
    )
    assert "XFA" in parsed.notes[0]


def pages(*contents: str, damaged: int = 0) -> bytes:
    """A PDF with a page for each content, and behind them pages that the file names and does not hold."""
    numbers = [10 + 2 * number for number in range(len(contents))]
    kids = " ".join(f"{number} 0 R" for number in (*numbers, *[99] * damaged))
    objects: dict[int, str | bytes] = {
        1: "<</Type /Catalog /Pages 2 0 R>>",
        2: f"<</Type /Pages /Kids [{kids}] /Count {len(contents) + damaged}>>",
        4: "<</Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding>>",
    }
    for number, content in zip(numbers, contents, strict=True):
        objects[number] = (
            "<</Type /Page /Parent 2 0 R /MediaBox [0 0 595 842]"
            f" /Resources <</Font <</F1 4 0 R>>>> /Contents {number + 1} 0 R>>"
        )
        objects[number + 1] = stream(content)
    return raw_pdf(objects)


def test_a_page_with_too_many_objects_costs_that_page_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    squares = "".join(f"{number % 500} {number % 800} 1 1 re f\n" for number in range(3000))
    bye = HELLO.replace("Hello there", "Good bye")
    monkeypatch.setattr(LIMITS, "page_objects", 1000)
    parsed = parse(pages(HELLO, squares, bye))
    assert [(block.page, block.text) for block in parsed.blocks] == [(1, "Hello there."), (3, "Good bye.")]
    assert counts(parsed)["unreadable_page"] == (1, 0)
    assert parsed.notes[0].endswith("2 (too_many_objects)")
