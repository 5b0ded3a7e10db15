"""Commands that work with thresholds: `calibrate` fits them, and `monitor` compares days of production."""

import json
import sys
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli import options
from qa_pipeline.cli.console import show
from qa_pipeline.cli.exit_codes import FAILED
from qa_pipeline.errors import InputError
from qa_pipeline.settings.tree import Settings, load_settings
from qa_pipeline.settings.verification import thresholds_bytes
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout

if TYPE_CHECKING:
    import polars as pl


def calibrate(
    data: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="File or folder of labelled rows; repeatable."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Rows of each file, spread over sources.")] = None,
    target_precision: Annotated[
        float, typer.Option(min=0.001, max=0.9999, help="Share of decisions that must be right.")
    ] = 0.98,
    confidence: Annotated[
        float, typer.Option(min=0.001, max=0.9999, help="Confidence level of that share.")
    ] = 0.95,
    out: Annotated[Path | None, typer.Option(help="File of thresholds to write.")] = None,
    what_if: Annotated[
        Path | None, options.folder_option("Output folder to decide again with --set.")
    ] = None,
    change: options.Change = None,
    batch: options.OnlyBatch = None,
    as_json: options.Json = False,
) -> None:
    """Fit thresholds to labelled rows, or try other settings.

    Rows have id, language, question, context, answer, label (1 is supported) and group_id. A threshold that
    may miss the target is refused; if all are refused, the exit code is 1. --what-if compares the verdicts of
    a folder with those under --set, such as judging.threshold=0.8.
    """
    options.check_exists(*(data or []), what_if)
    if not data and what_if is None:
        raise InputError("name labelled rows with --data")
    if what_if is not None and (data or limit is not None or out is not None):
        raise InputError("--what-if only compares verdicts; it cannot be used with --data, --limit or --out")
    import polars as pl

    from qa_pipeline.calibration import fitting
    from qa_pipeline.calibration import what_if as redeciding
    from qa_pipeline.evaluation.labelled_files import draw, labelled_files
    from qa_pipeline.pipeline.resources import Resources

    if what_if is not None:  # only compare stored verdicts with those under other settings
        counts = redeciding.what_if(Layout(what_if), batch, redeciding.read_changes(change or []))
        moved = counts.filter(pl.col("old").ne_missing(pl.col("new")))
        show({"set": change, "moved": moved}, as_json=as_json)
        return
    labelled = [fitting.read_all_rows(path) for path in labelled_files(data or [])]
    files = [replace(file, items=draw(file.items, limit)) for file in labelled]
    rows = sum(file.items.height for file in files)
    sys.stderr.write(f"scoring {rows} rows of {', '.join(file.path.name for file in files)}\n")
    # without the present thresholds, since loading them refuses those of another model
    resources = Resources(load_settings(verification={"thresholds": None}))
    thresholds = fitting.calibrate(
        resources, files, target=target_precision, confidence=confidence, name="own"
    )
    content = thresholds_bytes(thresholds)
    columns = {"side", "threshold", "precision_low", "confidence", "why"}
    fits = [
        {"right": f"{side.right} of {side.n}", **side.model_dump(include=columns)} for side in thresholds.fits
    ]
    show(json.loads(content), as_json=as_json, screen={"thresholds": fits})
    if not thresholds.band.decides:
        sys.stderr.write(
            f"Refused: {thresholds.model} is not shown to be right in {target_precision:g} of its "
            "decisions. Ask for less (--target-precision), label more rows, or name another model.\n"
        )
        raise typer.Exit(FAILED)
    if out is not None:
        write_bytes(out, content)
        sys.stderr.write(f"Written: {out}; use it as verification.thresholds\n")


_COLUMNS = ("metric", "day", "rows", "mean", "limit", "state", "decided_by")


def monitor(
    logs: Annotated[Path | None, typer.Argument(help="Folder of logs. Default: monitoring.logs.")] = None,
    out: options.Out = Path("data"),
    since: Annotated[
        datetime | None,
        typer.Option(
            metavar="YYYY-MM-DD",
            formats=["%Y-%m-%d"],
            help="First day (UTC) whose alerts count. Default: the last day.",
        ),
    ] = None,
    alerts_file: Annotated[Path | None, typer.Option("--alerts", help="JSONL file for the alerts.")] = None,
    change: options.Change = None,
    as_json: options.Json = False,
) -> None:
    """Monitor answers in production: score new days of logs; exit with 1 if there is an alert.

    Scores are stored without texts in OUT/monitoring. An alert is a mean beyond its limit by more than
    chance, a mean that likeness alone decided, or drift from the first 28 days.
    """
    settings = options.settings_at(out, change)
    folder = logs or settings.monitoring.logs
    if folder is None:
        raise InputError("name a folder of logs, or set monitoring.logs")
    options.check_exists(folder)
    import polars as pl

    from qa_pipeline.monitoring.alerts import alerts_of, find_drift, find_levels
    from qa_pipeline.monitoring.days import read_days

    scored, left_out = _score_days(folder, settings)
    rows = read_days(Layout(settings.out).monitoring)
    levels, drift = find_levels(rows, settings.monitoring), find_drift(rows)
    first = since.date() if since else max(rows["day"], default=date.min)
    alerts = alerts_of(levels, drift, first)
    if alerts_file is not None:
        write_bytes(alerts_file, "".join(f"{json.dumps(alert)}\n" for alert in alerts).encode())
    document: dict[str, Any] = {
        "days": rows["day"].n_unique(),
        "rows": rows.height,
        "scored_now": [day.isoformat() for day in scored],
        "left_out": left_out.to_dicts(),
        "since": first.isoformat(),
        "levels": levels.filter(pl.col("day") >= first).cast({"day": pl.String()}).to_dicts(),
        "alerts": alerts,
    }
    facts = {name: document[name] for name in ("days", "rows", "scored_now", "left_out", "since")}
    # the screen shows only levels of days, whose `hour` is null; the document also has those of hours
    limits = [{name: row[name] for name in _COLUMNS} for row in document["levels"] if row["hour"] is None]
    messages = [alert["message"] for alert in alerts]
    screen = {**facts, "limits": limits, "alert": messages, "alerts": len(alerts)}
    show(document, as_json=as_json, screen=screen)
    if alerts:
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
