"""The report of an evaluation: its document, what to know before its figures are believed, and Markdown."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.evaluation.deciders import (
    LIKENESS,
    decider_shares,
    decision_counts,
    describe_deciders,
    rests_on_likeness,
)
from qa_pipeline.evaluation.metric_agreement import metric_agreement
from qa_pipeline.evaluation.metrics.base import Metric
from qa_pipeline.evaluation.metrics.meanings import lack_of, meaning_of
from qa_pipeline.evaluation.running import Counts
from qa_pipeline.evaluation.summaries import PARTS, rounded, summarise

Document = dict[str, Any]
FORMAT = 1
WORST = 20
"""Rows that a report shows of the worst."""
WORST_BY = "faithfulness"
FEW_ROWS, FEW_GROUPS = 30, 10
"""Below so many rows, or documents they are about, a report says that they are few."""
MOSTLY = 0.5
_LONGEST_NAME, _MOST_NAMES = 80, 5


@dataclass(frozen=True)
class About:
    """What a report tells beside its figures.

    Args:
        dataset_sha256: of what was asked, see `report_folder.dataset_sha256`.
        left_out: rows that could not be read (`LEFT_OUT`).
        settings: those that decide, as JSON values.
    """

    dataset: str
    dataset_sha256: str
    left_out: pl.DataFrame
    settings: dict[str, Any]


def dataset_name(rows: pl.LazyFrame) -> str:
    """The names of the data sets that rows are of, as far as they are short and few."""
    found = rows.select(pl.col("dataset").unique(maintain_order=True)).collect()["dataset"]
    names = [one[:_LONGEST_NAME] for one in found]
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def report_document(
    rows: pl.DataFrame, statements: pl.DataFrame, metrics: Sequence[Metric], counts: Counts, about: About
) -> Document:
    """The content of `report.json`; equal evaluations give equal documents.

    Args:
        rows: as in `rows.parquet`.
        statements: as in `statements.parquet`.
        metrics: the columns of the rows.
        counts: who decided, and what rows lacked.
        about: what is told beside.

    Raises:
        InputError: a value is outside the range of its metric.
    """
    summaries = summarise(rows, {one.name: one.range for one in metrics})
    for metric in metrics:
        by = counts.decided_by.get(metric.name, Counter())
        summaries["metrics"][metric.name] |= {
            "version": metric.version,
            "direction": metric.direction,
            "range": list(metric.range),
            "source": metric.source,
            "decided_by": dict(sorted(by.items(), key=lambda one: (-one[1], one[0]))),
            "missing": dict(counts.missing.get(metric.name, {})),
        }
    verdicts = statements.group_by("verdict").len().sort("verdict")
    found: Document = rounded(
        {
            "format": FORMAT,
            "dataset": about.dataset,
            "dataset_sha256": about.dataset_sha256,
            "total_queries": rows.height,
            "groups": rows["group"].n_unique(),
            "left_out": about.left_out.to_dicts(),
            "settings": about.settings,
            "statements": dict(verdicts.iter_rows()),
            **summaries,
        }
    )
    return found


def ranked_by(document: Document, wanted: str | None = None) -> str | None:
    """The metric whose worst rows are shown: the one wanted, else faithfulness, else the first known.

    None where no metric has a value.
    """
    known = [name for name, one in document["metrics"].items() if one["known"]]
    return next((name for name in (wanted, WORST_BY, *known) if name in known), None)


def by_badness(rows: pl.DataFrame, statements: pl.DataFrame, name: str, direction: str) -> pl.DataFrame:
    """The rows that have a value of a metric, the worst first, with `against`.

    That is how many of their statements are not supported; of rows with equal values those with more stand
    first, then those that stand first in the data set.
    """
    against = pl.col("verdict").is_in(["unsupported", "contradicted"]).sum().alias("against")
    counted = statements.group_by("id").agg(against)
    known = rows.with_row_index("place").filter(pl.col(name).is_not_null())
    joined = known.join(counted, on="id", how="left").with_columns(pl.col("against").fill_null(0))
    return joined.sort(name, "against", "place", descending=[direction == "lower", True, False])


def what_to_know(document: Document) -> list[str]:
    """Sentences about what stands between the figures and belief in them; none where nothing does."""
    return [
        *_few(document),
        *_left_out(document),
        *_unanswered(document),
        *_half_unknown(document),
        *_by_likeness(document),
        *_no_better_than_length(document, metric_agreement()),
    ]


def _few(document: Document) -> Iterator[str]:
    count, groups = document["total_queries"], document["groups"]
    if groups < 2:
        yield "All rows are about one document: nothing is known of how another would do."
    elif count < FEW_ROWS or groups < FEW_GROUPS:
        yield f"Only {plural(count, 'row')} about {plural(groups, 'document')}: the intervals are wide."


def _left_out(document: Document) -> Iterator[str]:
    if left_out := document["left_out"]:
        lost = sum(one["rows"] for one in left_out)
        why = ", ".join(dict.fromkeys(one["reason"].replace("_", " ") for one in left_out))
        yield f"Left out: {plural(lost, 'row')} that could not be used ({why})."


def _unanswered(document: Document) -> Iterator[str]:
    if reasons := document["settings"].get("unanswered"):
        why = ", ".join(f"{reason.replace('_', ' ')} {count:,}" for reason, count in sorted(reasons.items()))
        yield f"Without an answer: {plural(sum(reasons.values()), 'question')} ({why})."


def _half_unknown(document: Document) -> Iterator[str]:
    total = document["total_queries"]
    known = {name: one["known"] for name, one in document["metrics"].items() if one["known"]}
    if few := [f"{name} ({count:,})" for name, count in known.items() if count < MOSTLY * total]:
        yield f"Known of less than half of the {plural(total, 'row')}: {_listed(few)}."


def _by_likeness(document: Document) -> Iterator[str]:
    by = {name: one["decided_by"] for name, one in document["metrics"].items()}
    if mostly := [
        f"{name} ({decider_shares(one)[LIKENESS]:.0%})" for name, one in by.items() if rests_on_likeness(one)
    ]:
        yield (
            f"Likeness alone decided most of what stands behind {_listed(mostly)}: a cosine, for statements "
            "with the share of their words that a text has. It overlooks a swapped number, name or negation, "
            "and rejects right answers in other words or in a few."
        )


_MOST_LISTED = 4


def _listed(names: Sequence[str]) -> str:
    """The first of some metrics, and how many more they are."""
    more = len(names) - _MOST_LISTED
    if more > 1:
        return f"{', '.join(names[:_MOST_LISTED])} and {more} more metrics"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _no_better_than_length(document: Document, known: Mapping[str, Any]) -> Iterator[str]:
    """Metrics that were held against people and lost to the length of the answer, by language of the rows.

    What is known is of the local steps; a run that asks models says nothing of it.
    """
    if any(document["settings"].get(role) for role in ("verifier", "judge")):
        return
    measured = [name for name, one in document["metrics"].items() if one["known"] and name in known]
    for language in document["per_language"]:
        lost = {
            name: known[name][language]
            for name in measured
            if language in known[name] and not known[name][language]["beats_length"]
        }
        if lost:
            listed = ", ".join(
                f"{name} (AUROC {one['auroc']['value']:.2f} against {one['length']['value']:.2f})"
                for name, one in lost.items()
            )
            yield (
                f"Not shown to tell supported from unsupported answers ({language}) any better than their "
                f"length does: {listed}."
            )


def reasons(metrics: Mapping[str, Document]) -> list[tuple[str, list[str]]]:
    """Why rows have no value, and the metrics that it is so with; nothing of those that all rows have."""
    alike: dict[str, list[str]] = {}
    for name, one in metrics.items():
        if one["unknown"]:
            alike.setdefault(_why_unknown(one), []).append(name)
    return list(alike.items())


def _why_unknown(one: Document) -> str:
    """What all unknown rows lack, else everything; one row may lack several things."""
    every = [name for name, count in one["missing"].items() if count == one["unknown"]]
    missing = {name: one["missing"][name] for name in every[:1]} or one["missing"]
    why = [f"{plural(count, 'row')}: {lack_of(name)}" for name, count in missing.items()]
    rest = one["unknown"] - sum(missing.values())
    if rest > 0:
        why.append(
            f"{plural(rest, 'row')}: a statement or passage is undecided, or there is nothing to count"
        )
    return "; ".join(why)


def plural(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def figure(value: float | None) -> str:
    """A figure with three places, a dash where it is unknown."""
    return "–" if value is None else f"{value:.3f}"


def with_bounds(one: Document) -> str:
    """The mean of a metric and its interval, as far as they are known."""
    if one["low"] is None or one["high"] is None:
        return figure(one["mean"])
    places = 3 if one["high"] - one["low"] < _NARROW else 2
    return f"{one['mean']:.3f} ({one['low']:.{places}f}–{one['high']:.{places}f})"


_NARROW = 0.02


_BRACKETS = "In brackets: 95 % intervals of the mean, rows of one document rising and falling together."


def markdown_report(document: Document, worst: pl.DataFrame, name: str | None) -> str:
    """The report as Markdown for a pull request.

    Texts of the data set stand in code spans, where nothing is markup, a link or the mention of a person.

    Args:
        document: of `report_document`.
        worst: rows by `by_badness`, as many as are shown.
        name: the metric they are worst by; None without rows.
    """
    metrics: Mapping[str, Document] = document["metrics"]
    total = document["total_queries"]
    parts = [
        f"## Evaluation of {code(document['dataset'])}\n",
        f"{plural(total, 'row')} about {plural(document['groups'], 'document')}. {_BRACKETS}\n",
        *(f"> **Note:** {plain(one)}\n" for one in what_to_know(document)),
    ]
    known = {key: one for key, one in metrics.items() if one["known"]}
    if known:
        columns = ("metric", "mean (95 %)", "median", "95th percentile", "known", "better", "decided by")
        cells = (
            [f"`{key}`", *_cells(one), one["direction"], plain(describe_deciders(one["decided_by"]))]
            for key, one in known.items()
        )
        parts.append(table(columns, cells))
    if whole := document.get("of_all_rows"):
        parts.append(
            f"Of all rows together: {', '.join(f'`{key}` {figure(one)}' for key, one in whole.items())}.\n"
        )
    if unknown := reasons(metrics):
        parts.append("### What is unknown, and why\n")
        cells = ([", ".join(f"`{one}`" for one in names), plain(why)] for why, names in unknown)
        parts.append(table(("metrics", "rows"), cells))
    for column in PARTS:
        parts += _by_part(document[f"per_{column}"], column, name)
    if name is not None and worst.height:
        rows = worst.select("id", "query", "answer", name).iter_rows()
        cells = ([code(one), code(query), code(answer), figure(value)] for one, query, answer, value in rows)
        shown = table(("id", "question", "answer", name), cells)
        title = f"The {plural(worst.height, 'worst row')} by {name}"
        parts.append(f"<details><summary>{title}</summary>\n\n{shown}\n</details>\n")
    parts.append(f"{_decided(metrics)}{_made_with(document)}\n")
    return "\n".join(parts)


def _cells(one: Document) -> list[str]:
    known = f"{one['known']:,} of {one['known'] + one['unknown']:,}"
    return [with_bounds(one), figure(one["median"]), figure(one["percentile_95"]), known]


_MOST_PARTS = 12


def _by_part(parts: Mapping[str, Mapping[str, Document]], column: str, name: str | None) -> Iterator[str]:
    if name is None or len(parts) < 2:
        return
    yield f"### `{name}` by {column}\n"
    largest = sorted(parts, key=lambda part: -parts[part][name]["known"])[:_MOST_PARTS]
    chosen = [part for part in parts if part in largest]
    yield table(
        (column, "mean (95 %)", "median", "95th percentile", "known"),
        ([code(part), *_cells(parts[part][name])] for part in chosen),
    )
    if len(chosen) < len(parts):
        yield f"{len(parts) - len(chosen)} more are in `report.json`.\n"


def _decided(metrics: Mapping[str, Document]) -> str:
    most: dict[str, int] = {}
    for metric in metrics.values():
        for who, count in decision_counts(metric["decided_by"]).items():
            most[who] = max(most.get(who, 0), count)
    ranked = sorted(most.items(), key=lambda one: (-one[1], one[0]))
    said = ", ".join(f"{code(who)} {count:,}" for who, count in ranked)
    return f"Decided by: {said}. " if said else ""


def _made_with(document: Document) -> str:
    told = {name: value for name, value in document["settings"].items() if value is not None}
    said = ", ".join(f"{name.replace('_', ' ')} {code(str(value))}" for name, value in told.items())
    return f"Made with {said}. Data set {code(document['dataset_sha256'][:12])}."


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]+")
_LONGEST = 160


def code(text: str | None, longest: int = _LONGEST) -> str:
    """A text of the data as a code span that also fits a cell: one line, cut, nothing in it markup."""
    if text is None:
        return "–"
    words = " ".join(_UNSEEN.sub(" ", text).split())
    cut = words if len(words) <= longest else f"{words[: longest - 1]}…"
    return f"`{cut.replace('`', 'ˋ').replace('|', '¦')}`" if cut else "(empty)"


def plain(text: str) -> str:
    """A sentence of ours that may name parts of the data: no markup, links, mentions or line ends."""
    words = " ".join(_UNSEEN.sub(" ", text).split())
    return re.sub(r"([\\|`*_\[\]<>#~@])", r"\\\1", words)


def sentence_about(document: Document, name: str) -> str:
    """What a metric measures and what it is here, for people who have never heard of it."""
    one = document["metrics"][name]
    said = meaning_of(name) or one["source"]
    return f"{said} {'Higher' if one['direction'] == 'higher' else 'Lower'} is better."
