"""The figures of an evaluation as tables a person reads, at most 110 columns wide."""

from typing import Any

import polars as pl

from qa_pipeline.cli.console import print_line, show_frame, show_table
from qa_pipeline.statistics import Estimate

Document = dict[str, Any]
_NOTHING = "–"


def _show_left_out(left_out: pl.DataFrame) -> None:
    if left_out.height:
        show_table("Rows left out", left_out.columns, left_out.rows())


def with_interval(estimate: Estimate | None, sign: str = "", places: int = 3) -> str:
    """Return a figure and its interval, as far as they are known."""
    if estimate is None or estimate["value"] is None:
        return _NOTHING
    return f"{estimate['value']:{sign}.{places}f} {_bounds(estimate, sign)}".rstrip()


def _bounds(estimate: Estimate, sign: str = "") -> str:
    if estimate["low"] is None or estimate["high"] is None:
        return ""
    between = " to " if sign or estimate["low"] < 0 else "–"
    return f"({estimate['low']:{sign}.2f}{between}{estimate['high']:{sign}.2f})"


def show_annotators(figures: Document, left_out: pl.DataFrame) -> None:
    """Print agreement, annotators, pairs of them, and how many items have a label."""
    _show_left_out(left_out)
    about = f"{figures['criterion']}: {figures['ratings']:,} ratings of {figures['items']:,} items"
    columns = ["agreement", "value (95 % interval)", "unknown because"]
    rows = [
        [agreement["name"], with_interval(agreement), agreement["unknown"] or ""]
        for agreement in figures["agreement"]
    ]
    show_table(f"Agreement on {about}", columns, rows)
    columns = ["annotator", "ratings", "always", "as most others", "of", "as gold", "of"]
    rows = [
        [
            row["annotator"],
            row["ratings"],
            row["always"] or "",
            with_interval(_estimate_of(row, "others")),
            row["others_compared"],
            with_interval(_estimate_of(row, "gold")),
            row["gold_compared"],
        ]
        for row in figures["annotators"].to_dicts()
    ]
    show_table("Annotators (95 % intervals)", columns, rows)
    show_frame("Two and two", figures["pairs"].head(_MOST_PAIRS))
    agreed = figures["consensus"]
    aside = ", ".join(f"{count:,} {reason}" for reason, count in agreed["set_aside"].items()) or "none"
    print_line(
        f"Consensus ({agreed['method']}): {agreed['labelled']:,} items have a label; set aside: {aside}"
    )
    if not agreed["is_used"]:
        print_line(
            f"The consensus is not used: Fleiss' kappa is not above {agreed['least_kappa']:g}, or unknown. "
            "Agree on what the categories mean and rate again, or choose another --min-kappa",
            "yellow",
        )
    if agreed["converged"] is False:
        print_line(f"The model has not converged after {agreed['steps']} steps", "yellow")


_MOST_PAIRS = 45
"""Pairs of annotators that are shown: all those of ten people."""


def _estimate_of(row: Document, name: str) -> Estimate:
    return Estimate(value=row[name], low=row[f"{name}_low"], high=row[f"{name}_high"])
