from collections.abc import Sequence

import pytest

from qa_pipeline.documents.formats.pdf import layout
from qa_pipeline.documents.formats.pdf.lines import Line
from qa_pipeline.documents.limits import LIMITS, ReaderLimits
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import SETTINGS, outline, refusal
from qa_pipeline_tests.documents.formats.pdf.builders import blank, counts, one_page, parse, raw_pdf, stream
from qa_pipeline_tests.support.work import lines_run

HELLO = "BT /F1 12 Tf 72 700 Td (Hello there.) Tj ET"
SQUARES = "".join(f"{number % 500} {number % 800} 1 1 re f\n" for number in range(3000))
FEW_OBJECTS = ReaderLimits(page_objects=1000)


def reason(
    content: bytes, settings: DocumentSettings = SETTINGS, limits: ReaderLimits = LIMITS
) -> str | None:
    return refusal(lambda: parse(content, settings, limits))


def rewritten(content: bytes) -> bytes:
    """The file with its table of places left to PDFium to rebuild."""
    return content.replace(b"startxref", b"startxref\n0 %", 1)


@pytest.mark.slow
def test_a_page_of_many_tiny_letters_is_work_in_proportion() -> None:
    def work(letters: int) -> int:
        places = (f"BT /F1 1 Tf {n % 590} {(n // 590) % 840} Td (x) Tj ET\n" for n in range(letters))
        content = one_page("".join(places))
        return lines_run(lambda: parse(content))

    work(500)  # what is done once in a process
    assert work(8_000) < 2.2 * work(4_000)


def test_objects_hidden_in_forms_that_fill_the_page_count_as_well() -> None:
    form = stream(SQUARES, "/Type /XObject /Subtype /Form /BBox [0 0 595 842]")
    content = one_page("/X1 Do " + HELLO, o10=form)
    content = content.replace(b"/Font <</F1 4 0 R>>", b"/XObject <</X1 10 0 R>> /Font <</F1 4 0 R>>")
    assert reason(rewritten(content), limits=FEW_OBJECTS) == "too_many_objects"


def test_a_page_longer_than_the_limit_is_refused_before_its_lines_are_read() -> None:
    content = one_page("BT /F1 1 Tf 1 1 Td (" + "x" * 500 + ") Tj ET")
    assert reason(content, DocumentSettings(max_characters=100)) == "too_long"


FORM = "/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources <</XObject <</X 5 0 R>>>>"
TREES: dict[str, dict[int, str | bytes]] = {
    "back to itself": {2: "<</Type /Pages /Kids [2 0 R] /Count 1>>"},
    "nowhere": {2: "<</Type /Pages /Kids [99 0 R] /Count 1>>"},
    "too many": {2: "<</Type /Pages /Kids [] /Count 100000>>"},
    "deep": {
        **{number: f"<</Type /Pages /Kids [{number + 1} 0 R] /Count 1>>" for number in range(2, 2000)},
        2000: "<</Type /Page /MediaBox [0 0 595 842]>>",
    },
    "a form within itself": {
        2: "<</Type /Pages /Kids [3 0 R] /Count 1>>",
        3: "<</Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources <</XObject <</X 5 0 R>>>>"
        " /Contents 4 0 R>>",
        4: stream("/X Do"),
        5: stream("/X Do", FORM),
    },
}


@pytest.mark.parametrize("tree", TREES)
def test_a_tree_of_pages_or_forms_that_does_not_end_is_refused(tree: str) -> None:
    content = raw_pdf({1: "<</Type /Catalog /Pages 2 0 R>>", **TREES[tree]})
    assert reason(content) in ("damaged", "no_text", "too_many_pages")


@pytest.mark.parametrize(
    "box", ["[0 0 14400 14400]", "[0 0 3 3]", "[0 0 1e30 1e30]", "[-9999 -9999 9999 9999]"]
)
def test_pages_of_odd_sizes_are_read_or_refused(box: str) -> None:
    content = rewritten(one_page(HELLO).replace(b"[0 0 595 842]", box.encode()))
    assert reason(content) in (None, "damaged", "no_text")


