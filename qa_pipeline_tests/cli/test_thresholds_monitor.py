import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from qa_pipeline.cli.app import app
from qa_pipeline.monitoring import days
from qa_pipeline.monitoring.days import Score

PASSAGE = "The tower is 324 m high."


def scored_by(_: Any) -> Score:
    """Half of the answers that say so are faithful."""
    return lambda rows: rows.select(faithfulness=(pl.col("answer") == "good").cast(pl.Float64()))


@pytest.fixture(autouse=True)
def _without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(days, "metric_scores", scored_by)


def logged(folder: Path, day: int, *answers: str) -> Path:
    rows = [
        {
            "id": f"{day} {place}",
            "time": datetime(2026, 3, day, 12, tzinfo=UTC).isoformat(),
            "query": "How high?",
            "answer": answer,
            "contexts": [PASSAGE],
        }
        for place, answer in enumerate(answers)
    ]
    own = folder / f"2026-03-{day:02d}"
    own.mkdir(parents=True, exist_ok=True)
    (own / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["monitor", *map(str, arguments)])


def test_days_without_an_alert_exit_with_0_and_are_kept_without_texts(tmp_path: Path) -> None:
    logs = logged(logged(tmp_path / "logs", 1, *["good"] * 30), 2, *["good"] * 30)
    done = run(logs, "--out", tmp_path / "out")
    assert done.exit_code == 0
    files = sorted((tmp_path / "out" / "monitoring").iterdir())
    assert [file.name for file in files] == ["2026-03-01.parquet", "2026-03-02.parquet"]
    assert not any(PASSAGE.encode() in file.read_bytes() for file in files)


def test_an_alert_exits_with_1_and_is_written_as_json_lines(tmp_path: Path) -> None:
    logs = logged(tmp_path / "logs", 1, *["bad"] * 30)
    alerts = tmp_path / "alerts.jsonl"
    done = run(logs, "--out", tmp_path / "out", "--alerts", alerts)
    assert done.exit_code == 1
    (told,) = [json.loads(line) for line in alerts.read_text().splitlines()]
    assert (told["kind"], told["metric"], told["mean"], told["state"]) == (
        "level",
        "faithfulness",
        0.0,
        "alert",
    )
    assert told["message"] in done.stdout.replace("\n", " ")


def test_only_days_whose_logs_changed_are_scored_again_and_old_alerts_do_not_count(tmp_path: Path) -> None:
    logs = logged(logged(tmp_path / "logs", 1, *["bad"] * 30), 2, *["good"] * 30)
    out = tmp_path / "out"
    assert run(logs, "--out", out).exit_code == 0
    found = json.loads(run(logs, "--out", out, "--json").stdout)
    assert (found["scored_now"], found["since"], found["alerts"]) == ([], "2026-03-02", [])
    logged(logs, 2, *["good"] * 31)
    assert json.loads(run(logs, "--out", out, "--json").stdout)["scored_now"] == ["2026-03-02"]
    since = run(logs, "--out", out, "--since", "2026-03-01", "--json")
    assert (since.exit_code, len(json.loads(since.stdout)["alerts"])) == (1, 1)
    (out / "monitoring" / "2026-03-01.parquet").unlink()
    assert json.loads(run(logs, "--out", out, "--json").stdout)["scored_now"] == ["2026-03-01"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "folder"),
        (["gone"], "gone"),
        (["."], "logs"),
    ],
)
def test_what_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
