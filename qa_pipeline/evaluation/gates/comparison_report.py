"""Several evaluations held against one, as an HTML page that needs nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from qa_pipeline.evaluation.gates.changed_verdicts import (
    Run,
    answer_verdicts,
    changed_verdicts,
    changes_of_runs,
)
from qa_pipeline.evaluation.gates.comparison_pages import cautions
from qa_pipeline.evaluation.metrics.meanings import MARKS, meaning_of
from qa_pipeline.evaluation.metrics.registry import SUMMARY
from qa_pipeline.evaluation.reports.marked_answers import (
    MOST_STATEMENTS,
    Choices,
    cut,
    language_tag,
    marked,
)
from qa_pipeline.evaluation.reports.stored_report import dataset_labels
from qa_pipeline.evaluation.reports.summaries import PARTS
from qa_pipeline.text.rendering import render_page

Document = Mapping[str, Any]
Row = dict[str, Any]
TEXTS = ("query", "answer", *PARTS)
"""Columns of the rows that the page shows."""
MOST_ANSWERS = 120
"""Answers in the page: as many of each kind of change as there are, the largest steps first."""
_LEAST_WIDTH = 1e-9


def comparison_report(runs: Sequence[Run], comparisons: Sequence[Document]) -> str:
    """Return the page, the same for the same runs.

    Args:
        runs: the baseline first; their reports read with `TEXTS`.
        comparisons: of each further run with the baseline, by `compare_runs`.
    """
    changes = changes_of_runs(runs) if comparisons[0]["paired"] else None
    changed = [changed_verdicts(runs[0], run) for run in runs[1:]] if changes else []
    cards, choices = _cards(runs, changed) if changes else ([], [])
    labels = dataset_labels([(run.report.dataset, run.report.dataset_sha256) for run in runs])
    return render_page(
        "evaluation/gates/comparison_report.html.j2",
        script="evaluation/reports/report_page.js",
        baseline=runs[0].name,
        paired=comparisons[0]["paired"],
        runs=[
            {"name": run.name, "place": run.report.place, "dataset": label, "rows": run.report.rows.height}
            for run, label in zip(runs, labels, strict=True)
        ],
        sentences=[
            (run.name, *_sentence(compared)) for run, compared in zip(runs[1:], comparisons, strict=True)
        ],
        notes=[
            f"{run.name}: {note}"
            for run, compared in zip(runs[1:], comparisons, strict=True)
            for note in cautions(compared)
        ],
        sections=_sections(list(_metrics(runs, comparisons))),
        changes=changes,
        cards=cards,
        choices=choices,
        most=MOST_ANSWERS,
        marks=MARKS,
        settings=_settings(runs),
    )


def _sections(metrics: Sequence[Row]) -> list[tuple[str, str, list[Row]]]:
    """Return title, key and metrics of the table that comes first, and of the one with the others, if any."""
    first, others = (
        [metric for metric in metrics if (metric["name"] in SUMMARY) == kind] for kind in (True, False)
    )
    if not first or not others:
        return [("Metrics", "metrics", [*metrics])]
    return [("Metrics", "metrics", first), ("Other metrics", "others", others)]


def _sentence(compared: Document) -> tuple[list[str], list[str], int]:
    """Return the metrics by which a run is better and worse, the summary's first; the number of others."""
    ranked = sorted(compared["metrics"].items(), key=lambda item: item[0] not in SUMMARY)
    better, worse = (
        [name for name, metric in ranked if metric["better"] is outcome] for outcome in (True, False)
    )
    return better, worse, len(compared["metrics"]) - len(better) - len(worse)


def _metrics(runs: Sequence[Run], comparisons: Sequence[Document]) -> Iterator[Row]:
    """Yield each metric with a line for each run that has it, and the difference from the baseline."""
    sides = list(zip(runs, (None, *comparisons), strict=True))
    for name in dict.fromkeys(name for run in runs for name in run.report.metrics):
        measured = [(run, compared) for run, compared in sides if name in run.report.metrics]
        facts = [run.report.metrics[name] for run, _ in measured]
        changes: list[Document | None] = [
            None if compared is None else compared["metrics"].get(name) for _, compared in measured
        ]
        low, high = facts[0].range
        greatest = max(of.high or of.mean or 0.0 for of in facts) if high is None else high
        gaps = [
            abs(change[end] or 0.0)
            for change in changes
            if change is not None
            for end in ("difference", "low", "high")
        ]
        yield {
            "name": name,
            "meaning": meaning_of(name),
            "direction": facts[0].direction,
            "range": {"edges": (low, max(greatest, low + _LEAST_WIDTH))},
            "widest": max([*gaps, _LEAST_WIDTH]),
            "lines": [
                {
                    "run": run.name,
                    "of": of,
                    "change": change,
                    "excluded": None if compared is None else compared["excluded"].get(name),
                }
                for (run, compared), of, change in zip(measured, facts, changes, strict=True)
            ],
        }


