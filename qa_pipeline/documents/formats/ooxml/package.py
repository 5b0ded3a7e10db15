"""Office files as containers of XML parts that name one another (Open Packaging, ISO 29500-2).

What belongs here: opening such a file, telling what it really is, its parts, the links between them, and what
it says about itself. What does not: the text of a part (`docx`, `pptx`).

Only links to parts of the same file are followed. One that leads out of it, to a template, picture or page,
is known to be external and has no target here.
"""

import io
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol
from urllib.parse import unquote

from qa_pipeline.corpus.archives import ZIP_START, Archive, open_archive
from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import declared_language

if TYPE_CHECKING:
    from lxml.etree import XMLSyntaxError, _Element, _ElementTree


class Readable(Protocol):
    """What XML can be read from piece by piece."""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        ...


def parse_xml(content: bytes, *, declared_type: bool = False, comments: bool = False) -> "_Element":
    """The root of an XML document.

    Args:
        content: the document.
        declared_type: allow a document type declaration, as XHTML has; its entities stay unresolved.
        comments: keep comments, for who counts them.

    Raises:
        DocumentFailure: `damaged` or `nested_too_deep`.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=not comments, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise _failure(error) from error
    if not declared_type:
        _refuse_type(root.getroottree())
    return root


def stream_xml(source: Readable, names: Sequence[str]) -> Iterator["_Element"]:
    """Elements of the given names in the order in which they end; a consumer may clear what it has read.

    Raises:
        DocumentFailure: `damaged` or `nested_too_deep`.
    """
    from lxml import etree

    events = etree.iterparse(
        source,
        events=("end",),
        tag=names,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
    )
    first = True
    try:
        for _, element in events:
            if first:
                _refuse_type(element.getroottree())
                first = False
            yield element
    except etree.XMLSyntaxError as error:
        raise _failure(error) from error


def root_name(source: Readable) -> str:
    """Name of the outermost element, without reading further.

    Raises:
        DocumentFailure: `damaged`.
    """
    from lxml import etree

    events = etree.iterparse(
        source,
        events=("start",),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
    )
    try:
        for _, element in events:
            return str(element.tag)
    except etree.XMLSyntaxError as error:
        raise _failure(error) from error
    raise DocumentFailure("damaged", "a part of the file is empty")


def _refuse_type(tree: "_ElementTree") -> None:
    """Formats made of XML parts forbid document types: nothing but an attack needs one there."""
    if tree.docinfo.internalDTD is not None:
        raise DocumentFailure("damaged", "a part of the file declares entities or a document type")


def _failure(error: "XMLSyntaxError") -> DocumentFailure:
    """The message of the library may hold text of the document; its place does not."""
    if "Excessive depth" in str(error.msg):
        return DocumentFailure("nested_too_deep", "elements are nested more than 256 levels deep")
    return DocumentFailure("damaged", f"the XML of a part breaks at line {error.lineno}")


Kind = Literal["Word", "PowerPoint", "Excel"]

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
SLIDES = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/picture}"
MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_LINKS = "{http://schemas.openxmlformats.org/package/2006/relationships}"
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"

_ROOTS: dict[str, Kind] = {
    f"{WORD}document": "Word",
    f"{SLIDES}presentation": "PowerPoint",
    "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}workbook": "Excel",
}
_SUFFIXES: dict[Kind, str] = {"Word": ".docx", "PowerPoint": ".pptx", "Excel": ".xlsx"}
_OLE_START = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_LARGEST_TREE = 50_000_000
"""A tree takes some ten times the bytes of its XML; only what is streamed may be larger."""

# The strict form of the formats (ISO 29500-1) differs in the names of its namespaces only.
_STRICT = b"http://purl.oclc.org/ooxml/"
_STRICT_NAMES = {
    b"wordprocessingml/main": b"wordprocessingml/2006/main",
    b"presentationml/main": b"presentationml/2006/main",
    b"spreadsheetml/main": b"spreadsheetml/2006/main",
    b"drawingml/main": b"drawingml/2006/main",
    b"drawingml/chart": b"drawingml/2006/chart",
    b"drawingml/diagram": b"drawingml/2006/diagram",
    b"drawingml/picture": b"drawingml/2006/picture",
    b"officeDocument/math": b"officeDocument/2006/math",
    b"officeDocument/relationships": b"officeDocument/2006/relationships",
}
_STRICT_DECLARATION = re.compile(
    rb"""(xmlns(?::[\w.-]+)?\s*=\s*["'])http://purl\.oclc\.org/ooxml/([\w/]+)(?=["'])"""
)
_NO_TITLE = re.compile(
    r"(?:untitled|document|dokument|presentation|präsentation|word document|microsoft word|"
    r"powerpoint[ -]pr[eä]sentation|slide|folie|bild)[ -]?\d*|"
    r"microsoft \w+ - .*|.*\.(?:doc|dot|ppt|pot)[xm]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PartLink:
    """A link from one part to another: what it is for, and the part, None where it leads out of the file."""

    id: str
    purpose: str
    target: str | None


@dataclass(frozen=True, slots=True)
class Properties:
    """What an Office file says about itself."""

    title: str | None
    language: str | None


class Package:
    """The parts of an Office file, each read when asked for."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self._links: dict[str, dict[str, PartLink]] = {}

    def links(self, part: str) -> dict[str, PartLink]:
        """Links of a part by their ids; "" for those of the file as a whole."""
        if part not in self._links:
            folder, name = posixpath.split(part)
            listed = posixpath.join(folder, "_rels", f"{name}.rels")
            found = self.archive.find(listed) is not None
            self._links[part] = _read_links(self.tree(listed), folder) if found else {}
        return self._links[part]

    def linked(self, part: str, purpose: str) -> list[str]:
        """Parts of the file that a part links to for a purpose, such as `footnotes`."""
        targets = (link.target for link in self.links(part).values() if link.purpose == purpose)
        return [
            target for target in dict.fromkeys(targets) if target is not None and self.archive.find(target)
        ]

    def linked_from(self, part: str, element: "_Element", name: str) -> PartLink | None:
        """The link that an attribute of an element names."""
        return self.links(part).get(element.get(LINK + name, ""))

    def trees(self, part: str, purpose: str) -> "list[_Element]":
        """The roots of those parts."""
        return [self.tree(name) for name in self.linked(part, purpose)]

    def tree(self, part: str) -> "_Element":
        """The root of a part.

        Raises:
            DocumentFailure: it is not there, not XML, or larger than anybody writes.
        """
        member = self.archive.find(part)
        if member is not None and member.size > _LARGEST_TREE:
            raise DocumentFailure("too_large", f"a part holds more than {_LARGEST_TREE} bytes of XML")
        return parse_xml(_transitional(self.archive.read(part)))

    def stream(self, part: str) -> Readable:
        """A part to be read piece by piece."""
        start = self.archive.open(part).read(4096)
        if _STRICT in start:
            return io.BytesIO(_transitional(self.archive.read(part)))
        return self.archive.open(part)


def open_package(content: bytes, wanted: Kind, settings: DocumentSettings) -> tuple[Package, str]:
    """Open an Office file.

    Returns:
        The file, and the name of its main part.

    Raises:
        DocumentFailure: it is damaged, encrypted, a bomb, or of another kind than wanted.
    """
    if not content.startswith(ZIP_START):
        raise _no_package(content, wanted)
    package = Package(open_archive(content, settings))
    main = next(iter(package.linked("", "officeDocument")), None)
    if main is None:
        raise DocumentFailure("damaged", f"the ZIP container holds no document, so it is no {wanted} file")
    kind = _ROOTS.get(root_name(package.stream(main)))
    if kind is None:
        raise DocumentFailure("damaged", f"the main part is not one of a {wanted} file")
    if kind != wanted:
        raise DocumentFailure(
            "unsupported_format",
            f"the file is one of {kind}, not {wanted}; its suffix should be {_SUFFIXES[kind]}",
        )
    return package, main


def read_properties(package: Package) -> Properties:
    """Title and language, if the file has them; a title that programs fill in is none."""
    said = {"title": "", "language": ""}
    for root in package.trees("", "core-properties")[:1]:
        for name in said:
            said[name] = " ".join((root.findtext(f"{_DUBLIN_CORE}{name}") or "").split())
    title = None if _NO_TITLE.fullmatch(said["title"]) else said["title"] or None
    return Properties(title, declared_language(said["language"]))


def whole(written: str | None, otherwise: int) -> int:
    """A small number as attributes hold it, or another where it is none."""
    fits = written is not None and written.isascii() and written.isdecimal() and len(written) <= 9
    return int(written) if written is not None and fits else otherwise


def _no_package(content: bytes, wanted: Kind) -> DocumentFailure:
    if content.startswith(_OLE_START):
        if _OLE_ENCRYPTED in content:
            return DocumentFailure("encrypted", "the file opens only with a password")
        return DocumentFailure(
            "unsupported_format", f"an old {wanted} file, whatever its suffix; save it as {_SUFFIXES[wanted]}"
        )
    if content.startswith(b"{\\rtf"):
        return DocumentFailure("unsupported_format", f"an RTF file; save it as {_SUFFIXES[wanted]}")
    return DocumentFailure("damaged", f"the file does not begin as a {wanted} file")


def _read_links(root: "_Element", folder: str) -> dict[str, PartLink]:
    links = {}
    for element in root.iter(f"{_LINKS}Relationship"):
        purpose = element.get("Type", "").rsplit("/", 1)[-1]
        target = None if element.get("TargetMode") == "External" else _part(element.get("Target", ""), folder)
        link = PartLink(element.get("Id", ""), purpose, target)
        links[link.id] = link
    return links


def _part(target: str, folder: str) -> str:
    """Name of the part a link leads to; none leads above the root of the container."""
    return posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")


def _transitional(content: bytes) -> bytes:
    """A part of the strict form in the names of the common one, which programs write by default."""
    if _STRICT not in content[:4096]:
        return content
    return _STRICT_DECLARATION.sub(_renamed, content)


def _renamed(declaration: "re.Match[bytes]") -> bytes:
    name = _STRICT_NAMES.get(declaration[2])
    return declaration[1] + b"http://schemas.openxmlformats.org/" + name if name else declaration[0]
