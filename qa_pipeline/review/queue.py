"""The review queue: pairs of all batches in the order of review, lists and filters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode

import polars as pl

from qa_pipeline.curation.decisions import APPLIED, decision_states, read_decisions
from qa_pipeline.curation.reasons import in_words
from qa_pipeline.errors import TableError
from qa_pipeline.storage.files import Version, version_of
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import CLAIMS, DOCUMENTS, PAIRS, VERDICTS
from qa_pipeline.text.rendering import words

SAMPLE_OF_VERDICT = 50
"""Pairs in the sample of each verdict."""
PAGE = 50
"""Pairs on a page of the queue."""
MOST_CHOICES = 300
"""Most frequent values that a filter offers."""
_LONGEST_TEXT = 400
"""Characters of a question or an answer in the queue."""
PAIR_COLUMNS = pl.Schema(
    {
        "batch": pl.String(),
        "pair_id": pl.String(),
        "question": pl.String(),
        "answer": pl.String(),
        "language": pl.String(),
        "question_type": pl.String(),
        "verdict": pl.String(),
        "reason": pl.String(),
        "claims": pl.Int32(),
        "supported_claims": pl.Int32(),
        "expected_verdict": pl.String(),
        "documents": pl.List(pl.String()),
        "turn": pl.UInt32(),
        "lot": pl.UInt64(),
        "is_drawn": pl.Boolean(),
    }
)
"""A pair: `documents` are paths of its evidence, `turn` counts pairs of its batch and reason by uncertainty,
`lot` is a random number, and `is_drawn` marks the sample of its verdict."""
DECIDED = pl.Schema(dict.fromkeys(("batch", "pair_id", "decision", "who"), pl.String()))
"""The last decision about a pair that still applies."""
QUEUE = pl.Schema({**PAIR_COLUMNS, **DECIDED})
_MIDDLE = 0.625
"""Cosine between clearly supported (0.75) and clearly unsupported (0.5), where a decision helps most."""
_GENERATED = pl.col("expected_verdict").is_null()
"""Condition of pairs other than known-answer pairs."""


WAITING = "waiting"
LISTS = {
    WAITING: ("Waiting", _GENERATED & (pl.col("verdict") == "needs_review") & pl.col("decision").is_null()),
    "rejected": ("Sample of rejected", pl.col("is_drawn") & (pl.col("verdict") == "rejected")),
    "accepted": ("Sample of accepted", pl.col("is_drawn") & (pl.col("verdict") == "accepted")),
    "decided": ("Decided", pl.col("decision").is_not_null()),
    "known": ("Known answers", ~_GENERATED),
    "all": ("All", _GENERATED),
}
"""Title and condition over `QUEUE` of each list, by its name in addresses."""
COLUMNS = {
    "batch": "batch",
    "language": "language",
    "type": "question_type",
    "verdict": "verdict",
    "reason": "reason",
}
"""Column of each filter by value."""
_LABELS: Mapping[str, Callable[[str], str]] = {"reason": in_words, "type": words, "verdict": words}


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on the pairs of a list, as the address of a page states them."""

    list: str = WAITING
    batch: str = ""
    language: str = ""
    type: str = ""
    verdict: str = ""
    reason: str = ""
    search: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "Filters":
        """Return the filters of an address."""
        filters = cls(
            **{field.name: query[field.name].strip() for field in fields(cls) if field.name in query}
        )
        return filters if filters.list in LISTS else replace(filters, list=WAITING)

    def address(self, **changes: str | int) -> str:
        """Return the filters as the query of an address."""
        values = {field.name: getattr(self, field.name) for field in fields(self)} | changes
        return urlencode({name: value for name, value in values.items() if value not in ("", None)})

    def pair_address(self, batch: str, pair_id: str, **changes: str | int) -> str:
        """Return the address of a pair within this list."""
        return f"/pair/{quote(batch, safe='')}/{quote(pair_id, safe='')}?{self.address(**changes)}"

    def conditions(self) -> dict[str, pl.Expr]:
        """Return the condition of each filter that is set."""
        conditions = {"list": LISTS[self.list][1]}
        for name, column in COLUMNS.items():
            if value := getattr(self, name):
                conditions[name] = pl.col(column) == value
        if self.search:
            text = pl.concat_str("question", pl.lit("\n"), "answer", ignore_nulls=True).str.to_lowercase()
            conditions["search"] = text.str.contains(self.search.lower(), literal=True)
        return conditions


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a pair in a list, and the addresses of its neighbours.

    `number` counts from 1, or is None if the pair is not in the list.
    """

    number: int | None
    total: int
    page: int
    before: str | None
    after: str | None


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows of a batch with the versions of their files, and the problem with a file."""

    versions: tuple[Version | None, ...]
    rows: pl.DataFrame
    problem: str | None


