import json
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.evaluation.answered_questions import RAG_ROWS
from qa_pipeline.monitoring import days
from qa_pipeline.monitoring.days import (
    Logs,
    Score,
    day_file,
    decisions_of,
    metric_scores,
    metrics_of,
    read_days,
    score_day,
)
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.fakes import HashEmbedder

DAY = date(2026, 3, 1)


def logged(folder: Path, *rows: dict[str, Any], day: date = DAY) -> Path:
    (folder / day.isoformat()).mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"query": "q", **row}) for row in rows]
    (folder / day.isoformat() / "a.jsonl").write_text("\n".join(lines))
    return folder


def scored(folder: Path, score: Score, out: Path | None = None, day: date = DAY) -> pl.DataFrame:
    return score_day(Logs(folder), day, score, out or folder / "out").items


def lengths(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(length=pl.col("answer").str.len_chars(), odd=pl.lit(float("nan")))


def test_answered_rows_are_scored_and_the_others_count_as_requests_alone(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "answer": "four"},
        {"id": "b", "error": "timeout"},
        {"id": "c", "answer": "one"},
    ]
    found = scored(logged(tmp_path, *rows), lengths)
    assert found.select("id", "day", "errors", "length").rows() == [
        ("a", DAY, 0.0, 4.0),
        ("b", DAY, 1.0, None),
        ("c", DAY, 0.0, 3.0),
    ]
    assert metrics_of(found) == ["errors", "length", "odd"]
    assert "four" not in str(found.to_dicts())


def test_days_are_written_and_read_as_a_series_whatever_they_were_scored_by(tmp_path: Path) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    other = date(2026, 3, 2)
    logged(logs, {"id": "a", "answer": "x"})
    logged(logs, {"id": "b", "answer": "xy"}, day=other)
    scored(logs, lambda rows: rows.select(m=pl.lit(0.5)), out, other)
    scored(logs, lengths, out)
    first = day_file(out, DAY).read_bytes()
    scored(logs, lengths, out)
    assert day_file(out, DAY).read_bytes() == first
    found = read_days(out)
    assert found.select("id", "length", "m").rows() == [("a", 1.0, None), ("b", None, 0.5)]
    assert read_days(out, first=other)["id"].to_list() == ["b"]
    assert read_days(out, last=DAY)["id"].to_list() == ["a"]


def test_answers_are_scored_by_each_metric_and_unknown_without_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tower = {"text": "The Eiffel Tower is 330 metres tall.", "document": "a"}
    asked = {"query": "How tall is it?", "answer": "The Eiffel Tower is 330 metres tall."}
    logs = logged(
        tmp_path,
        {**asked, "id": "a", "contexts": [tower]},
        {**asked, "id": "b", "contexts": [{"text": None}]},
    )
    monkeypatch.setattr(days, "METRICS", ("faithfulness", "hallucination"))
    score = metric_scores(Settings(out=tmp_path), HashEmbedder())
    found = scored(logs, score)
    assert metrics_of(found) == ["errors", "faithfulness", "hallucination"]
    assert found["faithfulness"].to_list() == [1.0, None]
    for rows in (found, read_days(tmp_path / "out")):
        decisions = {name: decisions_of(rows, name) for name in metrics_of(rows)}
        assert decisions == {
            "errors": {},
            "faithfulness": {"quotation": 1},
            "hallucination": {"quotation": 1},
        }
    assert score(RAG_ROWS.to_frame()).height == 0