def test_text_is_read_where_the_page_does_not_begin_in_the_origin() -> None:
    content = one_page("BT /F1 12 Tf 1072 2700 Td (Hello there.) Tj ET")
    parsed = parse(rewritten(content.replace(b"[0 0 595 842]", b"[1000 2000 1595 2842]")))
    assert outline(parsed) == [("paragraph", "Hello there.")]
    assert counts(parsed) == {}


def test_a_content_stream_that_breaks_off_keeps_what_comes_before() -> None:
    assert outline(parse(one_page(HELLO + " BT /F1 12 Tf (never"))) == [("paragraph", "Hello there.")]


def test_scripts_files_and_programs_to_start_are_counted_and_left_alone() -> None:
    parsed = parse(
        one_page(
            HELLO,
            page="/Annots [10 0 R]",
            catalog="/Names <</JavaScript <</Names [(run) 11 0 R]>>"
            " /EmbeddedFiles <</Names [(a.exe) 12 0 R]>>>>",
            o10="<</Type /Annot /Subtype /Link /Rect [72 690 200 720] /A <</S /Launch /F (calc.exe)>>>>",
            o11="<</S /JavaScript /JS (app.alert\\(1\\))>>",
            o12="<</Type /Filespec /F (a.exe) /UF (a.exe) /EF <</F 13 0 R>>>>",
            o13=stream("MZ", "/Type /EmbeddedFile"),
        )
    )
    assert outline(parsed) == [("paragraph", "Hello there.")]
    assert counts(parsed) == {"attachment": (1, 0), "launch_action": (1, 0), "script": (1, 0)}


def test_comments_are_counted_and_left_out() -> None:
    document = blank()
    document.text(20, 40, "Hello there.")
    document.text_annotation(20, 20, "Is this right?")
    parsed = parse(document)
    assert outline(parsed) == [("paragraph", "Hello there.")]
    assert counts(parsed) == {"comment": (1, 12)}


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


def test_a_note_says_that_an_xfa_form_is_not_read() -> None:
    form = stream("<xdp:xdp xmlns:xdp='http://ns.adobe.com/xdp/'/>")
    parsed = parse(
        one_page(HELLO, catalog="/NeedsRendering true /AcroForm <</Fields [] /XFA 10 0 R>>", o10=form)
    )
    assert "XFA" in parsed.notes[0]


def test_a_title_that_is_no_text_is_no_title() -> None:
    content = one_page(HELLO, o10=b"<</Title <FEFFD800>>>")
    assert parse(content.replace(b"/Root 1 0 R", b"/Root 1 0 R /Info 10 0 R")).title is None


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


BYE = HELLO.replace("Hello there", "Good bye")


def test_a_page_with_too_many_objects_and_one_that_is_not_there_cost_these_pages_alone() -> None:
    parsed = parse(pages(HELLO, SQUARES, BYE, damaged=1), limits=FEW_OBJECTS)
    assert [(block.page, block.text) for block in parsed.blocks] == [(1, "Hello there."), (3, "Good bye.")]
    assert counts(parsed)["unreadable_page"] == (2, 0)
    assert parsed.notes[0].endswith("2 (too_many_objects), 4 (damaged)")


def test_a_page_whose_layout_fails_costs_that_page_alone_and_its_text_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def find(lines: Sequence[Line], _: object) -> list[float]:
        return [1 / (2 - line.page) for line in lines][len(lines) :]

    monkeypatch.setattr(layout, "find_aligned", find)
    parsed = parse(pages(HELLO, HELLO, BYE))
    assert [(block.page, block.text) for block in parsed.blocks] == [(1, "Hello there."), (3, "Good bye.")]
    assert counts(parsed) == {"unreadable_page": (1, 11)}
    assert parsed.notes[0].endswith("2 (ZeroDivisionError)")
