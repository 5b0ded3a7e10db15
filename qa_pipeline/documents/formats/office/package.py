"""Read ZIP containers in memory, under limits, and Office files as XML parts (ISO 29500-2)."""

import io
import posixpath
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.files import LIMITS, DocumentFailure
from qa_pipeline.records import Block, ParsedFile
from qa_pipeline.text.language import declared_language

if TYPE_CHECKING:
    from lxml.etree import _Element

ZIP_START = b"PK\x03\x04"
_UTF8_NAME, _ENCRYPTED = 0x800, 0x1  # bits of the flags of a member (APPNOTE 4.4.4)
# For these zipfile bounds the bytes that a step yields; for bzip2 and LZMA it does not.
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_STEP = 1 << 20  # bytes unpacked at a time


class Archive:
    """The members of a ZIP container, each read when asked for; raises a DocumentFailure."""

    def __init__(self, content: bytes) -> None:
        with report_damage("the ZIP container is damaged"):
            self._opened = zipfile.ZipFile(io.BytesIO(content))
        members = self._opened.filelist
        if len(members) > LIMITS.archive_members:
            raise DocumentFailure("archive_bomb", f"more than {LIMITS.archive_members} members")
        total = sum(entry.file_size for entry in members)  # as stated, before any is decompressed
        if total > LIMITS.decompressed_bytes:
            detail = f"{total} bytes decompressed, more than {LIMITS.decompressed_bytes}"
            raise DocumentFailure("archive_bomb", detail)
        # Of several members of one name the last counts for all readers of ZIP.
        self._named = {_name_of(entry): entry for entry in members if not entry.is_dir()}
        self._any_case = {name.casefold(): entry for name, entry in self._named.items()}

    def find(self, name: str) -> zipfile.ZipInfo | None:
        """Return the member of that name, or else of that name in another case."""
        plain = _plain(name)
        return self._named.get(plain, self._any_case.get(plain.casefold()))

    def read(self, name: str) -> bytes:
        """Return the content of a member; raises a DocumentFailure."""
        entry = self.find(name)
        if entry is None:
            raise DocumentFailure("damaged", "the file lacks a required part")
        if entry.flag_bits & _ENCRYPTED:
            raise DocumentFailure("encrypted", "the content is protected by a password")
        if entry.compress_type not in _METHODS:
            raise DocumentFailure("unsupported_format", "compressed by another method than Deflate")
        with report_damage("the ZIP container is damaged"), self._opened.open(entry) as stream:
            # A member may unpack to more than its stated size. zipfile unpacks a step at a time and stops at
            # that size, while a single `read()` would unpack everything before it cuts the rest off.
            return b"".join(iter(lambda: stream.read(_STEP), b""))


def _name_of(entry: zipfile.ZipInfo) -> str:
    name = entry.filename
    if not entry.flag_bits & _UTF8_NAME:  # many programs write UTF-8 without saying so
        with suppress(UnicodeDecodeError):
            name = name.encode("cp437", "replace").decode()
    return _plain(name)


def _plain(name: str) -> str:
    return posixpath.normpath("/" + name.replace("\\", "/")).lstrip("/")


@contextmanager
def report_damage(detail: str) -> Iterator[None]:
    """Report any error of a library about a file as damage; its own message may quote the document."""
    try:
        yield
    except (DocumentFailure, MemoryError, RecursionError):
        raise
    except Exception as error:  # libraries raise errors of all kinds about malformed parts
        raise DocumentFailure("damaged", detail) from error


def parse_xml(content: bytes, *, allows_doctype: bool = False) -> "_Element":
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
        raise DocumentFailure("damaged", f"the XML of a part is malformed at line {error.lineno}") from error
    # Formats of XML parts forbid document types, which only attacks need.
    if not allows_doctype and root.getroottree().docinfo.internalDTD is not None:
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


class Package(Archive):
    """The parts of an Office file."""

    def linked(self, part: str, purpose: str) -> list[str]:
        """Return the parts that a part, or the file itself (""), links for a purpose such as `footnotes`."""
        # the links of `word/document.xml` are in `word/_rels/document.xml.rels`
        folder, name = posixpath.split(part)
        relationships = posixpath.join(folder, "_rels", f"{name}.rels")
        if self.find(relationships) is None:
            return []
        targets = [
            member_path(link.get("Target", ""), folder)
            for link in self.tree(relationships).iter(f"{_LINKS}Relationship")
            if link.get("TargetMode") != "External" and link.get("Type", "").endswith(f"/{purpose}")
        ]
        return [target for target in dict.fromkeys(targets) if self.find(target)]

    def trees(self, part: str, purpose: str) -> "list[_Element]":
        """Return the roots of the parts that a part, or the file itself (""), links for a purpose."""
        return [self.tree(name) for name in self.linked(part, purpose)]

    def tree(self, part: str) -> "_Element":
        """Return the root of a part; raises a DocumentFailure."""
        member = self.find(part)
        if member is not None and member.file_size > _LARGEST_TREE:
            raise DocumentFailure("too_large", f"a part has more than {_LARGEST_TREE} bytes of XML")
        return parse_xml(self.read(part))


def open_package(content: bytes, suffix: str) -> tuple[Package, str]:
    """Open an Office file; returns it and the name of its main part. Raises a DocumentFailure."""
    if content.startswith(_OLE_START) and _OLE_ENCRYPTED in content:
        raise DocumentFailure("encrypted", "the file is protected by a password")
    if not content.startswith(ZIP_START):
        is_old = content.startswith((_OLE_START, b"{\\rtf"))  # such as an old Word file
        detail = f"the file is not of the format {suffix}; save it as {suffix}"
        raise DocumentFailure("unsupported_format" if is_old else "damaged", detail)
    package = Package(content)
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


def list_item(inside: str, level: int) -> str:
    """Return a list item as HTML, in `level + 1` lists, from whose number the HTML reader takes the level."""
    return f"{'<ul>' * (level + 1)}<li>{inside}</li>{'</ul>' * (level + 1)}"


def member_path(reference: str, folder: str) -> str:
    """Return the name of the member at an address in a folder."""
    return _plain(posixpath.join(folder, unquote(reference)))


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
