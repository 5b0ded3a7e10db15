"""Rows that name the columns of a table, told from rows of values."""

import re
from collections.abc import Callable, Sequence
from statistics import median

from qa_pipeline.text.lexicon.languages import of_all

SAMPLE_ROWS = 200
"""Rows that show how a table is written and whether its first row names the columns."""
_LONGEST_NAME = 100  # characters of the name of a column; what is longer is a value
_MOSTLY = 0.8  # of the cells of a column: some are blank, or hold a word such as "none"
_LONG_VALUE = 40  # characters: longer than names of columns, so that a column of texts is told from its name
_LONGER_THAN_NAME = 4  # times as long as the name: the same, for columns of short values
_YEAR = re.compile(r"(?:1[89]|20|21)\d\d")
_IDENTIFIER = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
_BETWEEN_DIGITS = str.maketrans("", "", " .,:;/-+−%'’()€$£")
_COMMON_NAMES = frozenset(of_all("layout.columns"))


def names_columns(first: Sequence[str], below: Sequence[Sequence[str]], *, may_be_keys: bool = False) -> bool:
    """Return True if `first` holds the names of the columns, judged by the rows below it.

    It must look like names: most places filled, short, no two alike, none repeated as a value of its column.
    And something must speak for it: a column of figures under a word, words that tables use as names, names
    written like a program's over values that are not, or long values under short names. Where the first
    column `may_be_keys`, only common names of both columns and figures count.
    """
    columns = {
        name: [row[place] for row in below if place < len(row) and row[place]]
        for place, name in enumerate(first)
        if name
    }
    count = sum(map(bool, first))
    are_unlike = len({name.casefold() for name in columns}) == count
    if 2 * count <= len(first) or not are_unlike or not any(map(any, below)) or all(map(_is_figure, columns)):
        return False
    if not all(_could_name(name, column) for name, column in columns.items()):
        return False
    words = [name.casefold() for name in columns]
    common = [word for word in words if not _COMMON_NAMES.isdisjoint((word, word.replace(" ", "_")))]
    over_figures = (_share_of(column, _is_figure) >= _MOSTLY for column in columns.values())
    if any(over_figures):
        return True
    if may_be_keys:
        return len(common) == count and len(below) > 1
    if 2 * len(common) >= count:
        return True
    filled = {name: column for name, column in columns.items() if column}
    are_identifiers = all(map(_is_identifier, columns))
    others = (_share_of(column, _is_identifier) < 1 - _MOSTLY for column in filled.values())
    if are_identifiers and any(others):
        return True
    return max(map(len, columns)) <= _LONG_VALUE and any(
        median(map(len, column)) >= max(_LONG_VALUE, _LONGER_THAN_NAME * len(name))
        for name, column in filled.items()
    )


def _could_name(name: str, column: Sequence[str]) -> bool:
    """Return True if a text is short, and no figure but a year over other values or a code over figures."""
    if len(name) > _LONGEST_NAME or not any(map(str.isalnum, name)) or name in column:
        return False
    if not _is_figure(name):
        return True
    if name[0].isalpha():  # a code, such as Q1 over plain figures
        return not any(value[0].isalpha() for value in column)
    return bool(_YEAR.fullmatch(name)) and _share_of(column, _YEAR.fullmatch) < _MOSTLY


def _share_of(column: Sequence[str], holds: Callable[[str], object]) -> float:
    return sum(map(bool, map(holds, column))) / len(column) if column else 0.0


def _is_figure(text: str) -> bool:
    """Return True if a cell is a number, date, amount or code: half of it digits, signs aside."""
    bare = text.translate(_BETWEEN_DIGITS)
    return bool(bare) and 2 * sum(map(str.isdigit, bare)) >= len(bare)


def _is_identifier(text: str) -> bool:
    """Return True for a name as programs write it: `max_speed` or `speed`."""
    return _IDENTIFIER.fullmatch(text) is not None and (text[0].islower() or "_" in text)
