"""The figures of an evaluation as tables a person reads, at most 110 columns wide.

What belongs here: which figures stand in which table. What does not: computing them (`grounding.py`) and how
a table is printed (`console.py`).
"""

from collections.abc import Sequence

import polars as pl

from qa_pipeline.cli.console import print_line, show_table
from qa_pipeline.evaluation.grounding import Difference, Grounding, ScorerFigures, SetFigures
from qa_pipeline.evaluation.judge_figures import ALL_SCORES, Asked, PairedFigures, RatedFigures, Repeats
from qa_pipeline.evaluation.statistics import Estimate

MATRICES = {
    "auroc": "AUROC by set",
    "balanced_accuracy": "Balanced accuracy at the shipped threshold, by set",
    "coverage_at_target": "Share that can be accepted at the wanted precision, by set",
    "span_f1": "F1 of unsupported characters, by set",
}
_NOTHING = "–"
_MOST_COLUMNS = 7


def show_grounding(found: Grounding, left_out: pl.DataFrame) -> None:
    """Print the sets, the mean, how far each scorer is ahead of the best baseline, and figures by set."""
    show_left_out(left_out)
    columns = ["set", "items", "groups", "supported", "claims", "without_claims", "claims_/_s"]
    show_table("Sets", columns, [_set_row(one) for one in found.sets])
    if found.mean:
        many = "1 set" if len(found.mean_over) == 1 else f"{len(found.mean_over)} sets, each counting alike"
        title = f"Mean over {many} (95 % intervals)"
        show_table(title, _MEAN_COLUMNS, [_mean_row(one) for one in found.mean])
        _show_rules(found.mean)
        _show_ahead(found.mean)
    for figure, title in MATRICES.items():
        _show_matrix(found.sets, figure, title)
    print_line("Best thresholds and best baselines are chosen on these very items, which favours them.")


def show_left_out(left_out: pl.DataFrame) -> None:
    """Print which rows of labelled files are not used (`LEFT_OUT`), if any."""
    if left_out.height:
        rows = [[str(value) for value in row] for row in left_out.rows()]
        show_table("Rows left out", [name.replace("_", " ") for name in left_out.columns], rows)


def _set_row(one: SetFigures) -> list[str]:
    counts = (one.claims, one.without_claims)
    rate = one.claims_per_second
    shown = _NOTHING if rate is None else f"{rate:.0f}"
    return [
        one.key,
        f"{one.items:,}",
        f"{one.groups:,}",
        f"{one.supported / one.items:.0%}",
        *(f"{count:,}" for count in counts),
        shown,
    ]


_MEAN_COLUMNS = [
    "scorer",
    "unknown",
    "AUROC",
    "balanced accuracy",
    "at_best",
    "F1_unsupported",
    "miscal.",
]
_RULE_COLUMNS = ["scorer", "accepts", "rightly", "interval", "rejects", "rightly", "interval"]
_RULE = ("coverage", "precision", "reject_coverage", "reject_precision")


def _mean_row(one: ScorerFigures) -> list[str]:
    figures = one.figures
    plain = ("balanced_accuracy_best", "f1_unsupported", "calibration_error")
    return [
        one.name,
        f"{one.unknown:,}",
        with_interval(figures["auroc"]),
        with_interval(figures["balanced_accuracy"]),
        *(_number(figures[name]) for name in plain),
    ]


def _show_rules(mean: Sequence[ScorerFigures]) -> None:
    rows = []
    for one in mean:
        accepts, right, rejects, caught = (one.figures[name] for name in _RULE)
        if accepts.value is not None:
            accepted = [_percent(accepts), _percent(right), _bounds(right)]
            rows.append([one.name, *accepted, _percent(rejects), _percent(caught), _bounds(caught)])
    if rows:
        show_table("What the shipped rules accept and reject, same mean", _RULE_COLUMNS, rows)


def _show_ahead(mean: Sequence[ScorerFigures]) -> None:
    rows = []
    for one in mean:
        best = {of.figure: of for of in one.differences if of.best}
        if any(of.ahead.value is not None for of in best.values()):
            rows.append([one.name, *_ahead(best.get("auroc")), *_ahead(best.get("balanced_accuracy"))])
    if rows:
        columns = ["scorer", "AUROC", "best baseline", "balanced accuracy", "best baseline at its best"]
        show_table("Ahead of the best baseline, on the same resamples", columns, rows)


def _ahead(one: Difference | None) -> list[str]:
    return [_NOTHING, _NOTHING] if one is None else [with_interval(one.ahead, sign="+"), one.baseline]


