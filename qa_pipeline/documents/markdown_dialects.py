"""Marks of documentation generators that CommonMark would read as text or code.

What belongs here: admonition, tab and container fences, file includes and attribute lines. What does not:
CommonMark itself (`markdown`). The marks go, the text inside them stays.
"""

import re
from collections.abc import Iterator

_CODE_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_CONTAINER = re.compile(
    r"^\s*(?:/{3,}\s*(?:[a-zA-Z][\w-]*\b[^/]*)?"  # /// note | Title      closing ///
    r"|:{3,}\s*(?:\{?[.#]?[a-zA-Z][^\n]*)?)$"  # ::: warning         closing :::
)
_INDENTED_BOX = re.compile(
    r"^(?P<indent> *)(?:!!!|\?\?\?\+?|={3})\s+(?:[\w-]+(?:\s+[\w-]+)*)?\s*(?:\"[^\"]*\")?\s*$"
)
_INCLUDE = re.compile(r"^\s*(?:\{\*.*\*\}|\{!.*!\}|--8<--.*|\{%\s*include\b.*%\})\s*$")
_ATTRIBUTE_LINE = re.compile(r"^\s*\{\s*:?\s*[#.][^{}]*\}\s*$")
_INDENT = "    "
_FIRST_OF_MARKS = frozenset("`~/:!?={-")


def plain_markdown(text: str) -> str:
    """Drop the marks of known generators, leaving front matter and fenced code as they are."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    front = _FRONT_MATTER.match(text)
    start = front.end() if front else 0
    return text[:start] + "\n".join(_plain_lines(text[start:].split("\n")))


def _plain_lines(lines: list[str]) -> Iterator[str]:
    fence: str | None = None
    boxes: list[int] = []
    for line in lines:
        boxes = _still_open(boxes, line)
        bare = _unindent(line, boxes)
        if bare.lstrip()[:1] not in _FIRST_OF_MARKS:
            yield bare
            continue
        mark = _CODE_FENCE.match(bare)
        if fence is not None:
            if mark and mark.group(1).startswith(fence) and not bare.strip(" `~"):
                fence = None
            yield bare
        elif mark:
            fence = mark.group(1)
            yield bare
        elif box := _INDENTED_BOX.match(bare):
            boxes.append(len(box["indent"]) + len(_INDENT) * (1 + len(boxes)))
            yield ""
        elif _CONTAINER.match(bare) or _INCLUDE.match(bare) or _ATTRIBUTE_LINE.match(bare):
            yield ""
        else:
            yield bare


def _still_open(boxes: list[int], line: str) -> list[int]:
    """The indented boxes a line belongs to, by its indentation; a blank line closes none."""
    if not boxes or not line.strip():
        return boxes
    width = len(line) - len(line.lstrip(" "))
    return [needed for needed in boxes if width >= needed]


def _unindent(line: str, boxes: list[int]) -> str:
    """Take off the four spaces each open box adds."""
    return line[min(len(_INDENT) * len(boxes), len(line) - len(line.lstrip(" "))) :] if boxes else line
