"""EPUB books: their chapters in the order of reading, each by the reader of HTML.

EPUB 3.3, parts 4 and 5: the container, the package document and the list of encrypted files. What a book
declares as navigation for programs is left out and counted. Nothing outside the container is opened.
"""

import posixpath
import re
from collections.abc import Set
from contextlib import suppress
from typing import TYPE_CHECKING
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
    folder = posixpath.dirname(package)
    guide = (part for part in root.iter("{*}reference") if part.get("type", "").lower() == "toc")
    contents = {_member_path(part.get("href", ""), folder) for part in guide}
    encrypted = _find_encrypted(archive)
    omissions = Omissions()
    blocks: list[Block] = []
    chapters = _chapters(root, folder)
    missing = length = 0
    for path, item in chapters.items():
        if (member := archive.find(path)) is None:
            missing += 1
        elif path in encrypted:
            raise DocumentFailure("encrypted", "the book is protected against copying and cannot be read")
        elif member.size > settings.max_bytes:
            limit = f"documents.max_bytes = {settings.max_bytes}"
            raise DocumentFailure("too_large", f"a chapter is larger than {limit}")
        else:
            read, kind = Omissions(), item.get("media-type", "")
            written = _read_chapter(archive.read(path), read, path in contents) if kind in _READ else []
            omissions.update(read.record())
            if kind not in _READ:
                omissions.add("image" if kind.startswith("image/") else "media")
            elif "nav" in item.get("properties", "").split():
                omissions.add("navigation", " ".join(block.text for block in written))
                written = []
            blocks += written
            length += sum(len(block.text) for block in written)
            check_length(length, settings)
    _count_outside(archive, root, folder, {*chapters, *encrypted}, omissions)
    if missing == len(chapters):
        raise DocumentFailure("damaged", "all files that the book names are missing in it")
    return ParsedFile(
        blocks=tuple(blocks),
        title=_metadata(root, "title"),
        language=declared_language(_metadata(root, "language")),
        source_uri=_metadata(root, "source"),
        licence=_metadata(root, "rights"),
        left_out=omissions.record(),
        notes=(f"files of the book that are missing in it: {missing}",) if missing else (),
    )


def _package_path(archive: Archive) -> str:
    if archive.find(_CONTAINER) is None:
        raise DocumentFailure("damaged", f"the ZIP container holds no {_CONTAINER}, so it is not an EPUB")
    for element in parse_xml(archive.read(_CONTAINER)).iter("{*}rootfile"):
        path = element.get("full-path", "")
        if element.get("media-type", _PACKAGE) == _PACKAGE and archive.find(path) is not None:
            return path
    raise DocumentFailure("damaged", "the package document of the book is missing in it")


def _chapters(root: "_Element", folder: str) -> "dict[str, _Element]":
    """Return the listed files by their paths in the order of reading."""
    items = {item.get("id", ""): item for item in root.iter("{*}item")}
    places = [items.get(place.get("idref", "")) for place in root.iter("{*}itemref")]
    if None in places or not places:
        raise DocumentFailure("damaged", "the order of reading is empty, or names a file that is not listed")
    return {_member_path(item.get("href", ""), folder): item for item in places if item is not None}


def _count_outside(
    archive: Archive, root: "_Element", folder: str, known: Set[str], omissions: Omissions
) -> None:
    """Count the text of pages that the order of reading leaves out, such as a list of contents."""
    for item in root.iter("{*}item"):
        path = _member_path(item.get("href", ""), folder)
        if item.get("media-type", "") in _READ and path not in known and archive.find(path):
            is_contents = "nav" in item.get("properties", "").split()
            with suppress(DocumentFailure):
                words = " ".join(block.text for block in _read_chapter(archive.read(path), omissions, False))
                if words:
                    omissions.add("navigation" if is_contents else "outside_order", words)


def _find_encrypted(archive: Archive) -> frozenset[str]:
    """Return the files that only those who bought the book can read."""
    if archive.find(_ENCRYPTION) is None:
        return frozenset()
    encrypted: set[str] = set()
    for data in parse_xml(archive.read(_ENCRYPTION)).iter("{*}EncryptedData"):
        methods = {method.get("Algorithm", "") for method in data.iter("{*}EncryptionMethod")}
        if not methods or not methods <= _FONT_OBFUSCATION:
            encrypted |= {_member_path(part.get("URI", ""), "") for part in data.iter("{*}CipherReference")}
    return frozenset(encrypted)


def _member_path(reference: str, folder: str) -> str:
    return member_path(urlsplit(reference).path, folder)


def _metadata(root: "_Element", name: str) -> str | None:
    values = (element for group in root.iter("{*}metadata") for element in group.iter(f"{{*}}{name}"))
    texts = (" ".join("".join(map(str, value.itertext())).split()) for value in values)
    return next(filter(None, texts), None)


def _read_chapter(content: bytes, omissions: Omissions, contents: bool) -> list[Block]:
    """Return the blocks of XHTML, read as HTML once elements that end themselves have an end tag."""
    markup = _MATHS_PREFIX.sub(r"\1", _DOCTYPE.sub("", decode(content, declared=True), count=1))
    markup = _EMPTY.sub(r"<\1\2></\1>", markup)
    tree = parse_tree(markup)
    count_comments(tree, markup, omissions)
    title = None if tree.head is None else tree.head.css_first("title")
    if title is not None and title.text().strip():
        omissions.add("metadata", title.text())
    dropped: dict[int, str] = {}
    for node in tree.css("[role], [epub\\:type]"):
        attributes = node.attributes
        roles = f"{attributes.get('epub:type') or ''} {attributes.get('role') or ''}".split()
        if what := next((_ROLES[role] for role in roles if role in _ROLES), None):
            dropped[node.mem_id] = what
    return read_tree(tree, omissions, contents=contents, dropped=dropped)
