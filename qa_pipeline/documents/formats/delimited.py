"""CSV and TSV files: each row a line that can be understood alone.

The file is read as a stream, once to learn its shape and once to write its rows, so that a table of many
rows costs little memory.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import PurePosixPath
from statistics import median

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.row_files import too_many_rows
from qa_pipeline.records import Block, LeftOut, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

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


_DELIMITERS = ("\t", ";", "|", ",")
_NO_DELIMITER = "\x1f"
_SAMPLE = 500_000
_SAMPLE_ROWS = 200
_ALIKE = 0.02
_WELL_FORMED = 0.9
_LEAST_FIT = 0.5
_PREAMBLE_FROM = 3
_WIDEST = 2_000
"""Columns of a table whose rows may still be told from its header; none that people read has more."""
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
_EXCEL_HINT = re.compile(r"sep=(.)\n", re.IGNORECASE)

_Row = list[str]


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How a table is written: what parts its cells, and whether quotes hold cells together."""

    delimiter: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a way of reading makes of a table.

    `fit` is the share of lines in rows of the table's width; a row that swallows many lines weighs as many.
    """

    width: int
    fit: float


@dataclass(slots=True)
class _Written:
    """The lines of the document, how many rows are wider than the table, and columns without any value."""

    blocks: list[Block] = field(default_factory=list)
    wider: int = 0
    unused: list[str] = field(default_factory=list)


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one table file.

    Raises:
        DocumentFailure: the bytes cannot be decoded, or there are too many rows or characters.
    """
    text, hint = _without_hint(decode(source.content).replace("\r\n", "\n").replace("\r", "\n"))
    with _fields_up_to(len(text)):
        dialect, shape = _read_whole(text, _choose(text, hint or _expected(source.path)), settings)
        written = _write(text, dialect, shape, settings)
    notes = []
    if not dialect.quoted and '"' in text:
        notes.append("quotes in the table do not pair up and were read as plain characters")
    if written.wider:
        notes.append(f"{written.wider} rows hold more cells than the {shape.width} columns of the table")
    lost = len("".join("".join(written.unused).split()))
    left_out = (LeftOut("empty_column", len(written.unused), lost),) if lost else ()
    return ParsedFile(blocks=tuple(written.blocks), left_out=left_out, notes=tuple(notes))


