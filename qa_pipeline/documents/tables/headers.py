"""Whether the first row of a table file names its columns.

What belongs here: the evidence that speaks for a header row. What does not: reading the rows (`parser`).

Taking a row of data for names would put false statements into every line (`Anna: Bo`), while names taken for
data cost one odd line. So the answer is no unless something in the table speaks for yes.
"""

import re
from collections.abc import Callable, Sequence
from statistics import median

_LONGEST_NAME = 100
_MOSTLY = 0.8
_LONG_VALUE = 40
_LONGER_THAN_NAME = 4
_YEAR = re.compile(r"(?:1[89]|20|21)\d\d")
_IDENTIFIER = re.compile(r"[A-Za-zÅÄÖåäöüÜß][\w.-]*")
_BETWEEN_DIGITS = str.maketrans("", "", " .,:;/-+−%'’()€$£")
_WORDS = """
    id nr no number nummer key name title text content body description category type class kind status
    date time year month day value amount price quantity count total unit code country city address
    street phone email url link comment comments note notes source author language question answer label
    first_name last_name start end version license licence namn titel rubrik innehåll beskrivning
    kategori typ datum tid år månad dag värde belopp pris antal summa enhet kod land ort stad adress
    gata telefon e-post epost länk kommentar anmärkning källa författare språk fråga svar förnamn
    efternamn bezeichnung beschreibung inhalt kategorie zeit jahr monat tag wert betrag preis menge
    anzahl einheit stadt adresse straße strasse e-mail bemerkung quelle autor sprache frage antwort
    vorname nachname
"""
_KNOWN = frozenset(_WORDS.split())


def names_columns(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether `first` holds the names of the columns, judged by the rows below it.

    It must look like names: most places filled, short, no two alike, none repeated as a value of its column.
    And something must speak for it: a column of figures under a word, words that tables use as names, names
    written like a program's over values that are not, or long values under a short name.
    """
    columns = [
        [row[place] for row in below if place < len(row) and row[place]] for place in range(len(first))
    ]
    return (
        any(columns)
        and _could_be_names(first, columns)
        and (
            any(_figures_below(name, column) for name, column in zip(first, columns, strict=True))
            or _known_names(first)
            or _written_like_identifiers(first, columns)
            or _long_values_below(first, columns)
        )
    )


def _could_be_names(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    named = [name for name in first if name]
    if 2 * len(named) <= len(first) or not all(map(_is_wordlike, named)):
        return False
    if len({name.casefold() for name in named}) < len(named):
        return False
    if any(name and name in column for name, column in zip(first, columns, strict=True)):
        return False
    figures = [place for place, name in enumerate(first) if _is_figure(name)]
    years = [place for place in figures if _YEAR.fullmatch(first[place])]
    if figures != years or len(figures) == len(named):
        return False
    return not any(_share(columns[place], _is_year) >= _MOSTLY for place in years)


def _figures_below(name: str, column: Sequence[str]) -> bool:
    return bool(name) and (_is_year(name) or not _is_figure(name)) and _share(column, _is_figure) >= _MOSTLY


def _known_names(first: Sequence[str]) -> bool:
    named = [name.casefold() for name in first if name]
    return 2 * sum(name in _KNOWN or name.replace(" ", "_") in _KNOWN for name in named) >= len(named)


def _written_like_identifiers(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """All lower case or joined by underscores, over a column that is not written so."""
    named = [name for name in first if name]
    if not all(_IDENTIFIER.fullmatch(name) and (name.islower() or "_" in name) for name in named):
        return False
    return any(column and _share(column, _is_lower_word) < 1 - _MOSTLY for column in columns)


def _long_values_below(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    if any(len(name) > _LONG_VALUE for name in first):
        return False
    return any(
        name and column and median(map(len, column)) >= max(_LONG_VALUE, _LONGER_THAN_NAME * len(name))
        for name, column in zip(first, columns, strict=True)
    )


def _share(column: Sequence[str], holds: Callable[[str], bool]) -> float:
    return sum(map(holds, column)) / len(column) if column else 0.0


def _is_figure(text: str) -> bool:
    """A number, date, amount or code: at least half of it are digits, signs of numbers aside."""
    bare = text.translate(_BETWEEN_DIGITS)
    return bool(bare) and 2 * sum(map(str.isdigit, bare)) >= len(bare)


def _is_wordlike(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and any(map(str.isalnum, text))


def _is_year(text: str) -> bool:
    return _YEAR.fullmatch(text) is not None


def _is_lower_word(text: str) -> bool:
    return _IDENTIFIER.fullmatch(text) is not None and text.islower()