class Queue:
    """The pairs of an output folder. A batch is read again when its files change."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._pairs: dict[str, _Part] = {}
        self._decisions: dict[str, _Part] = {}
        self._sorted = PAIR_COLUMNS.to_frame()
        self._rows = QUEUE.to_frame()
        self._lock = Lock()

    def rows(self) -> pl.DataFrame:
        """Return all pairs (`QUEUE`): undecided pairs first, then the others at random.

        Among undecided pairs the least certain come first, batches and reasons in turn.
        """
        with self._lock:
            self._read_changes()
            return self._rows

    def position(self, filters: Filters, batch: str, pair_id: str) -> Position:
        """Return the position of a pair in a list, or its earlier position if it has left the list."""
        rows = self.rows()
        places = matching(rows, filters)
        is_pair = (pl.col("batch") == batch) & (pl.col("pair_id") == pair_id)
        here = rows.select(is_pair.arg_true()).to_series()
        if not len(here):
            return Position(None, len(places), 1, None, None)
        index = int(places.search_sorted(here[0]))
        is_listed = index < len(places) and places[index] == here[0]

        def address(at: int) -> str | None:
            if not 0 <= at < len(places):
                return None
            row = rows.row(places[at], named=True)
            return filters.pair_address(row["batch"], row["pair_id"])

        return Position(
            index + 1 if is_listed else None,
            len(places),
            index // PAGE + 1,
            address(index - 1),
            address(index + is_listed),
        )

    @property
    def problems(self) -> dict[str, str]:
        """Return the problem of each batch whose files cannot be read."""
        parts = [*self._pairs.items(), *self._decisions.items()]
        return {batch: part.problem for batch, part in parts if part.problem}

    def _read_changes(self) -> None:
        """Read batches whose tables or decisions have changed. A decision does not change the order."""
        layout = self._layout
        batches = sorted({path.stem for table in (PAIRS, VERDICTS) for path in layout.tables(table.name)})
        pairs, decisions = {}, {}
        for batch in batches:
            files = [layout.table(table.name, batch) for table in (PAIRS, CLAIMS, VERDICTS, DOCUMENTS)]
            versions = tuple(map(version_of, files))
            part = self._pairs.get(batch)
            if part is None or part.versions != versions:
                part = _Part(versions, *read_pairs(layout, batch))
            pairs[batch] = part
            versions += (version_of(layout.decisions(batch)),)
            part = self._decisions.get(batch)
            if part is None or part.versions != versions:
                part = _Part(versions, *_read_decisions(layout, batch))
            decisions[batch] = part
        if pairs != self._pairs:
            turn = pl.col("turn").cast(pl.UInt64)
            order = pl.when(pl.col("verdict") == "needs_review").then(turn).otherwise("lot")
            index = pl.int_range(pl.len()).over("verdict", "expected_verdict")
            self._sorted = (
                pl.concat([PAIR_COLUMNS.to_frame(), *(part.rows for part in pairs.values())])
                .sort(pl.col("verdict") != "needs_review", order, maintain_order=True)
                .with_columns(is_drawn=_GENERATED & (index < SAMPLE_OF_VERDICT))
            )
        elif decisions == self._decisions:
            return
        self._pairs, self._decisions = pairs, decisions
        key = ("batch", "pair_id")
        decided = pl.concat([DECIDED.to_frame(), *(part.rows for part in decisions.values())])
        columns = self._sorted.select(key).join(decided, on=key, how="left", maintain_order="left")
        self._rows = self._sorted.with_columns(columns["decision"], columns["who"])


def read_pairs(layout: Layout, batch: str, seed: str = "0") -> tuple[pl.DataFrame, str | None]:
    """Read the pairs of a batch (`PAIR_COLUMNS`), or the problem with its tables."""
    columns = {
        PAIRS: ("pair_id", "question", "answer", "language", "question_type"),
        VERDICTS: (
            "pair_id", "batch", "verdict", "reason", "claims", "supported_claims", "expected_verdict",
        ),
        CLAIMS: ("pair_id", "evidence_document_id", "similarity"),
        DOCUMENTS: ("document_id", "path"),
    }  # fmt: skip
    try:
        pairs, verdicts, claims, names = (
            read_table(layout.table(table.name, batch), table, names) for table, names in columns.items()
        )
    except TableError as error:
        return PAIR_COLUMNS.to_frame(), str(error)
    documents = (
        claims.join(names, left_on="evidence_document_id", right_on="document_id")
        .group_by("pair_id")
        .agg(documents=pl.col("path").unique().sort())
    )
    certainty = (pl.col("similarity").fill_null(0.0) - _MIDDLE).abs().min()
    certain = claims.group_by("pair_id").agg(certainty=certainty)
    lots = [int(hash_parts(seed, pair_id)[:16], 16) for pair_id in verdicts["pair_id"]]
    rows = verdicts.with_columns(pl.Series("lot", lots, pl.UInt64()), is_drawn=False)
    for frame in (pairs, certain, documents):
        rows = rows.join(frame, on="pair_id", how="left", maintain_order="left")
    turn = pl.col("certainty").fill_null(1.0).rank("ordinal").over("verdict", "reason")
    rows = rows.with_columns(pl.col("documents").fill_null([]), turn=turn)
    return rows.select(PAIR_COLUMNS.names()).cast(PAIR_COLUMNS), None


def _read_decisions(layout: Layout, batch: str) -> tuple[pl.DataFrame, str | None]:
    """Read the decisions that apply to pairs of a batch (`DECIDED`), or the problem with their file."""
    try:
        decisions = read_decisions(layout.decisions(batch))
        if not decisions.height:
            return DECIDED.to_frame(), None
        pairs = read_table(layout.table(PAIRS.name, batch), PAIRS)
        claims = read_table(layout.table(CLAIMS.name, batch), CLAIMS)
    except TableError as error:
        return DECIDED.to_frame(), str(error)
    states = decision_states(decisions, pairs, claims)
    applied = states.filter(pl.col("state") == APPLIED, pl.col("claim_id").is_null())
    return applied.select(pl.lit(batch).alias("batch"), "pair_id", "decision", "who"), None


def matching(rows: pl.DataFrame, filters: Filters) -> pl.Series:
    """Return the indices of the pairs that match the filters."""
    return rows.select(pl.all_horizontal(*filters.conditions().values()).arg_true()).to_series()


def queue_page(queue: Queue, filters: Filters, number: int) -> dict[str, Any]:
    """Return the contents of a page of the queue, at most the last page."""
    rows = queue.rows()
    places = matching(rows, filters)
    pages = max(1, -(-len(places) // PAGE))
    number = min(max(number, 1), pages)
    page_rows = rows[places.slice((number - 1) * PAGE, PAGE)].with_columns(
        pl.col("question", "answer").str.head(_LONGEST_TEXT)
    )
    lists, facets = _choices(rows, filters)
    return {
        "lists": lists,
        "facets": facets,
        "rows": [{**row, "reason": in_words(row["reason"] or "")} for row in page_rows.to_dicts()],
        "number": number,
        "first": (number - 1) * PAGE + 1,
        "pages": pages,
        "total": len(places),
        "every": rows.height,
        "problems": queue.problems,
    }


def _choices(rows: pl.DataFrame, filters: Filters) -> tuple[list[tuple[str, str, int]], list[dict[str, Any]]]:
    """Return lists (name, title, matching pairs) and the values of each filter in the list."""
    conditions = filters.conditions()
    in_list = rows.filter(conditions.pop("list"))
    left = rows.filter(*conditions.values())
    counts = left.select(**{name: condition.sum() for name, (_, condition) in LISTS.items()}).row(0)
    lists = [(name, LISTS[name][0], count) for name, count in zip(LISTS, counts, strict=True)]
    facets = []
    for name, column in COLUMNS.items():
        counted = in_list[column].drop_nulls().value_counts().sort("count", column, descending=[True, False])
        offered = dict(counted.head(MOST_CHOICES).iter_rows())
        if chosen := getattr(filters, name):
            offered.setdefault(chosen, 0)
        label = _LABELS.get(name, str)
        choices = [(value, label(value), count) for value, count in offered.items()]
        facets.append(
            {
                "name": name,
                "value": chosen,
                "choices": sorted(choices, key=lambda choice: choice[1].casefold()),
                "more": max(0, counted.height - MOST_CHOICES),
            }
        )
    return lists, facets


def nothing_to_show(layout: Layout) -> str:
    """Return the remedy for an output folder without pairs."""
    command = f"qa-pipeline run CORPUS --out {layout.out}"
    return f"{layout.out} has no pairs yet; run {command} and load this page again."
