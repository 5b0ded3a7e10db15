"""PowerPoint files (PPTX, PPTM, PPSX): slides as pages, with their titles, tables, charts and notes.

What belongs here: the entry point, which slides are read, and the notes under them. What does not: shapes
(`shapes`), and the container (`office/package`).

The notes of a speaker follow their slide by default: slides hold catchwords, and what they mean is often said
only there. They are not shown to an audience, so a setting leaves them out. Like Word files these are read
with lxml alone: python-pptx knows nothing of hidden slides and diagrams, and drops what has several forms.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.ooxml.drawings import TEXT, DrawnParts, all_text
from qa_pipeline.documents.formats.ooxml.package import LINK, SLIDES, Package, open_package, read_file
from qa_pipeline.documents.formats.pptx.shapes import TREE, Layout, SlideReader, placeholder_of, read_layout
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_FALSE = frozenset({"0", "false"})


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one PowerPoint file.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `unsupported_format`, `archive_bomb`, `nested_too_deep`,
            `too_many_pages` or `too_long`.
    """
    package, main = open_package(source.content, "PowerPoint", settings)
    slides = _slides(package, main, settings)
    presentation = _Presentation(package, settings)
    blocks: list[Block] = []
    length = 0
    for number, part in enumerate(slides, start=1):
        found = presentation.read(part, number)
        length += sum(len(block.text) for block in found)
        if length > settings.max_characters:
            limit = settings.max_characters
            raise DocumentFailure("too_long", f"the text is longer than documents.max_characters = {limit}")
        blocks += found
    for _ in package.linked(main, "vbaProject"):
        presentation.omissions.add("macro")
    return read_file(package, blocks, presentation.omissions)


def _slides(package: Package, main: str, settings: DocumentSettings) -> list[str]:
    """Names of the slides in the order in which they are shown."""
    links = package.links(main)
    named = [links.get(slide.get(f"{LINK}id", "")) for slide in package.tree(main).iter(f"{SLIDES}sldId")]
    targets = [link.target for link in named if link is not None and link.target is not None]
    if len(targets) < len(named):
        raise DocumentFailure("damaged", "a slide that the presentation names is missing in it")
    slides = list(dict.fromkeys(targets))
    if len(slides) > settings.max_pages:
        limit = settings.max_pages
        raise DocumentFailure("too_many_pages", f"{len(slides)} slides, documents.max_pages = {limit}")
    return slides


class _Presentation:
    """Reads the slides of one file; layouts that several of them share are read once."""

    def __init__(self, package: Package, settings: DocumentSettings) -> None:
        self.package = package
        self.settings = settings
        self.omissions = Omissions()
        self._layouts: dict[str, Layout] = {}
        self._drawn = DrawnParts(package, self.omissions)
        self._met: set[str] = set()

    def read(self, part: str, number: int) -> list[Block]:
        """Blocks of a slide and the notes on it."""
        root = self.package.tree(part)
        if root.get("show") in _FALSE:
            self.omissions.add("hidden_slide", _text_of(root))
            for notes in self._new(self.package.linked(part, "notesSlide")):
                self.omissions.add("speaker_note", _text_of(self.package.tree(notes)))
            return []
        layout = self._layout(part)
        tree = root.find(TREE)
        blocks: list[Block] = []
        if tree is not None:
            level = 1 if number == 1 and _is_title_slide(layout, tree) else 2
            blocks = SlideReader(part, layout, self._drawn, self.omissions).read(tree, level)
        blocks += self._notes(part)
        for comments in self._new(self.package.linked(part, "comments")):
            for comment in self.package.tree(comments):
                self.omissions.add("comment", _text_of(comment))
        return [replace(block, page=number) for block in blocks]

    def _layout(self, part: str) -> Layout:
        name = next(iter(self.package.linked(part, "slideLayout")), "")
        if name not in self._layouts:
            self._layouts[name], behind = read_layout(self.package, part)
            for master in self._new(behind):
                self._count_master(master)
        return self._layouts[name]

    def _new(self, parts: list[str]) -> list[str]:
        """Those of the parts that were not met before: several slides may name the same."""
        new = [part for part in parts if part not in self._met]
        self._met.update(new)
        return new

    def _count_master(self, part: str) -> None:
        """Text that a layout or master shows on each slide, such as the name of a company."""
        for shape in self.package.tree(part).iter(f"{SLIDES}sp"):
            if placeholder_of(shape) is None and (text := all_text(shape)):
                self.omissions.add("slide_master", text)

    def _notes(self, part: str) -> list[Block]:
        for name in self._new(self.package.linked(part, "notesSlide")):
            notes = SlideReader(name, Layout(), self._drawn, self.omissions)
            tree = self.package.tree(name).find(TREE)
            found = [] if tree is None else notes.read(tree, 2)
            if self.settings.speaker_notes:
                return found
            for block in found:
                self.omissions.add("speaker_note", block.text)
        return []


def _is_title_slide(layout: Layout, tree: "_Element") -> bool:
    roles = (placeholder_of(shape) for shape in tree.iterchildren(f"{SLIDES}sp"))
    return layout.kind == "title" or any(role is not None and role.type == "ctrTitle" for role in roles)


def _text_of(element: "_Element") -> str:
    return "".join(text.text or "" for text in element.iter(TEXT, f"{SLIDES}text"))
