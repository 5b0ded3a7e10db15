"""Files to be mutated, at least one for every format that can be read."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from pathlib import Path
from typing import Literal

import polars as pl

from qa_pipeline.documents.corpus.files import SUFFIXES, format_of
from qa_pipeline_tests.documents.builders import new_pdf, pdf_bytes

_MOST_OF_A_FORMAT = 400
_LONGEST = 600_000

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
MARKDOWN = """---
title: Pumps
licence: MIT
---
# Pumps

A pump *moves* **water**, see [the list](#list) and `code`.[^1]

- one
  - two
    1. three

| Part | Bar |
|------|----:|
| valve | 3 |

```python
def start():
    return 1
```

> Quoted, with <b>HTML</b> & &amp; åäö.

[^1]: A note.
"""
RST = """=====
Pumps
=====

:Author: Nobody
:Version: 1

A pump *moves* **water**, see `the list`_ and ``code``. [1]_ |name|

.. |name| replace:: Valve
.. _the list:

- one

  - two

=====  ===
Part   Bar
=====  ===
valve  3
=====  ===

+-------+-----+
| Part  | Bar |
+=======+=====+
| pump  | 3   |
+-------+-----+

.. code-block:: python

   def start():
       return 1

.. note:: Mind the pump.

.. [1] A note.
"""
HTML = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Pumps</title></head><body>
<nav><a href="/">Home</a></nav><main><h1>Pumps</h1><p>A pump <em>moves</em> water &amp; more.</p>
<ul><li>one<ul><li>two</ul></ul><table><tr><th>Part<th>Bar<tr><td rowspan=2>valve<td>3<tr><td>4</table>
<pre>def start():
    return 1</pre><dl><dt>Bar<dd>A unit.</dl></main><footer>Foot</footer></body></html>
"""


def collect_seeds(folders: Sequence[Path]) -> dict[str, list[bytes]]:
    """Contents by suffix: those that are built here, and the real files of some folders."""
    seeds = {suffix: list(contents) for suffix, contents in built_seeds().items() if suffix in SUFFIXES}
    for suffix, name in SUFFIXES.items():  # another suffix of a format is read by the same parser
        twins = (contents for other, contents in seeds.items() if SUFFIXES[other] == name)
        seeds.setdefault(suffix, next(twins, [MARKDOWN.encode()]))
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            suffix = path.suffix.lower()
            if path.is_file() and format_of(path.name) and path.stat().st_size <= _LONGEST:
                seeds[suffix] = [*seeds[suffix], path.read_bytes()][:_MOST_OF_A_FORMAT]
    return seeds


def built_seeds() -> Mapping[str, Sequence[bytes]]:
    """Small friendly files, by suffix."""
    rows = [f"{number},valve {number},{number * 1.5}" for number in range(40)]
    return {
        ".md": [MARKDOWN.encode()],
        ".rst": [RST.encode()],
        ".html": [HTML.encode(), HTML.replace("utf-8", "iso-8859-1").encode("latin-1")],
        ".xhtml": [HTML.encode()],
        ".txt": [b"PUMPS\n\nA pump moves water.\n\n1. one\n2. two\n\n    code\n" * 3],
        ".csv": ["\n".join(["number,name,bar", *rows]).encode(), b'a;b\n"x;\n""y""";2\n'],
        ".tsv": ["\n".join(["number\tname\tbar", *rows]).replace(",", "\t").encode()],
        ".jsonl": [_json_lines()],
        ".eml": [_mail(), _mail().replace(b"utf-8", b"latin-1")],
        ".pdf": [pdf_bytes("A pump moves water. " * 40, "A second page."), _pdf_with_table()],
        ".parquet": [_parquet(), _parquet("zstd")],
        ".docx": [_docx()],
        ".pptx": [_pptx()],
        ".epub": [_epub()],
        ".xlsx": [_xlsx()],
        ".odt": [_odt()],
    }


def zipped(members: Mapping[str, bytes | str]) -> bytes:
    """A zip file of these members, in this order and with one date."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def unzipped(content: bytes) -> dict[str, bytes]:
    """The members of a zip file of our own."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _json_lines() -> bytes:
    rows = [
        {"text": f"A pump of {number} bar.", "title": f"Pump {number}", "n": number} for number in range(20)
    ]
    return "\n".join(json.dumps(row) for row in rows).encode()


def _parquet(compression: Literal["snappy", "zstd"] = "snappy") -> bytes:
    rows = [
        {"text": f"A pump of {n} bar.", "title": f"Pump {n}", "n": n, "tags": ["a", None]} for n in range(20)
    ]
    target = io.BytesIO()
    pl.DataFrame(rows).write_parquet(target, compression=compression)
    return target.getvalue()


def _mail() -> bytes:
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = "Pumps å", "a@example.org", "b@example.org"
    mail["Date"] = "Mon, 01 Jan 2024 10:00:00 +0100"
    mail.set_content("A pump moves water, åäö.\n\n> quoted\n\n-- \nsigned\n")
    mail.add_alternative(HTML, subtype="html")
    mail.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="rows.csv")
    return mail.as_bytes()


