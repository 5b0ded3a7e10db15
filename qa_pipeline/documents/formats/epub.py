"""EPUB books: their chapters in the order of reading.

What belongs here: the entry point, and which files of a book are read. What does not: the package document
(`book`) and a chapter (`chapters`).

A table of contents repeats headings and is left out, as is a page that stands in no order of reading. Nothing
outside the container is ever opened.
"""

import posixpath
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from qa_pipeline.corpus.archives import ZIP_START, Archive, open_archive
from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.assembly import Omissions, visible
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.html.reader import ASIDES, HEADINGS
from qa_pipeline.documents.formats.ooxml.package import parse_xml
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import declared_language

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


_TYPE = "{http://www.idpf.org/2007/ops}type"
_DROPPED = {
    "script": "script",
    "style": "script",
    "nav": "navigation",
    "img": "image",
    "image": "image",
    "svg": "image",
    "picture": "image",
    "audio": "embedded_object",
    "video": "embedded_object",
    "iframe": "embedded_object",
    "object": "embedded_object",
    "embed": "embedded_object",
    "canvas": "embedded_object",
    "map": "embedded_object",
    "annotation": "annotation",
    "annotation-xml": "annotation",
    "button": "form_control",
    "select": "form_control",
    "textarea": "form_control",
    "input": "form_control",
    "template": "hidden_text",
}
_IN_HEAD = {"title": "metadata", "style": "script", "script": "script"}
_DROPPED_ROLES = {
    "pagebreak": "page_number",
    "doc-pagebreak": "page_number",
    "noteref": "note_mark",
    "doc-noteref": "note_mark",
    "backlink": "note_mark",
    "doc-backlink": "note_mark",
    "toc": "navigation",
    "doc-toc": "navigation",
    "page-list": "navigation",
    "landmarks": "navigation",
}
_RENAMED = {**dict.fromkeys(("aside", "header", "footer", "dialog", "noscript"), "div"), "menu": "ul"}
_EMPTY = re.compile(r"<(?P<name>[a-zA-Z][\w:-]*)(?P<rest>(?:\s[^<>]*)?)/>")
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905


def read_chapter(content: bytes, omissions: Omissions) -> list[Block]:
    """Blocks of a chapter.

    Raises:
        DocumentFailure: its bytes cannot be decoded, or elements are nested too deep.
    """
    from lxml import etree

    root = _tree(content)
    body = next((element for element in root.iter() if _local(element) == "body"), root)
    _count_unseen(root, omissions)
    _clean(body, omissions)
    markup = etree.tostring(body, encoding="unicode", method="html", with_tail=False)
    return read_fragment(markup, omissions)


def is_list_of_links(content: bytes) -> bool:
    """Whether most of the text below the headings of a page is links, as in a table of contents."""
    root = _tree(content)
    counts = {"a": 0, "body": 0}
    for element in root.iter():
        name = _local(element)
        length = visible("".join(map(str, element.itertext()))) if name in counts or name in HEADINGS else 0
        counts["a" if name == "a" else "body"] += -length if name in HEADINGS else length
    return 2 * counts["a"] >= counts["body"]


def _count_unseen(root: "_Element", omissions: Omissions) -> None:
    """Count and take out comments, and count what the head of a page holds."""
    from lxml import etree

    for comment in root.iter(etree.Comment):
        omissions.add("comment", comment.text or "")
    etree.strip_elements(root, etree.Comment, with_tail=False)
    for head in root:
        if _local(head) == "head":
            for element in head:
                what, text = _IN_HEAD.get(_local(element)), "".join(map(str, element.itertext()))
                if what and text.strip():
                    omissions.add(what, text)


