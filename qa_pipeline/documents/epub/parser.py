"""EPUB books: their chapters in the order of reading.

What belongs here: the entry point, and which files of a book are read. What does not: the package document
(`book`) and a chapter (`chapters`).

A table of contents repeats headings and is left out, as is a page that stands in no order of reading. Nothing
outside the container is ever opened.
"""

from collections.abc import Collection
from pathlib import PurePosixPath

from qa_pipeline.documents.archives import ZIP_START, Archive, open_archive
from qa_pipeline.documents.epub.book import Chapter, read_book
from qa_pipeline.documents.epub.chapters import is_list_of_links, read_chapter
from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.omissions import Omissions
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

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
