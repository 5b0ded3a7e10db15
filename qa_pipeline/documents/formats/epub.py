"""EPUB books: their chapters in the order of reading, each by the reader of HTML.

EPUB 3.3, parts 4 and 5: the container, the package document and the list of encrypted files. What a book
declares as navigation for programs is left out and counted, as is a page that is in no order of reading.
Nothing outside the container is ever opened.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.archives import ZIP_START, Archive, open_archive
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.html.boilerplate import count_comments
from qa_pipeline.documents.formats.html.parser import parse_tree, read_tree
from qa_pipeline.documents.formats.office.package import member_path, parse_xml
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import declared_language

if TYPE_CHECKING:
    from lxml.etree import _Element

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PACKAGE = "application/oebps-package+xml"
_FONT_OBFUSCATION = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
"""Methods that only scramble the start of a font."""
_PAGES = frozenset({".xhtml", ".html", ".htm"})
_READ = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document", ""})
_ROLES = {
    **dict.fromkeys(("pagebreak", "doc-pagebreak"), "page_number"),
    **dict.fromkeys(("noteref", "doc-noteref", "backlink", "doc-backlink"), "footnote_mark"),
    **dict.fromkeys(("toc", "doc-toc", "page-list", "landmarks"), "navigation"),
}
"""Parts of a chapter that are no text of the book, by their `epub:type` or `role`."""
_DOCTYPE = re.compile(r"<!DOCTYPE[^>\[]{0,1000}(?:\[[^\]]*\]\s*)?>", re.IGNORECASE)
_EMPTY = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)[\s/])"
    r"([a-z][\w:-]*)((?:\s[^<>]*)?)/>",
    re.IGNORECASE,
)
"""An empty element of XHTML that HTML would take for a start."""
_MATHS_PREFIX = re.compile(r"(</?)(?:m|mml|math):(?=m)")
"""The usual prefixes of MathML, which HTML knows without one."""


class _Chapter(NamedTuple):
    """A file of a book in the order of reading; `contents` if the guide sees the table of contents in it."""

    path: str
    media_type: str
    navigation: bool
    contents: bool


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one EPUB.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `archive_bomb`, `nested_too_deep`, `too_large` or `too_long`.
    """
    if not source.content.startswith(ZIP_START):
        raise DocumentFailure("damaged", "the file lacks the signature of an EPUB")
    archive = open_archive(source.content)
    package = _package_path(archive)
    root = parse_xml(archive.read(package), declared_type=True)
    chapters = dict.fromkeys(_list_chapters(root, posixpath.dirname(package)))  # one named twice is read once
    if not chapters:
        raise DocumentFailure("damaged", "the book names no file to read")
    encrypted = _find_encrypted(archive)
    omissions = Omissions()
    blocks: list[Block] = []
    missing = length = 0
    for chapter in chapters:
        if archive.find(chapter.path) is None:
            missing += 1
            continue
        if chapter.path in encrypted:
            raise DocumentFailure("encrypted", "the book is protected against copying and cannot be read")
        read_blocks = _read(archive, chapter, omissions, settings)
        length += sum(len(block.text) for block in read_blocks)
        check_length(length, settings)
        blocks += read_blocks
    if missing == len(chapters):
        raise DocumentFailure("damaged", "all files that the book names are missing in it")
    _count_unlisted(archive, {chapter.path for chapter in chapters}, omissions, settings)
    return ParsedFile(
        blocks=tuple(blocks),
        title=_read_metadata(root, "title"),
        language=declared_language(_read_metadata(root, "language")),
        source_uri=_read_metadata(root, "source"),
        licence=_read_metadata(root, "rights"),
        left_out=omissions.record(),
        notes=(f"files of the book that are missing in it: {missing}",) if missing else (),
    )


def _package_path(archive: Archive) -> str:
    if archive.find(_CONTAINER) is None:
        raise DocumentFailure("damaged", f"the ZIP container holds no {_CONTAINER}, so it is not an EPUB")
    for element in _find_elements(parse_xml(archive.read(_CONTAINER)), "rootfile"):
        path = element.get("full-path", "")
        if element.get("media-type", _PACKAGE) == _PACKAGE and archive.find(path) is not None:
            return path
    raise DocumentFailure("damaged", "the package document of the book is missing in it")


