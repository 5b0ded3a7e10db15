"""`qa-pipeline monitor`: answers in production, scored from their logs, held against limits and the past."""

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.arguments import Change, Json, Out
from qa_pipeline.cli.common import FAILED, errors_as_exit_codes

if TYPE_CHECKING:
    import polars as pl

    from qa_pipeline.monitoring.alerts import Findings
    from qa_pipeline.monitoring.days import Score, ScoredDay
    from qa_pipeline.settings.tree import Settings

MOST_SHOWN = 20
"""Alerts that are printed; all are counted, written and on the page."""

monitor = typer.Typer(
    name="monitor", no_args_is_help=True, help="Watch answers in production: scores, limits and drift."
)
Reference = Annotated[
    Path | None,
    typer.Option(help="Scores to hold days against, such as rows.parquet of a report; else the first days."),
]
Since = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%d"], help="First day whose alerts count (UTC). Default: the last day."),
]


@monitor.command()
def check(
    logs: Annotated[
        Path | None,
        typer.Argument(
            help="Folder of logs: of observe(), OpenTelemetry spans, or JSON lines. Default: monitoring.logs."
        ),
    ] = None,
    out: Out = Path("data"),
    since: Since = None,
    reference: Reference = None,
    again: Annotated[bool, typer.Option("--again", help="Score unchanged days again too.")] = False,
    alerts: Annotated[
        Path | None, typer.Option(help="Write alerts here, one JSON object a line, for a webhook or a log.")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Write the page of all days here, as HTML.")] = None,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Score the days of logs that are new or have changed, and exit with 1 where there is an alert.

    Scores are kept in OUT/monitoring, a Parquet file for each day, without texts. An alert is a mean beyond
    its limit (monitoring.alerts) by more than chance, or the beginning of drift.
    """
    from qa_pipeline.cli.console import print_document
    from qa_pipeline.settings.base import read_assignments
    from qa_pipeline.settings.tree import load_settings

    with errors_as_exit_codes():
        settings = load_settings(out=out, **read_assignments(change or [], {}))
        scored = _score_days(logs, settings, again=again)
        rows, found = _findings(settings, reference)
        first = since.date() if since else _last_day(rows)
        told = found.alerts(first)
        if alerts is not None:
            _write(alerts, "".join(f"{json.dumps(one)}\n" for one in told))
        if page is not None:
            _write(page, _page(rows, found, settings, scored))
        if as_json:
            print_document(_document(rows, found, told, scored, first))
        else:
            _show(rows, found, told, scored, first)
        if told:
            raise typer.Exit(FAILED)


@monitor.command("page")
def write_page(
    file: Annotated[Path, typer.Argument(help="Where the HTML page is written.")],
    out: Out = Path("data"),
    reference: Reference = None,
    change: Change = None,
) -> None:
    """Write the page of the days that are scored already: time series, alerts and drift."""
    from qa_pipeline.settings.base import read_assignments
    from qa_pipeline.settings.tree import load_settings

    with errors_as_exit_codes():
        settings = load_settings(out=out, **read_assignments(change or [], {}))
        rows, found = _findings(settings, reference)
        _write(file, _page(rows, found, settings, []))


def _score(settings: "Settings") -> "Score":
    """What scores rows of logs."""
    from qa_pipeline.evaluation.scoring import evaluation_settings
    from qa_pipeline.monitoring.days import metric_scores
    from qa_pipeline.resources import Resources

    resources = Resources(evaluation_settings(settings))
    return lambda rows: metric_scores(rows, resources)


def _score_days(logs: Path | None, settings: "Settings", *, again: bool) -> "list[ScoredDay]":
    """Score and keep each day whose logs are newer than its scores."""
    from qa_pipeline.errors import InputError
    from qa_pipeline.monitoring.days import score_day, stale_days, write_day
    from qa_pipeline.monitoring.logs import read_loose
    from qa_pipeline.storage import Layout

    folder = logs or settings.monitoring.logs
    if folder is None:
        raise InputError("name a folder of logs, or set monitoring.logs")
    score, kept = _score(settings), Layout(settings.out).monitoring
    limits = settings.pairs_file
    scored = []
    loose = read_loose(folder, settings.monitoring.fields, limits)
    for day in stale_days(folder, loose, kept, again=again):
        scored.append(score_day(folder, day, score, settings.monitoring, limits, loose))
        write_day(kept, scored[-1])
    return scored


def _findings(settings: "Settings", reference: Path | None) -> "tuple[pl.DataFrame, Findings]":
    from qa_pipeline.monitoring.alerts import findings
    from qa_pipeline.monitoring.days import read_days, read_reference
    from qa_pipeline.storage import Layout

    rows = read_days(Layout(settings.out).monitoring)
    held = None if reference is None else read_reference(reference)
    return rows, findings(rows, settings.monitoring, held)


def _last_day(rows: "pl.DataFrame") -> date:
    last = rows["day"].max()
    return last if isinstance(last, date) else datetime.now(UTC).date()


def _page(rows: "pl.DataFrame", found: "Findings", settings: "Settings", scored: "list[ScoredDay]") -> str:
    import polars as pl

    from qa_pipeline.monitoring.drift_page import drift_page

    faults = pl.concat([one.faults for one in scored]) if scored else None
    dropped = sum(one.dropped for one in scored)
    return drift_page(rows, found, settings.monitoring, "Answers in production", faults, dropped)


def _write(file: Path, text: str) -> None:
    from qa_pipeline.storage import write_bytes

    write_bytes(file, text.encode("utf-8", "replace"))


def _document(
    rows: "pl.DataFrame",
    found: "Findings",
    told: list[dict[str, Any]],
    scored: "list[ScoredDay]",
    first: date,
) -> dict[str, Any]:
    return {
        "days": rows["day"].n_unique(),
        "rows": rows.height,
        "scored_now": [one.day.isoformat() for one in scored],
        "left_out": _left_out(scored),
        "since": first.isoformat(),
        "levels": [one.document() for one in found.levels if one.begins.date() >= first],
        "alerts": told,
    }


def _left_out(scored: "list[ScoredDay]") -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in scored:
        for reason, count in one.faults.select("reason", "rows").iter_rows():
            counts[reason] = counts.get(reason, 0) + count
        if one.dropped:
            counts["dropped_by_services"] = counts.get("dropped_by_services", 0) + one.dropped
    return counts


def _show(
    rows: "pl.DataFrame",
    found: "Findings",
    told: list[dict[str, Any]],
    scored: "list[ScoredDay]",
    first: date,
) -> None:
    from qa_pipeline.cli.console import print_line, show_table

    print_line(f"{rows.height} rows of {rows['day'].n_unique()} days; {len(scored)} days scored now")
    for reason, count in sorted(_left_out(scored).items()):
        print_line(f"  {reason}: {count}")
    lines = [
        (one.metric, f"{one.begins:%Y-%m-%d %H:%M}", one.rows, _shown(one.value), one.limit, one.state)
        for one in found.levels
        if one.begins.date() >= first and (one.hours > 1 or one.state == "alert")
    ]
    if lines:
        columns = ("metric", "begins (UTC)", "rows", "mean", "limit", "state")
        show_table(f"Limits since {first}", columns, lines)
    for one in told[:MOST_SHOWN]:
        print_line(one["message"], "red")
    print_line(f"{len(told)} alerts since {first}" if told else f"No alert since {first}")


def _shown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
