from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.report_folder import read_report
from qa_pipeline_tests.evaluation.stored_reports import stored, write_report


def test_a_report_comes_back_with_its_scores(tmp_path: Path) -> None:
    report = stored(tmp_path, {"faithfulness": [0.5, None, 1.0], "hallucination": [0.0, 0.0, 1.0]})
    assert report.rows.columns == ["id", "group", "faithfulness", "hallucination"]
    assert report.rows["faithfulness"].to_list() == [0.5, None, 1.0]
    assert report.metrics["hallucination"].direction == "lower"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": 2}, "format"),
        ({"dataset_sha256": "../x"}, "dataset_sha256"),
        ({"metrics": {"faithfulness": {"version": "1", "direction": "up", "range": [0, 1]}}}, "direction"),
        ({"dataset": None}, "dataset"),
    ],
)
def test_a_document_that_breaks_the_form_is_refused(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    folder = write_report(tmp_path, {"faithfulness": [0.5]}, **change)
    with pytest.raises(InputError, match=told) as raised:
        read_report(folder)
    assert "report.json" in str(raised.value)
    assert "eval run" in str(raised.value)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({"group": ["d"], "faithfulness": [0.5]}, "column id"),
        ({"id": ["a"], "group": [None], "faithfulness": [0.5]}, "column group"),
        ({"id": ["a", "a"], "group": ["d", "d"], "faithfulness": [0.5, 0.5]}, "'a'"),
        ({"id": ["a"], "group": ["d"], "faithfulness": [1.5]}, "row 1 .* 1.5"),
        ({"id": [], "group": [], "faithfulness": []}, "row"),
    ],
)
def test_rows_that_break_the_form_are_refused(tmp_path: Path, rows: dict[str, list[Any]], told: str) -> None:
    folder = write_report(tmp_path, {"faithfulness": [0.5]})
    texts = {name: pl.String() for name in ("id", "group") if not rows.get(name) or rows[name] == [None]}
    pl.DataFrame(rows, schema_overrides=texts).write_parquet(folder / "rows.parquet")
    with pytest.raises(InputError, match=told) as raised:
        read_report(folder)
    assert "rows.parquet" in str(raised.value)
