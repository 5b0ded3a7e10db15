"""The figures of an evaluation as tables a person reads, at most 110 columns wide."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from qa_pipeline.cli.console import print_line, show_frame, show_table, stage_rows, with_losses
from qa_pipeline.statistics import Estimate

Document = dict[str, Any]
_OF_SHARE = {name: name for name in ("what", "share", "count", "of", "unknown")}
_NOTHING = "–"
_MOST_COLUMNS = 7
"""Batches beside one another in a table of 120 columns (`console.NARROWEST`); further ones come below."""


def _show_left_out(left_out: pl.DataFrame) -> None:
    if left_out.height:
        show_table("Rows left out", left_out.columns, left_out.rows())


def _show_fields(title: str, rows: Sequence[Document], titles: Mapping[str, str]) -> None:
    """Print a table of some fields of documents, by their titles."""
    show_table(title, list(titles.values()), [[row[name] for name in titles] for row in rows])


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


def show_generation(figures: Document) -> None:
    """Print the figures of generation over all batches, the shares of each, and what other runs changed."""
    all_batches = figures["all"]
    if all_batches["types"]:
        types, lost = (pl.DataFrame(all_batches[name]) for name in ("types", "shortfalls"))
        show_frame(
            "Questions by type, asked for and delivered", with_losses(types, lost) if lost.height else types
        )
    steps = pl.concat(
        [pl.DataFrame(all_batches[name]) for name in ("questions", "round_trips")], how="vertical_relaxed"
    )
    show_table("Questions and round trips by reason", ["stage", "what", "reason", "count"], stage_rows(steps))
    rewritten = all_batches["rewritten"]
    print_line(f"{rewritten['questions']} questions were rewritten, {rewritten['kept']} of them kept\n")
    for name in ("citations", "quotes"):
        show_table(f"{name.capitalize()} by what was found", ["what", "count"], all_batches[name].items())
    guarded = {"guarded_by": "what", "guard_passed": "passed", "pairs": "pairs"}
    _show_fields("What decided whether an answer was drafted", all_batches["guard"], guarded)
    _show_shares(all_batches["shares"], figures["batches"])
    if all_batches["cost"]:
        show_frame("Model calls", pl.DataFrame(all_batches["cost"]["stages"]))
    if "repeats" in figures:
        _show_repeats(figures["repeats"])
    if "compared" in figures:
        _show_compared(figures["compared"])
    notes = figures["incomplete"] | {
        name: "; ".join(gates) for name, gates in figures["failed_gates"].items()
    }
    for name, why in notes.items():
        print_line(f"{name}: {why}", "yellow")
    print_line(f"Tables, indexes, exports: {figures['out']}")


def _show_shares(shares: Sequence[Document], batches: Mapping[str, Document]) -> None:
    """Print the shares of all batches with their counts, and of each batch."""
    _show_fields("Shares over all batches", shares, _OF_SHARE)
    names = list(batches)
    for start in range(0, len(names) if len(names) > 1 else 0, _MOST_COLUMNS):
        columns = names[start : start + _MOST_COLUMNS]
        of_batches = zip(
            *([share["share"] for share in batches[name]["shares"]] for name in columns), strict=True
        )
        rows = [[share["what"], *values] for share, values in zip(shares, of_batches, strict=True)]
        show_table("Shares by batch", ["what", *columns], rows)


def _show_repeats(repeats: Document) -> None:
    show_frame(f"Shares over {repeats['runs']} runs with other seeds", pl.DataFrame(repeats["shares"]))
    questions, same = repeats["questions"], repeats["questions"]["same_outcome"]
    ended = "" if same is None else f"; {same:.1%} of these ended the same way in all"
    print_line(f"{questions['in_any']} questions in any run, {questions['in_all']} in all{ended}\n")


def _show_compared(compared: Document) -> None:
    counts, questions, p = compared["accepted"], compared["questions"], compared["mcnemar_p"]
    title = f"Accepted without and with the change, of {questions['both']} questions that both runs wrote"
    show_table(title, ["both", "only without", "only with", "neither"], [list(counts.values())])
    test = "no question was accepted by one alone" if p is None else f"exact McNemar test: p = {p:.4g}"
    alone = (
        f"{questions['without_only']} other questions without the change, {questions['changed_only']} with it"
    )
    print_line(f"{test}; {alone}\n")
    if compared["moves"]:
        show_frame("Questions that ended otherwise", pl.DataFrame(compared["moves"]))
    columns = ["score", "questions", "unknown", "without", "changed", "difference (95 % interval)"]
    rows = [
        [*(difference[name] for name in columns[:-1]), with_interval(difference["difference"], sign="+")]
        for difference in compared["differences"]
    ]
    show_table("Scores without and with the change", columns, rows)


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
