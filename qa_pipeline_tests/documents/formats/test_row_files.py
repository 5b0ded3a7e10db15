import io
import json
from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from qa_pipeline.documents.assembly import visible
from qa_pipeline.documents.corpus.files import LIMITS
from qa_pipeline.documents.formats import row_files
from qa_pipeline.records import LeftOut, ParsedFile
from qa_pipeline_tests.documents.builders import SETTINGS, outline, refusal, source

WORDS = st.text("abcåß", min_size=1, max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


def parse(content: str | bytes) -> ParsedFile:
    return row_files.parse(source(content, "a.jsonl"), SETTINGS)


def of(*rows: Any) -> ParsedFile:
    return parse("\n".join(json.dumps(row) for row in rows))


def leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in leaves(inner)]
    return [] if value is None else [str(value).lower() if isinstance(value, bool) else str(value)]


@given(st.lists(VALUES.filter(lambda value: value is not None), min_size=1, max_size=5))
def test_every_value_of_every_row_is_said(rows: list[Any]) -> None:
    said = " ".join(text for _, text in outline(of(*rows)))
    assert all(leaf in said for row in rows for leaf in leaves(row))


@given(st.text("XY1.-= \n*", max_size=100))
def test_every_character_of_a_text_is_in_a_block_or_counted_as_left_out(text: str) -> None:
    parsed = of({"text": f"a {text}"})
    blocks = [block for block in parsed.blocks if block.text != "Row 1"]
    kept = visible("".join(f"{block.marker or ''}{block.text}" for block in blocks))
    lost = sum(part.characters for part in parsed.left_out)
    assert kept + lost == visible(f"a {text}")


def test_the_other_fields_are_key_value_lines_with_the_names_above_them() -> None:
    row = {"id": 7, "tags": ["a", "b"], "at": {"city": "Lund", "open": True, "fax": None}, "text": "Body."}
    assert parse(json.dumps(row)).blocks[1].text == "id: 7\ntags: a, b\nat city: Lund\nat open: true"


def test_numbers_stand_as_they_are_written() -> None:
    parsed = parse('{"a": 1.50, "b": 1' + "0" * 5000 + ', "c": NaN}')
    assert parsed.blocks[1].text.split("\n") == ["a: 1.50", f"b: 1{'0' * 5000}", "c: NaN"]


def test_a_markdown_or_html_text_is_read_as_such_below_its_row() -> None:
    rows = [
        {"markdown": "# Top\n\nWords."},
        {"html": "<h1>Page</h1><p>Words."},
        {"text": "```\nx  =  1\n```"},
    ]
    parsed = of(*rows)
    assert [(block.kind, block.level) for block in parsed.blocks if block.kind == "heading"] == [
        ("heading", 2),
        ("heading", 3),
        ("heading", 2),
        ("heading", 3),
        ("heading", 2),
    ]
    assert parsed.blocks[-1].kind == "code"
    assert parsed.blocks[-1].text.strip() == "x  =  1"


def test_broken_lines_are_counted_with_their_numbers_and_the_rest_is_kept() -> None:
    deep = '{"a":' * 60 + "1" + "}" * 60
    content = b'{"text": "\xc3\xa5ngan"}\n{broken\n\n{"text": "\xff\xfe"}\n' + deep.encode() + b"\n"
    parsed = parse(content + b"[" * 50_000)
    assert [text for kind, text in outline(parsed) if kind == "paragraph"] == ["ångan"]
    (lost,) = parsed.left_out
    assert (lost.what, lost.pieces) == ("broken_line", 4)
    assert parsed.notes[0].endswith("2, 4, 5, 6")


def packed(**columns: object) -> bytes:
    content = io.BytesIO()
    parquet.write_table(pa.table(columns), content)
    return content.getvalue()


def parse_parquet(content: bytes) -> ParsedFile:
    return row_files.parse_parquet(source(content, "a.parquet"), SETTINGS)


def test_rows_of_parquet_are_sections_and_their_bytes_are_counted() -> None:
    columns = {
        "title": ["First", "Second"],
        "text": ["Words.", "More words."],
        "day": [date(2024, 3, 1), None],
        "tags": [["a", "b"], []],
        "image": [{"bytes": b"\x89PNG", "path": "a.png"}, {"bytes": b"\x89PNG", "path": None}],
    }
    parsed = parse_parquet(packed(**columns))
    assert [block.text for block in parsed.blocks] == [
        "First",
        "day: 2024-03-01\ntags: a, b\nimage path: a.png",
        "Words.",
        "Second",
        "More words.",
    ]
    assert parsed.left_out == (LeftOut("binary_value", 2, 0),)


def test_more_rows_or_bytes_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LIMITS, "rows", 10)
    assert refusal(lambda: parse("{}\n" * 11)) == "too_many_rows"
    assert refusal(lambda: parse_parquet(packed(text=["x"] * 20))) == "too_many_rows"
    monkeypatch.undo()
    monkeypatch.setattr(LIMITS, "decompressed_bytes", 5000)
    large = packed(text=[f"{n:0100}" for n in range(100)])
    assert refusal(lambda: parse_parquet(large)) == "archive_bomb"
