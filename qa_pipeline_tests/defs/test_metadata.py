import dagster as dg
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from qa_pipeline.defs.metadata import (
    CELL_LENGTH,
    INLINE_LENGTH,
    cell,
    frame_metadata,
    markdown_table,
    review_metadata,
    summary_metadata,
    table_schema,
    verdict_preview,
)
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import STORED, VERDICTS
from qa_pipeline_tests.defs.project import Project

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
    assert frame_metadata(known.empty(), known) == {"dagster/partition_row_count": 0}


def rows_of(preview: str) -> list[list[str]]:
    """Cells of a Markdown table, its head first."""
    lines = [line for line in preview.splitlines() if "---" not in line]
    return [[one.strip(" `") for one in line.strip("| ").split(" | ")] for line in lines]


@pytest.mark.parametrize("table", STORED.values(), ids=lambda table: table.name)
def test_a_preview_of_long_hostile_rows_is_short_enough_to_be_shown_without_a_click(table: Table) -> None:
    hostile = "| `x` <b> " * 1_000
    row = {name: hostile if kind == pl.String else None for name, kind in table.schema.items()}
    rows = pl.DataFrame([row] * 50, schema=table.schema)
    preview = frame_metadata(rows, table)["preview"].value
    assert len(preview) < INLINE_LENGTH
    assert len(rows_of(preview)) == 6


def test_the_ledger_is_previewed_as_question_answer_verdict_and_quote(finished: Project) -> None:
    tables = [finished.table(name, "b1") for name in ("verdicts", "pairs", "claims")]
    head, first, *_ = rows_of(verdict_preview(*tables).value or "")
    assert head == ["question", "answer", "verdict", "quote"]
    pair = tables[1].row(by_predicate=pl.col("pair_id") == tables[0]["pair_id"][0], named=True)
    assert first[0] == pair["question"]
    assert first[1].rstrip("…") in pair["answer"]
    assert first[2] == tables[0]["verdict"][0]
    examples = frame_metadata(finished.table("training_examples", "b1"), STORED["training_examples"])
    assert rows_of(examples["preview"].value)[0] == ["question", "answer", "quote"]
    assert all(value == round(value, 4) for value in summary_metadata(tables[0]).values())


def test_verdicts_link_to_their_batch_in_the_review_app_where_its_address_is_set(finished: Project) -> None:
    reachable = finished.with_settings(review={"url": "https://review.example.org/"})
    link = "https://review.example.org/?list=waiting&batch=b1"
    for project, shown in ((finished, None), (reachable, dg.MetadataValue.url(link))):
        (event,) = project.build("b1", "verdicts").get_asset_materialization_events()
        assert event.materialization.metadata.get("review") == shown


def test_a_hostile_name_of_a_batch_cannot_end_the_address_of_a_link() -> None:
    assert review_metadata("https://r.example.org", "a)")["review"].value.endswith("batch=a%29")
