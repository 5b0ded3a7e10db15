"""Read EPUB books (EPUB 3.3, parts 4 and 5): their chapters in reading order, by the HTML reader."""

import posixpath
import re
from collections.abc import Container
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.office.package import ZIP_START, Archive, member_path, parse_xml
from qa_pipeline.documents.formats.text import decode
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import declared_language

if TYPE_CHECKING:
    from lxml.etree import _Element

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGE_TYPES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document", ""})
_DOCTYPE = re.compile(r"<!DOCTYPE[^>\[]{0,1000}(?:\[[^\]]*\]\s*)?>", re.IGNORECASE)  # `<!DOCTYPE a []>`
_EMPTY_ELEMENT = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)[\s/])"
    r"([a-z][\w:-]*)((?:\s[^<>]*)?)/>",
    re.IGNORECASE,
)  # an element such as `<div/>`, which HTML would take for a start
_MATHS_PREFIX = re.compile(r"(</?)(?:m|mml|math):(?=m)")  # the prefix of `<m:math>`, which HTML lacks


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse an EPUB."""
    if not source.content.startswith(ZIP_START):
        raise DocumentFailure("damaged", "the file lacks the signature of an EPUB")
    archive = Archive(source.content)
    package_path = _find_package(archive)
    package = parse_xml(archive.read(package_path), allows_doctype=True)
    folder = posixpath.dirname(package_path)
    manifest = {item.get("id", ""): item for item in package.iter("{*}item")}
    spine = [manifest.get(reference.get("idref", "")) for reference in package.iter("{*}itemref")]
    if None in spine or not spine:
        raise DocumentFailure("damaged", "the reading order is empty or names an unlisted file")
    listed = {_path_of(item, folder): item for item in spine if item is not None}  # in reading order
    chapters = {path: item for path, item in listed.items() if archive.find(path) is not None}
    if not chapters:
        raise DocumentFailure("damaged", "every file that the book lists is missing")
    _refuse_encrypted(archive, chapters)
    omissions = Omissions()
    blocks: list[Block] = []
    length = 0
    for path, item in chapters.items():
        chapter = _read_page(archive, path, item, omissions)
        length += sum(len(block.text) for block in chapter)
        check_length(length, settings)
        blocks += chapter
    for item in manifest.values():
        if _path_of(item, folder) not in listed and item.get("media-type", "") in _PAGE_TYPES:
            is_contents = "nav" in item.get("properties", "").split()
            omissions.add("navigation" if is_contents else "outside_order")
    missing = len(listed) - len(chapters)
    return ParsedFile(
        blocks=tuple(blocks),
        title=_metadata(package, "title"),
        language=declared_language(_metadata(package, "language")),
        source_uri=_metadata(package, "source"),
        licence=_metadata(package, "rights"),
        left_out=omissions.record(),
        notes=(f"files of the book that are missing in it: {missing}",) if missing else (),
    )


def _find_package(archive: Archive) -> str:
    """Return the path of the package document, such as `OEBPS/content.opf`."""
    if archive.find(_CONTAINER) is None:
        raise DocumentFailure("damaged", f"the ZIP container lacks {_CONTAINER}, so it is not an EPUB")
    for element in parse_xml(archive.read(_CONTAINER)).iter("{*}rootfile"):
        path = element.get("full-path", "")
        if archive.find(path) is not None:
            return path
    raise DocumentFailure("damaged", "the book lacks its package document")


def _refuse_encrypted(archive: Archive, chapters: Container[str]) -> None:
    """Raise a DocumentFailure if a chapter is encrypted; fonts may be."""
    if archive.find(_ENCRYPTION) is None:
        return
    references = parse_xml(archive.read(_ENCRYPTION)).iter("{*}CipherReference")
    encrypted = (member_path(urlsplit(reference.get("URI", "")).path, "") for reference in references)
    if any(path in chapters for path in encrypted):
        raise DocumentFailure("encrypted", "the book is protected against copying and cannot be read")


def _path_of(item: "_Element", folder: str) -> str:
    return member_path(urlsplit(item.get("href", "")).path, folder)


def _metadata(package: "_Element", name: str) -> str | None:
    """Return the first text of an element such as `dc:title`."""
    elements = package.iterfind(f".//{{*}}metadata//{{*}}{name}")
    texts = (" ".join("".join(map(str, element.itertext())).split()) for element in elements)
    return next(filter(None, texts), None)


def _read_page(archive: Archive, path: str, item: "_Element", omissions: Omissions) -> list[Block]:
    """Return the blocks of a page, an `item` of the manifest; an item other than HTML is counted."""
    media_type = item.get("media-type", "")
    if media_type not in _PAGE_TYPES:
        omissions.add("image" if media_type.startswith("image/") else "media")
        return []
    markup = _DOCTYPE.sub("", decode(archive.read(path), declared=True), count=1)
    markup = _EMPTY_ELEMENT.sub(r"<\1\2></\1>", _MATHS_PREFIX.sub(r"\1", markup))
    return read_fragment(markup, omissions, removes_menus=False)
