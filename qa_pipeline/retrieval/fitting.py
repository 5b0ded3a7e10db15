"""Cuts to chunk drafts that keep the bound, whatever tokenizer counts them.

The headings a draft carries, kept short enough to leave room for text; the exact tokens of every draft,
cutting again what is over the bound; and letting a draft begin with the end of the one before it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from qa_pipeline.records import index_text
from qa_pipeline.retrieval.borders import Borders, Section, cut_section, even_cuts
from qa_pipeline.retrieval.token_counts import WordCounts

Path = tuple[str, ...]

SHARE = 3
"""A path may take a third of the bound: it tells what a chunk is about, and the text needs the room."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Each path as chunks carry it, and the tokens of that, special ones included."""

    short: Mapping[Path, Path]
    tokens: Mapping[Path, int]


def shorten_paths(paths: Iterable[Path], limit: int, counts: WordCounts) -> Paths:
    """Drop outermost headings, then cut the innermost, until each path has at most `limit` tokens."""
    waiting = list(dict.fromkeys(paths))
    short = {path: path for path in waiting}
    tokens: dict[Path, int] = {}
    while waiting:
        sizes = counts.count([index_text(short[path], "") for path in waiting])
        tokens.update((short[path], size) for path, size in zip(waiting, sizes, strict=True))
        waiting = [path for path in waiting if tokens[short[path]] > limit and short[path]]
        short.update((path, _shorter(short[path])) for path in waiting)
    return Paths(short, tokens)


def _shorter(path: Path) -> Path:
    if len(path) > 1:
        return path[1:]
    heading = path[0][: len(path[0]) // 2].rstrip()
    return (heading,) if heading else ()


_SAFE = 0.95
"""The factor for the next estimate where one was too low: it stays a little below."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A stretch of a document that becomes a chunk, its `section` being what it was cut from.

    `tokens` are those of path and text, or negative while nobody has counted them.
    """

    section: Section
    start: int
    end: int
    tokens: int = -1

    @property
    def text(self) -> str:
        """Return the document's text from `start` to `end`."""
        return self.section.text_tokens.text[self.start : self.end]


class Fitter:
    """A maker of drafts of sections that fit a bound.

    Args:
        bound: most tokens of a draft with its path, special tokens included.
        counts: counts them.
        paths: the paths and their tokens.
    """

    def __init__(self, bound: int, counts: WordCounts, paths: Paths) -> None:
        self.bound = bound
        self.counts = counts
        self.paths = paths

    def fit(self, sections: Sequence[Section]) -> list[list[Draft]]:
        """Return drafts of each section, in order, within the bound, overlapping by what is shared.

        A single character may be over the bound: nothing can be done about that.
        """
        fitted: list[list[Draft]] = [[] for _ in sections]
        waiting = [
            (number, draft)
            for number, section in enumerate(sections)
            for draft in self._between(section, [0, *cut_section(section), section.end - section.start])
        ]
        while waiting:
            sized = self.sized([draft for _, draft in waiting])
            over: list[tuple[int, Draft]] = []
            for (number, _), draft in zip(waiting, sized, strict=True):
                if draft.tokens <= self.bound or draft.end - draft.start < 2:
                    fitted[number].append(draft)
                else:
                    over.append((number, draft))
            waiting = [(number, part) for number, draft in over for part in self._again(draft)]
        return [self._overlapped(sorted(drafts, key=lambda draft: draft.start)) for drafts in fitted]

    def draft(self, section: Section, start: int, end: int) -> Draft:
        """Return a draft with its tokens, if the counts are exact."""
        measured = section.text_tokens
        exact = self.counts.exact and measured.is_exact(start, end)
        tokens = self.paths.tokens[section.path] + measured.between(start, end) if exact else -1
        return Draft(section, start, end, tokens)

    def sized(self, drafts: Sequence[Draft]) -> list[Draft]:
        """Return drafts with their tokens; those without exact counts are counted, all in one call."""
        unsure = [index_text(draft.section.path, draft.text) for draft in drafts if draft.tokens < 0]
        counted = iter(self.counts.count(unsure))
        return [replace(draft, tokens=next(counted)) if draft.tokens < 0 else draft for draft in drafts]

    def _overlapped(self, drafts: list[Draft]) -> list[Draft]:
        """Return the drafts of one section, each from the second on with whole sentences or lines before it.

        As many as `shared` and the bound allow; none where the last of them alone would be too long, and
        never all of the draft before.
        """
        if len(drafts) < 2 or not drafts[0].section.shared:
            return drafts
        borders = Borders(drafts[0].section)
        wider = self.sized([self._wider(borders, *pair) for pair in pairwise(drafts)])
        overlapping = [
            after if after.tokens <= self.bound else draft
            for after, draft in zip(wider, drafts[1:], strict=True)
        ]
        return [drafts[0], *overlapping]

    def _wider(self, borders: Borders, before: Draft, draft: Draft) -> Draft:
        """Return a draft that begins with the end of the one before; itself if it can begin nowhere."""
        section = draft.section
        tokens = section.tokens.at(draft.start - section.start)
        allowed = min(section.shared, self.bound - draft.tokens)
        start = section.start + borders.first_from(tokens - allowed) if allowed > 0 else draft.start
        return self.draft(section, start, draft.end) if before.start < start < draft.start else draft

    def _between(self, section: Section, places: Sequence[int]) -> list[Draft]:
        """Return drafts between neighbouring places of a section, without white space at their ends."""
        drafts: list[Draft] = []
        for first, second in pairwise(places):
            body = section.text[first:second].rstrip()
            if body:
                start = section.start + first
                drafts.append(self.draft(section, start, start + len(body)))
        return drafts

    def _again(self, draft: Draft) -> list[Draft]:
        """Return the parts of a draft that is over the bound."""
        section, estimate = draft.section, draft.section.text_tokens.between(draft.start, draft.end)
        counted = max(draft.tokens - self.paths.tokens[section.path], 1)
        room = min(int(section.room * estimate / counted * _SAFE), estimate - 1)
        cuts: list[int] = []
        if room > 0:
            headed = draft.start < section.heading_end < draft.end
            part = replace(
                section,
                start=draft.start,
                end=draft.end,
                heading_end=section.heading_end if headed else draft.start,
                room=room,
                shared=0,
            )
            cuts = even_cuts(Borders(part), 0)
        first, last = draft.start - section.start, draft.end - section.start
        inside = [first + cut for cut in cuts if first + cut < last] or [(first + last) // 2]
        return self._between(section, [first, *inside, last])
