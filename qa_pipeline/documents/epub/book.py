"""What an EPUB says of itself: its files, their order, and whether they are encrypted.

What belongs here: the container, the package document and the list of encrypted files (EPUB 3.3, 4 and 5).
What does not: the text of a chapter (`chapters`).
"""

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from qa_pipeline.documents.archives import Archive
from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.language import declared_language
from qa_pipeline.documents.xml_trees import parse_xml

if TYPE_CHECKING:
    from lxml.etree import _Element

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PACKAGE = "application/oebps-package+xml"
_FONT_OBFUSCATION = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
"""Methods that only scramble the start of a font."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A file of a book in the order of reading.

    `navigation` if the book declares it a page for programs, `contents` if its guide says that the table of
    contents stands in it, alone or above other text.
    """

    path: str
    media_type: str
    navigation: bool
    contents: bool
    encrypted: bool


@dataclass(frozen=True, slots=True)
class Book:
    """What the package document says."""

    title: str | None
    language: str | None
    licence: str | None
    source_uri: str | None
    chapters: tuple[Chapter, ...]


def read_book(archive: Archive) -> Book:
    """The package document of an EPUB.

    Raises:
        DocumentFailure: `damaged`.
    """
    path = _package_path(archive)
    root = parse_xml(archive.read(path), declared_type=True)
    folder = posixpath.dirname(path)
    chapters = tuple(_chapters(root, folder, _encrypted(archive)))
    if not chapters:
        raise DocumentFailure("damaged", "the book names no file to read")
    return Book(
        title=_said(root, "title"),
        language=declared_language(_said(root, "language")),
        licence=_said(root, "rights"),
        source_uri=_said(root, "source"),
        chapters=chapters,
    )


def _package_path(archive: Archive) -> str:
    if archive.find(_CONTAINER) is None:
        raise DocumentFailure("damaged", f"the ZIP container holds no {_CONTAINER}, so it is no EPUB")
    for element in _named(parse_xml(archive.read(_CONTAINER)), "rootfile"):
        path = element.get("full-path", "")
        if element.get("media-type", _PACKAGE) == _PACKAGE and archive.find(path) is not None:
            return path
    raise DocumentFailure("damaged", "the package document of the book is missing in it")


def _chapters(root: "_Element", folder: str, encrypted: frozenset[str]) -> "list[Chapter]":
    items = {item.get("id", ""): item for item in _named(root, "item")}
    contents = {
        _path(reference.get("href", ""), folder)
        for reference in _named(root, "reference")
        if reference.get("type", "").lower() == "toc"
    }
    chapters = []
    for place in _named(root, "itemref"):
        item = items.get(place.get("idref", ""))
        if item is None:
            raise DocumentFailure("damaged", "the order of reading names a file that the book does not list")
        path = _path(item.get("href", ""), folder)
        navigation = "nav" in item.get("properties", "").split()
        media_type = item.get("media-type", "")
        chapters.append(Chapter(path, media_type, navigation, path in contents, path in encrypted))
    return chapters


def _encrypted(archive: Archive) -> frozenset[str]:
    """Files that only those who bought the book can read."""
    if archive.find(_ENCRYPTION) is None:
        return frozenset()
    found = set()
    for data in _named(parse_xml(archive.read(_ENCRYPTION)), "EncryptedData"):
        methods = {method.get("Algorithm", "") for method in _named(data, "EncryptionMethod")}
        if not methods <= _FONT_OBFUSCATION or not methods:
            found |= {_path(cipher.get("URI", ""), "") for cipher in _named(data, "CipherReference")}
    return frozenset(found)


def _path(reference: str, folder: str) -> str:
    """Name of the member that an address in the book leads to; none leads above the root of the container."""
    return posixpath.normpath(posixpath.join("/", folder, unquote(urlsplit(reference).path))).lstrip("/")


def _said(root: "_Element", name: str) -> str | None:
    """The first value of a kind in the metadata."""
    for metadata in _named(root, "metadata"):
        for element in _named(metadata, name):
            if text := " ".join("".join(map(str, element.itertext())).split()):
                return text
    return None


def _named(root: "_Element", name: str) -> "list[_Element]":
    """Elements of a name in any namespace: old books use several."""
    return [
        element
        for element in root.iter()
        if isinstance(element.tag, str) and element.tag.rpartition("}")[2] == name
    ]
