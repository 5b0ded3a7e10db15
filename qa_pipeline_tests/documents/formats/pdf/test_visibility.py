"""Text that nobody sees on the page is left out, however it was hidden, and what is seen stays."""

import pytest
from PIL import Image, ImageDraw

from qa_pipeline.records import ParsedFile
from qa_pipeline_tests.documents.formats.pdf.builders import counts, parse, raw_pdf, stream

SECRET = "Secret: 90 000 euros."
TEXT = f"BT /F1 11 Tf 50 700 Td ({SECRET}) Tj ET"
BAR = "45 695 200 20 re f"
OPEN = (
    "BT /F1 11 Tf 50 740 Td (The board met at ten.) Tj ET BT /F1 11 Tf 50 600 Td (It closed at noon.) Tj ET"
)


def at_secret(before: str, text: str = SECRET, after: str = "", size: float = 11) -> str:
    return f"q {before} BT /F1 {size} Tf 50 700 Td ({text}) Tj ET {after} Q"


HIDDEN = {
    "black bar": f"{TEXT} 0 g {BAR}",
    "white box": f"{TEXT} 1 g {BAR}",
    "thick line": f"{TEXT} 16 w 45 704 m 245 704 l S",
    "polygon": f"{TEXT} 45 690 m 250 692 l 248 715 l 44 716 l f",
    "box with a label": f"{TEXT} 0 g {BAR} 1 g BT /F1 11 Tf 60 700 Td (REDACTED) Tj ET",
    "overpainted with another text": f"{TEXT} 1 g {BAR} 0 g BT /F1 11 Tf 50 700 Td (Nothing was said.) Tj ET",
    "image over it": f"{TEXT} q 200 0 0 20 45 695 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x00 EI Q",
    "bar in a form": f"{TEXT} /X1 Do",
    "white text": at_secret("1 g"),
    "black text on a black box": at_secret(f"0 g {BAR}"),
    "coloured text on its colour": at_secret(f"1 0 0 rg {BAR}"),
    "invisible text": at_secret("3 Tr"),
    "transparent text": at_secret("/G0 gs"),
    "tiny text": at_secret("", size=0.5),
    "layer that is off": f"/OC /L1 BDC {TEXT} EMC",
    "right of the page": f"BT /F1 11 Tf 700 700 Td ({SECRET}) Tj ET",
    "clipped away": f"q 0 0 10 10 re W n 1 g {TEXT} Q",
}
RESOURCES = (
    "/Resources <</Font <</F1 4 0 R>> /XObject <</X1 11 0 R>> /Properties <</L1 10 0 R>>"
    " /ExtGState <</G0 <</ca 0>>>>>>"
)
CATALOG = "/OCProperties <</OCGs [10 0 R] /D <</OFF [10 0 R]>>>>"


def page(
    content: str, annotations: str = "", turned: int = 0, image: bytes = b"", seen: str = OPEN
) -> ParsedFile:
    return parse(
        raw_pdf(
            {
                1: f"<</Type /Catalog /Pages 2 0 R {CATALOG}>>",
                2: "<</Type /Pages /Kids [3 0 R] /Count 1>>",
                3: f"<</Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Rotate {turned} {RESOURCES}"
                f" /Annots [{annotations}] /Contents 5 0 R>>",
                4: "<</Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding>>",
                5: stream(f"{seen} {content}"),
                10: "<</Type /OCG /Name (Layer)>>",
                11: image or stream(BAR, "/Type /XObject /Subtype /Form /BBox [0 0 595 842]"),
            }
        )
    )


def text_of(parsed: ParsedFile) -> str:
    return " ".join(block.text for block in parsed.blocks)


@pytest.mark.parametrize("turned", [0, 90])
@pytest.mark.parametrize("way", HIDDEN)
def test_hidden_text_is_left_out_and_counted(way: str, turned: int) -> None:
    parsed = page(HIDDEN[way], turned=turned)
    text = text_of(parsed)
    assert not any(word in text for word in SECRET.split())
    assert "The board met at ten." in text
    assert "It closed at noon." in text
    assert counts(parsed)["hidden"][1] >= len(SECRET.replace(" ", ""))


COMMENTS = {
    "square": "<</Type /Annot /Subtype /Square /F 4 /Rect [45 692 250 716] /C [0 0 0] /IC [0 0 0]>>",
    "black marker": "<</Type /Annot /Subtype /Highlight /F 4 /Rect [45 692 250 716] /C [0 0 0]"
    " /QuadPoints [45 716 250 716 45 692 250 692]>>",
    "mark for redaction": "<</Type /Annot /Subtype /Redact /F 4 /Rect [45 692 250 716] /IC [0 0 0]>>",
}


@pytest.mark.parametrize("way", COMMENTS)
def test_text_below_a_comment_that_covers_it_is_left_out(way: str) -> None:
    text = text_of(page(TEXT, COMMENTS[way]))
    assert "Secret" not in text
    assert "The board met at ten." in text


SEEN = {
    "plain": TEXT,
    "white on black": f"0 g {BAR} {at_secret('1 g')}",
    "red on green of one lightness": f"0 0.51 0 rg {BAR} {at_secret('1 0 0 rg')}",
    "over a white page": f"1 g 0 0 595 842 re f 0 g {OPEN} {TEXT}",
    "written twice": f"{TEXT} {BAR.replace('f', 'S')} BT /F1 11 Tf 50.3 700 Td ({SECRET}) Tj ET",
    "marked yellow": f"q 1 1 0 rg {BAR} Q {TEXT}",
    "framed": f"{TEXT} 45 690 200 30 re S",
    "beside a bar": f"{TEXT} 0 g 45 714 200 20 re f",
    "below a glass": f"{TEXT} /G0 gs 0 g {BAR}",
}


@pytest.mark.parametrize("turned", [0, 90])
@pytest.mark.parametrize("way", SEEN)
def test_text_that_shows_stays(way: str, turned: int) -> None:
    parsed = page(SEEN[way], turned=turned)
    assert SECRET in text_of(parsed)
    assert "hidden" not in counts(parsed)


@pytest.mark.parametrize(("bar", "kept"), [("", True), (f"0 g {BAR}", False), (f"1 g {BAR}", False)])
def test_text_laid_over_a_scan_stays_where_the_scan_has_letters(bar: str, kept: bool) -> None:
    scan = Image.new("L", (595, 842), 255)
    pen = ImageDraw.Draw(scan)
    for y in (132, 92):
        pen.text(
            (50, y), "These letters were scanned, and there are many more of them.", fill=0, font_size=11
        )
    image = stream(
        scan.tobytes(),
        "/Type /XObject /Subtype /Image /Width 595 /Height 842 /ColorSpace /DeviceGray /BitsPerComponent 8",
    )
    content = (
        f"q 595 0 0 842 0 0 cm /X1 Do Q {bar} BT 3 Tr /F1 11 Tf 50 700 Td ({SECRET}) Tj"
        " 0 40 Td (The board met at ten and spoke of the money it has.) Tj 0 -500 Td (Ignore the rest.) Tj ET"
    )
    text = text_of(page(content, image=image, seen=""))
    assert ("Secret" in text) == kept
    assert "The board met at ten" in text
    assert "Ignore" not in text
