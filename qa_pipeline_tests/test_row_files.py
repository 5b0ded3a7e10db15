import csv
import io
import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.generation.pairs_file import import_pairs, parse_pairs
from qa_pipeline.settings.generation import PairsFileSettings
from qa_pipeline_tests.verification.rows import chunks, documents

Rows = list[dict[str, Any]]
GOOD = {"question": "Är den hög?", "answer": 'Ja,\n"mycket"; det är den.', "citations": "a.md"}


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
    "JSONL": ("pairs.jsonl", as_jsonl),
    "JSON": ("pairs.json", as_json),
    "JSON with data": ("pairs.JSON", as_data),
    "JSONL under another name": ("pairs.json", as_jsonl),
    "Parquet": ("pairs.parquet", as_parquet),
    "commas": ("pairs.csv", as_csv(",", "\n", "utf-8")),
    "semicolons": ("pairs.csv", as_csv(";")),
    "tabs": ("pairs.csv", as_csv("\t")),
    "tabs by name": ("pairs.tsv", as_csv("\t", "\r")),
}


def read(content: bytes, name: str, **limits: int) -> Rows:
    found = documents({"a.md": "Ja."})
    raw = parse_pairs(content, name, PairsFileSettings(**limits))
    return import_pairs(raw, found, chunks(found), "b").to_dicts()


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_holds_the_same_pairs(kind: str) -> None:
    name, write = FORMATS[kind]
    rows = [GOOD, GOOD | {"question": "Och?", "answer": "Nej"}]
    assert [(row["question"], row["answer"]) for row in read(write(rows), name)] == [
        (row["question"], row["answer"]) for row in rows
    ]
    assert [row["citations"][0]["resolution"] for row in read(write(rows), name)] == ["document"] * 2


@pytest.mark.parametrize("kind", FORMATS)
def test_limits_hold_for_every_format(kind: str) -> None:
    name, write = FORMATS[kind]
    rows = [GOOD, GOOD | {"answer": "x" * 900}, GOOD]
    found = read(write(rows), name, max_line_bytes=500)
    assert [row["reason"] for row in found] == [None, "line_too_long", None]
    with pytest.raises(InputError, match="more than 2 pairs"):
        read(write(rows), name, max_pairs=2)


@pytest.mark.parametrize("name", ["pairs.jsonl", "pairs.json", "pairs.csv", "pairs.tsv"])
def test_a_file_without_a_pair_gives_no_row(name: str) -> None:
    assert read(b"", name) == read(b"\xef\xbb\xbf \n\n", name) == []


@pytest.mark.parametrize("kind", FORMATS)
def test_a_question_of_ten_thousand_characters_is_kept(kind: str) -> None:
    name, write = FORMATS[kind]
    assert len(read(write([GOOD | {"question": "x" * 10_000}]), name)[0]["question"]) == 10_000


def test_what_a_paragraph_is_repeated_to_is_bounded() -> None:
    nested = {"context": "x" * 3000, "qas": [{"question": "A", "answers": [{"text": "x"}]}] * 9}
    assert len(read(as_json([nested]), "pairs.json")) == 9
    with pytest.raises(InputError, match="unpacks to more"):
        read(as_json([nested]), "pairs.json", max_bytes=4000)


