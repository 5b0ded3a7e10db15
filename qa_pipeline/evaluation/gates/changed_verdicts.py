"""Answers whose verdict differs between two runs: the verdict of an answer is that of its worst statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.evaluation.reports.stored_report import StoredReport

BADNESS: Mapping[str, int] = {"supported": 0, "undecided": 1, "unsupported": 2, "contradicted": 3}
"""Verdicts on statements, the best first."""
NO_STATEMENT = "no_statement"
"""Verdict of an answer in which nothing was verified: a refusal, no answer, or passages without text."""


@dataclass(frozen=True, slots=True)
class Run:
    """An evaluation that is compared.

    Args:
        name: by which it is shown.
        report: its scores, and what texts the page shows.
        statements: of its answers (`running.STATEMENTS`); none where no metric needed them.
    """

    name: str
    report: StoredReport
    statements: pl.DataFrame


def answer_verdicts(run: Run) -> pl.DataFrame:
    """Return id and verdict of each row: that of its worst statement, else `NO_STATEMENT`."""
    badness = pl.col("verdict").replace_strict(BADNESS, default=BADNESS["undecided"], return_dtype=pl.Int64)
    worst = run.statements.group_by("id").agg(badness.max().alias("badness"))
    names = {place: verdict for verdict, place in BADNESS.items()}
    return run.report.rows.join(worst, on="id", how="left", maintain_order="left").select(
        "id",
        pl.col("badness")
        .replace_strict(names, default=None, return_dtype=pl.String)
        .fill_null(NO_STATEMENT)
        .alias("verdict"),
    )


def changed_verdicts(baseline: Run, current: Run) -> pl.DataFrame:
    """Return the answers whose verdict changed, those that got worse first.

    Returns:
        id, before, now, `change` (worse, better or other), and `step`: by how many places of `BADNESS`, null
        where one of the verdicts is `NO_STATEMENT`.
    """
    both = answer_verdicts(baseline).join(
        answer_verdicts(current), on="id", suffix="_now", maintain_order="left"
    )
    before, now = (
        pl.col(name).replace_strict(BADNESS, default=None, return_dtype=pl.Int64)
        for name in ("verdict", "verdict_now")
    )
    step = now - before
    change = pl.when(step > 0).then(pl.lit("worse")).when(step < 0).then(pl.lit("better"))
    changed = both.filter(pl.col("verdict") != pl.col("verdict_now")).select(
        "id", before="verdict", now="verdict_now", change=change.otherwise(pl.lit("other")), step=step
    )
    return changed.sort("step", descending=True, nulls_last=True, maintain_order=True)


def changes_of_runs(runs: Sequence[Run]) -> list[dict[str, Any]] | None:
    """Return how many answers went from one verdict to another in each run after the first.

    None where a run has no statements: no metric needed them, and every answer would have changed.
    """
    if not all(run.statements.height for run in runs):
        return None
    return [
        {"run": run.name, **counts}
        for run in runs[1:]
        for counts in changed_verdicts(runs[0], run)
        .group_by("before", "now", "change")
        .len("rows")
        .sort("rows", "before", "now", descending=[True, False, False])
        .to_dicts()
    ]
