"""The command `monitor`: scores, limits and drift of answers in production."""

import json
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.console import show
from qa_pipeline.cli.exit_codes import FAILED
from qa_pipeline.cli.options import Change, Json, Out, check_exists
from qa_pipeline.cli.settings import settings_at
from qa_pipeline.errors import InputError
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout

if TYPE_CHECKING:
    import polars as pl

_COLUMNS = ("metric", "day", "rows", "mean", "limit", "state", "decided_by")


def monitor(
    logs: Annotated[Path | None, typer.Argument(help="Folder of logs. Default: monitoring.logs.")] = None,
    out: Out = Path("data"),
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="First day (UTC) whose alerts count. Default: the last day."),
    ] = None,
    alerts: Annotated[Path | None, typer.Option(help="JSONL file for the alerts.")] = None,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Monitor answers in production: score new days of logs; exit with 1 if there is an alert.

    Scores are stored without texts in OUT/monitoring. An alert is a mean beyond its limit by more than
    chance, a mean that likeness alone decided, or drift from the first 28 days.
    """
    settings = settings_at(out, change)
    folder = logs or settings.monitoring.logs
    if folder is None:
        raise InputError("name a folder of logs, or set monitoring.logs")
    check_exists(folder)
    import polars as pl

    from qa_pipeline.monitoring.alerts import alerts_of, find_drift, find_levels
    from qa_pipeline.monitoring.days import read_days

    scored, left_out = _score_days(folder, settings)
    rows = read_days(Layout(settings.out).monitoring)
    levels, drift = find_levels(rows, settings.monitoring), find_drift(rows)
    first = since.date() if since else max(rows["day"], default=date.min)
    lines = alerts_of(levels, drift, first)
    if alerts is not None:
        write_bytes(alerts, "".join(f"{json.dumps(line)}\n" for line in lines).encode())
    document: dict[str, Any] = {
        "days": rows["day"].n_unique(),
        "rows": rows.height,
        "scored_now": [day.isoformat() for day in scored],
        "left_out": left_out.to_dicts(),
        "since": first.isoformat(),
        "levels": levels.filter(pl.col("day") >= first).cast({"day": pl.String()}).to_dicts(),
        "alerts": lines,
    }
    counts = {name: document[name] for name in ("days", "rows", "scored_now", "left_out", "since")}
    limits = [{name: row[name] for name in _COLUMNS} for row in document["levels"] if row["hour"] is None]
    messages = [line["message"] for line in lines]
    screen = {**counts, "limits": limits, "alert": messages, "alerts": len(lines)}
    show(document, as_json=as_json, screen=screen)
    if lines:
        raise typer.Exit(FAILED)


def _score_days(folder: Path, settings: Settings) -> "tuple[list[date], pl.DataFrame]":
    """Score each day whose logs are newer than its scores; return these days and their omitted rows."""
    import polars as pl

    from qa_pipeline.evaluation.labelled_files import LEFT_OUT
    from qa_pipeline.monitoring.days import Logs, day_file, metric_scores, score_day

    logs, scores = Logs(folder), Layout(settings.out).monitoring
    score = metric_scores(settings)
    new_days = [day for day in logs.days() if logs.has_news(day, day_file(scores, day))]
    left_out = [score_day(logs, day, score, scores).left_out for day in new_days]
    return new_days, pl.concat([LEFT_OUT.to_frame(), *left_out])