def _show_matrix(sets: Sequence[SetFigures], figure: str, title: str) -> None:
    names = [one.name for one in sets[0].scorers if _known(sets, one.name, figure)]
    for start in range(0, len(names), _MOST_COLUMNS):
        shown = names[start : start + _MOST_COLUMNS]
        rows = []
        for one in sets:
            by_name = {of.name: of.figures[figure] for of in one.scorers}
            rows.append([one.key, *(_number(by_name[name]) for name in shown)])
        show_table(title if not start else f"{title} (further scorers)", ["set", *shown], rows)


def _known(sets: Sequence[SetFigures], name: str, figure: str) -> bool:
    scorers = (of for one in sets for of in one.scorers if of.name == name)
    return any(of.figures[figure].value is not None for of in scorers)


def _number(one: Estimate) -> str:
    return _NOTHING if one.value is None else f"{one.value:.3f}"


def _percent(one: Estimate) -> str:
    return _NOTHING if one.value is None else f"{one.value:.1%}"


def with_interval(one: Estimate, sign: str = "") -> str:
    """A figure and its interval, as far as there are any."""
    if one.value is None:
        return _NOTHING
    return f"{one.value:{sign}.3f} {_bounds(one, sign)}".rstrip()


def _bounds(one: Estimate, sign: str = "") -> str:
    if one.low is None or one.high is None:
        return ""
    between = " to " if sign or one.low < 0 else "–"
    return f"({one.low:{sign}.2f}{between}{one.high:{sign}.2f})"


_PAIRED = {
    "agreement": "chooses as people do",
    "agreement_decided": "the same, ties left out",
    "spearman": "Spearman's rho with people's choice",
    "kendall": "Kendall's tau-b with people's choice",
    "inconsistent": "choice changes with the order",
    "first_share": "chooses what stood first (0.5: unbiased)",
    "longer_judge": "judge chooses the longer one",
    "longer_people": "people choose the longer one",
    "longer_beyond": "judge beyond people",
}


def show_judge(
    rated: Sequence[RatedFigures], paired: Sequence[PairedFigures], left_out: pl.DataFrame
) -> None:
    """Print what was asked, agreement with people, repeats, and what length and place do."""
    show_left_out(left_out)
    every = [(one.asked, one.repeats) for one in rated] + [(one.asked, one.repeats) for one in paired]
    columns = ["set", "items", "groups", "replies", "failed", "repeats", "equal", "deviation"]
    show_table("What was asked", columns, [_asked_row(*one) for one in every])
    for one in rated:
        _show_rated(one)
    for other in paired:
        rows = [[title, with_interval(getattr(other, name))] for name, title in _PAIRED.items()]
        show_table(f"{other.asked.key}: choices of two", ["what", "share or correlation"], rows)


def _asked_row(asked: Asked, repeats: Repeats) -> list[str]:
    failed = ", ".join(f"{count} {reason}" for reason, count in asked.failed.items())
    counts = (asked.items, asked.groups, asked.replies)
    equal = _NOTHING if repeats.identical is None else f"{repeats.identical:.1%}"
    deviation = _NOTHING if repeats.deviation is None else f"{repeats.deviation:.3f}"
    return [asked.key, *(f"{n:,}" for n in counts), failed or "0", str(repeats.repeats), equal, deviation]


def _show_rated(one: RatedFigures) -> None:
    for figure, title in (("spearman", "Spearman's rho"), ("kendall", "Kendall's tau-b")):
        found = {(of.score, of.rating): getattr(of, figure) for of in one.agreements}
        ratings = dict.fromkeys(of.rating for of in one.agreements)
        rows = [[rating, *(_short(found[score, rating]) for score in ALL_SCORES)] for rating in ratings]
        named = f"{one.asked.key}: {title} of the judge's scores with people's ratings"
        show_table(named, ["what", *ALL_SCORES], rows)
    rows = [[of.length, *map(with_interval, (of.judge, of.people, of.beyond))] for of in one.verbosity]
    named = f"{one.asked.key}: Spearman's rho with length in letters"
    show_table(named, ["what", "judge's overall score", "people's mean", "judge beyond people"], rows)


def _short(one: Estimate) -> str:
    """As `with_interval`, with two places: four of them stand in a row."""
    if one.value is None or one.low is None or one.high is None:
        return with_interval(one)
    between = " to " if one.low < 0 else "–"
    return f"{one.value:.2f} ({one.low:.2f}{between}{one.high:.2f})"
