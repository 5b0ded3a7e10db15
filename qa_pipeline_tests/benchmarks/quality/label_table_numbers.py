"""Numbers of tables of real files with their heads, by means that the package does not use.

    python label_table_numbers.py --files FOLDER --tables 25

Needs pandas with lxml, python-docx and LibreOffice (`soffice`) and nothing of the package, so that any
interpreter that has them runs it. Writes FOLDER/tables.json, what `measure_table_numbers` compares with: at
most two tables a file and as many tables a format as asked, in the order of the hashes of the files.

HTML is read by pandas, DOCX by python-docx, XLSX by LibreOffice, whose CSV files hold the cells as a person
sees them. A table is taken where its heads leave no doubt: HTML whose header pandas finds; elsewhere a first
row of words, all filled and all different, above a column of numbers. Tables in `more_tables.json` (such as
those of PDFs, read by eye) are added.
"""

import argparse
import csv
import hashlib
import io
import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Grid = list[list[str]]

NUMBER = re.compile(r"[-+\u2212(]?[$€£]?\s?\d[\d.,'\u00a0 ]*(?:[eE][-+]?\d+)?\s?%?\)?")
_FEWEST, _MOST = 4, 400  # numbers of a table: fewer show little, more outweigh the others
_WIDEST = 40  # columns
_A_FILE = 2


def is_number(text: str) -> bool:
    """Tell whether a cell is a number and nothing else."""
    return bool(NUMBER.fullmatch(text.strip()))


def of_html(path: Path) -> Iterator[tuple[Grid, Grid]]:
    """Yield heads (by column) and cells of the tables that have a header and no table in them."""
    import lxml.html

    page = lxml.html.fromstring(path.read_bytes())
    for table in page.iter("table"):
        if table.find(".//table") is not None or table.find(".//th") is None:
            continue
        try:
            frame = _read_as_written(lxml.html.tostring(table, encoding="unicode"))
        except (ValueError, IndexError):  # a table without cells, or with rows of different lengths
            continue
        columns = [column if isinstance(column, tuple) else (column,) for column in frame.columns]
        if len(columns) > _WIDEST or any(isinstance(name, int) for column in columns for name in column):
            continue
        heads = [
            [
                re.sub(r"\.\d+$", "", name)
                for name in dict.fromkeys(column)
                if not name.startswith("Unnamed: ")
            ]
            for column in columns
        ]  # pandas numbers a name that returns: "Byte.1"
        yield heads, [[" ".join(str(cell).split()) for cell in row] for row in frame.values.tolist()]


def _read_as_written(markup: str) -> Any:
    """Return a table as a frame of texts; read twice, since pandas takes types by column only."""
    import pandas

    width = pandas.read_html(io.StringIO(markup), flavor="lxml")[0].shape[1]
    as_text: dict[Any, Any] = dict.fromkeys(range(width), str)
    return pandas.read_html(
        io.StringIO(markup), flavor="lxml", keep_default_na=False, converters=as_text, thousands=None
    )[0]


def of_docx(path: Path) -> Iterator[tuple[Grid, Grid]]:
    """Yield heads and cells of tables with a first row of words."""
    import docx

    for table in docx.Document(str(path)).tables:
        yield from _under_first_row([[cell.text.strip() for cell in row.cells] for row in table.rows])


def of_xlsx(path: Path) -> Iterator[tuple[Grid, Grid]]:
    """Yield heads and cells of the tables of all sheets, which end at an empty row."""
    every_sheet_as_shown = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,true,false,false,-1"
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "soffice",
            "--headless",
            "--convert-to",
            every_sheet_as_shown,
            "--outdir",
            folder,
            str(path),
        ]
        subprocess.run(command, capture_output=True, check=True, timeout=120)
        for sheet in sorted(Path(folder).glob("*.csv")):
            rows = list(csv.reader(io.StringIO(sheet.read_text(encoding="utf-8"))))
            part: Grid = []
            for row in [*rows, []]:
                if any(cell.strip() for cell in row):
                    part.append([cell.strip() for cell in row])
                    continue
                used = [
                    place for place in range(len(part[0]) if part else 0) if any(line[place] for line in part)
                ]
                yield from _under_first_row([[line[place] for place in used] for line in part])
                part = []


def _under_first_row(grid: Grid) -> Iterator[tuple[Grid, Grid]]:
    """Yield a table whose first row is one of names: words above at least one column of numbers."""
    if len(grid) < 3 or len({len(row) for row in grid}) > 1 or not 2 <= len(grid[0]) <= _WIDEST:
        return
    names, *body = grid
    of_words = all(re.search(r"[^\W\d_]", name) for name in names) and len(set(names)) == len(names)
    columns = zip(*body, strict=True)
    if of_words and any(sum(map(is_number, column)) >= 0.6 * len(body) for column in columns):
        yield [[name] for name in names], body


READERS: dict[str, Callable[[Path], Iterator[tuple[Grid, Grid]]]] = {
    ".html": of_html,
    ".htm": of_html,
    ".docx": of_docx,
    ".xlsx": of_xlsx,
}


def numbers_of(heads: Grid, body: Grid) -> list[dict[str, str]]:
    """Return each number with its heads; a first cell without a letter, such as a date, names no row."""
    numbers = []
    for row in body:
        name = row[0] if re.search(r"[^\W\d_]", row[0]) else ""
        for place, cell in enumerate(row):
            if is_number(cell):
                numbers.append({"number": cell, "row": name, "column": " ".join(heads[place])})
    return numbers


def label(folder: Path, most: int) -> list[dict[str, Any]]:
    """Return the tables of the folder's files, by format as many as asked."""
    counts: dict[str, int] = {}
    tables: list[dict[str, Any]] = []
    paths = sorted(folder.iterdir(), key=lambda path: hashlib.sha256(path.read_bytes()).digest())
    for path in paths:
        suffix = path.suffix.lower().replace(".html", ".htm")
        if suffix not in READERS or counts.get(suffix, 0) >= most:
            continue
        taken = 0
        for heads, body in READERS[suffix](path):
            numbers = numbers_of(heads, body)
            if _FEWEST <= len(numbers) <= _MOST and taken < _A_FILE and counts.get(suffix, 0) < most:
                taken += 1
                counts[suffix] = counts.get(suffix, 0) + 1
                tables.append({"file": path.name, "format": suffix.strip("."), "numbers": numbers})
    return tables


def main() -> None:
    """Write tables.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=Path, required=True)
    parser.add_argument("--tables", type=int, default=25, help="of each format")
    arguments = parser.parse_args()
    tables = label(arguments.files, arguments.tables)
    more = arguments.files / "more_tables.json"
    tables += json.loads(more.read_text(encoding="utf-8")) if more.exists() else []
    text = json.dumps(tables, ensure_ascii=False, indent=1)
    (arguments.files / "tables.json").write_text(text, encoding="utf-8")
    print(
        {
            name: sum(table["format"] == name for table in tables)
            for name in {table["format"] for table in tables}
        }
    )


if __name__ == "__main__":
    main()