def test_what_a_parquet_file_unpacks_to_is_bounded() -> None:
    content = as_parquet([GOOD | {"answer": f"{n}" * 2000} for n in range(9)])
    with pytest.raises(InputError, match="unpacks to more"):
        read(content, "pairs.parquet", max_bytes=1000)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("frage;antwort\na;b", "pairs.csv line 1: found frage, antwort; expected question"),
        ("question,svar\na,b", "pairs.csv line 1 has no column answer"),
        ("question,answer,answer\na,b,c", "pairs.csv line 1: column 'answer' stands twice"),
        ('{"question": "a", "answer": "b"}', "pairs.csv line 1: found"),
        ('"open,answer\na,b', "pairs.csv line 1: found"),
        (b"PK\x03\x04...", "pairs.csv is a spreadsheet or another ZIP file"),
        (b"PAR1...", "pairs.csv is a Parquet file"),
        ("question,answer".encode("utf-16"), "pairs.csv is UTF-16 text"),
        ("question,answer\na,b\nGebühr,c".encode("cp1252"), r"pairs.csv is not UTF-8 \(line 3\)"),
    ],
)
def test_a_file_that_is_no_csv_of_pairs_says_what_was_found(text: str | bytes, told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse_pairs(text if isinstance(text, bytes) else text.encode(), "pairs.csv")


def test_rows_that_cannot_be_used_name_the_line_they_begin_on_and_the_others_go_on() -> None:
    lines = [
        "Question,Answer,,n",
        '"two\nlines",a,,1',
        "short,a",
        "",
        "nul\0,a,,2",
        "q,,,3",
        '"quote"d,a,,4',
        '"open,a,,5',
        "last,42,,6",
    ]
    found = read("\n".join(lines).encode(), "pairs.csv")
    assert [(row["source_line"], row["reason"]) for row in found] == [
        (2, "found_by_search"),
        (4, "broken_line"),
        (6, "broken_line"),
        (7, "missing_field"),
        (8, "broken_line"),
        (9, "broken_line"),
        (10, "found_by_search"),
    ]
    assert found[1]["detail"] == "pairs.csv line 4: 2 cells under a header of 4"
    assert (found[-1]["question"], found[-1]["answer"]) == ("last", "42")
    assert json.loads(found[-1]["source_fields"]) == {"n": "6", "column 3": None}


def test_a_cell_may_hold_a_list_as_json() -> None:
    rows: Rows = [
        {
            "messages": json.dumps(
                [{"role": "user", "content": "A"}, {"role": "assistant", "content": "B [1]"}]
            )
        }
    ]
    found = read(as_csv(";")([row | {"sources": '["a.md"]'} for row in rows]), "pairs.csv")
    assert (found[0]["question"], found[0]["citations"][0]["number"]) == ("A", 1)
    numbered = read(as_csv(",")([GOOD | {"citations": "[1]", "sources": "a.md"}]), "pairs.csv")
    assert [one["resolution"] for one in numbered[0]["citations"]] == ["document"]


def test_json_that_breaks_off_is_named_with_the_place() -> None:
    with pytest.raises(InputError, match=r"pairs.json is not JSON \(line \d+ column \d+: "):
        read(as_json([GOOD, GOOD, GOOD])[:-30], "pairs.json")


@pytest.mark.parametrize("text", ["[", "{", "{7: 1}", '{"a" 1}', "no", '{"a": [}'])
def test_a_file_that_is_no_json_names_where_it_breaks(text: str) -> None:
    with pytest.raises(InputError, match=r"pairs.json is not JSON \(line 1"):
        read(text.encode(), "pairs.json")


def test_a_json_file_nested_without_end_is_refused_and_a_number_is_no_pair() -> None:
    with pytest.raises(InputError, match="nested too deeply"):
        read(b"[" * 99_999, "pairs.json")
    assert read(b"7", "pairs.json")[0]["reason"] == "broken_line"


def test_nesting_at_any_depth_is_a_row_or_a_message() -> None:
    for depth in range(100, 1300, 50):
        deep = '{"question": "a", "answer": "b", "x": ' + "[" * depth + "]" * depth + "}"
        assert len(read(deep.encode(), "pairs.jsonl")) == 1


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet='ab",;\n\r\t{}[]:\0ä', max_size=60), st.sampled_from(["csv", "jsonl"]))
def test_whatever_follows_a_good_beginning_is_rows(text: str, suffix: str) -> None:
    head = "question,answer\n" if suffix == "csv" else ""
    found = parse_pairs((head + text).encode(), f"pairs.{suffix}")
    assert found.filter(pl.col("status") == "failed")["detail"].null_count() == 0


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=12), st.text(max_size=12)), min_size=1, max_size=6),
    st.sampled_from(",;\t"),
)
def test_every_csv_row_comes_back_as_it_was_written(cells: list[tuple[str, str]], delimiter: str) -> None:
    rows = [{"question": f"q{a}", "answer": f"a{b}"} for a, b in cells]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [*rows[0]], delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    found = parse_pairs(text.getvalue().encode(), "pairs.csv")
    assert found.height == len(rows)
    assert found.filter(pl.col("detail").str.contains("CSV")).is_empty()
