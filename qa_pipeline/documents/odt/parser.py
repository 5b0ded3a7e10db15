"""OpenDocument texts (ODT, FODT), by way of the reader of HTML pages.

What belongs here: the parts of a file, and what is left out of it. What does not: its elements as HTML
(`markup`), and what HTML means for the text (`html`).

Libraries that read ODT keep no bounds on a hostile file, and the well-kept one (odfdo) writes Markdown only,
without the numbers of lists; so the elements are renamed here.
"""

from typing import TYPE_CHECKING

from qa_pipeline.documents.archives import ZIP_START, open_archive
from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.html.parser import read_fragment
from qa_pipeline.documents.language import declared_language
from qa_pipeline.documents.odt.markup import OFFICE, Markup
from qa_pipeline.documents.omissions import Omissions
from qa_pipeline.documents.xml_trees import parse_xml
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_DC = "{http://purl.org/dc/elements/1.1/}"
_PARTS = ("content.xml", "styles.xml", "meta.xml")
_TEXT = f"{OFFICE}body/{OFFICE}text"


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one OpenDocument text.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `archive_bomb`, `nested_too_deep`, `unsupported_format` or
            `too_long`.
    """
    trees = _trees(source.content, settings)
    body = trees[0].find(_TEXT)
    if body is None:
        raise DocumentFailure("unsupported_format", "the file holds no OpenDocument text")
    left = Omissions()
    markup = Markup(trees, left).of(body)
    if len(markup) > settings.max_characters * 4:
        limit = settings.max_characters
        raise DocumentFailure("too_long", f"the text is longer than documents.max_characters = {limit}")
    blocks = read_fragment(markup, left)
    titled = any(block.kind == "heading" and block.level == 1 for block in blocks[:1])
    return ParsedFile(
        blocks=tuple(blocks),
        title=None if titled else _said(trees, "title"),
        language=declared_language(_said(trees, "language")),
        left_out=left.record(),
    )


def _trees(content: bytes, settings: DocumentSettings) -> "list[_Element]":
    """The parts of a container, or the one flat file that is all of them."""
    if not content.startswith(ZIP_START):
        return [parse_xml(content)]
    archive = open_archive(content, settings)
    manifest = archive.find("META-INF/manifest.xml")
    if manifest is not None and b"encryption-data" in archive.read(manifest.name):
        raise DocumentFailure("encrypted", "the content opens only with a password")
    return [parse_xml(archive.read(name)) for name in _PARTS if name == _PARTS[0] or archive.find(name)]


def _said(trees: "list[_Element]", name: str) -> str | None:
    """The first value of a kind in the metadata."""
    found = (element.text for tree in trees for element in tree.iter(f"{_DC}{name}"))
    return next((text.strip() for text in found if text and text.strip()), None)
