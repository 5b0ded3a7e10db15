"""Marks of documentation generators that CommonMark would read as text or code.

What belongs here: admonition, tab and container fences, file includes and attribute lines. What does not:
CommonMark itself (`markdown`). The marks go, the text inside them stays; a title the writer gave a box is
handed on as a line that begins with `LABEL`. An include of a file is counted, for its text is not here.
"""

import re
from collections.abc import Iterator

from qa_pipeline.documents.omissions import Omissions

LABEL = "\ue0f1"
"""Begins the title of a box; a private character, which stands for nothing outside this package."""

_CODE_FENCE = re.compile(r"^\s*(`{3,}|~{3,})(.*)$")
_CONTAINER = re.compile(
    r"^(?P<indent>\s*)(?:/{3,}\s*(?:[a-zA-Z][\w-]*\b(?:\s*\|(?P<slashed>[^\n]*)|[^/|\n]*))?"
    r"|:{3,}\s*(?:(?:\{[^{}\n]*\}|[.#]?[a-zA-Z][^\s\[{}]*)(?P<titled>[^\n]*))?)$"
)
"""`/// note | Title` to a closing `///`, and `::: warning Title` to a closing `:::`."""
_INDENTED_BOX = re.compile(
    r"^(?P<indent> *)(?:(?:!!!|\?\?\?\+?)\s+(?:[\w-]+(?:\s+[\w-]+)*)?\s*|={3}[!+]?\s+(?=\"))"
    r"(?:\"(?P<title>[^\"]*)\")?\s*$"
)
"""`!!! note "Title"`, and the tab `=== "Title"`, which without a title is none."""
_INCLUDE = re.compile(
    r"""^\s*(?:
        \{\*.*\*\} | \{!.*!\} | -{1,2}8<-{1,2}.* | ;-{1,2}8<-{1,2}.*
      | \{%-?\s*(?:include|include_relative|include_code|import|embed|snippet)\b.*%\}
      | \{\{[#<%]?\s*\#?(?:include|rustdoc_include|snippet|readfile|code-snippet)\b.*\}\}
      | !includes?\s+\S.* | !!!include\(.*\)!!! | @@snip\s.*
      | \[!(?:include|code(?:-\w+)?)\s*\[?.*\]?\(.*\)\]? | \[!code-\w+\[.*\]\(.*\)\]
      | <<<\s*@?[\w./{}-]+.* | :::\s*code\b.*\bsource\s*=.*::: | :::\s+[a-z_]\w*(?:\.\w+)+
    )\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
"""A line that only names a file: MkDocs, mkdocstrings, Jekyll, mdBook, Hugo, DocFX, VitePress and others."""
_MYST_FENCE = re.compile(r"^\s*\{(?P<name>[a-z:_-]+)\}\s*(?P<rest>.*)$")
_MYST_BOXES = frozenset(
    {
        "admonition", "attention", "caution", "danger", "dropdown", "error", "hint", "important", "note",
        "seealso", "sidebar", "tab-item", "tip", "topic", "warning",
    }
)  # fmt: skip
_MYST_INCLUDES = frozenset({"include", "literalinclude"})
_ATTRIBUTE_LINE = re.compile(r"^\s*\{\s{0,20}:?\s{0,20}[#.][^{}]*\}\s*$")
_ATTRIBUTES = re.compile(r"\{[^{}]*\}")
_AROUND_KINDS = ' \t/:!?=+|"[]'
_INDENT = "    "
_FIRST_OF_MARKS = frozenset("`~/:!?={-;@[<")


def plain_markdown(text: str, left: Omissions) -> str:
    """Drop the marks of known generators, leaving fenced code as it is, and count includes."""
    return "\n".join(_Lines(left).plain(text.replace(LABEL, "").split("\n")))


class _Lines:
    """One pass over lines, with the fences and boxes that are open."""

    def __init__(self, left: Omissions) -> None:
        self.left = left
        self.fence: str | None = None
        self.held: list[str] = []
        self.dropping = False
        self.boxes: list[int] = []
        self.myst: list[str] = []

    def plain(self, lines: list[str]) -> Iterator[str]:
        for line in lines:
            self.boxes = _still_open(self.boxes, line)
            bare = _unindent(line, self.boxes)
            if self.fence is not None:
                yield from self._in_code(bare)
            elif bare.lstrip()[:1] not in _FIRST_OF_MARKS:
                yield bare
            else:
                yield from self._marked(bare)
        yield from self.held

    def _in_code(self, bare: str) -> Iterator[str]:
        """A line of code, held back while the fence holds nothing but includes."""
        mark = _CODE_FENCE.match(bare)
        closes = mark is not None and mark[1].startswith(self.fence or " ") and not mark[2].strip()
        if closes:
            self.fence = None
        if self.dropping:
            self.dropping = not closes
        elif not self.held:
            yield bare
        elif closes and len(self.held) > 1:
            self.left.add("include", pieces=sum(1 for line in self.held[1:] if line.strip()))
            self.held = []
            yield ""
        elif not closes and (_INCLUDE.match(bare) or (len(self.held) > 1 and not bare.strip())):
            self.held.append(bare)
        else:
            yield from [*self.held, bare]
            self.held = []

    def _marked(self, bare: str) -> Iterator[str]:
        """A line that may be a mark."""
        if mark := _CODE_FENCE.match(bare):
            yield from self._open_fence(bare, mark)
        elif box := _INDENTED_BOX.match(bare):
            self.boxes.append(len(box["indent"]) + len(_INDENT) * (1 + len(self.boxes)))
            self._count_kind(bare, box["title"])
            yield from _label(box["indent"], box["title"])
        elif _INCLUDE.match(bare):
            self.left.add("include")
            yield ""
        elif box := _CONTAINER.match(bare):
            title = box["slashed"] or _ATTRIBUTES.sub("", box["titled"] or "")
            self._count_kind(bare, title)
            yield from _label(box["indent"], title)
        elif _ATTRIBUTE_LINE.match(bare):
            yield ""
        else:
            yield bare

    def _count_kind(self, bare: str, title: str | None) -> None:
        """What a mark says besides the title, such as `warning`, has no place in the text."""
        kind = _ATTRIBUTES.sub("", bare.replace(title, "", 1) if title else bare).strip(_AROUND_KINDS)
        if kind:
            self.left.add("box_kind", kind)

    def _open_fence(self, bare: str, mark: re.Match[str]) -> Iterator[str]:
        """Code begins; a fence of MyST may be a box of text, or stand for a file."""
        if self.myst and mark[1] == self.myst[-1] and not mark[2].strip():
            self.myst.pop()
            yield ""
            return
        directive = _MYST_FENCE.match(mark[2])
        if directive and directive["name"] in _MYST_BOXES:
            self.myst.append(mark[1])
            self.left.add("box_kind", directive["name"])
            yield from _label("", directive["rest"])
            return
        self.fence = mark[1]
        if directive and directive["name"] in _MYST_INCLUDES:
            self.left.add("include")
            self.dropping = True
        else:
            self.held = [bare]


def _label(indent: str, title: str | None) -> Iterator[str]:
    written = (title or "").strip().strip("[]").strip()
    if written:
        yield from ("", f"{indent}{LABEL}{written}")
    yield ""


def _still_open(boxes: list[int], line: str) -> list[int]:
    """The indented boxes a line belongs to, by its indentation; a blank line closes none."""
    if not boxes or not line.strip():
        return boxes
    width = len(line) - len(line.lstrip(" "))
    return [needed for needed in boxes if width >= needed]


def _unindent(line: str, boxes: list[int]) -> str:
    """Take off the four spaces each open box adds."""
    return line[min(len(_INDENT) * len(boxes), len(line) - len(line.lstrip(" "))) :] if boxes else line
