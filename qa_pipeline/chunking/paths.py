"""The headings a chunk carries: its section path, kept short enough to leave room for text.

What belongs here: shortening paths. What does not: where sections are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from qa_pipeline.passages import index_text
from qa_pipeline.word_counts import WordCounts

Path = tuple[str, ...]

SHARE = 3
"""A path may take a third of the bound."""


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
    kept = path[0][: len(path[0]) // 2].rstrip()
    return (kept,) if kept else ()
