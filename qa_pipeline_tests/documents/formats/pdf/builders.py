"""PDF files built on the spot: columns, tables, and objects that libraries do not write."""

import random
from collections.abc import Mapping, Sequence

from fpdf import FPDF

from qa_pipeline.documents.formats.pdf import parser as pdf
from qa_pipeline.records import Block, ParsedFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.words import clean
from qa_pipeline_tests.documents.builders import SETTINGS, source

WORDS = (
    "river", "mountain", "valley", "forest", "bridge", "harbour", "village", "meadow", "castle", "garden",
    "market", "station", "library", "museum", "theatre", "school", "church", "factory", "office", "kitchen",
)  # fmt: skip


def parse(document: FPDF | bytes, settings: DocumentSettings = SETTINGS) -> ParsedFile:
    content = document if isinstance(document, bytes) else bytes(document.output())
    return pdf.parse(source(content), settings)


def prose(name: str, sentences: int, seed: int = 1) -> str:
    """Sentences whose first word says where they stand: `left0 …. left1 ….`."""
    draw = random.Random(f"{name}{seed}")
    words = (" ".join(draw.choice(WORDS) for _ in range(8)) for _ in range(sentences))
    return " ".join(f"{name}{number} {text}." for number, text in enumerate(words))


def wrapped(document: FPDF, text: str, width: float = 85) -> list[str]:
    """The lines that a column of text would be printed in."""
    lines = document.multi_cell(width, 5, text, dry_run=True, output="LINES")
    assert isinstance(lines, list)
    return lines


def marks(text: str, name: str) -> list[int]:
    """The numbers of the sentences of `prose` in the order in which they stand in a text."""
    words = (word for word in text.split() if word.startswith(name))
    return [int(word.removeprefix(name)) for word in words if word.removeprefix(name).isdigit()]


def blank(size: float = 10, font: str = "Helvetica") -> FPDF:
    document = FPDF()
    document.set_auto_page_break(False)
    document.set_font(font, size=size)
    document.add_page()
    return document


def at(document: FPDF, x: float, y: float, text: str, width: float = 85, height: float = 5) -> float:
    """Write text in a column; returns where it ends."""
    document.set_xy(x, y)
    document.multi_cell(width, height, text)
    return float(document.get_y())


def with_table(
    document: FPDF, rows: Sequence[Sequence[str]], layout: str = "ALL", align: str = "LEFT", **options: object
) -> None:
    with document.table(borders_layout=layout, text_align=align, **options) as table:
        for row in rows:
            line = table.row()
            for cell in row:
                line.cell(cell)


def rows(parsed: ParsedFile) -> list[str]:
    return [clean(block.text) for block in parsed.blocks if block.kind == "table_row"]


def of_kind(parsed: ParsedFile, kind: str) -> list[Block]:
    return [block for block in parsed.blocks if block.kind == kind]


def counts(parsed: ParsedFile) -> Mapping[str, tuple[int, int]]:
    return {part.what: (part.pieces, part.characters) for part in parsed.left_out}


def raw_pdf(objects: Mapping[int, str | bytes], root: int = 1) -> bytes:
    """A PDF of objects as they are written in the file, with a table of where each one is."""
    parts = [b"%PDF-1.7\n"]
    places: dict[int, int] = {}
    for number, content in objects.items():
        places[number] = sum(map(len, parts))
        body = content.encode("latin-1") if isinstance(content, str) else content
        parts.append(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = sum(map(len, parts))
    last = max(objects) + 1
    table = [b"xref\n0 %d\n0000000000 65535 f \n" % last]
    table += [
        b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 00000 f \n"
        for number in range(1, last)
    ]
    trailer = b"trailer <</Size %d /Root %d 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (last, root, start)
    return b"".join([*parts, *table, trailer])


def stream(content: str | bytes, entries: str = "") -> bytes:
    body = content.encode("latin-1") if isinstance(content, str) else content
    return b"<</Length %d %s>>\nstream\n%s\nendstream" % (len(body), entries.encode(), body)


def one_page(content: str | bytes, page: str = "", catalog: str = "", **more: str | bytes) -> bytes:
    """A PDF of one page with Helvetica as F1 and the given content stream.

    Args:
        content: the page's content.
        page: further entries of the page.
        catalog: further entries of the catalogue.
        more: further objects, `o10` being number 10.
    """
    objects: dict[int, str | bytes] = {
        1: f"<</Type /Catalog /Pages 2 0 R {catalog}>>",
        2: "<</Type /Pages /Kids [3 0 R] /Count 1>>",
        3: f"<</Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] {page}"
        " /Resources <</Font <</F1 4 0 R>>>> /Contents 5 0 R>>",
        4: "<</Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding>>",
        5: stream(content),
    }
    objects |= {int(name.removeprefix("o")): body for name, body in more.items()}
    return raw_pdf(objects)
