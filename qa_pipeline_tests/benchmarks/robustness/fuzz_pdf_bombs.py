"""Bombs written as PDF."""

import io
import zlib

from qa_pipeline_tests.benchmarks.robustness.fuzz_text_bombs import Build

# ruff: noqa: E501 - what is written into a file reads best on one line


def pdf_file(objects: list[bytes]) -> bytes:
    """A PDF of these objects, numbered from 1, whose first is the catalogue."""
    content = io.BytesIO()
    content.write(b"%PDF-1.5\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(content.tell())
        content.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = content.tell()
    content.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    content.writelines(b"%010d 00000 n \n" % place for place in places)
    content.write(b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return content.getvalue()


def pdf_page(drawing: bytes, *more: bytes, extra: bytes = b"", filters: bytes = b"/FlateDecode") -> bytes:
    """A PDF of one page that draws this; `extra` are further entries of the page."""
    packed = zlib.compress(drawing, 9) if filters == b"/FlateDecode" else drawing
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>"
    stream = b"<</Length %d/Filter[%s]>>stream\n%s\nendstream" % (len(packed), filters, packed)
    return pdf_file(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            page + extra + b">>",
            stream,
            font,
            *more,
        ]
    )


def pdfs() -> dict[str, Build]:
    """PDF: what is long, deep, many, or in an odd place."""
    text = b"BT /F 9 Tf 20 700 Td (A pump moves water.) Tj ET\n"
    catalogue, font = b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    form = b"<</Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<</XObject<</X 6 0 R>>>>/Length 5>>stream\n/X Do\nendstream"
    return {
        "stream-1gb": lambda: _flate_bomb(text, 1_000_000_000),
        "stream-50mb": lambda: _flate_bomb(text, 50_000_000),
        "streams-twice": lambda: pdf_page(zlib.compress(zlib.compress(text * 3_000_000)), filters=b"/FlateDecode/FlateDecode"),
        "objects-1000000": lambda: pdf_file(
            [catalogue, b"<</Type/Pages/Kids[3 0 R]/Count 1>>", b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>", font]
            + [b"<<>>"] * 1_000_000
        ),
        "pages-20000": lambda: _many_pages(20_000),
        "pages-claimed": lambda: pdf_file([catalogue, b"<</Type/Pages/Kids[3 0 R]/Count 99999999>>", b"<</Type/Page/Parent 2 0 R>>"]),
        "page-tree-loop": lambda: pdf_file([catalogue, b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 9>>"]),
        "page-tree-deep": _deep_pages,
        "form-loop": lambda: pdf_page(b"/X Do", form),
        "characters-tiny": lambda: pdf_page(b"BT /F .001 Tf 1 1 Td " + b"(a) Tj " * 500_000 + b"ET"),
        "characters-everywhere": lambda: pdf_page(
            b"BT /F 9 Tf " + b"".join(b"1 0 0 1 %d %d Tm (a) Tj " % (n * 7 % 600, n * 13 % 800) for n in range(100_000)) + b"ET"
        ),
        "one-character-many-times": lambda: pdf_page(text * 50_000),
        "lines-drawn": lambda: pdf_page(b"".join(b"%d %d m %d %d l S " % (n % 600, n % 800, n * 7 % 600, n * 3 % 800) for n in range(200_000))),
        "rectangles": lambda: pdf_page(b"".join(b"%d %d 5 5 re f " % (n % 600, n % 800) for n in range(300_000)) + text),
        "grid": lambda: pdf_page(
            b"".join(b"%d 0 m %d 800 l S " % (n, n) for n in range(0, 600, 2))
            + b"".join(b"0 %d m 600 %d l S " % (n, n) for n in range(0, 800, 2))
            + text
        ),
        "saves-deep": lambda: pdf_page(b"q " * 500_000 + text),
        "arrays-deep": lambda: pdf_page(b"BT /F 9 Tf " + b"[" * 100_000 + b"] TJ ET"),
        "dictionaries-deep": lambda: pdf_file([catalogue, b"<</A" * 100_000 + b">>" * 100_000]),
        "matrix-huge": lambda: pdf_page(b"BT /F 1e30 Tf 1e30 0 0 1e30 1e38 1e38 Tm (abc) Tj ET"),
        "matrix-nothing": lambda: pdf_page(b"BT /F 9 Tf 0 0 0 0 0 0 Tm (abc) Tj ET " + text),
        "box-huge": lambda: pdf_page(text, extra=b"/CropBox[-1e38 -1e38 1e38 1e38]"),
        "box-empty": lambda: pdf_page(text, extra=b"/CropBox[0 0 0 0]"),
        "user-unit": lambda: pdf_page(text, extra=b"/UserUnit 99999999"),
        "rotated": lambda: pdf_page(text, extra=b"/Rotate 90"),
        "upside-down": lambda: pdf_page(b"BT /F 9 Tf -1 0 0 -1 300 300 Tm (upside down) Tj ET " + text),
        "annotations": lambda: pdf_page(text, extra=b"/Annots[" + b"<</Type/Annot/Subtype/Text/Contents(x)>>" * 100_000 + b"]"),
        "predictor": lambda: pdf_file(
            [catalogue, b"<</Type/Pages/Kids[3 0 R]/Count 1>>", b"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>",
             b"<</Length 9/Filter/FlateDecode/DecodeParms<</Predictor 15/Columns 2147483647/Colors 99>>>>stream\nx\x9cabcdefg\nendstream"]
        ),
        "lzw": lambda: pdf_page(b"\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01" * 10_000, filters=b"/LZWDecode"),
        "ascii85": lambda: pdf_page(b"z" * 10_000_000, filters=b"/ASCII85Decode"),
        "run-length": lambda: pdf_page(b"\x81a" * 5_000_000, filters=b"/RunLengthDecode"),
    }  # fmt: skip


def _flate_bomb(piece: bytes, length: int) -> bytes:
    """A page whose content is small in the file and long on the page, packed without holding it."""
    packer = zlib.compressobj(9)
    block = piece * (1_000_000 // len(piece))
    packed = b"".join(packer.compress(block) for _ in range(length // len(block))) + packer.flush()
    return pdf_file(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
            b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        ]
    )


def _many_pages(count: int) -> bytes:
    kids = b" ".join(b"%d 0 R" % number for number in range(3, count + 3))
    pages = b"<</Type/Pages/Kids[" + kids + b"]/Count %d>>" % count
    return pdf_file([b"<</Type/Catalog/Pages 2 0 R>>", pages, *[b"<</Type/Page/Parent 2 0 R>>"] * count])


def _deep_pages() -> bytes:
    depth = 50_000
    inner = [b"<</Type/Pages/Parent %d 0 R/Kids[%d 0 R]/Count 1>>" % (n - 1, n + 1) for n in range(3, depth)]
    first = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    return pdf_file(
        [b"<</Type/Catalog/Pages 2 0 R>>", first, *inner, b"<</Type/Page/Parent %d 0 R>>" % (depth - 1)]
    )