def _list_chapters(root: "_Element", folder: str) -> Iterator[_Chapter]:
    items = {item.get("id", ""): item for item in _find_elements(root, "item")}
    references = _find_elements(root, "reference")
    tables = (reference for reference in references if reference.get("type", "").lower() == "toc")
    contents = {_member_path(table.get("href", ""), folder) for table in tables}
    for place in _find_elements(root, "itemref"):
        item = items.get(place.get("idref", ""))
        if item is None:
            raise DocumentFailure("damaged", "the order of reading names a file that the book does not list")
        path = _member_path(item.get("href", ""), folder)
        navigation = "nav" in item.get("properties", "").split()
        yield _Chapter(path, item.get("media-type", ""), navigation, path in contents)


def _find_encrypted(archive: Archive) -> frozenset[str]:
    """Return the files that only those who bought the book can read."""
    if archive.find(_ENCRYPTION) is None:
        return frozenset()
    encrypted: set[str] = set()
    for data in _find_elements(parse_xml(archive.read(_ENCRYPTION)), "EncryptedData"):
        methods = {method.get("Algorithm", "") for method in _find_elements(data, "EncryptionMethod")}
        if not methods <= _FONT_OBFUSCATION or not methods:
            ciphers = _find_elements(data, "CipherReference")
            encrypted |= {_member_path(cipher.get("URI", ""), "") for cipher in ciphers}
    return frozenset(encrypted)


def _member_path(reference: str, folder: str) -> str:
    return member_path(urlsplit(reference).path, folder)


def _read_metadata(root: "_Element", name: str) -> str | None:
    groups = _find_elements(root, "metadata")
    values = (element for group in groups for element in _find_elements(group, name))
    texts = (" ".join("".join(map(str, value.itertext())).split()) for value in values)
    return next(filter(None, texts), None)


def _find_elements(root: "_Element", name: str) -> "list[_Element]":
    """Return the elements of a name in any namespace: old books use several."""
    return list(root.iter(f"{{*}}{name}"))


def _read(
    archive: Archive, chapter: _Chapter, omissions: Omissions, settings: DocumentSettings
) -> list[Block]:
    if chapter.media_type not in _READ:
        omissions.add("image" if chapter.media_type.startswith("image/") else "media")
        return []
    member = archive.find(chapter.path)
    if member is not None and member.size > settings.max_bytes:
        limit = settings.max_bytes
        raise DocumentFailure("too_large", f"a chapter is larger than documents.max_bytes = {limit}")
    content = archive.read(chapter.path)
    if chapter.navigation:
        _count_page(content, "navigation", omissions)
        return []
    return _read_chapter(content, omissions, contents=chapter.contents)


def _read_chapter(content: bytes, omissions: Omissions, *, contents: bool = False) -> list[Block]:
    """Return the blocks of XHTML, read as HTML once elements that end themselves have an end tag."""
    markup = _MATHS_PREFIX.sub(r"\1", _DOCTYPE.sub("", decode(content, declared=True), count=1))
    markup = _EMPTY.sub(r"<\1\2></\1>", markup)
    tree = parse_tree(markup)
    count_comments(tree, markup, omissions)
    if tree.head is not None and (title := tree.head.css_first("title")) is not None and title.text().strip():
        omissions.add("metadata", title.text())
    dropped: dict[int, str] = {}
    for node in tree.css("*"):
        attributes = node.attributes
        roles = f"{attributes.get('epub:type') or ''} {attributes.get('role') or ''}".split()
        if what := next((_ROLES[role] for role in roles if role in _ROLES), None):
            dropped[node.mem_id] = what
    return read_tree(tree, omissions, contents=contents, dropped=dropped)


def _count_page(content: bytes, what: str, omissions: Omissions) -> None:
    within = Omissions()
    omissions.add(what, " ".join(block.text for block in _read_chapter(content, within)))
    omissions.update(within.record())


def _count_unlisted(
    archive: Archive, listed: Iterable[str], omissions: Omissions, settings: DocumentSettings
) -> None:
    """Count the pages beside the order of reading, such as the table of contents for programs."""
    members = {member.path for path in listed if (member := archive.find(path))}
    for member in archive.members:
        if member.path in members or PurePosixPath(member.path).suffix.lower() not in _PAGES:
            continue
        try:
            content = archive.read(member.name) if member.size <= settings.max_bytes else b""
            _count_page(content, "unlisted_page", omissions)
        except DocumentFailure:  # whatever is wrong with it, the book does without it
            omissions.add("unlisted_page")
