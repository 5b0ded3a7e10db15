"""Hostile, damaged and misnamed Office files: a reason each, and nothing read that is not in the file."""

import socket

import docx as python_docx
import pytest

from qa_pipeline.documents.formats.office import docx
from qa_pipeline.records import ParsedFile
from qa_pipeline_tests.documents.builders import SETTINGS, outline, refusal, source
from qa_pipeline_tests.documents.formats.office.archives import zip_bytes
from qa_pipeline_tests.documents.formats.office.builders import (
    NAMESPACES,
    docx_of,
    edited,
    members_of,
    paragraph,
    run,
)

DOCUMENT = "word/document.xml"
PLAIN = docx_of(paragraph(run("Text.")))
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2_000)


def read(content: bytes) -> ParsedFile:
    return docx.parse(source(content), SETTINGS)


def with_document(xml: str | bytes) -> bytes:
    raw = xml.encode() if isinstance(xml, str) else xml
    return edited(PLAIN, DOCUMENT, lambda _: raw)


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
    assert refusal(lambda: read(bomb)) == "too_large"


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


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (OLE, "unsupported_format"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        (b"{\\rtf1 text}", "unsupported_format"),
        (zip_bytes({"content.xml": b"<x/>"}), "damaged"),
        (with_document("<x/>"), "damaged"),
    ],
)
def test_what_is_no_word_file_is_refused(content: bytes, reason: str) -> None:
    assert refusal(lambda: read(content)) == reason


def test_a_file_says_its_language() -> None:
    def prepare(document: python_docx.document.Document) -> None:
        document.core_properties.language = "de-AT"

    assert read(docx_of(paragraph(run("Text.")), prepare=prepare)).language == "de"
