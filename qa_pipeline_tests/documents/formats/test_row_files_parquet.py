import io
from datetime import date
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats import row_files
from qa_pipeline.documents.limits import LIMITS, ReaderLimits
from qa_pipeline.records import LeftOut, ParsedFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import SETTINGS, refusal, source

TEXTS = st.text("abcåß ", min_size=1, max_size=20)


def packed(**columns: object) -> bytes:
    content = io.BytesIO()
    parquet.write_table(pa.table(columns), content)
    return content.getvalue()


def parse(content: bytes, settings: DocumentSettings = SETTINGS, limits: ReaderLimits = LIMITS) -> ParsedFile:
    return row_files.parse_parquet(source(content, "a.parquet"), settings, limits)


@given(st.binary(max_size=60), st.integers(0, 2000))
def test_any_bytes_are_read_or_refused(junk: bytes, place: int) -> None:
    good = packed(text=["One.", "Two."], n=[1, 2])
    for content in (b"PAR1" + junk, good[:place], good[:place] + junk + good[place + len(junk) :]):
        assert refusal(partial(parse, content)) in (
            None, "damaged", "too_many_rows", "archive_bomb", "too_long",
        )  # fmt: skip


def test_rows_are_sections_with_their_other_columns_as_key_value_lines() -> None:
    columns = {
        "title": ["First", "Second"],
        "text": ["Words.", "More words."],
        "day": [date(2024, 3, 1), None],
        "tags": [["a", "b"], []],
        "at": [{"city": "Lund", "open": True}, {"city": "Kiel", "open": None}],
    }
    parsed = parse(packed(**columns))
    assert [block.text for block in parsed.blocks] == [
        "First",
        "day: 2024-03-01\ntags: a, b\nat city: Lund\nat open: true",
        "Words.",
        "Second",
        "at city: Kiel",
        "More words.",
    ]


def test_pictures_and_other_bytes_are_counted() -> None:
    parsed = parse(packed(text=["One.", "Two."], image=[{"bytes": b"\x89PNG", "path": "a.png"}] * 2))
    assert parsed.left_out == (LeftOut("binary_value", 2, 0),)
    assert parsed.blocks[1].text == "image path: a.png"


def test_more_rows_columns_or_characters_than_allowed_are_refused() -> None:
    many = packed(text=["x"] * 20)
    long = packed(text=["A text of some length. " * 50] * 400)
    assert len(long) < 10_000
    with pytest.raises(DocumentFailure, match="too_many_rows"):
        parse(many, limits=ReaderLimits(rows=10))
    with pytest.raises(DocumentFailure, match="too_long"):
        parse(long, DocumentSettings(max_characters=100_000))
    with pytest.raises(DocumentFailure, match="archive_bomb"):
        parse(packed(text=[f"{n:0100}" for n in range(100)]), limits=ReaderLimits(decompressed_bytes=5000))
