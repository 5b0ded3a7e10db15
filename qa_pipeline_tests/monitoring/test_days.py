import json
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from qa_pipeline.errors import InputError, StorageError
from qa_pipeline.evaluation.scoring import evaluation_settings
from qa_pipeline.monitoring.days import (
    BASE,
    day_file,
    metric_scores,
    metrics_of,
    read_days,
    score_day,
    write_day,
)
from qa_pipeline.monitoring.logs import ROWS
from qa_pipeline.resources import Resources
from qa_pipeline.settings.monitoring import MonitoringSettings
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.fakes import HashEmbedder

DAY = date(2026, 3, 1)
SETTINGS = MonitoringSettings()


def logged(folder: Path, *rows: dict[str, str], day: date = DAY) -> Path:
    (folder / day.isoformat()).mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"query": "q", **row}) for row in rows]
    (folder / day.isoformat() / "a.jsonl").write_text("\n".join(lines))
    return folder


def lengths(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(length=pl.col("answer").str.len_chars(), odd=pl.lit(float("nan")))


def test_answered_rows_are_scored_and_failed_ones_count_as_errors_alone(tmp_path: Path) -> None:
    rows = [{"id": "a", "answer": "four"}, {"id": "b", "error": "timeout"}, {"id": "c", "answer": "one"}]
    scored = score_day(logged(tmp_path, *rows), DAY, lengths, SETTINGS)
    assert scored.rows.select("id", "day", "errors", "length").rows() == [
        ("a", DAY, 0.0, 4.0),
        ("b", DAY, 1.0, None),
        ("c", DAY, 0.0, 3.0),
    ]
    assert metrics_of(scored.rows) == ["errors", "length", "odd"]
    assert "four" not in str(scored.rows.to_dicts())


def test_scores_that_are_no_number_are_unknown_and_counted(tmp_path: Path) -> None:
    scored = score_day(logged(tmp_path, {"id": "a", "answer": "x"}), DAY, lengths, SETTINGS)
    assert scored.rows["odd"].to_list() == [None]
    assert scored.faults.select("reason", "rows", "kept").rows() == [("not_a_number_odd", 1, True)]


def test_an_empty_day_and_one_of_errors_alone_have_no_metrics_and_ask_nobody(tmp_path: Path) -> None:
    def never(rows: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError

    empty = score_day(logged(tmp_path), DAY, never, SETTINGS)
    assert (empty.rows.schema, empty.rows.height) == (BASE, 0)
    failed = score_day(logged(tmp_path, {"id": "a", "error": "e"}), DAY, never, SETTINGS)
    assert failed.rows["errors"].to_list() == [1.0]


@pytest.mark.parametrize(
    "scores",
    [pl.DataFrame({"m": [1.0, 2.0]}), pl.DataFrame({"id": [1.0]}), pl.DataFrame({"m": ["high"]})],
)
def test_scores_of_other_rows_or_kinds_are_an_error(tmp_path: Path, scores: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="scores"):
        score_day(logged(tmp_path, {"id": "a", "answer": "x"}), DAY, lambda _: scores, SETTINGS)


def test_days_are_written_and_read_as_a_series_whatever_they_were_scored_by(tmp_path: Path) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    other = date(2026, 3, 2)
    logged(logs, {"id": "a", "answer": "x"})
    logged(logs, {"id": "b", "answer": "xy"}, day=other)
    write_day(out, score_day(logs, other, lambda rows: rows.select(m=pl.lit(0.5)), SETTINGS))
    first = write_day(out, score_day(logs, DAY, lengths, SETTINGS)).read_bytes()
    assert write_day(out, score_day(logs, DAY, lengths, SETTINGS)).read_bytes() == first
    found = read_days(out)
    assert found.select("id", "length", "m").rows() == [("a", 1.0, None), ("b", None, 0.5)]
    assert read_days(out, first=other)["id"].to_list() == ["b"]
    assert read_days(out, last=DAY)["id"].to_list() == ["a"]


def test_no_scores_and_broken_ones_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no scores of any day"):
        read_days(tmp_path)
    day_file(tmp_path, DAY).write_bytes(b"no parquet")
    with pytest.raises(InputError, match=r"2026-03-01\.parquet"):
        read_days(tmp_path)


def test_scores_that_cannot_be_written_are_an_error(tmp_path: Path) -> None:
    scored = score_day(logged(tmp_path, {"id": "a", "answer": "x"}), DAY, lengths, SETTINGS)
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        write_day(tmp_path / "file", scored)


def test_answers_are_scored_by_the_metrics_of_the_settings_and_unknown_without_texts(tmp_path: Path) -> None:
    tower = {"text": "The Eiffel Tower is 330 metres tall.", "document": "a", "rank": 1, "score": None}
    answer = "The Eiffel Tower is 330 metres tall."
    rows = pl.DataFrame(
        [
            {"id": "a", "query": "How tall is it?", "answer": answer, "contexts": [tower]},
            {"id": "b", "query": "How tall is it?", "answer": answer, "contexts": [{"text": None}]},
            {"id": "c", "query": None, "answer": answer, "contexts": [tower]},
        ],
        schema=ROWS,
    )
    watched = MonitoringSettings(metrics=("faithfulness", "hallucination"))
    resources = Resources(
        evaluation_settings(Settings(out=tmp_path, monitoring=watched)), embedder=HashEmbedder()
    )
    found = metric_scores(rows, resources)
    assert found.columns == ["faithfulness", "hallucination"]
    assert found["faithfulness"].to_list() == [1.0, None, None]
    assert metric_scores(rows.clear(), resources).height == 0
