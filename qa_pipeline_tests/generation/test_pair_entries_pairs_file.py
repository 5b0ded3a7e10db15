import io
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.generation.pair_entries import COLUMNS, parse_pairs
from qa_pipeline.storage.row_files import Limits
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline_tests.generation.pairs import GOOD, imported, lines


def parquet(*rows: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(list(rows)).write_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b'["\xff"]', "pairs.json"),
        (b"no parquet", "pairs.parquet"),
        (parquet({"question": "a"}), "pairs.parquet"),
        (b"", "pairs.xlsx"),
        (b"frage;antwort\na;b", "pairs.csv"),
        (b"question,svar\na,b", "pairs.csv"),
        (b'{"question": "a", "answer": "b"}', "pairs.csv"),
    ],
)
def test_a_file_that_cannot_be_read_as_a_whole_is_named(content: bytes, name: str) -> None:
    with pytest.raises(InputError, match=name):
        parse_pairs(content, name)


def test_parquet_is_read_like_json_lines_and_its_rows_are_bounded() -> None:
    content = parquet(GOOD | {"id": 3, "score": 0.5}, GOOD | {"id": 4, "score": 1.0, "question": None})
    found = imported(content, name="pairs.parquet")
    assert found["status"].to_list() == ["drafted", "failed"]
    assert found.select("source_line", "source_id", "source_fields").rows() == [
        (1, "3", '{"score": 0.5}'),
        (2, "4", '{"score": 1.0}'),
    ]
    short = parse_pairs(content, "pairs.parquet", Limits(max_line_bytes=10))
    assert [pair.reason for pair in short] == ["line_too_long"] * 2


names = st.sampled_from([*sorted(COLUMNS), "role", "content", "text", "user"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(names, values, max_size=6) | st.binary(max_size=20), max_size=5))
def test_whatever_is_in_the_lines_each_is_one_row_with_a_pair_or_a_reason(entries: list[Any]) -> None:
    content = lines(*(one.replace(b"\n", b" ") if isinstance(one, bytes) else one for one in entries))
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return
    # what begins like another file is refused whole
    assume(not content.startswith((b"PK", b"PAR1", b"%PDF")))
    expected = sum(1 for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip())
    found = imported(content)
    assert found.height == expected
    assert PAIRS.problems(found) == []
    assert found.filter(pl.col("question").is_null(), pl.col("detail").is_null()).is_empty()
