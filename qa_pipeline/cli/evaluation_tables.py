"""The figures of an evaluation as tables a person reads, at most 110 columns wide."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from qa_pipeline.cli.console import print_line, show_frame, show_table, stage_rows, with_losses
from qa_pipeline.evaluation.statistics import Estimate

Document = dict[str, Any]
_OF_SHARE = {name: name for name in ("what", "share", "count", "of", "unknown")}
_NOTHING = "–"
_MOST_COLUMNS = 7


def _show_left_out(left_out: pl.DataFrame) -> None:
    if left_out.height:
        show_table("Rows left out", left_out.columns, left_out.rows())


def _show_fields(title: str, found: Sequence[Document], titles: Mapping[str, str]) -> None:
    """A table of some fields of documents, by their titles."""
    show_table(title, list(titles.values()), [[one[name] for name in titles] for one in found])


def with_interval(one: Estimate | None, sign: str = "", places: int = 3) -> str:
    """A figure and its interval, as far as there are any."""
    if one is None or one["value"] is None:
        return _NOTHING
    return f"{one['value']:{sign}.{places}f} {_bounds(one, sign)}".rstrip()


def _bounds(one: Estimate, sign: str = "") -> str:
    if one["low"] is None or one["high"] is None:
        return ""
    between = " to " if sign or one["low"] < 0 else "–"
    return f"({one['low']:{sign}.2f}{between}{one['high']:{sign}.2f})"


def show_generation(found: Document) -> None:
    """Print the figures of generation over all batches, the shares of each, and what other runs changed."""
    whole = found["all"]
    if whole["types"]:
        types, lost = (pl.DataFrame(whole[name]) for name in ("types", "shortfalls"))
        show_frame(
            "Questions by type, asked for and delivered", with_losses(types, lost) if lost.height else types
        )
    steps = pl.concat(
        [pl.DataFrame(whole[name]) for name in ("questions", "round_trips")], how="vertical_relaxed"
    )
    show_table("Questions and round trips by reason", ["stage", "what", "reason", "count"], stage_rows(steps))
    rewritten = whole["rewritten"]
    print_line(f"{rewritten['questions']} questions were rewritten, {rewritten['kept']} of them kept\n")
    for name in ("citations", "quotes"):
        show_table(f"{name.capitalize()} by what was found", ["what", "count"], whole[name].items())
    guarded = {"guarded_by": "what", "guard_passed": "passed", "pairs": "pairs"}
    _show_fields("What decided whether an answer was drafted", whole["guard"], guarded)
    _show_shares(whole["shares"], found["batches"])
    if whole["cost"]:
        show_frame("Model calls", pl.DataFrame(whole["cost"]["stages"]))
    if "repeats" in found:
        _show_repeats(found["repeats"])
    if "compared" in found:
        _show_compared(found["compared"])
    notes = found["incomplete"] | {name: "; ".join(gates) for name, gates in found["failed_gates"].items()}
    for name, why in notes.items():
        print_line(f"{name}: {why}", "yellow")
    print_line(f"Tables, indexes, exports: {found['out']}")


def _show_shares(shares: Sequence[Document], batches: Mapping[str, Document]) -> None:
    """Shares of all batches with their counts, and of each batch."""
    _show_fields("Shares over all batches", shares, _OF_SHARE)
    names = list(batches)
    for start in range(0, len(names) if len(names) > 1 else 0, _MOST_COLUMNS):
        shown = names[start : start + _MOST_COLUMNS]
        of_batches = zip(
            *([share["share"] for share in batches[name]["shares"]] for name in shown), strict=True
        )
        rows = [[one["what"], *values] for one, values in zip(shares, of_batches, strict=True)]
        show_table("Shares by batch", ["what", *shown], rows)


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


def show_annotators(found: Document, left_out: pl.DataFrame) -> None:
    """Print agreement, annotators, pairs of them, and how many items have a label."""
    _show_left_out(left_out)
    about = f"{found['criterion']}: {found['ratings']:,} ratings of {found['items']:,} items"
    columns = ["agreement", "value (95 % interval)", "unknown because"]
    rows = [
        [agreement["name"], with_interval(agreement), agreement["unknown"] or ""]
        for agreement in found["agreement"]
    ]
    show_table(f"Agreement on {about}", columns, rows)
    columns = ["annotator", "ratings", "always", "as most others", "of", "as gold", "of"]
    rows = [
        [
            row["annotator"],
            row["ratings"],
            row["always"] or "",
            with_interval(_named(row, "others")),
            row["others_compared"],
            with_interval(_named(row, "gold")),
            row["gold_compared"],
        ]
        for row in found["annotators"].to_dicts()
    ]
    show_table("Annotators (95 % intervals)", columns, rows)
    show_frame("Two and two", found["pairs"].head(_MOST_PAIRS))
    agreed = found["consensus"]
    aside = ", ".join(f"{count:,} {reason}" for reason, count in agreed["set_aside"].items()) or "none"
    print_line(
        f"Consensus ({agreed['method']}): {agreed['labelled']:,} items have a label; set aside: {aside}"
    )
    if agreed["converged"] is False:
        print_line(f"The model has not converged after {agreed['steps']} steps", "yellow")


_MOST_PAIRS = 45


def _named(one: Document, name: str) -> Estimate:
    return Estimate(value=one[name], low=one[f"{name}_low"], high=one[f"{name}_high"])
