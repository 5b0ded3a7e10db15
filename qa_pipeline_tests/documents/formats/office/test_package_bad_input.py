"""Hostile, damaged and misnamed Office files: a reason each, and nothing read that is not in the file."""

import io
import socket
from collections.abc import Callable

import docx as python_docx
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st
from pptx import Presentation

from qa_pipeline.documents.formats import spreadsheet
from qa_pipeline.documents.formats.office import docx, pptx
from qa_pipeline.records import ParsedFile
from qa_pipeline_tests.documents.builders import SETTINGS, outline, refusal, source
from qa_pipeline_tests.documents.corpus.archives import zip_bytes
from qa_pipeline_tests.documents.formats.office.builders import (
    NAMESPACES,
    docx_of,
    edited,
    failure_of,
    members_of,
    paragraph,
    run,
)

DOCUMENT = "word/document.xml"
PLAIN = docx_of(paragraph(run("Text.")))
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2_000)
KNOWN = {None, "damaged", "archive_bomb", "encrypted", "unsupported_format", "nested_too_deep", "too_large"}


def read(content: bytes) -> ParsedFile:
    return docx.parse(source(content), SETTINGS)


def with_document(xml: str | bytes) -> bytes:
    raw = xml.encode() if isinstance(xml, str) else xml
    return edited(PLAIN, DOCUMENT, lambda _: raw)


def presentation() -> bytes:
    made = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "Title"
    buffer = io.BytesIO()
    made.save(buffer)
    return buffer.getvalue()


def workbook() -> bytes:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer) as made:
        made.add_worksheet().write("A1", "cell")
    return buffer.getvalue()


FILES = [(docx.parse, PLAIN), (pptx.parse, presentation()), (spreadsheet.parse, workbook())]


@given(st.data())
def test_damage_anywhere_is_a_failure_with_a_reason_and_never_another_error(data: st.DataObject) -> None:
    parse, content = data.draw(st.sampled_from(FILES))
    broken = bytearray(content)
    for _ in range(data.draw(st.integers(1, 5))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    assert refusal(lambda: parse(source(bytes(broken)), SETTINGS)) in KNOWN


@given(st.data())
def test_mutated_xml_is_read_or_refused(data: st.DataObject) -> None:
    parse, content = data.draw(st.sampled_from(FILES))
    name = data.draw(
        st.sampled_from(sorted(one for one in members_of(content) if one.endswith((".xml", ".rels"))))
    )

    def mutate(xml: bytes) -> bytes:
        start = data.draw(st.integers(0, len(xml)))
        end = data.draw(st.integers(start, min(start + 40, len(xml))))
        return (
            xml[:start]
            + data.draw(st.sampled_from([b"", b"<w:p/>", b"&x;", b"\xff", b'"', b">"]))
            + xml[end:]
        )

    assert refusal(lambda: parse(source(edited(content, name, mutate)), SETTINGS)) in KNOWN


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE x [<!ENTITY b SYSTEM "file:///etc/hostname">]>',
    ],
)
def test_entities_and_document_types_are_refused(declaration: str, encoding: str) -> None:
    text = paragraph(run("&amp;b;")) + paragraph(run("b"))
    body = f"<w:document {NAMESPACES}><w:body>{text}</w:body></w:document>"
    used = body.replace("&amp;b;", "&b;") if "ENTITY" in declaration else body
    xml = f'<?xml version="1.0" encoding="{encoding}"?>{declaration}{used}'.encode(encoding)
    assert refusal(lambda: read(with_document(xml))) == "damaged"


def test_a_bomb_is_not_decompressed() -> None:
    bomb = zip_bytes({**members_of(PLAIN), DOCUMENT: b" " * 60_000_000})
    assert refusal(lambda: read(bomb)) == "archive_bomb"


def test_depth_that_no_document_has_is_a_failure_and_less_is_read() -> None:
    def nested(depth: int) -> bytes:
        tables = "<w:tbl><w:tr><w:tc>" * depth + paragraph(run("deep")) + "</w:tc></w:tr></w:tbl>" * depth
        return with_document(f"<w:document {NAMESPACES}><w:body>{tables}</w:body></w:document>")

    assert refusal(lambda: read(nested(5_000))) == "nested_too_deep"
    assert outline(read(nested(70))) == [("paragraph", "deep")]


def test_links_out_of_the_file_are_never_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", refuse)
    kinds = ("attachedTemplate", "footnotes", "image", "header", "styles", "numbering", "comments")
    links = "".join(
        f'<Relationship Id="x{kind}" TargetMode="External" Target="{target}" '
        f'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}"/>'
        for kind in kinds
        for target in ("http://example.org/x", "file:///etc/hostname")
    )

    def link(rels: bytes) -> bytes:
        return rels.replace(b"</Relationships>", links.encode() + b"</Relationships>")

    assert outline(read(edited(PLAIN, "word/_rels/document.xml.rels", link))) == [("paragraph", "Text.")]


def test_links_above_the_root_stay_inside_the_file() -> None:
    def lead_out(rels: bytes) -> bytes:
        return rels.replace(b'"word/document.xml"', b'"../../../../etc/hostname"')

    assert refusal(lambda: read(edited(PLAIN, "_rels/.rels", lead_out))) == "damaged"


@pytest.mark.parametrize(
    ("make", "reason", "said"),
    [
        (workbook, "unsupported_format", ".xlsx"),
        (lambda: OLE, "unsupported_format", "Word"),
        (lambda: OLE + "EncryptedPackage".encode("utf-16-le"), "encrypted", "password"),
        (lambda: b"{\\rtf1 text}", "unsupported_format", "RTF"),
        (lambda: b"<html>", "damaged", ""),
        (lambda: zip_bytes({"content.xml": b"<x/>"}), "damaged", ""),
        (lambda: with_document("<x/>"), "damaged", ""),
    ],
)
def test_what_is_no_word_file_says_what_it_is(make: Callable[[], bytes], reason: str, said: str) -> None:
    failure = failure_of(lambda: read(make()))
    assert failure is not None
    assert failure.reason == reason
    assert said in failure.detail


def test_a_file_says_its_title_and_language_but_not_what_programs_fill_in() -> None:
    def about(title: str) -> tuple[str | None, str | None]:
        def prepare(document: python_docx.document.Document) -> None:
            document.core_properties.title, document.core_properties.language = title, "de-AT"

        parsed = read(docx_of(paragraph(run("Text.")), prepare=prepare))
        return parsed.title, parsed.language

    assert about("Jahresbericht") == ("Jahresbericht", "de")
    for title in ("Dokument1", "Microsoft Word - a.doc", "brev.docx", "PowerPoint-Präsentation", ""):
        assert about(title) == (None, "de")
