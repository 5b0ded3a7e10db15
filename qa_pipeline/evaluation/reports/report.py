"""The report of an evaluation: its document, what to know before its figures are believed, and Markdown."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.metrics.base import Metric
from qa_pipeline.evaluation.reports.deciders import (
    LIKENESS,
    decider_shares,
    describe_deciders,
    has_model,
    is_undecided,
    rests_on_likeness,
)
from qa_pipeline.evaluation.reports.summaries import rounded, summarise
from qa_pipeline.evaluation.running import Counts
from qa_pipeline.text.rendering import figure, first_names, plural, render_markdown, shorten

Document = dict[str, Any]
FORMAT = 1
"""Version of the layout of `report.json`."""
WORST = 20
"""Rows that a report shows of the worst: as many as a person reads."""
WORST_BY = "faithfulness"
FEW_ROWS, FEW_GROUPS = 30, 10
"""Below so many rows, or documents they are about, a report says that they are few."""
MOSTLY = 0.5
"""Share of the rows below which a metric is said to be known of few: its mean speaks of the smaller part."""
LACKS: Mapping[str, str] = {
    "answer": "there is no answer",
    "contexts": "there are no passages",
    "citations": "there are no citations",
    "reference": "the right answer is not given",
    "relevant_documents": "the relevant documents are not given",
    "true_claims": "the right statements are not given",
    "must_refuse": "it is not known whether the answer should refuse",
    "samples": "there are no further answers to the question",
    "confidences": "there are no steps of evidence",
    "statements": "there is no statement to verify: no answer, a refusal, or a passage without text",
    "contradictions": "there is no statement to verify: no answer, a refusal, or a passage without text",
    "groundedness": "no model rated it, or its reply could not be read",
    "refused": "there is no answer",
    "cited": "nothing is cited",
    "citation_support": "nothing is cited, or no statement was verified",
    "relevant_sentences": "there are no passages with text",
    "attributed": "the right answer is not given, or there are no passages",
    "covered": "the right statements are not given, or there is no answer",
    "relevance": "there is no answer, or only a refusal",
    "reference_statements": "the right answer is not given, or there is no answer but a refusal",
    "reference_similarity": "the right answer is not given, or there is no answer",
    "meanings": "there are no further answers to the question",
    "conflicts": "there are no passages, or only a refusal",
}
"""Reasons why a row has no value, by the missing input."""
_LONGEST_NAME, _MOST_NAMES = 80, 5
"""Characters of a name of a data set, and names: they stand in one line of a title."""


@dataclass(frozen=True)
class About:
    """Facts that a report tells beside its figures.

    Args:
        dataset_sha256: of what was asked, see `report_folder.dataset_sha256`.
        left_out: rows that could not be read (`LEFT_OUT`).
        settings: those that decide, as JSON values.
        laws: of `categorical_correctness`, if they were checked.
    """

    dataset: str
    dataset_sha256: str
    left_out: pl.DataFrame
    settings: dict[str, Any]
    laws: dict[str, float] | None = None


def dataset_name(rows: pl.LazyFrame, name: str | None = None) -> str:
    """Return the name of a data set: one line, cut; without one those of the rows, as far as they are few.

    Raises:
        InputError: the name is blank.
    """
    if name is not None:
        if not (line := shorten(name, _LONGEST_NAME)):
            raise InputError("the name of the data set is blank; give it a name, or none")
        return line
    names_of_datasets = rows.select(pl.col("dataset").unique(maintain_order=True)).collect()["dataset"]
    names = [dataset[:_LONGEST_NAME] for dataset in names_of_datasets]
    return first_names(names, _MOST_NAMES)


def report_document(
    rows: pl.DataFrame, statements: pl.DataFrame, metrics: Sequence[Metric], counts: Counts, about: About
) -> Document:
    """Return the content of `report.json`; equal evaluations give equal documents.

    Args:
        rows: as in `rows.parquet`.
        statements: as in `statements.parquet`.
        metrics: the columns of the rows.
        counts: who decided, and what rows lacked.
        about: what is told beside.

    Raises:
        InputError: a value is outside the range of its metric.
    """
    summaries = summarise(rows, {metric.name: metric.range for metric in metrics})
    for metric in metrics:
        by = counts.decided_by.get(metric.name, Counter())
        summaries["metrics"][metric.name] |= {
            "version": metric.version,
            "direction": metric.direction,
            "range": list(metric.range),
            "meaning": metric.meaning,
            "source": metric.source,
            "decided_by": dict(sorted(by.items(), key=lambda item: (-item[1], item[0]))),
            "missing": dict(counts.missing.get(metric.name, {})),
        }
    verdicts = statements.group_by("verdict").len().sort("verdict")
    document: Document = rounded(
        {
            "format": FORMAT,
            "dataset": about.dataset,
            "dataset_sha256": about.dataset_sha256,
            "total_queries": rows.height,
            "groups": rows["group"].n_unique(),
            "left_out": about.left_out.to_dicts(),
            "settings": about.settings,
            "statements": dict(verdicts.iter_rows()),
            **({} if about.laws is None else {"categorical_correctness": about.laws}),
            **summaries,
        }
    )
    return document


def ranked_by(document: Document, preferred: str | None = None) -> str | None:
    """Return the metric whose worst rows are shown: the preferred one, faithfulness, or the first known.

    None where no metric has a value.
    """
    measured = [name for name, metric in document["metrics"].items() if metric["known"]]
    return next((name for name in (preferred, WORST_BY, *measured) if name in measured), None)


def by_badness(rows: pl.DataFrame, statements: pl.DataFrame, name: str, direction: str) -> pl.DataFrame:
    """Return the rows that have a value of a metric, the worst first, with `against`.

    That is how many of their statements are not supported; of rows with equal values those with more stand
    first, then those that stand first in the data set.
    """
    against = pl.col("verdict").is_in(["unsupported", "contradicted"]).sum().alias("against")
    counted = statements.group_by("id").agg(against)
    scored = rows.with_row_index("place").filter(pl.col(name).is_not_null())
    joined = scored.join(counted, on="id", how="left").with_columns(pl.col("against").fill_null(0))
    return joined.sort(name, "against", "place", descending=[direction == "lower", True, False])


def what_to_know(document: Document) -> list[str]:
    """Return sentences about what stands between the figures and belief in them; none where nothing does."""
    notes, metrics = [], document["metrics"]
    by = {name: metric["decided_by"] for name, metric in metrics.items()}
    if any(by.values()) and not any(map(has_model, by.values())):
        doubtful = [name for name, steps in by.items() if metrics[name]["known"] and is_undecided(steps)]
        rest = f" Not decided: {_listed(doubtful)}." if doubtful else ""
        notes.append(f"No model decided anything here: rules, likeness and arithmetic did.{rest}")
    count, groups = document["total_queries"], document["groups"]
    if groups < 2:
        notes.append("All rows are about one document: nothing is known of how another would do.")
    elif count < FEW_ROWS or groups < FEW_GROUPS:
        notes.append(
            f"Only {plural(count, 'row')} about {plural(groups, 'document')}: the intervals are wide."
        )
    if left_out := document["left_out"]:
        lost = sum(entry["rows"] for entry in left_out)
        why = ", ".join(dict.fromkeys(entry["reason"].replace("_", " ") for entry in left_out))
        notes.append(f"Left out: {plural(lost, 'row')} that could not be used ({why}).")
    if laws := document.get("categorical_correctness"):
        parts = ", ".join(f"{name} {share:.3f}" for name, share in laws.items() if name != "score")
        notes.append(f"Categorical correctness is {laws['score']:.3f} ({parts}).")
    if unsplit := document["settings"].get("unsplit"):
        why = ", ".join(f"{reason.replace('_', ' ')} {rows:,}" for reason, rows in sorted(unsplit.items()))
        notes.append(
            f"Without statements, since the model that should cut them failed: "
            f"{plural(sum(unsplit.values()), 'answer')} ({why})."
        )
    shares = {name: metric["known"] for name, metric in metrics.items() if metric["known"]}
    if rare := [f"{name} ({values:,})" for name, values in shares.items() if values < MOSTLY * count]:
        notes.append(f"Known of less than half of the {plural(count, 'row')}: {_listed(rare)}.")
    if mostly := [
        f"{name} ({decider_shares(deciders)[LIKENESS]:.0%})"
        for name, deciders in by.items()
        if rests_on_likeness(deciders)
    ]:
        notes.append(
            f"Likeness alone decided most of what stands behind {_listed(mostly)}: a cosine, for statements "
            "with the share of their words that a text has. It overlooks a swapped number, name or negation, "
            "and rejects right answers in other words or in a few."
        )
    return notes


_MOST_LISTED = 4
"""Metrics that are named in a sentence; more make it a list."""


def _listed(names: Sequence[str]) -> str:
    """Return the first of some metrics, and how many more they are."""
    more = len(names) - _MOST_LISTED
    if more > 1:
        return f"{', '.join(names[:_MOST_LISTED])} and {more} more metrics"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def reasons(metrics: Mapping[str, Document]) -> list[tuple[str, list[str]]]:
    """Return why rows have no value, with the metrics concerned; nothing of those that all rows have."""
    alike: dict[str, list[str]] = {}
    for name, metric in metrics.items():
        if metric["unknown"]:
            alike.setdefault(_why_unknown(metric), []).append(name)
    return list(alike.items())


def _why_unknown(metric: Document) -> str:
    """Return what all unknown rows lack, else everything; one row may lack several things."""
    every = [name for name, count in metric["missing"].items() if count == metric["unknown"]]
    missing = {name: metric["missing"][name] for name in every[:1]} or metric["missing"]
    why = [f"{plural(count, 'row')}: {LACKS[name]}" for name, count in missing.items()]
    rest = metric["unknown"] - sum(missing.values())
    if rest > 0:
        why.append(
            f"{plural(rest, 'row')}: a statement or passage is undecided, or there is nothing to count"
        )
    return "; ".join(why)


def with_bounds(metric: Document) -> str:
    """Return the mean of a metric and its interval, as far as they are known."""
    if metric["low"] is None or metric["high"] is None:
        return figure(metric["mean"])
    places = 3 if metric["high"] - metric["low"] < _NARROW else 2
    return f"{metric['mean']:.3f} ({metric['low']:.{places}f}–{metric['high']:.{places}f})"


_NARROW = 0.02
"""Width of an interval below which two places would show its ends as one number, or nearly."""


def markdown_report(document: Document, worst: pl.DataFrame, name: str | None) -> str:
    """Return the report as Markdown for a pull request.

    Args:
        document: of `report_document`.
        worst: rows by `by_badness`, as many as are shown.
        name: the metric they are worst by; None without rows.
    """
    metrics: Mapping[str, Document] = document["metrics"]
    return render_markdown(
        "evaluation/reports/report.md.j2",
        document=document,
        notes=what_to_know(document),
        measured={key: metric for key, metric in metrics.items() if metric["known"]},
        unknown=reasons(metrics),
        name=name,
        worst=[] if name is None else worst.select("id", "query", "answer", name).rows(),
        bounds=with_bounds,
        deciders=describe_deciders,
    )


def sentence_about(document: Document, name: str) -> str:
    """Say what a metric measures and which values are better."""
    metric = document["metrics"][name]
    return f"{metric['meaning']} {metric['direction'].title()} is better."
