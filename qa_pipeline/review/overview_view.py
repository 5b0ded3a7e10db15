"""The output folder at a glance: what `status` counts, with intervals, histograms and the certificate."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from qa_pipeline.curation.reasons import in_words
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.pipeline.report import Report, finished_batches, report
from qa_pipeline.publishing import certificate
from qa_pipeline.publishing.manifest import latest_release, read_manifest
from qa_pipeline.statistics import wilson_bounds
from qa_pipeline.storage.files import version_of
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_columns
from qa_pipeline.storage.tables import VERDICTS

_BINS = 10
"""Bars of a histogram, as the card of a release has."""
_MOST_REASONS = 12
"""Reasons that are listed; the rest are added up."""
_SCORES = {"grounding": "Share of claims supported", "composite": "Composite score"}


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its 95 % interval; low and high are None where there is nothing to divide by."""

    name: str
    count: int
    total: int

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Return the Wilson interval."""
        return wilson_bounds(self.count, self.total) if self.total else None


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of a score of pairs; `unknown` have none."""

    name: str
    edges: list[float]
    counts: list[int]
    unknown: int


@dataclass(frozen=True, slots=True)
class Step:
    """A row of the yield funnel; `is_total` says that the rows below it part it."""

    stage: str
    what: str
    reason: str | None
    count: int
    is_total: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything that the page shows.

    Args:
        report: what `status` counts.
        steps: the yield funnel.
        most: the largest count in it.
        rates: pass rate of each batch, and of all together last.
        reasons: verdict, reason in words, reason code and number of pairs, most first.
        other_reasons: pairs of reasons that are not listed.
        coverage: sections with an accepted question, of each batch and of all.
        histograms: of the scores.
        release: name of the latest release; None without one.
        certificate: what its audits show, in sentences; empty without any.
        release_problem: why the release cannot be read.
    """

    report: Report
    steps: list[Step]
    most: int
    rates: list[Rate]
    reasons: list[tuple[str, str, str, int]]
    other_reasons: int
    coverage: list[Rate]
    histograms: list[Histogram]
    release: str | None
    certificate: list[str]
    release_problem: str | None


class Overviews:
    """The overview of an output folder, counted again once its verdicts or decisions have changed.

    Args:
        layout: the output folder.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._entry: tuple[object, Overview] | None = None

    def overview(self) -> Overview:
        """Return the overview."""
        batches = finished_batches(self._layout)
        files = [path for batch in batches for path in _files(self._layout, batch)]
        version = (
            batches,
            [version_of(path) for path in files],
            version_of(self._layout.releases / "latest.json"),
        )
        if self._entry is None or self._entry[0] != version:
            self._entry = version, _overview(self._layout, batches)
        return self._entry[1]


def _files(layout: Layout, batch: str) -> list[Path]:
    return [layout.table(VERDICTS.name, batch), layout.table("coverage", batch), layout.decisions(batch)]


def _overview(layout: Layout, batches: Sequence[str]) -> Overview:
    summary = report(layout, batches)
    rows = summary.batches.to_dicts()
    # alternatives of a question are no part of a pass rate, which says how many pairs were
    rates = [
        Rate(
            row["batch"],
            row["accepted"],
            round(row["accepted"] / row["pass_rate"]) if row["pass_rate"] else row["rejected"],
        )
        for row in rows
    ]
    coverage = [Rate(row["batch"], row["covered"], row["sections"]) for row in rows]
    is_verdict = pl.col("stage") == VERDICTS.name
    steps = summary.steps.to_dicts() if summary.steps.width else []
    reasons: list[tuple[str, str, str, int]] = []
    if steps:
        reasons = [
            (what, in_words(reason), reason, count)
            for what, reason, count in summary.steps.filter(is_verdict, pl.col("reason").is_not_null())
            .sort("count", "reason", descending=[True, False])
            .select("what", "reason", "count")
            .iter_rows()
        ]
    release, words, problem = _release(layout)
    return Overview(
        report=summary,
        steps=_steps(steps),
        most=max((step["count"] for step in steps), default=0),
        rates=_with_total(rates),
        reasons=reasons[:_MOST_REASONS],
        other_reasons=sum(count for *_, count in reasons[_MOST_REASONS:]),
        coverage=_with_total(coverage),
        histograms=_histograms(layout, [row["batch"] for row in rows]),
        release=release,
        certificate=words,
        release_problem=problem,
    )


def _with_total(rates: list[Rate]) -> list[Rate]:
    """Return rates with that of all together, which has no name, where there are several."""
    if len(rates) < 2:
        return rates
    return [*rates, Rate("", sum(rate.count for rate in rates), sum(rate.total for rate in rates))]


def _steps(rows: Sequence[dict[str, object]]) -> list[Step]:
    steps: list[Step] = []
    for row in rows:
        is_total = not steps or steps[-1].stage != row["stage"]
        reason = in_words(str(row["reason"])) if row["reason"] else None
        steps.append(Step(is_total=is_total, **row | {"reason": reason}))  # type: ignore[arg-type]
    return steps


def _histograms(layout: Layout, batches: Sequence[str]) -> list[Histogram]:
    paths = [layout.table(VERDICTS.name, batch) for batch in batches]
    frames = [read_columns(path, VERDICTS, tuple(_SCORES)) for path in paths]
    if not frames:
        return []
    scores = pl.concat(frames)
    edges = np.linspace(0, 1, _BINS + 1)
    histograms = []
    for column, name in _SCORES.items():
        values = scores[column].drop_nulls()
        counts = np.histogram(values.to_numpy(), edges)[0].tolist()
        if values.len():
            histograms.append(Histogram(name, edges.tolist(), counts, scores.height - values.len()))
    return histograms


def _release(layout: Layout) -> tuple[str | None, list[str], str | None]:
    """Return name, certificate and problem of the latest release."""
    try:
        folder = latest_release(layout.releases)
        if folder is None:
            return None, [], None
        made = read_manifest(folder).certificate
        return folder.name, [] if made is None else certificate.in_words(made), None
    except QAPipelineError as error:
        return None, [], str(error)