@contextmanager
def _fields_up_to(length: int) -> Iterator[None]:
    """Let a cell be as long as the file; the module's own limit, which holds for the process, is 131 072."""
    before = csv.field_size_limit(max(length, 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _without_hint(text: str) -> tuple[str, str | None]:
    """Take off the line by which spreadsheets are told the delimiter."""
    hint = _EXCEL_HINT.match(text)
    return (text[hint.end() :], hint[1]) if hint else (text, None)


def _expected(path: str) -> str | None:
    return "\t" if PurePosixPath(path).suffix.lower() in (".tsv", ".tab") else None


def _choose(text: str, expected: str | None) -> _Dialect:
    """The way of reading under which the first rows fit together best; `expected` wins if it fits at all."""
    text = text[:_SAMPLE]
    if expected is not None:
        shape = _shape(islice(_records(text, _Dialect(expected, quoted=True)), _SAMPLE_ROWS))
        if shape.width > 1 and shape.fit >= _LEAST_FIT:
            return _Dialect(expected, quoted=True)
    shapes = {}
    for delimiter in _DELIMITERS:
        for quoted in (True, False):
            dialect = _Dialect(delimiter, quoted)
            shapes[dialect] = _shape(islice(_records(text, dialect), _SAMPLE_ROWS))
    fitting = {key: shape for key, shape in shapes.items() if shape.width > 1 and shape.fit >= _LEAST_FIT}
    if not fitting:
        return _Dialect(_NO_DELIMITER, quoted=True)
    best = max(shape.fit for shape in fitting.values())
    alike = {key: shape for key, shape in fitting.items() if shape.fit >= best - _ALIKE}
    widest = max(alike, key=lambda key: (key.quoted, alike[key].width))  # of equals the first
    semicolons = _Dialect(";", widest.quoted)
    return semicolons if widest.delimiter == "," and semicolons in alike and _decimals(text) else widest


def _decimals(text: str) -> bool:
    """Whether the commas of a table are those of numbers, as Swedes and Germans write them."""
    sample = text[:100_000]
    return 2 * len(_DECIMAL_COMMA.findall(sample)) > sample.count(",")


def _read_whole(text: str, dialect: _Dialect, settings: DocumentSettings) -> tuple[_Dialect, _Shape]:
    """The shape of the whole table.

    Where a quote is not closed, or is closed before the end of its cell, quotes may be inches as well: then
    the reading counts under which more lines fit, and of equals the one in which no quote swallows a row.
    """
    try:
        return dialect, _shape(_counted(_records(text, dialect, strict=dialect.quoted), settings))
    except csv.Error:
        plain = _Dialect(dialect.delimiter, quoted=False)
        shapes = {way: _shape(_counted(_records(text, way), settings)) for way in (plain, dialect)}
    best = max(shapes, key=lambda way: shapes[way].fit)
    return best, shapes[best]


def _records(text: str, dialect: _Dialect, *, strict: bool = False) -> Iterator[tuple[_Row, int]]:
    """The rows with the number of lines each takes."""
    reader = csv.reader(
        _lines(text),
        delimiter=dialect.delimiter,
        quoting=csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE,
        skipinitialspace=True,
        strict=strict,
    )
    before = 0
    for row in reader:
        yield row, reader.line_num - before
        before = reader.line_num


def _lines(text: str) -> Iterator[str]:
    start = 0
    while (end := text.find("\n", start) + 1) > 0:
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _counted(records: Iterator[tuple[_Row, int]], settings: DocumentSettings) -> Iterator[tuple[_Row, int]]:
    for number, record in enumerate(records):
        if number > settings.max_rows:
            raise too_many_rows(settings)
        yield record


def _shape(records: Iterator[tuple[_Row, int]]) -> _Shape:
    """Width and fit; rows that leave out their last cells fit a first row that is as wide as any."""
    widths: Counter[int] = Counter()
    first = 0
    for row, lines in records:
        if row:
            first = first or len(row)
            widths[len(row)] += lines
    total = max(widths.total(), 1)
    width, count = widths.most_common(1)[0] if widths else (0, 0)
    shorter = sum(lines for width, lines in widths.items() if 1 < width <= first)
    if count < _WELL_FORMED * total <= shorter:
        width, count = first, shorter
    return _Shape(width, count / total)


def _filled_rows(text: str, dialect: _Dialect) -> Iterator[_Row]:
    for row, _ in _records(text, dialect):
        cells = [cell.strip() for cell in row]
        if any(cells):
            yield cells


def _names(text: str, dialect: _Dialect, shape: _Shape) -> tuple[_Row, int]:
    """The names of the columns, empty when nothing says that there are any, and the number of the first row.

    Lines above the table, such as its caption, have one cell only.
    """
    sample = list(islice(_filled_rows(text, dialect), _SAMPLE_ROWS))
    first = 0
    if shape.width >= _PREAMBLE_FROM:
        first = next((n for n, row in enumerate(sample) if sum(map(bool, row)) > 1), 0)
    if first >= len(sample) or shape.width > _WIDEST:
        return [], min(first, len(sample))
    below = sample[first + 1 :]
    names = sample[first]
    if len(names) == shape.width - 1 and any(len(row) == shape.width and row[-1] for row in below):
        names = ["", *names]  # as R writes them: the column of row names has no name
    return (names if names_columns(names, below) else []), first


def _write(text: str, dialect: _Dialect, shape: _Shape, settings: DocumentSettings) -> _Written:
    """Write the rows one by one; lines above the table are paragraphs."""
    names, first = _names(text, dialect, shape)
    prefixes = [f"{name.rstrip(': ')}: " if name else "" for name in names]
    written = _Written()
    unused = set(range(len(names)))
    length = 0
    for number, row in enumerate(_filled_rows(text, dialect)):
        if number == first and names:
            continue
        if number < first:
            block = Block("paragraph", " ".join(filter(None, row)))
        else:
            block = Block("table_row", _line(row, prefixes))
            written.wider += any(row[shape.width :])
            unused = {place for place in unused if place >= len(row) or not row[place]}
        written.blocks.append(block)
        length += len(block.text)
        if length > settings.max_characters:
            limit = settings.max_characters
            raise DocumentFailure("too_long", f"the text is longer than documents.max_characters = {limit}")
    written.unused = [names[place] for place in sorted(unused) if names[place]]
    return written


def _line(row: Sequence[str], prefixes: Sequence[str]) -> str:
    """`Column: cell | Column: cell`, or the cells alone; a first cell that ends in a colon is a key."""
    if prefixes:
        named = [prefix + cell for prefix, cell in zip(prefixes, row, strict=False) if cell]
        return " | ".join([*named, *filter(None, row[len(prefixes) :])])
    if row[0].endswith(":") and any(row[1:]):
        return f"{row[0].rstrip(': ')}: " + " | ".join(filter(None, row[1:]))
    return " | ".join(filter(None, row))
