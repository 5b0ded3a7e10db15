"""Read Office files as containers of XML parts (Open Packaging, ISO 29500-2)."""

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.archives import ZIP_START, open_archive
from qa_pipeline.documents.corpus.files import LIMITS, DocumentFailure, ReaderLimits
from qa_pipeline.records import Block, ParsedFile
from qa_pipeline.text.language import declared_language

if TYPE_CHECKING:
    from lxml.etree import _Element


def parse_xml(content: bytes, *, declared_type: bool = False) -> "_Element":
    """Return the root of an XML document; entities stay unresolved. Raises a DocumentFailure."""
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        if "Excessive depth" in str(error.msg):
            detail = "elements are nested more than 256 levels deep"
            raise DocumentFailure("nested_too_deep", detail) from error
        # The message of the library may quote the document; the line number does not.
        raise DocumentFailure("damaged", f"the XML of a part is malformed at line {error.lineno}") from error
    # Formats of XML parts forbid document types, which only attacks need.
    if not declared_type and root.getroottree().docinfo.internalDTD is not None:
        raise DocumentFailure("damaged", "a part of the file declares entities or a document type")
    return root


WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
SLIDES = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/picture}"
MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_TEXTS = (f"{DRAWING}t", f"{WORD}t", f"{MATH}t")
_LINKS = "{http://schemas.openxmlformats.org/package/2006/relationships}"
_LANGUAGE = "{http://purl.org/dc/elements/1.1/}language"

_ROOTS = {".docx": "document", ".pptx": "presentation", ".xlsx": "workbook"}  # the roots of main parts
_OLE_START = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_LARGEST_TREE = 50_000_000  # bytes of XML; a tree takes some ten times as many


class Package:
    """The parts of an Office file, each read when asked for."""

    def __init__(self, content: bytes, limits: ReaderLimits) -> None:
        self.content = content
        self.archive = open_archive(content, limits)

    def linked(self, part: str, purpose: str) -> list[str]:
        """Return the parts that a part links to for a purpose, such as `footnotes`; "" is the whole file."""
        # the links of `word/document.xml` are in `word/_rels/document.xml.rels`
        folder, name = posixpath.split(part)
        relationships = posixpath.join(folder, "_rels", f"{name}.rels")
        if self.archive.find(relationships) is None:
            return []
        targets = [
            member_path(link.get("Target", ""), folder)
            for link in self.tree(relationships).iter(f"{_LINKS}Relationship")
            if link.get("TargetMode") != "External" and link.get("Type", "").endswith(f"/{purpose}")
        ]
        return [target for target in dict.fromkeys(targets) if self.archive.find(target)]

    def trees(self, part: str, purpose: str) -> "list[_Element]":
        """Return the roots of the linked parts."""
        return [self.tree(name) for name in self.linked(part, purpose)]

    def tree(self, part: str) -> "_Element":
        """Return the root of a part; raises a DocumentFailure."""
        member = self.archive.find(part)
        if member is not None and member.file_size > _LARGEST_TREE:
            raise DocumentFailure("too_large", f"a part has more than {_LARGEST_TREE} bytes of XML")
        return parse_xml(self.archive.read(part))


@contextmanager
def library_failures() -> Iterator[None]:
    """Report whatever a library raises about a file as damage."""
    try:
        yield
    except (DocumentFailure, MemoryError, RecursionError):
        raise
    except Exception as error:  # the libraries raise errors of all kinds about malformed parts
        # The message of the library may quote the document.
        raise DocumentFailure("damaged", f"the library cannot read it ({type(error).__name__})") from error


def open_package(content: bytes, suffix: str, limits: ReaderLimits = LIMITS) -> tuple[Package, str]:
    """Open an Office file; returns it and the name of its main part. Raises a DocumentFailure."""
    if content.startswith(_OLE_START) and _OLE_ENCRYPTED in content:
        raise DocumentFailure("encrypted", "the file is protected by a password")
    if not content.startswith(ZIP_START):
        is_old = content.startswith((_OLE_START, b"{\\rtf"))  # such as an old Word file
        detail = f"the file is not of the format {suffix}; save it as {suffix}"
        raise DocumentFailure("unsupported_format" if is_old else "damaged", detail)
    package = Package(content, limits)
    main = next(iter(package.linked("", "officeDocument")), None)
    if main is None or package.tree(main).tag.rpartition("}")[2] != _ROOTS[suffix]:
        raise DocumentFailure("damaged", f"the ZIP container has no main part of a {suffix} file")
    return package, main


def read_file(about: "Iterable[_Element]", blocks: Sequence[Block], omissions: Omissions) -> ParsedFile:
    """Return a parsed file with the language that its properties declare."""
    languages = (holder.findtext(_LANGUAGE) for holder in about)
    language = declared_language(next(filter(None, languages), None))
    return ParsedFile(tuple(blocks), language=language, left_out=omissions.record())


def read_number(written: str | None, otherwise: int) -> int:
    """Return a small number from an attribute, or `otherwise`."""
    fits = written is not None and written.isascii() and written.isdecimal() and len(written) <= 9
    return int(written) if written is not None and fits else otherwise


def text_of(element: "_Element", *names: str) -> str:
    """Return the text of all elements of some names below an element, such as its runs of text."""
    return "".join(part.text or "" for part in element.iter(*names))


def member_path(reference: str, folder: str) -> str:
    """Return the name of the member at an address in a folder."""
    return posixpath.normpath(posixpath.join("/", folder, unquote(reference))).lstrip("/")


def unwrap_alternatives(root: "_Element") -> None:
    """Keep the first of several forms of content that has text or an equation, else the first."""
    for alternatives in list(root.iter(f"{ALTERNATIVES}AlternateContent")):
        branches = list(alternatives)
        with_text = (branch for branch in branches if next(branch.iter(*_TEXTS), None) is not None)
        chosen = next(with_text, branches[0] if branches else ())
        for child in list(chosen):
            alternatives.addprevious(child)
        if (parent := alternatives.getparent()) is not None:
            parent.remove(alternatives)
