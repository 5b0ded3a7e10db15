"""The figures of an evaluation as tables a person reads, at most 110 columns wide."""

from collections.abc import Mapping, Sequence

import polars as pl

from qa_pipeline.cli.console import print_line, show_frame, show_table, stage_rows, with_losses
from qa_pipeline.evaluation.grounding import Document
from qa_pipeline.evaluation.judge_figures import ALL_SCORES
from qa_pipeline.evaluation.statistics import Estimate

MATRICES = {
    "auroc": "AUROC by set",
    "balanced_accuracy": "Balanced accuracy at the shipped threshold, by set",
    "coverage_at_target": "Share that can be accepted at the wanted precision, by set",
    "span_f1": "F1 of unsupported characters, by set",
}
_OF_SET = {
    "key": "set",
    "items": "items",
    "groups": "groups",
    "base_rate": "supported",
    "claims": "claims",
    "items_without_claims": "without_claims",
    "claims_per_second": "claims_/_s",
}
_OF_SHARE = {name: name for name in ("what", "share", "count", "of", "unknown")}
_NOTHING = "–"
_MOST_COLUMNS = 7


def show_grounding(found: Document, left_out: pl.DataFrame) -> None:
    """Print the sets, the mean, how far each scorer is ahead of the best baseline, and figures by set."""
    _show_left_out(left_out)
    _show_fields("Sets", found["sets"], _OF_SET)
    mean, over = found["mean"]["scorers"], found["mean"]["over"]
    if mean:
        many = "1 set" if len(over) == 1 else f"{len(over)} sets, each counting alike"
        columns = ["scorer", "unknown", "AUROC", "balanced accuracy", "at_best", "F1_unsupported", "miscal."]
        show_table(f"Mean over {many} (95 % intervals)", columns, [_mean_row(one) for one in mean])
        columns = ["scorer", "accepts", "rightly", "interval", "rejects", "rightly", "interval"]
        if rules := [_rule_row(one) for one in mean if one["coverage"]]:
            show_table("What the shipped rules accept and reject, same mean", columns, rules)
        columns = ["scorer", "AUROC", "best baseline", "balanced accuracy", "best baseline at its best"]
        if ahead := [row for one in mean if (row := _ahead_row(one))]:
            show_table("Ahead of the best baseline, on the same resamples", columns, ahead)
    for figure, title in MATRICES.items():
        _show_matrix(found["sets"], figure, title)
    print_line("Best thresholds and best baselines are chosen on these very items, which favours them.")


def _show_left_out(left_out: pl.DataFrame) -> None:
    if left_out.height:
        show_table("Rows left out", left_out.columns, left_out.rows())


def _show_fields(title: str, found: Sequence[Document], titles: Mapping[str, str]) -> None:
    """A table of some fields of documents, by their titles."""
    show_table(title, list(titles.values()), [[one[name] for name in titles] for one in found])


def _mean_row(one: Document) -> list[str]:
    plain = ("balanced_accuracy_best", "f1_unsupported", "calibration_error")
    return [
        one["name"],
        f"{one['unknown']:,}",
        with_interval(one["auroc"]),
        with_interval(one["balanced_accuracy"]),
        *(_number(one[name]) for name in plain),
    ]


def _rule_row(one: Document) -> list[str]:
    row = [one["name"]]
    for share, precision in (("coverage", "precision"), ("reject_coverage", "reject_precision")):
        right = one[precision]
        row += [_number(one[share], ".1%"), _number(right, ".1%"), _bounds(right) if right else ""]
    return row


def _ahead_row(one: Document) -> list[str]:
    """How far it is ahead of the best rival; nothing where no difference is known."""
    best = {of["figure"]: of for of in one["ahead_of_baselines"] if of["best"]}
    if all(of["value"] is None for of in best.values()):
        return []
    row = [one["name"]]
    for figure in ("auroc", "balanced_accuracy"):
        of = best.get(figure)
        row += [with_interval(of, sign="+"), of["baseline"]] if of else [_NOTHING, _NOTHING]
    return row


def _show_matrix(sets: Sequence[Document], figure: str, title: str) -> None:
    by_name = [{of["name"]: of[figure] for of in one["scorers"]} for one in sets]
    names = [name for name in by_name[0] if any(of_set[name] for of_set in by_name)]
    for start in range(0, len(names), _MOST_COLUMNS):
        shown = names[start : start + _MOST_COLUMNS]
        rows = [
            [one["key"], *(_number(of_set[name]) for name in shown)]
            for one, of_set in zip(sets, by_name, strict=True)
        ]
        show_table(title if not start else f"{title} (further scorers)", ["set", *shown], rows)


