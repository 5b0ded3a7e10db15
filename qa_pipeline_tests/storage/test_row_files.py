import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.storage.row_files import (
    MOST_COLUMNS,
    MOST_LEVELS,
    Fault,
    FileRow,
    Limits,
    open_rows,
    unit_of,
)

Rows = list[dict[str, Any]]
SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt", ".parquet")
GOOD = {"question": "Är den hög?", "answer": 'Ja,\n"mycket"; det är den.', "note": "a.md"}


def as_jsonl(rows: Rows) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def as_json(rows: Rows) -> bytes:
    return json.dumps(rows, indent=1).encode()


def as_data(rows: Rows) -> bytes:
    return json.dumps({"version": "1", "data": rows, "info": {"data": [7]}}).encode()


def as_parquet(rows: Rows) -> bytes:
    pl.DataFrame(rows).write_parquet(buffer := io.BytesIO())
    return buffer.getvalue()


def as_csv(delimiter: str, end: str = "\r\n", encoding: str = "utf-8-sig") -> Callable[[Rows], bytes]:
    def write(rows: Rows) -> bytes:
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, [*rows[0]], delimiter=delimiter, lineterminator=end)
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode(encoding)

    return write


FORMATS: dict[str, tuple[str, Callable[[Rows], bytes]]] = {
    "JSONL": ("rows.jsonl", as_jsonl),
    "JSON": ("rows.json", as_json),
    "JSON with data": ("rows.JSON", as_data),
    "Parquet": ("rows.parquet", as_parquet),
    "commas": ("rows.csv", as_csv(",", "\n", "utf-8")),
    "semicolons": ("rows.csv", as_csv(";")),
    "tabs": ("rows.csv", as_csv("\t")),
    "tabs by name": ("rows.tsv", as_csv("\t", "\r")),
}
TABLES = ("Parquet",)


def read(content: bytes | str, name: str, limits: Limits | None = None, **options: Any) -> list[FileRow]:
    content = content if isinstance(content, bytes) else content.encode()
    file = open_rows(Path(name), limits or Limits(), SUFFIXES, content=content, **options)
    return list(file.rows)


def values(rows: list[FileRow]) -> list[Any]:
    return [row.value.reason if isinstance(row.value, Fault) else row.value for row in rows]


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_same_rows_from_a_path_and_from_bytes(kind: str, tmp_path: Path) -> None:
    name, write = FORMATS[kind]
    rows = [GOOD, GOOD | {"question": "Och?", "answer": "Nej" * 50_000}]
    content = write(rows)
    (tmp_path / name).write_bytes(content)
    opened = open_rows(tmp_path / name, Limits(), SUFFIXES)
    assert list(opened.columns) == ([] if "JSON" in kind else [*GOOD])
    found = list(opened.rows)
    assert values(found) == rows
    assert found == read(content, name)
    first = 2 if unit_of(name) == "row" and kind not in TABLES else 1
    assert [row.number for row in found] == [first, first + 1]


@pytest.mark.parametrize("kind", FORMATS)
def test_too_many_rows_and_too_many_bytes_are_refused(kind: str, tmp_path: Path) -> None:
    name, write = FORMATS[kind]
    content = write([GOOD] * 3)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"^{name} .* 2 rows"):
        read(content, name, Limits(max_rows=2))
    with pytest.raises(InputError, match=f"{name} is larger"):
        open_rows(tmp_path / name, Limits(max_bytes=len(content) - 1), SUFFIXES)


@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind not in TABLES])
def test_a_row_longer_than_allowed_is_a_fault_and_the_others_go_on(kind: str) -> None:
    name, write = FORMATS[kind]
    found = read(write([GOOD, GOOD | {"answer": "x" * 900}, GOOD]), name, Limits(max_line_bytes=500))
    assert values(found) == [GOOD, "line_too_long", GOOD]


def test_places_are_lines_of_json_and_rows_as_spreadsheets_count_them() -> None:
    lines = b'\xef\xbb\xbf{"a": 1}\r\n\r\n  \n[2]\n{"a": "\xe2\x80\xa8"}'
    assert [row.number for row in read(lines, "rows.jsonl")] == [1, 4, 5]
    assert [row.number for row in read('a;b\n"two\nlines";1\n\n;\nx;2', "rows.csv")] == [2, 5]
    assert [row.number for row in read('[{"a": 1},\n\n7]', "rows.json")] == [1, 2]


@pytest.mark.parametrize(
    "line",
    [
        "{not json",
        "[" * 100_000,
        "[" * (MOST_LEVELS + 2) + "]" * (MOST_LEVELS + 2),
        "9" * 5000,
        '{"a": 1} {"a": 2}',
        '{"a": "\0"}',
    ],
)
def test_a_broken_line_is_a_fault_and_its_neighbours_go_on(line: str) -> None:
    before, broken, after = read(f'{{"a": 1}}\n{line}\n{{"a": 2}}', "rows.jsonl")
    assert (before.value, after.value) == ({"a": 1}, {"a": 2})
    assert (broken.number, broken.value.reason) == (2, "broken_line")


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ("a,b\nGebühr,c".encode("cp1252"), "rows.csv", "UTF-8 .*line 2"),
        ("a,Gebühr\nb,c".encode("cp1252"), "rows.csv", "UTF-8 .*line 1"),
        ('[\n"ü"]'.encode("cp1252"), "rows.json", "UTF-8 .*line 2"),
        (b"a,b,a\n1,2,3", "rows.csv", "row 1: column 'a'"),
        (b'a,b\n1,2\n3,"open\n4,5', "rows.csv", "row 3.*never closed"),
        (b",".join(b"c%d" % n for n in range(MOST_COLUMNS + 1)), "rows.csv", f"{MOST_COLUMNS}"),
        (b"PAR1 and no more", "rows.parquet", "Parquet"),
        (as_parquet([GOOD])[:-9], "rows.parquet", "Parquet"),
        (b"", "rows.xlsx", r"\.jsonl, "),
    ],
)
def test_a_file_that_cannot_be_read_says_what_it_is_and_where(content: bytes, name: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"^{name}.*{said}"):
        read(content, name)


def test_what_is_no_regular_file_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("pipe.jsonl", "gone.jsonl"):
        with pytest.raises(InputError, match=name):
            open_rows(tmp_path / name, Limits(), SUFFIXES)


def test_short_rows_of_csv_lack_their_last_cells_and_wide_rows_are_faults() -> None:
    lines = ["Q,A,,n", '"two\nlines",a,,1', "short,a", "", "wide,a,,2,3", "l,42,,6,"]
    found = read("\n".join(lines), "rows.csv", known_columns={"q"})
    assert [(row.number, value) for row, value in zip(found, values(found), strict=True)] == [
        (2, {"q": "two\nlines", "A": "a", "column 3": None, "n": "1"}),
        (3, {"q": "short", "A": "a", "column 3": None, "n": None}),
        (5, "broken_line"),
        (6, {"q": "l", "A": "42", "column 3": None, "n": "6"}),
    ]
    assert found[2].value.detail.startswith("5 cells under a header of 4")


@given(st.binary(max_size=60), st.sampled_from(SUFFIXES))
def test_any_file_is_rows_or_an_error_that_names_it(content: bytes, suffix: str) -> None:
    refusal, places = f"rows{suffix}", list[int]()
    try:
        places = [row.number for row in read(content, f"rows{suffix}")]
    except InputError as error:
        refusal = str(error)
    assert refusal.startswith(f"rows{suffix}")
    assert places == sorted(set(places))
