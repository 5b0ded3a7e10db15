"""ZIP containers and Office files built on the spot for the tests of this folder."""

import io
import zipfile
from collections.abc import Callable, Mapping
from typing import cast

import docx as python_docx
from docx.document import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.xmlchemy import BaseOxmlElement

from qa_pipeline.documents.formats.office import docx
from qa_pipeline.records import ParsedFile
from qa_pipeline_tests.documents.builders import SETTINGS, source
from qa_pipeline_tests.documents.formats.office.archives import zip_bytes

NAMESPACES = " ".join(
    f'xmlns:{prefix}="{address}"'
    for prefix, address in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
        "v": "urn:schemas-microsoft-com:vml",
    }.items()
)


def members_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def edited(content: bytes, name: str, edit: Callable[[bytes], bytes]) -> bytes:
    """A container with one member changed."""
    members = members_of(content)
    return zip_bytes({**members, name: edit(members[name])})


def saved(document: Document) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def paragraph(inside: str, style: str | None = None, properties: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr>{inside}</w:p>"


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def docx_of(*elements: str, prepare: Callable[[Document], None] = lambda _: None) -> bytes:
    """A Word file with these elements as its body."""
    document = python_docx.Document()
    prepare(document)
    end = document.element.body.sectPr
    for element in elements:
        wrapped = parse_xml(f"<w:body {NAMESPACES}>{element}</w:body>")
        for child in list(wrapped):
            end.addprevious(child)
    return saved(document)


def element(markup: str) -> BaseOxmlElement:
    """An element to add to a part of a document."""
    wrapped = parse_xml(f"<w:body {NAMESPACES}>{markup}</w:body>")
    return cast("BaseOxmlElement", wrapped[0])


def read_docx(*elements: str, prepare: Callable[[Document], None] = lambda _: None) -> ParsedFile:
    """What is read from a Word file with these elements as its body."""
    return docx.parse(source(docx_of(*elements, prepare=prepare)), SETTINGS)


def add_part(document: Document, name: str, purpose: str, content: str | bytes) -> None:
    """Add a part that the main part links to for a purpose, such as `footnotes`."""
    raw = content.encode() if isinstance(content, str) else content
    part = Part(PackURI(f"/word/{name}"), "application/xml", raw, document.part.package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES.rsplit("/", 1)[0] + f"/{purpose}")


def add_notes(document: Document, kind: str, notes: Mapping[str, str]) -> None:
    listed = "".join(f'<w:{kind} w:id="{key}">{inside}</w:{kind}>' for key, inside in notes.items())
    ruled = f'<w:{kind} w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:{kind}>'
    add_part(document, f"{kind}s.xml", f"{kind}s", f"<w:{kind}s {NAMESPACES}>{ruled}{listed}</w:{kind}s>")


def left_out(parsed: ParsedFile) -> dict[str, tuple[int, int]]:
    """Pieces and characters by kind."""
    return {one.what: (one.pieces, one.characters) for one in parsed.left_out}
