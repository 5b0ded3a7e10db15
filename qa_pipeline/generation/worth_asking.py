"""Mark chunks without content to ask about. They would cost a call and give useless questions."""

import re
from collections.abc import Sequence

import polars as pl

from qa_pipeline.text.blocks import units
from qa_pipeline.text.lexicon.languages import lexicon

NO_SENTENCE, FRONT_OR_BACK_MATTER = "no_sentence", "front_or_back_matter"
"""Reason codes of skipped chunks."""

_FEWEST_WORDS = 5
"""Minimum words of a line that can be a statement."""
_SENTENCE_WORDS = 15
"""Minimum words of a line that counts as a sentence with any ending, such as a clause before a list."""
_FEWEST_ROWS = 2
"""Minimum table rows, or name and value pairs, for a question about an entry."""
_NUMBERING = re.compile(r"^(?:[\dA-Z]{1,3}(?:\.\d{1,3}){0,5}[.)]?\s+)?")
_DIGITS, _LEADERS = "0123456789", " .\t"
_ITEM = re.compile(r"(?:[-*+•]|\d{1,4}[.)])\s")
_ENDED = re.compile(r"[.!?:;][\"”»)’*_`]{0,3}(?:\s|$)")
_ENTRY = re.compile(r"\S \| \S|^[^\s:][^:\n]{0,60}:\s+\S")


def mark_not_worth_asking(chunks: pl.DataFrame) -> pl.DataFrame:
    """Mark chunks without content to ask about, in `passed_over` if it is null.

    Headings such as "Contents" or "Licence" identify front and back matter. Titles, lists of links and code
    contain no sentence.
    """
    columns = chunks.select("language", "section_path", "text").iter_rows()
    reasons = pl.Series([_reason(*row) for row in columns], dtype=pl.String())
    return chunks.with_columns(passed_over=pl.coalesce("passed_over", reasons))


def _reason(language: str, section_path: Sequence[str], text: str) -> str | None:
    layout = lexicon(language).layout
    heading = _NUMBERING.sub("", section_path[-1]).strip(" .:").casefold() if section_path else ""
    if heading in layout.contents or heading in layout.back_matter:
        return FRONT_OR_BACK_MATTER
    return None if _states_something(text) else NO_SENTENCE


def _ends_with_page(line: str) -> bool:
    """Return True for a line of a table of contents, with dots or spaces before a final number."""
    before = line.rstrip(_DIGITS)
    leaders = before[len(before.rstrip(_LEADERS)) :]
    return before != line and (len(leaders) > 2 or "\t" in leaders)


def _states_something(text: str) -> bool:
    """Return True if a text has a sentence, a list item of some words, or entries of a table."""
    entries = 0
    for start, end, _ in units(text):
        line = text[start:end].strip()
        if line.startswith(("#", "```", "~~~")) or _ends_with_page(line):
            continue
        entries += _ENTRY.search(line) is not None
        words = len(line.split())
        is_statement = words >= _FEWEST_WORDS and (_ITEM.match(line) or _ENDED.search(line))
        if entries >= _FEWEST_ROWS or is_statement or words >= _SENTENCE_WORDS:
            return True
    return False