def _pdf_with_table() -> bytes:
    document = new_pdf()
    document.add_page()
    document.multi_cell(0, 6, "Pumps\n\nA pump moves water.")
    with document.table() as table:
        for row in (("Part", "Bar"), ("valve", "3"), ("filter", "4")):
            table.row(row)
    return bytes(document.output())


def _docx() -> bytes:
    from docx import Document

    document = Document()
    document.add_heading("Pumps", 1)
    document.add_paragraph("A pump moves water.").add_run(" Bold.").bold = True
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("two", style="List Number")
    table = document.add_table(rows=3, cols=2)
    for number, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"cell {number}"
    table.cell(1, 0).merge(table.cell(2, 0))
    document.sections[0].header.paragraphs[0].text = "Head"
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


def _pptx() -> bytes:
    from pptx import Presentation
    from pptx.util import Inches

    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Pumps"
    slide.placeholders[1].text = "one\ntwo"
    slide.notes_slide.notes_text_frame.text = "Said, not shown."
    slide = show.slides.add_slide(show.slide_layouts[5])
    size = (Inches(1), Inches(2), Inches(5), Inches(2))
    table = slide.shapes.add_table(2, 2, *size).table
    for number in range(4):
        table.cell(number // 2, number % 2).text = f"cell {number}"
    target = io.BytesIO()
    show.save(target)
    return target.getvalue()


def _xlsx() -> bytes:
    from xlsxwriter import Workbook

    target = io.BytesIO()
    with Workbook(target, {"in_memory": True}) as workbook:
        sheet = workbook.add_worksheet("Pumps")
        for number, row in enumerate([["Part", "Bar"], ["valve", 3], ["filter", 4.5]]):
            sheet.write_row(number, 0, row)
        sheet.merge_range(4, 0, 6, 1, "merged")
        workbook.add_worksheet("Second").write_formula(0, 0, "=1+1", None, 2)
    return target.getvalue()


def _odt() -> bytes:
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table", "style")
    )
    body = (
        '<text:h text:outline-level="1">Pumps</text:h><text:p>A pump<text:s text:c="2"/>moves water.</text:p>'
        '<text:list text:style-name="L1"><text:list-item><text:p>one</text:p></text:list-item></text:list>'
        '<table:table><table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>1</text:p>'
        "</table:table-cell></table:table-row></table:table>"
    )
    content = (
        f"<office:document-content {names}><office:body><office:text>{body}</office:text></office:body>"
        "</office:document-content>"
    )
    return zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def _epub() -> bytes:
    container = (
        '<?xml version="1.0"?>'
        '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>'
        "</rootfiles></container>"
    )
    package = (
        '<?xml version="1.0"?>'
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Pumps</dc:title>'
        "<dc:language>en</dc:language><dc:identifier id='i'>1</dc:identifier></metadata><manifest>"
        '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>P</title></head><body>{}</body></html>'
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": container,
            "OEBPS/book.opf": package,
            "OEBPS/a.xhtml": page.format(
                "<h1>Pumps</h1><p>A pump moves water.</p><table><tr><td>1</td></tr></table>"
            ),
            "OEBPS/nav.xhtml": page.format('<nav><ol><li><a href="a.xhtml">Pumps</a></li></ol></nav>'),
        }
    )
