"""A report counts what can be counted and says of everything else what is wrong with it."""

from pathlib import Path

import polars as pl
import pytest

from qa_pipeline.pipeline.report import Report, finished_batches, report
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import write_table
from qa_pipeline.storage.tables import TABLES
from qa_pipeline_tests.curation.rows import document, documents, pair, pairs, verdict, verdicts

ROWS = {
    "documents": documents(document("d"), document("bad", None, status="failed", reason="encrypted")),
    "pairs": pairs(pair("p")),
    "verdicts": verdicts(verdict("p")),
}


def lay_down(out: Path, batch: str, *, without: str | None = None) -> Layout:
    layout = Layout(out)
    for name, table in TABLES.items():
        if name != without:
            frame = ROWS.get(name, table.empty()).with_columns(batch=pl.lit(batch))
            write_table(layout.table(name, batch), frame, table)
    return layout


def counted(found: Report) -> list[tuple[object, ...]]:
    return found.batches.select("batch", "documents", "parsed", "accepted", "examples").rows()


def test_batches_are_counted_one_by_one_and_together(tmp_path: Path) -> None:
    layout = lay_down(tmp_path, "a")
    lay_down(tmp_path, "b")
    found = report(layout, finished_batches(layout))
    assert counted(found) == [("a", 2, 1, 1, 0), ("b", 2, 1, 1, 0)]
    assert found.incomplete == {}


def test_files_that_failed_are_listed_with_their_reason(tmp_path: Path) -> None:
    found = report(lay_down(tmp_path, "a"), ["a"])
    assert found.unread.select("batch", "path", "reason").rows() == [("a", "bad.md", "encrypted")]


def test_a_batch_behind_a_failed_gate_is_counted_without_examples(tmp_path: Path) -> None:
    found = report(lay_down(tmp_path, "a", without="training_examples"), ["a"])
    assert counted(found) == [("a", 2, 1, 1, 0)]
    assert found.steps.filter(reason="failed_gate")["count"].to_list() == [1]


@pytest.mark.parametrize("damage", ["missing", "empty file"])
def test_a_batch_with_a_table_that_cannot_be_read_takes_no_other_down(tmp_path: Path, damage: str) -> None:
    layout = lay_down(tmp_path, "a")
    lay_down(tmp_path, "b")
    if damage == "missing":
        layout.table("pairs", "a").unlink()
    else:
        layout.table("pairs", "a").write_bytes(b"")
    found = report(layout, ["a", "b"])
    assert counted(found) == [("b", 2, 1, 1, 0)]
    assert str(layout.table("pairs", "a")) in found.incomplete["a"]


def test_a_foreign_file_among_the_tables_is_named_and_does_no_harm(tmp_path: Path) -> None:
    layout = lay_down(tmp_path, "a")
    (tmp_path / "tables" / "pairs" / "x, y.parquet").write_bytes(b"")
    found = report(layout, finished_batches(layout))
    assert [row[0] for row in counted(found)] == ["a"]
    assert list(found.incomplete) == ["x, y"]
