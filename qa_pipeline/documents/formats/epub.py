"""Read EPUB books (EPUB 3.3, parts 4 and 5): their chapters in reading order, by the HTML reader."""

import posixpath
import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from qa_pipeline.documents.assembly import Omissions, check_length, visible
from qa_pipeline.documents.corpus.archives import ZIP_START, Archive, open_archive
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.html.boilerplate import count_comments, remove, remove_navigation
from qa_pipeline.documents.formats.html.parser import parse_tree, read_tree
from qa_pipeline.documents.formats.office.package import member_path, parse_xml
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import declared_language

if TYPE_CHECKING:
    from lxml.etree import _Element

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PACKAGE = "application/oebps-package+xml"
_READ = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document", ""})
_ROLES = {
    **dict.fromkeys(("pagebreak", "doc-pagebreak"), "page_number"),
    **dict.fromkeys(("noteref", "doc-noteref", "backlink", "doc-backlink"), "footnote_mark"),
    **dict.fromkeys(("toc", "doc-toc", "page-list", "landmarks"), "navigation"),
}
"""Parts of a chapter outside its text, by their `epub:type` or `role`."""
_DOCTYPE = re.compile(r"<!DOCTYPE[^>\[]{0,1000}(?:\[[^\]]*\]\s*)?>", re.IGNORECASE)
_EMPTY = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)[\s/])"
    r"([a-z][\w:-]*)((?:\s[^<>]*)?)/>",
    re.IGNORECASE,
)
"""An empty element of XHTML that HTML would take for a start."""
_MATHS_PREFIX = re.compile(r"(</?)(?:m|mml|math):(?=m)")
"""Prefixes of MathML, which HTML lacks."""


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse an EPUB."""
    if not source.content.startswith(ZIP_START):
        raise DocumentFailure("damaged", "the file lacks the signature of an EPUB")
    archive = open_archive(source.content)
    package = _package_path(archive)
    root = parse_xml(archive.read(package), declared_type=True)
    folder = posixpath.dirname(package)
    listed = {item.get("id", ""): item for item in root.iter("{*}item")}
    order = [listed.get(place.get("idref", "")) for place in root.iter("{*}itemref")]
    if None in order or not order:
        raise DocumentFailure("damaged", "the order of reading is empty, or names a file that is not listed")
    chapters = {_path_of(item, folder): item for item in order if item is not None}
    missing = sum(archive.find(path) is None for path in chapters)
    if missing == len(chapters):
        raise DocumentFailure("damaged", "all files that the book names are missing in it")
    if any(archive.find(path) for path in chapters.keys() & _find_encrypted(archive)):
        raise DocumentFailure("encrypted", "the book is protected against copying and cannot be read")
    guide = (part for part in root.iter("{*}reference") if part.get("type", "").lower() == "toc")
    contents = {_path_of(part, folder) for part in guide}
    omissions = Omissions()
    blocks: list[Block] = []
    length = 0
    for path, item in chapters.items():
        chapter = _read_page(archive, path, item, omissions, is_contents=path in contents)
        length += sum(len(block.text) for block in chapter)
        check_length(length, settings)
        blocks += chapter
    for item in listed.values():
        if item.get("media-type", "") in _READ and (path := _path_of(item, folder)) not in chapters:
            with suppress(DocumentFailure):
                text = "".join(block.text for block in _read_page(archive, path, item, omissions))
                omissions.count("outside_order", int(bool(text)), visible(text))
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


def _find_encrypted(archive: Archive) -> frozenset[str]:
    if archive.find(_ENCRYPTION) is None:
        return frozenset()
    references = parse_xml(archive.read(_ENCRYPTION)).iter("{*}CipherReference")
    return frozenset(member_path(urlsplit(part.get("URI", "")).path, "") for part in references)


def _path_of(item: "_Element", folder: str) -> str:
    return member_path(urlsplit(item.get("href", "")).path, folder)


def _metadata(root: "_Element", name: str) -> str | None:
    values = (element for group in root.iter("{*}metadata") for element in group.iter(f"{{*}}{name}"))
    texts = (" ".join("".join(map(str, value.itertext())).split()) for value in values)
    return next(filter(None, texts), None)


def _read_page(
    archive: Archive, path: str, item: "_Element", omissions: Omissions, *, is_contents: bool = False
) -> list[Block]:
    """Return the blocks of XHTML, read as HTML once elements that end themselves have an end tag."""
    kind, is_menu = item.get("media-type", ""), "nav" in item.get("properties", "").split()
    if archive.find(path) is None:
        return []
    if kind not in _READ:
        omissions.add("image" if kind.startswith("image/") else "media")
        return []
    markup = _MATHS_PREFIX.sub(r"\1", _DOCTYPE.sub("", decode(archive.read(path), declared=True), count=1))
    markup = _EMPTY.sub(r"<\1\2></\1>", markup)
    tree = parse_tree(markup)
    count_comments(tree, markup, omissions)
    title = None if tree.head is None else tree.head.css_first("title")
    if title is not None and title.text().strip():
        omissions.add("metadata", title.text())
    for node in tree.css("[role], [epub\\:type]"):
        attributes = node.attributes
        roles = f"{attributes.get('epub:type') or ''} {attributes.get('role') or ''}".split()
        if what := next((_ROLES[role] for role in roles if role in _ROLES), None):
            remove([node], omissions, what)
    if is_contents and tree.body is not None:
        remove_navigation(tree.body, omissions)
    blocks = read_tree(tree, omissions)
    if is_menu:
        omissions.add("navigation", " ".join(block.text for block in blocks))
    return [] if is_menu else blocks
