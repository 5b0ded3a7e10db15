"""Which groups of lines of a PDF head others, and at what level."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from qa_pipeline.documents.formats.pdf.groups import Group, Shape
from qa_pipeline.documents.formats.pdf.lines import Line
from qa_pipeline.documents.formats.text import heading_level

_LONGEST = 200
_LONGEST_BOLD = 90
_WIDEST_LETTER = 0.75
_LEAST_MATCHED = 3
_MOST_LINES = 4
_LEAST_SIZE = 0.85
_FAR = 1.2
_NUMBER = re.compile(r"^(?:\d{1,2}|[A-Z](?=\.))(?:\.\d{1,2}){0,4}\.?\s+(?=\S)")
_CAPTION = re.compile(
    r"^(?:figure|fig\.|table|listing|abbildung|abb\.|tabelle|figur|tabell|bild)\s*\d", re.IGNORECASE
)
_NO_LETTER = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """An entry of a file's own outline: what it is called, its level from 1, and its page."""

    title: str
    level: int
    page: int


def give_levels(groups: list[Group], shape: Shape, outline: Sequence[OutlineEntry]) -> None:
    """Turn groups into headings or back into paragraphs, and give headings their level.

    What the file's outline names is a heading, at the outline's level. Outlines often end at chapters, so
    other text that looks like a heading is one too, below those that are set larger.
    """
    for group in groups:
        if group.kind == "heading" and sum(len(line.text) for line in group.lines) > _LONGEST:
            group.kind = "paragraph"
    _take_back_bylines(groups, shape)
    named = _named(groups, outline)
    if len(named) >= _LEAST_MATCHED:
        _follow_outline(groups, named, shape)
    else:
        _by_type(groups, shape)


def _by_type(groups: list[Group], shape: Shape) -> None:
    sizes = sorted({group.lines[0].size for group in groups if group.kind == "heading"}, reverse=True)
    for group in groups:
        if group.kind == "heading":
            group.level = min(sizes.index(group.lines[0].size) + 1, 6)
    _by_weight(groups, shape, len(sizes) + 1)


def _by_weight(groups: list[Group], shape: Shape, level: int) -> None:
    """Headings of body size stand below all larger ones, and below one another as they are numbered."""
    one_size = len({group.lines[0].size for group in groups if group.lines}) == 1
    depths = {
        place: depth
        for place, group in enumerate(groups)
        if _may_head(group) and (depth := _plain_heading(groups, place, shape, one_size=one_size)) is not None
    }
    least = min((depth for depth in depths.values() if depth), default=0)
    for place, depth in depths.items():
        groups[place].kind, groups[place].level = "heading", min(level + max(depth - least, 0), 6)


def _follow_outline(groups: list[Group], named: dict[int, int], shape: Shape) -> None:
    """Levels by the outline; a larger heading above its first entry is the title, and stands above all."""
    first = min(named)
    titles = [group.lines[0].size for group in groups[:first] if group.kind == "heading"]
    shift = (2 if titles else 1) - min(named.values())
    level_of: dict[float, int] = {max(titles): 1} if titles else {}
    for place, level in named.items():
        group = groups[place]
        group.kind, group.level = "heading", min(level + shift, 6)
        size = group.lines[0].size
        level_of[size] = max(level_of.get(size, 0), group.level)
    for place, group in enumerate(groups):
        if group.kind == "heading" and place not in named:
            size = group.lines[0].size
            above = (level for other, level in level_of.items() if other > size)
            group.level = min(level_of.get(size) or max(above, default=0) + 1, 6)
    _by_weight(groups, shape, max(level_of.values()) + 1)


def _named(groups: Sequence[Group], outline: Sequence[OutlineEntry]) -> dict[int, int]:
    """Levels of the groups that the outline names, by their place; each entry names one at most."""
    wanted: dict[tuple[int, str], list[int]] = {}
    for entry in outline:
        wanted.setdefault((entry.page, _letters(entry.title)), []).append(entry.level)
    named: dict[int, int] = {}
    pages = {page for page, _ in wanted}
    longest = max((len(title) for _, title in wanted), default=0)
    for place, group in enumerate(groups):
        if not group.lines or group.kind == "code" or group.page not in pages:
            continue
        if len(group.lines) > _MOST_LINES or len(group.lines[0].text) > 2 * longest:
            continue
        text = "".join(line.text for line in group.lines)
        if group.kind == "list_item" and not _NUMBER.match(text):
            continue
        for title in (text, _NUMBER.sub("", text)):  # many outlines leave out the number
            levels = wanted.get((group.page, _letters(title)))
            if levels:
                named[place] = levels.pop(0)
                break
    return named


def _letters(text: str) -> str:
    return _NO_LETTER.sub("", text).casefold()


def _take_back_bylines(groups: Sequence[Group], shape: Shape) -> None:
    """Large text with no body text before an even larger heading, such as names of authors, heads nothing."""
    body_seen, following = True, 0.0
    for group in reversed(groups):
        if not group.lines:
            body_seen = True
            continue
        size = group.lines[0].size
        if group.kind != "heading":
            body_seen = body_seen or abs(size - shape.size) < 0.5
        elif not body_seen and size < following:
            group.kind = "paragraph"
        else:
            body_seen, following = False, size


def _may_head(group: Group) -> bool:
    one_line = group.kind in ("paragraph", "list_item") and len(group.lines) == 1
    return one_line and not group.plain and not _CAPTION.match(group.lines[0].text)


def _plain_heading(groups: Sequence[Group], place: int, shape: Shape, *, one_size: bool) -> int | None:
    """How deep a line is numbered that is a heading: for being bold, or where all type is of one size.

    A heading without a number has a depth of 0.
    """
    line = groups[place].lines[0]
    text = line.text.strip()
    following = groups[place + 1] if place + 1 < len(groups) else None
    if following is None or len(text) > _LONGEST_BOLD:
        return None
    below = following.lines[0] if following.lines else None
    if (following.kind == "heading" or (below and below.bold)) and not _comes_before(line, below):
        return None
    if line.bold and text[:1].isalnum() and not _spread(line) and not text.endswith((".", ",", ";")):
        return _depth(text) if line.size >= _LEAST_SIZE * shape.size else None
    level = heading_level(text) if one_size and not (below and below.bold) else None
    return None if level is None else level - 1


def _comes_before(line: Line, below: Line | None) -> bool:
    """Whether a numbered line stands above the first heading within it, as 2 does above 2.1."""
    return below is not None and 0 < _depth(line.text) < _depth(below.text)


def _depth(text: str) -> int:
    """How many parts the number of a heading has; 0 without one."""
    number = _NUMBER.match(text)
    return len(number[0].strip(" .").split(".")) if number else 0


def _spread(line: Line) -> bool:
    """Whether a line is cells rather than words: much wider than its letters, or with a number far off."""
    if line.right - line.left > _WIDEST_LETTER * line.size * len(line.text):
        return True
    far = len(line.words) > 1 and line.words[-1].left - line.words[-2].right > _FAR * line.size
    return far and line.words[-1].text.isdigit()