def _number(one: Estimate | None, form: str = ".3f") -> str:
    return _NOTHING if one is None or one["value"] is None else f"{one['value']:{form}}"


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


def show_judge(rated: Sequence[Document], paired: Sequence[Document], left_out: pl.DataFrame) -> None:
    """Print what was asked, agreement with people, repeats, and what length and place do."""
    _show_left_out(left_out)
    columns = ["set", "items", "groups", "replies", "failed", "repeats", "equal", "deviation"]
    show_table("What was asked", columns, [_asked_row(one) for one in (*rated, *paired)])
    for one in rated:
        _show_rated(one)
    for one in paired:
        rows = [[title, with_interval(one[name])] for name, title in _PAIRED.items()]
        show_table(f"{one['asked']['key']}: choices of two", ["what", "share or correlation"], rows)


def _asked_row(one: Document) -> list[object]:
    asked, repeats = one["asked"], one["repeats"]
    failed = ", ".join(f"{count} {reason}" for reason, count in asked["failed"].items())
    counts = [asked[name] for name in ("key", "items", "groups", "replies")]
    equal = repeats["identical"]
    same = _NOTHING if equal is None else f"{equal:.1%}"
    return [*counts, failed or "0", repeats["repeats"], same, repeats["deviation"]]


def _show_rated(one: Document) -> None:
    key = one["asked"]["key"]
    for figure, title in (("spearman", "Spearman's rho"), ("kendall", "Kendall's tau-b")):
        found = {(of["score"], of["rating"]): of[figure] for of in one["agreements"]}
        rows = [
            [rating, *(with_interval(found[score, rating], places=2) for score in ALL_SCORES)]
            for rating in dict.fromkeys(rating for _, rating in found)
        ]
        named = f"{key}: {title} of the judge's scores with people's ratings"
        show_table(named, ["what", *ALL_SCORES], rows)
    rows = [
        [of["length"], *(with_interval(of[name]) for name in ("judge", "people", "beyond"))]
        for of in one["verbosity"]
    ]
    named = f"{key}: Spearman's rho with length in letters"
    show_table(named, ["what", "judge's overall score", "people's mean", "judge beyond people"], rows)


def show_agreement(found: Document, left_out: pl.DataFrame) -> None:
    """Print how far each metric agrees with labels, by language, and with ratings."""
    _show_left_out(left_out)
    columns = ["metric", "in", "sets", "known", "AUROC", "length", "words", "ahead of length", "better"]
    rows = [
        [
            name,
            language,
            str(len(one["sets"])),
            f"{one['known']:.0%}",
            *(with_interval(one[figure]) for figure in ("auroc", "length", "word_overlap")),
            with_interval(one["ahead_of_length"], sign="+"),
            "yes" if one["beats_length"] else "no",
        ]
        for name, languages in found["labels"].items()
        for language, one in languages.items()
    ]
    show_table("Metrics against labels of people (mean over sets, 95 % intervals)", columns, rows)
    for key in dict.fromkeys(one["dataset"] for one in found["ratings"]):
        own = {(one["metric"], one["rating"]): one for one in found["ratings"] if one["dataset"] == key}
        ratings = list(dict.fromkeys(rating for _, rating in own))
        rows = [
            [name, *(with_interval(own.get((name, rating)), places=2) for rating in ratings)]
            for name in dict.fromkeys(name for name, _ in own)
        ]
        show_table(f"{key}: Spearman's rho with people's ratings", ["metric", *ratings], rows)


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
        of_batches = zip(*([one["share"] for one in batches[name]["shares"]] for name in shown), strict=True)
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
        [*(one[name] for name in columns[:-1]), with_interval(one["difference"], sign="+")]
        for one in compared["differences"]
    ]
    show_table("Scores without and with the change", columns, rows)


def show_annotators(found: Document, left_out: pl.DataFrame) -> None:
    """Print agreement, annotators, pairs of them, and how many items have a label."""
    _show_left_out(left_out)
    about = f"{found['criterion']}: {found['ratings']:,} ratings of {found['items']:,} items"
    columns = ["agreement", "value (95 % interval)", "unknown because"]
    rows = [[one["name"], with_interval(one), one["unknown"] or ""] for one in found["agreement"]]
    show_table(f"Agreement on {about}", columns, rows)
    columns = ["annotator", "ratings", "always", "as most others", "of", "as gold", "of"]
    rows = [
        [
            one["annotator"],
            one["ratings"],
            one["always"] or "",
            with_interval(_named(one, "others")),
            one["others_compared"],
            with_interval(_named(one, "gold")),
            one["gold_compared"],
        ]
        for one in found["annotators"].to_dicts()
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