def _shown_ids(runs: Sequence[Run], changed: Sequence[pl.DataFrame]) -> list[str]:
    """Return the ids of the answers in the page: of each change the largest steps, then by data set."""
    order = runs[0].report.rows.select("id").with_row_index("place")
    largest = (
        pl.concat(changed)
        .group_by("id")
        .agg(pl.col("step").abs().max(), pl.col("change").first())
        .join(order, on="id")
        .sort("step", "place", descending=[True, False], nulls_last=True)
    )
    turns = largest.with_row_index("rank").with_columns(turn=pl.int_range(pl.len()).over("change"))
    return turns.sort("turn", "rank").head(MOST_ANSWERS).sort("rank")["id"].to_list()


def _cards(runs: Sequence[Run], changed: Sequence[pl.DataFrame]) -> tuple[list[Row], list[Row]]:
    """Return the answers that changed, each as every run has it, and what a reader can filter them by."""
    choices = Choices(("change", "run", "before", "now", *PARTS))
    ids = _shown_ids(runs, changed)
    sides = [_sides(run, ids) for run in runs]
    changed_by_run = [
        {row["id"]: row for row in frame.filter(pl.col("id").is_in(ids)).to_dicts()} for frame in changed
    ]
    cards = []
    for row_id in ids:
        first = sides[0][row_id]
        rows = [(run.name, of_run.get(row_id)) for run, of_run in zip(runs[1:], changed_by_run, strict=True)]
        moves = [(name, row) for name, row in rows if row is not None]
        values = {column: [first["row"][column] or ""] for column in PARTS}
        values |= {column: [row[column] for _, row in moves] for column in ("change", "before", "now")}
        values["run"] = [name for name, _ in moves]
        cards.append(
            {
                "id": row_id,
                "query": cut(first["row"]["query"], "query"),
                "language": first["language"],
                **{column: first["row"][column] for column in PARTS},
                "choices": choices.of_card(values),
                "moves": moves,
                "sides": [
                    {
                        "run": run.name,
                        **of_run[row_id],
                        "values": _differing(first["row"], of_run[row_id]["row"]),
                    }
                    for run, of_run in zip(runs, sides, strict=True)
                    if row_id in of_run
                ],
            }
        )
    return cards, choices.offered()


def _sides(run: Run, ids: Sequence[str]) -> dict[str, Row]:
    """Return the answers of a run by id: marked, with verdict and the statements that are not supported."""
    chosen = pl.col("id").is_in(ids)
    verdicts = dict(answer_verdicts(run).filter(chosen).iter_rows())
    statements: dict[str, list[Row]] = {}
    for statement in run.statements.filter(chosen).iter_rows(named=True):
        statements.setdefault(statement["id"], []).append(statement)
    return {
        row["id"]: {
            "row": row,
            "verdict": verdicts[row["id"]],
            "language": language_tag(row["language"]),
            "answer": list(marked(row["answer"], statements.get(row["id"], []))),
            "statements": [
                {**statement, "number": number, "quote": cut(statement["quote"], "quote")}
                for number, statement in enumerate(statements.get(row["id"], [])[:MOST_STATEMENTS], start=1)
                if statement["verdict"] != "supported"
            ],
        }
        for row in run.report.rows.filter(chosen).iter_rows(named=True)
    }


def _differing(before: Row, now: Row) -> list[tuple[str, float | None, float | None]]:
    """Return the metrics of the summary in which an answer differs from the baseline's, with both values."""
    names = [name for name in SUMMARY if name in before and name in now]
    return [(name, before[name], now[name]) for name in names if before[name] != now[name]]


def _settings(runs: Sequence[Run]) -> list[tuple[str, list[Any], bool]]:
    """Return each setting with its value in every run, and whether the runs differ in it."""
    names = dict.fromkeys(name for run in runs for name in run.report.settings)
    rows = [(name, [run.report.settings.get(name) for run in runs]) for name in names]
    return [
        (name, values, any(value != values[0] for value in values))
        for name, values in rows
        if any(value is not None for value in values)
    ]
