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
    places = range(len(first))
    columns = [[row[place] for row in below if place < len(row) and row[place]] for place in places]
    columns_by_name = [(name, column) for name, column in zip(first, columns, strict=True) if name]
    if not any(columns) or 2 * len(columns_by_name) <= len(first) or not _could_be_names(columns_by_name):
        return False
    words = [name.casefold() for name, _ in columns_by_name]
    common = [word for word in words if not _COMMON_NAMES.isdisjoint((word, word.replace(" ", "_")))]
    figures = [name for name, column in columns_by_name if _is_mostly(column, _is_figure)]
    if 2 * len(common) >= len(words) or any(_is_year(name) or not _is_figure(name) for name in figures):
        return True
    values = list(filter(None, columns))
    like_identifiers = (
        _IDENTIFIER.fullmatch(name) and (name.islower() or "_" in name) for name, _ in columns_by_name
    )
    if any(_share_of(column, _is_lower_word) < 1 - _MOSTLY for column in values) and all(like_identifiers):
        return True
    has_long_values = (
        column and median(map(len, column)) >= max(_LONG_VALUE, _LONGER_THAN_NAME * len(name))
        for name, column in columns_by_name
    )
    return all(len(name) <= _LONG_VALUE for name, _ in columns_by_name) and any(has_long_values)


def _could_be_names(columns_by_name: Sequence[tuple[str, Sequence[str]]]) -> bool:
    """Return True if words over columns are short, unlike each other and the values, not all figures."""
    names = [name for name, _ in columns_by_name]
    if any(len(name) > _LONGEST_NAME or not any(map(str.isalnum, name)) for name in names):
        return False
    if len({name.casefold() for name in names}) < len(names) or any(
        name in cells for name, cells in columns_by_name
    ):
        return False
    figures = [(name, column) for name, column in columns_by_name if _is_figure(name)]
    are_years = (_is_year(name) and not _is_mostly(column, _is_year) for name, column in figures)
    return len(figures) < len(columns_by_name) and all(are_years)


def _share_of(column: Sequence[str], holds: Callable[[str], bool]) -> float:
    return sum(map(holds, column)) / len(column) if column else 0.0


def _is_mostly(column: Sequence[str], holds: Callable[[str], bool]) -> bool:
    return _share_of(column, holds) >= _MOSTLY


def _is_figure(text: str) -> bool:
    """Return True if a cell is a number, date, amount or code: half of it digits, signs aside."""
    bare = text.translate(_BETWEEN_DIGITS)
    return bool(bare) and 2 * sum(map(str.isdigit, bare)) >= len(bare)


def _is_year(text: str) -> bool:
    return _YEAR.fullmatch(text) is not None


def _is_lower_word(text: str) -> bool:
    return _IDENTIFIER.fullmatch(text) is not None and text.islower()
