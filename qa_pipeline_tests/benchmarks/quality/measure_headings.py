"""How many headings of real documents become sections of the right level, against their own markup.

    python -m qa_pipeline_tests.benchmarks.quality.measure_headings FOLDER ...

Prints one JSON line a folder.
With `--show` each heading that was missed, invented or given another level is a line on standard error.

The markup is read by means the package does not use: Markdown by patterns outside fenced code,
reStructuredText by the lines drawn under and over titles, whose order of appearance is their level, HTML by
the parser of the standard library. Headings are compared by their letters and digits.

Not counted, since they open no section of the text: headings of boxes such as notes and examples (by the
class of the box), of navigation and hidden parts, and of lists of links with nothing else below them; in
reStructuredText anything indented. The title in the header lines of a Python Enhancement Proposal counts as
its first heading, above all others.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import polars as pl

from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

Heading = tuple[int, str]

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HASHES = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*")
_FRONT = re.compile(r"\A(---|\+\+\+)\n.*?\n\1[ \t]*\n", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*(?:\s[^()]*)?\)|\[[^\[\]]*\])")
_ATTRIBUTES = re.compile(r"\{\s*:?\s*[#.][^{}]*\}")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_LINE = re.compile(r"([!-/:-@\[-`{-~])\1*")
_ROLE = re.compile(r":[a-z:]+:`|`__?\b|[`*|]")
_TARGET = re.compile(r"\s*<[^<>]*>`")
_BOX = re.compile(r"note|warning|example|info|tip|admonition|caution|important|danger|callout|alert|hint")
_ASIDE = frozenset({"nav", "aside", "footer", "script", "style", "template", "noscript", "head"})
_VOID = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})


def letters(text: str) -> str:
    """What is compared of a heading."""
    return "".join(character for character in text.casefold() if character.isalnum())


def of_markdown(text: str) -> Iterator[Heading]:
    """Headings in hashes, and lines with a line drawn below them, outside code and comments."""
    fence = ""
    before = ""
    for line in _COMMENT.sub("", _FRONT.sub("", text)).split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip("`~"):
                fence = ""
            before = ""
            continue
        hashes = _HASHES.fullmatch(line)
        if mark:
            fence = mark[1]
        elif hashes:
            yield len(hashes[1]), _plain(hashes[2] or "")
        elif re.fullmatch(r" {0,3}(=+|-+)\s*", line) and re.match(r" {0,3}[^\s>|#*+-]", before):
            yield (1 if "=" in line else 2), _plain(before)
        before = "" if mark or hashes else line


def _plain(text: str) -> str:
    return _TAG.sub("", _LINK.sub(r"\1", _ATTRIBUTES.sub("", text)))


def of_rst(text: str) -> Iterator[Heading]:
    """Lines with a line drawn below them, or below and above, after a blank line."""
    lines = ["", *(line.rstrip() for line in text.split("\n")), ""]
    title = re.match(r"\s*(?:[A-Z][\w-]*:.*\n(?:\s+\S.*\n)*)*?Title: (.+(?:\n\s+\S.*)*)", text)
    if title:
        yield 1, _markless(title[1])
    styles: list[tuple[str, bool]] = []
    for number in range(1, len(lines) - 1):
        line, below = lines[number], lines[number + 1]
        drawn = _LINE.fullmatch(below)
        if not drawn or not line or _LINE.fullmatch(line) or len(below) < min(len(line), 4):
            continue
        above = lines[number - 1]
        over = above == below and not lines[number - 2].strip()
        if (line[0] == " " and not over) or (above.strip() and not over):
            continue
        style = (drawn[1], over)
        if style not in styles:
            styles.append(style)
        yield styles.index(style) + 1 + bool(title), _markless(line)


def _markless(text: str) -> str:
    return _ROLE.sub("", _TARGET.sub("`", text))


class _Headings(HTMLParser):
    """Headings of a page, and where each is."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, bool]] = []
        self.found: list[tuple[int, str]] = []
        self.said: list[int] = []
        self.linked: list[int] = []
        self.parts: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        said = dict(attrs)
        name = f"{said.get('class') or ''} {said.get('id') or ''}".lower()
        apart = tag in _ASIDE or "hidden" in said or name.split()[:1] == ["permalink"]
        box = tag in ("div", "section", "blockquote") and any(map(_BOX.fullmatch, name.split()))
        around = bool(self.open) and self.open[-1][1]
        self.open.append((tag, around or apart or box))
        if re.fullmatch(r"h[1-6]", tag) and not self.open[-1][1]:
            self.parts = []

    def handle_endtag(self, tag: str) -> None:
        if self.parts is not None and re.fullmatch(r"h[1-6]", tag):
            self.found.append((int(tag[1]), "".join(self.parts)))
            self.said.append(0)
            self.linked.append(0)
            self.parts = None
        while any(name == tag for name, _ in self.open):
            if self.open.pop()[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        if self.parts is not None:
            self.parts.append(data)
        elif self.said and not any(name in _ASIDE for name, _ in self.open):
            counted = self.linked if any(name == "a" for name, _ in self.open) else self.said
            counted[-1] += len(letters(data))


def of_html(text: str) -> Iterator[Heading]:
    """All headings outside navigation, hidden parts and boxes that stand above more than links."""
    parser = _Headings()
    parser.feed(text)
    parser.close()
    below = zip(parser.found, parser.said, parser.linked, strict=True)
    yield from (heading for heading, said, linked in below if said or not linked)


READERS: dict[str, Callable[[str], Iterator[Heading]]] = {
    "markdown": of_markdown,
    "rst": of_rst,
    "html": of_html,
}


def compare(source: list[Heading], found: list[Heading]) -> dict[str, list[Heading]]:
    """Headings that are right, of another level, missed and invented."""
    wanted = Counter((level, letters(text)) for level, text in source if letters(text))
    held = Counter((level, letters(text)) for level, text in found if letters(text))
    right = wanted & held
    rest, more = wanted - right, held - right
    moved: list[Heading] = []
    for level, text in list(rest.elements()):
        other = next((key for key in more.elements() if key[1] == text), None)
        if other is not None:
            rest[level, text] -= 1
            more[other] -= 1
            moved.append((level, text))
    return {
        "right": list(right.elements()),
        "other_level": moved,
        "missed": list((+rest).elements()),
        "invented": list((+more).elements()),
    }


def measure(folder: Path, *, show: bool) -> dict[str, object]:
    """Compare all documents of a folder that one of the readers can read."""
    documents = read_documents("measured", folder, DocumentSettings())
    readable = documents.filter(pl.col("status") == "parsed", pl.col("format").is_in(list(READERS)))
    sums: Counter[str] = Counter()
    for row in readable.iter_rows(named=True):
        text = decode((folder / row["path"]).read_bytes(), declared=row["format"] == "html")
        source = list(READERS[row["format"]](text.replace("\r\n", "\n")))
        found = [(part["level"], part["heading_path"][-1]) for part in row["sections"] if part["level"]]
        outcome = compare(source, found)
        sums.update({name: len(headings) for name, headings in outcome.items()})
        for name in ("other_level", "missed", "invented") if show else ():
            for level, heading in outcome[name]:
                print(f"{row['path']}: {name}: {level} {heading}", file=sys.stderr)
    counted = ("right", "other_level", "missed", "invented")
    return {
        "folder": folder.name,
        "documents": readable.height,
        "headings": sums["right"] + sums["other_level"] + sums["missed"],
        **{name: sums[name] for name in counted},
    }


def main() -> None:
    """Measure the folders named on the command line."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--show", action="store_true", help="list what differs on standard error")
    arguments = parser.parse_args()
    for folder in arguments.folders:
        print_json(measure(folder, show=arguments.show))


if __name__ == "__main__":
    main()
