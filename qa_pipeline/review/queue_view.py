"""The page of the queue: the lists, what the filters can be set to, and a page of pairs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.curation.reasons import in_words
from qa_pipeline.pipeline.report import finished_batches
from qa_pipeline.review.languages import PhrasedError
from qa_pipeline.review.queue import COLUMNS, LISTS, PAGE, QUEUE, Filters, Queue
from qa_pipeline.storage.layout import Layout
from qa_pipeline.text.rendering import words

MOST_CHOICES = 300
"""Values of a filter that are offered, those with the most pairs: as many as a browser opens at once."""
_LONGEST_TEXT = 400
"""Characters of a question or an answer that are looked at for its line in the queue."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that a filter can be set to, and how many pairs that leaves beside the other filters."""

    value: str
    label: str
    pairs: int


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter with its choices; `more` counts those that are not offered."""

    name: str
    value: str
    label: str
    choices: list[Choice]
    more: int


@dataclass(frozen=True, slots=True)
class QueueView:
    """Everything that the page of the queue shows."""

    filters: Filters
    lists: list[Choice]
    facets: list[Facet]
    rows: list[dict[str, Any]]
    number: int
    pages: int
    total: int
    every: int
    problems: dict[str, str]

    @property
    def first(self) -> int:
        """Return the number of the first pair of the page, from 1."""
        return (self.number - 1) * PAGE + 1


def queue_view(
    queue: Queue,
    filters: Filters,
    number: int,
    phrase: Callable[[str], str] = str,
    who: str = "",
) -> QueueView:
    """Gather a page of the queue; a number past the last page shows the last.

    Args:
        queue: the pairs.
        filters: those of the address.
        number: the page, from 1.
        phrase: returns a phrase in the language of the page.
        who: the person who looks.
    """
    rows = queue.rows(who)
    places = queue.places(rows, filters, who)
    pages = max(1, -(-len(places) // PAGE))
    number = min(max(number, 1), pages)
    page_rows = rows[places.slice((number - 1) * PAGE, PAGE)].with_columns(
        pl.col("question", "answer").str.head(_LONGEST_TEXT)
    )
    lists, facets = _choices(rows, filters, queue.paths, phrase)
    return QueueView(
        filters,
        lists,
        facets,
        [
            {
                **row,
                "reason": in_words(row["reason"] or ""),
                "documents": [queue.paths.get(key, key) for key in row["documents"]],
            }
            for row in page_rows.to_dicts()
        ],
        number,
        pages,
        len(places),
        rows.height,
        queue.problems,
    )


def _choices(
    rows: pl.DataFrame, filters: Filters, paths: Mapping[str, str], phrase: Callable[[str], str]
) -> tuple[list[Choice], list[Facet]]:
    """Return lists and filters with counts, each as the other conditions leave them."""
    conditions = filters.conditions()
    masks = rows.select(**conditions)

    def left_by_others(name: str) -> pl.DataFrame:
        others = [key for key in conditions if key != name]
        return rows.filter(masks.select(pl.all_horizontal(others)).to_series()) if others else rows

    unlisted = left_by_others("list")
    counts = unlisted.select(**{name: pair_list.condition.sum() for name, pair_list in LISTS.items()}).row(0)
    lists = [Choice(name, LISTS[name].title, count) for name, count in zip(LISTS, counts, strict=True)]
    remaining = rows.filter(masks.select(pl.all_horizontal(pl.all())).to_series())
    facets = []
    for name, column in COLUMNS.items():
        values = (left_by_others(name) if name in conditions else remaining)[column]
        if isinstance(QUEUE[column], pl.List):
            values = values.explode(empty_as_null=False)
        counted = values.drop_nulls().value_counts().sort("count", column, descending=[True, False])
        offered = [
            Choice(value, _label(name, value, paths, phrase), count)
            for value, count in counted.head(MOST_CHOICES).iter_rows()
        ]
        facets.append(
            Facet(
                name,
                getattr(filters, name),
                _label(name, getattr(filters, name), paths, phrase),
                sorted(offered, key=lambda choice: choice.label.casefold()),
                max(0, counted.height - MOST_CHOICES),
            )
        )
    return lists, facets


def _label(name: str, value: str, paths: Mapping[str, str], phrase: Callable[[str], str]) -> str:
    if name == "document":
        return paths.get(value, value)
    if name == "reason":
        return phrase(in_words(value))
    return phrase(words(value)) if name in ("type", "verdict") else value


def nothing_to_show(layout: Layout) -> PhrasedError:
    """Return why an output folder has no pair to show, and what to do."""
    command = f"qa-pipeline run CORPUS --out {layout.out}"
    phrase = (
        "%(out)s holds no pairs yet; a run that is at work writes them at its end. If none is, run "
        "%(command)s again and load this page."
    )
    if not layout.out.is_dir():
        phrase = "%(out)s is not there; run %(command)s and load this page again."
    elif not finished_batches(layout):
        phrase = "%(out)s holds no tables yet; run %(command)s and load this page again."
    return PhrasedError(phrase, out=layout.out, command=command)
