"""The report of an evaluation: `report.json`, Markdown for a pull request, and a self-contained HTML page.

Texts of a data set are untrusted: they are never in a script, style or address.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.metrics.base import Metric
from qa_pipeline.evaluation.running import Counts
from qa_pipeline.evaluation.summaries import (
    LIKENESS,
    Document,
    decider_shares,
    describe_deciders,
    has_model,
    is_undecided,
    rests_on_likeness,
    rounded,
    summarise,
)
from qa_pipeline.text.rendering import figure, first_names, plural, render_markdown, render_page, shorten

FORMAT = 1
"""Version of the layout of `report.json`."""
WORST_BY = "faithfulness"
FEW_ROWS, FEW_GROUPS = 30, 10
"""Fewer rows or documents are reported as few."""
_NARROW = 0.02
"""Width of an interval below which its ends have three decimals."""
_LONGEST_NAME, _MOST_NAMES = 80, 5
"""Characters of the name of a data set, and names in a title."""
_MOST_LISTED = 4
"""Metrics that a sentence names."""
MARKS = {"supported": "✓", "unsupported": "✗", "contradicted": "≠", "undecided": "?"}
"""A sign for each verdict, so that the page is readable without colours."""


@dataclass(frozen=True)
class About:
    """Facts of a report in addition to its figures.

    The hash is `report_folder.dataset_sha256`, `left_out` has the unusable rows, `settings` are those that
    decide, and `laws` is the result of `reproducibility_shares`, if checked.
    """

    dataset: str
    dataset_sha256: str
    left_out: pl.DataFrame
    settings: dict[str, Any]
    laws: dict[str, float] | None = None


def dataset_name(rows: pl.DataFrame, name: str | None = None) -> str:
    """Return the name on one line, by default the first names in the rows; `InputError` if it is blank."""
    if name is not None:
        if not (line := shorten(name, _LONGEST_NAME)):
            raise InputError("the name of the data set is blank; give a name, or leave it out")
        return line
    names = [dataset[:_LONGEST_NAME] for dataset in rows["dataset"].unique(maintain_order=True)]
    return first_names(names, _MOST_NAMES)


def report_document(
    rows: pl.DataFrame, statements: pl.DataFrame, metrics: Sequence[Metric], counts: Counts, about: About
) -> Document:
    """Return the content of `report.json` for the rows and statements as stored."""
    summaries = summarise(rows, {metric.name: metric.range for metric in metrics})
    for metric in metrics:
        deciders = counts.decided_by.get(metric.name, Counter())
        summaries["metrics"][metric.name] |= {
            "version": metric.version,
            "direction": metric.direction,
            "range": list(metric.range),
            "meaning": metric.meaning,
            "decided_by": dict(sorted(deciders.items(), key=lambda item: (-item[1], item[0]))),
            "missing": dict(counts.missing.get(metric.name, {})),
        }
    verdict_counts = statements.group_by("verdict").len().sort("verdict")
    totals = counts.retrieved_plus_relevant
    micro_f1 = {f"micro_f1_at_{k}": 2 * counts.hits[k] / total for k, total in totals.items() if total}
    document: Document = rounded(
        {
            "format": FORMAT,
            "dataset": about.dataset,
            "dataset_sha256": about.dataset_sha256,
            "total_queries": rows.height,
            "groups": rows["group"].n_unique(),
            "left_out": about.left_out.to_dicts(),
            "settings": about.settings,
            "statements": dict(verdict_counts.iter_rows()),
            **({} if about.laws is None else {"categorical_correctness": about.laws}),
            **summaries,
            "of_all_rows": micro_f1,
        }
    )
    return document


def ranked_by(document: Document) -> str | None:
    """Return the metric of the worst rows: faithfulness, else the first known; None if all are unknown."""
    measured = [name for name, metric in document["metrics"].items() if metric["known"]]
    return WORST_BY if WORST_BY in measured else next(iter(measured), None)


def by_badness(rows: pl.DataFrame, statements: pl.DataFrame, metric: str, direction: str) -> pl.DataFrame:
    """Return the rows with a value of a metric, the worst first.

    Rows with equal values are sorted by the number of their unsupported statements (`against`), then by
    their order in the data set (`index`).
    """
    is_against = pl.col("verdict").is_in(["unsupported", "contradicted"])
    counted = statements.group_by("id").agg(against=is_against.sum())  # a row for each row with statements
    scored = rows.with_row_index("index").filter(pl.col(metric).is_not_null())
    joined = scored.join(counted, on="id", how="left").with_columns(pl.col("against").fill_null(0))
    is_greatest_worst = direction == "lower"  # then lower values are better
    return joined.sort(metric, "against", "index", descending=[is_greatest_worst, True, False])


def cautions(document: Document) -> list[str]:
    """Return cautions about the figures, the most important first."""
    notes, metrics = [], document["metrics"]
    deciders = {name: metric["decided_by"] for name, metric in metrics.items()}  # decisions by decider
    if any(deciders.values()) and not any(map(has_model, deciders.values())):
        # without a model, a single decision by likeness leaves a metric undecided
        doubtful = [
            name for name, steps in deciders.items() if metrics[name]["known"] and is_undecided(steps)
        ]
        undecided = f" Not decided: {first_names(doubtful, _MOST_LISTED)}." if doubtful else ""
        notes.append(f"No model decided anything here: rules, likeness and arithmetic did.{undecided}")
    row_count, documents = document["total_queries"], document["groups"]  # rows are grouped by document
    if documents < 2:
        notes.append("All rows are about one document: nothing is known of how another would do.")
    elif row_count < FEW_ROWS or documents < FEW_GROUPS:
        notes.append(
            f"Only {plural(row_count, 'row')} about {plural(documents, 'document')}: the intervals are wide."
        )
    if left_out := document["left_out"]:
        lost = sum(entry["rows"] for entry in left_out)
        why = ", ".join(dict.fromkeys(entry["reason"].replace("_", " ") for entry in left_out))
        notes.append(f"Left out: {plural(lost, 'row')} that could not be used ({why}).")
    # shares of rows by law: {"identity": 1.0, "composition": 0.9, "naturality": 1.0, "score": 0.9}, the least
    if shares := document.get("categorical_correctness"):
        laws = ", ".join(f"{law} {share:.3f}" for law, share in shares.items() if law != "score")
        notes.append(f"Categorical correctness is {shares['score']:.3f} ({laws}).")
    if unsplit := document["settings"].get("unsplit"):
        why = ", ".join(f"{reason.replace('_', ' ')} {rows:,}" for reason, rows in sorted(unsplit.items()))
        answers = plural(sum(unsplit.values()), "answer")
        notes.append(f"The model failed to split {answers} into statements ({why}).")
    known_rows = {name: metric["known"] for name, metric in metrics.items() if metric["known"]}
    if rarely_known := [f"{name} ({rows:,})" for name, rows in known_rows.items() if rows < row_count / 2]:
        listed = first_names(rarely_known, _MOST_LISTED)
        notes.append(f"Known of less than half of the {plural(row_count, 'row')}: {listed}.")
    if by_likeness := [
        f"{name} ({decider_shares(steps)[LIKENESS]:.0%})"
        for name, steps in deciders.items()
        if rests_on_likeness(steps)
    ]:
        listed = first_names(by_likeness, _MOST_LISTED)
        notes.append(
            f"Likeness alone decided most of {listed}: cosines and shared words. It overlooks a swapped "
            "number, name or negation, and rejects right answers in other words."
        )
    return notes


def reasons(metrics: Mapping[str, Document]) -> list[tuple[str, list[str]]]:
    """Return the reasons of unknown values, each with the names of its metrics."""
    metrics_by_reason: dict[str, list[str]] = {}
    for name, metric in metrics.items():
        if metric["unknown"]:
            metrics_by_reason.setdefault(_why_unknown(metric), []).append(name)
    return list(metrics_by_reason.items())


def _why_unknown(metric: Document) -> str:
    """Return the input that all unknown rows lack, or else every missing input.

    `missing` counts the unknown rows that lack each input. As a row may lack several, the number of complete
    unknown rows is a lower bound.
    """
    unknown, missing = metric["unknown"], metric["missing"]
    why = [f"{plural(count, 'row')} without {name.replace('_', ' ')}" for name, count in missing.items()]
    for reason, count in zip(why, missing.values(), strict=True):
        if count == unknown:
            return reason
    complete_at_least = unknown - sum(missing.values())
    if complete_at_least > 0:
        cause = "an undecided statement or passage, or nothing to count"
        why.append(f"{plural(complete_at_least, 'row')} with {cause}")
    return "; ".join(why)


def with_bounds(metric: Document) -> str:
    """Return the mean of a metric with its interval, if known."""
    if metric["low"] is None or metric["high"] is None:
        return figure(metric["mean"])
    decimals = 3 if metric["high"] - metric["low"] < _NARROW else 2
    return f"{metric['mean']:.3f} ({metric['low']:.{decimals}f}–{metric['high']:.{decimals}f})"


def markdown_report(document: Document, worst: pl.DataFrame, worst_by: str | None) -> str:
    """Return the report as Markdown, with the worst rows (`by_badness`) by the metric `worst_by`."""
    metrics = document["metrics"]
    return render_markdown(
        "evaluation/report.md.j2",
        document=document,
        notes=cautions(document),
        measured={name: metric for name, metric in metrics.items() if metric["known"]},
        unknown=reasons(metrics),
        name=worst_by,
        worst=[] if worst_by is None else worst.select("id", "query", "answer", worst_by).rows(),
        bounds=with_bounds,
        deciders=describe_deciders,
    )


def report_page(
    document: Document, worst: pl.DataFrame, statements: pl.DataFrame, worst_by: str | None
) -> str:
    """Return the report as HTML, with the statements of the worst rows (`by_badness`) by `worst_by`."""
    by_id = statements.partition_by("id", as_dict=True)
    cards = []
    for row in worst.iter_rows(named=True):
        row_statements = by_id.get((row["id"],), statements.clear()).to_dicts()
        value = None if worst_by is None else row[worst_by]
        cards.append({**row, "value": value, "statements": row_statements})
    headline = None
    if worst_by is not None:
        metric = document["metrics"][worst_by]
        headline = f"{metric['meaning']} {metric['direction'].title()} is better."
    return render_page(
        "evaluation/report_page.html.j2",
        document=document,
        notes=cautions(document),
        headline=headline,
        name=worst_by,
        unknown=reasons(document["metrics"]),
        cards=cards,
        marks=MARKS,
        bounds=with_bounds,
        deciders=describe_deciders,
    )
