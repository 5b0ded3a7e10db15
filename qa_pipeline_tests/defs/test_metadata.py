import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from qa_pipeline.defs.metadata import (
    CELL_LENGTH,
    cell,
    frame_metadata,
    markdown_table,
    summary_metadata,
    table_schema,
)
from qa_pipeline.tables import STORED, VERDICTS
from qa_pipeline_tests.curation.rows import verdict, verdicts

HOSTILE = [
    "<script>alert(1)</script>",
    "a | b | c",
    "`code` and ``more``",
    "[click](javascript:alert(1))",
    "![x](https://example.org/pixel.png)",
    "https://example.org/phish",
    "www.example.org",
    "someone@example.org",
    "&lt;b&gt; &#124;",
    "line\nbreak\r\n| --- |",
    "\u202egnp.exe",
    "zero\u200bwidth\x00null",
    "# heading\n\n- item",
    "\\`escaped\\`",
    "x" * 10_000,
]


def rendered_cells(text: str) -> list[str]:
    """What a Markdown reader with tables, links and raw HTML makes of one cell between two others."""
    reader = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table")
    tokens = reader.parse(markdown_table(("left", "middle", "right"), [("l", text, "r")]))
    body = tokens[[token.type for token in tokens].index("tbody_open") :]
    inline = [token for token in body if token.type == "inline"]
    return ["".join(f"{child.type}:{child.content}" for child in token.children or ()) for token in inline]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_one_code_span_in_its_own_cell(text: str) -> None:
    left, middle, right = rendered_cells(text)
    assert (left, right) == ("code_inline:l", "code_inline:r")
    assert middle.startswith("code_inline:")
    assert middle.count(":") == 1 + cell(text).count(":")


@given(text=st.text())
def test_no_text_can_leave_its_cell(text: str) -> None:
    shown = cell(text)
    assert "|" not in shown
    assert "\n" not in shown
    assert shown.count("`") in (0, 2)
    assert len(shown) <= CELL_LENGTH + 2


def test_values_that_are_no_text_are_shown_as_json_and_null_as_nothing() -> None:
    assert cell(["a", "b"]) == '`["a", "b"]`'
    assert cell({"start": 1, "quote": "`x`"}) == '`{"start": 1, "quote": "ˋxˋ"}`'
    assert cell(None) == ""
    assert cell(0) == "`0`"


def test_codes_are_counted_most_frequent_first_and_the_first_column_as_numbers() -> None:
    frame = pl.DataFrame(
        {
            "verdict": ["accepted", "rejected", "accepted"],
            "stage": ["accepted", "refusal", "accepted"],
            "reason": ["ok", None, "ok"],
        }
    )
    metadata = frame_metadata(frame, VERDICTS)
    assert metadata["dagster/partition_row_count"] == 3
    assert (metadata["verdict: accepted"], metadata["verdict: rejected"]) == (2, 1)
    assert metadata["rows by reason"].value.splitlines()[2:] == ["| `ok` | `2` |", "| `(none)` | `1` |"]


@pytest.mark.parametrize("table", STORED.values(), ids=lambda table: table.name)
def test_every_column_is_described_and_an_empty_table_can_be_shown(table: object) -> None:
    known = STORED[table.name]  # type: ignore[attr-defined]
    schema = table_schema(known)
    assert [column.name for column in schema.columns] == list(known.schema)
    assert all(column.description for column in schema.columns)
    assert frame_metadata(known.empty(), known)["dagster/partition_row_count"] == 0


def test_rates_and_averages_are_named_by_what_they_are_of() -> None:
    told = summary_metadata(verdicts(verdict("p", composite=0.8), verdict("q", "needs_review")))
    assert told == {
        "pass rate": 1.0,
        "pass rate of all": 0.5,
        "average score": 0.8,
        "average score of all": 0.4,
    }
