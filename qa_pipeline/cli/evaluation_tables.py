"""The figures of an evaluation as tables a person reads, at most 110 columns wide."""

from typing import Any

import polars as pl

from qa_pipeline.cli.console import print_line, show_table
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


def show_raters(figures: Document, left_out: pl.DataFrame) -> None:
    """Print agreement, ratings of each person, and how many items have a label."""
    _show_left_out(left_out)
    kappa = with_interval(figures["kappa"]) if figures["kappa"]["value"] is not None else "unknown"
    title = f"{figures['criterion']}: {figures['ratings']:,} ratings of {figures['items']:,} items"
    show_table(title, ["annotator", "ratings"], [[*item] for item in figures["annotators"].items()])
    print_line(f"Fleiss' kappa (95 % interval): {kappa}")
    aside = ", ".join(f"{count:,} {reason}" for reason, count in figures["set_aside"].items()) or "none"
    print_line(f"Consensus: {figures['labelled']:,} items have a label; set aside: {aside}")
    if not figures["is_used"]:
        print_line(
            f"The consensus is not used: Fleiss' kappa is not above {figures['least_kappa']:g}, or unknown. "
            "Agree on what the categories mean and rate again, or choose another --min-kappa",
            "yellow",
        )