def _tree(content: bytes) -> "_Element":
    """XHTML as it should be, else what a reader of books that forgives makes of it."""
    from lxml import etree

    try:
        return parse_xml(content, declared_type=True, comments=True)
    except DocumentFailure as failure:
        if failure.reason == "nested_too_deep":
            raise
    markup = _EMPTY.sub(_with_end_tag, decode(content, declared=True))
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_pis=True)
    try:
        root = etree.fromstring(markup.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise DocumentFailure("damaged", "a chapter is neither XHTML nor HTML") from error
    if root is None:
        raise DocumentFailure("damaged", "a chapter holds nothing")
    return root


def _with_end_tag(tag: "re.Match[str]") -> str:
    """An empty element of XHTML in a form that HTML does not take for a start."""
    name, rest = tag["name"], tag["rest"]
    return tag[0] if name.lower() in _VOID else f"<{name}{rest}></{name}>"


def _clean(body: "_Element", omissions: Omissions) -> None:
    pending = [body]
    while pending:
        element = pending.pop()
        for child in list(element):
            if not isinstance(child.tag, str):
                continue  # a reference to an entity of HTML, which the reader of pages knows
            what = _left_out_as(child)
            if what is None:
                pending.append(child)
            else:
                omissions.add(what, " ".join([child.get("alt", ""), *map(str, child.itertext())]))
                _empty(child)
        _plain(element)


def _left_out_as(element: "_Element") -> str | None:
    if element.get("hidden") is not None:
        return "hidden_text"
    roles = f"{element.get(_TYPE, '')} {element.get('epub:type', '')} {element.get('role', '')}".split()
    by_role = next((_DROPPED_ROLES[role] for role in roles if role in _DROPPED_ROLES), None)
    return by_role or _DROPPED.get(_local(element))


def _empty(element: "_Element") -> None:
    """Take out what stands in an element, but not the text that follows it."""
    del element[:]
    element.attrib.clear()
    element.text = None
    element.tag = "span"


def _plain(element: "_Element") -> None:
    """An element without namespace, and without what makes a reader of pages take it for furniture."""
    name = _local(element)
    if name in _RENAMED or element.tag.startswith("{"):
        element.tag = _RENAMED.get(name, name)
    asides = ASIDES.intersection(element.get("class", "").lower().split())
    reach = {name: element.get(name, "") for name in ("colspan", "rowspan")}
    element.attrib.clear()  # their names may hold characters that nothing can be asked for by
    for attribute, value in reach.items():
        if value.isascii() and value.isdecimal():
            element.set(attribute, value)
    if asides:
        element.set("class", " ".join(sorted(asides)))


def _local(element: "_Element") -> str:
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""


_PAGES = frozenset({".xhtml", ".html", ".htm"})
_READ = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document", ""})


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one EPUB.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `archive_bomb`, `nested_too_deep`, `too_large` or `too_long`.
    """
    if not source.content.startswith(ZIP_START):
        raise DocumentFailure("damaged", "the file does not begin as an EPUB")
    archive = open_archive(source.content, settings)
    book = read_book(archive)
    omissions = Omissions()
    blocks: list[Block] = []
    missing = length = 0
    chapters = dict.fromkeys(book.chapters)  # one named twice is read once
    for chapter in chapters:
        member = archive.find(chapter.path)
        if member is None:
            missing += 1
            continue
        found = _read(archive, chapter, member.size, omissions, settings)
        length += sum(len(block.text) for block in found)
        if length > settings.max_characters:
            limit = settings.max_characters
            raise DocumentFailure("too_long", f"the text is longer than documents.max_characters = {limit}")
        blocks += found
    if missing == len(chapters):
        raise DocumentFailure("damaged", "all files that the book names are missing in it")
    _count_unlisted(archive, [chapter.path for chapter in chapters], omissions, settings)
    return ParsedFile(
        blocks=tuple(blocks),
        title=book.title,
        language=book.language,
        source_uri=book.source_uri,
        licence=book.licence,
        left_out=omissions.record(),
        notes=(f"files of the book that are missing in it: {missing}",) if missing else (),
    )


def _read(
    archive: Archive, chapter: Chapter, size: int, omissions: Omissions, settings: DocumentSettings
) -> list[Block]:
    if chapter.encrypted:
        raise DocumentFailure("encrypted", "the book is protected against copying and cannot be read")
    if chapter.media_type not in _READ:
        omissions.add("image" if chapter.media_type.startswith("image/") else "embedded_object")
        return []
    if size > settings.max_bytes:
        limit = settings.max_bytes
        raise DocumentFailure("too_large", f"a chapter is larger than documents.max_bytes = {limit}")
    content = archive.read(chapter.path)
    if not chapter.navigation and not (chapter.contents and is_list_of_links(content)):
        return read_chapter(content, omissions)
    _count_page(content, "navigation", omissions)
    return []


def _count_page(content: bytes, what: str, omissions: Omissions) -> None:
    """Count all that a page holds as left out."""
    within = Omissions()
    omissions.add(what, " ".join(block.text for block in read_chapter(content, within)))
    omissions.update(within.record())


def _count_unlisted(
    archive: Archive, listed: Collection[str], omissions: Omissions, settings: DocumentSettings
) -> None:
    """Pages beside the order of reading, such as the table of contents that only programs use."""
    members = {member.path for path in listed if (member := archive.find(path))}
    for member in archive.members:
        if member.path in members or PurePosixPath(member.path).suffix.lower() not in _PAGES:
            continue
        try:
            content = archive.read(member.name) if member.size <= settings.max_bytes else b""
            _count_page(content, "unlisted_page", omissions)
        except DocumentFailure:  # whatever is wrong with it, the book does without it
            omissions.add("unlisted_page")
