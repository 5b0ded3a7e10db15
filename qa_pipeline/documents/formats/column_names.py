"""Rows that name the columns of a table, told from rows of values."""

import re
from collections.abc import Callable, Sequence
from statistics import median

from qa_pipeline.text.lexicon.languages import CAPITALS, SMALL, of_all

SAMPLE_ROWS = 200
"""Rows that show how a table is written and whether its first row names the columns."""
_LONGEST_NAME = 100  # characters of the name of a column; what is longer is a value
_MOSTLY = 0.8  # of the cells of a column: some are blank, or hold a word such as "none"
_LONG_VALUE = 40  # characters: longer than names of columns, so that a column of texts is told from its name
_LONGER_THAN_NAME = 4  # times as long as the name: the same, for columns of short values
_YEAR = re.compile(r"(?:1[89]|20|21)\d\d")
_IDENTIFIER = re.compile(rf"[{SMALL}{CAPITALS}][\w.-]*")
_BETWEEN_DIGITS = str.maketrans("", "", " .,:;/-+−%'’()€$£")
_COMMON_NAMES = frozenset(of_all("layout.columns"))


def names_columns(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return True if `first` holds the names of the columns, judged by the rows below it.

    It must look like names: most places filled, short, no two alike, none repeated as a value of its column.
    And something must speak for it: a column of figures under a word, words that tables use as names, names
    written like a program's over values that are not, or long values under a short name.
    """
    named = [
        (name, [row[place] for row in below if place < len(row) and row[place]])
        for place, name in enumerate(first)
        if name
    ]
    names = [name for name, _ in named]
    if 2 * len(named) <= len(first) or not any(map(any, below)) or not _could_be_names(named):
        return False
    words = [name.casefold() for name in names]
    common = [word for word in words if not _COMMON_NAMES.isdisjoint((word, word.replace(" ", "_")))]
    over_figures = [(name, column) for name, column in named if _share_of(column, _is_figure) >= _MOSTLY]
    if 2 * len(common) >= len(words) or any(_names_figures(*named) for named in over_figures):
        return True
    are_identifiers = all(_IDENTIFIER.fullmatch(name) and (name.islower() or "_" in name) for name in names)
    columns = [column for _, column in named if column]
    if are_identifiers and any(_share_of(column, _is_lower_word) < 1 - _MOSTLY for column in columns):
        return True
    return all(len(name) <= _LONG_VALUE for name in names) and any(
        column and median(map(len, column)) >= max(_LONG_VALUE, _LONGER_THAN_NAME * len(name))
        for name, column in named
    )


def _could_be_names(named: Sequence[tuple[str, Sequence[str]]]) -> bool:
    """Return True if words over columns are short, unlike each other and the values, not all figures."""
    names = [name for name, _ in named]
    if any(len(name) > _LONGEST_NAME or not any(map(str.isalnum, name)) for name in names):
        return False
    if len({name.casefold() for name in names}) < len(names) or any(name in column for name, column in named):
        return False
    figures = [(name, column) for name, column in named if _is_figure(name) and not name[0].isalpha()]
    are_years = (_is_year(name) and _share_of(column, _is_year) < _MOSTLY for name, column in figures)
    return len(figures) < len(named) and all(are_years)


def _names_figures(name: str, column: Sequence[str]) -> bool:
    """Return True if a word, a year, or a code such as `Q1` over plain figures names a column of figures."""
    if _is_year(name) or not _is_figure(name):
        return True
    return name[0].isalpha() and not any(value[0].isalpha() for value in column)


def _share_of(column: Sequence[str], holds: Callable[[str], bool]) -> float:
    return sum(map(holds, column)) / len(column) if column else 0.0


def _is_figure(text: str) -> bool:
    """Return True if a cell is a number, date, amount or code: half of it digits, signs aside."""
    bare = text.translate(_BETWEEN_DIGITS)
    return bool(bare) and 2 * sum(map(str.isdigit, bare)) >= len(bare)


def _is_year(text: str) -> bool:
    return _YEAR.fullmatch(text) is not None


def _is_lower_word(text: str) -> bool:
    return _IDENTIFIER.fullmatch(text) is not None and text.islower()
