"""The review queue: pairs of all batches in the order of review, lists and filters."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode

import polars as pl

from qa_pipeline.curation.decisions import APPLIED, decision_states, read_decisions
from qa_pipeline.curation.ledger import in_words
from qa_pipeline.errors import TableError
from qa_pipeline.storage.files import Version, version_of
from qa_pipeline.storage.hashes import draw_number
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import CLAIMS, DOCUMENTS, PAIRS, VERDICTS
from qa_pipeline.text.rendering import words

PAGE = 50
"""Pairs on a page of the queue."""
MOST_CHOICES = 300
"""Most frequent values that a filter offers."""
PAIR_COLUMNS = pl.Schema(
    {
        **dict.fromkeys(("batch", "pair_id", "question", "answer", "language"), pl.String()),
        **dict.fromkeys(("question_type", "verdict", "reason"), pl.String()),
        **dict.fromkeys(("claims", "supported_claims"), pl.Int32()),
        "expected_verdict": pl.String(),
        "documents": pl.List(pl.String()),
        "turn": pl.UInt32(),
        "lot": pl.UInt64(),
    }
)
"""A pair: `documents` are paths of its evidence, `turn` counts the pairs of its batch, verdict and reason,
the least certain first, and `lot` is a random number."""
DECIDED = pl.Schema(dict.fromkeys(("batch", "pair_id", "decision", "who"), pl.String()))
"""The last decision about a pair that still applies."""
QUEUE = pl.Schema({**PAIR_COLUMNS, **DECIDED})
_LEAST_CERTAIN = 0.625
"""Cosine between clearly supported (0.75) and clearly unsupported (0.5), where a decision helps most."""
_GENERATED = pl.col("expected_verdict").is_null()
"""Condition of pairs other than known-answer pairs."""
WAITING = "waiting"
LISTS = {
    WAITING: ("Waiting", _GENERATED & (pl.col("verdict") == "needs_review") & pl.col("decision").is_null()),
    "rejected": ("Rejected", _GENERATED & (pl.col("verdict") == "rejected")),
    "accepted": ("Accepted", _GENERATED & (pl.col("verdict") == "accepted")),
    "decided": ("Decided", pl.col("decision").is_not_null()),
    "known": ("Known answers", ~_GENERATED),
    "all": ("All", _GENERATED),
}
"""Title and condition over `QUEUE` of each list, by its name in addresses."""
COLUMNS = {
    "batch": "batch", "language": "language", "type": "question_type",
    "verdict": "verdict", "reason": "reason",
}  # fmt: skip
"""Column that each filter compares with its value."""
_WORDS: Mapping[str, Callable[[str], str]] = {"reason": in_words, "type": words, "verdict": words}
"""The function that shows a value of a filter in words."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on the pairs of a list, as the address of a page contains them."""

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
        names = [field.name for field in fields(cls) if field.name in query]
        filters = cls(**{name: query[name].strip() for name in names})
        return filters if filters.list in LISTS else replace(filters, list=WAITING)

    def address(self, **changes: str | int) -> str:
        """Return the filters as the query of an address."""
        values = {field.name: getattr(self, field.name) for field in fields(self)} | changes
        return urlencode({name: value for name, value in values.items() if value not in ("", None)})

    def pair_address(self, batch: str, pair_id: str, **changes: str | int) -> str:
        """Return the address of a pair within this list."""
        return f"/pair/{quote(batch, safe='')}/{quote(pair_id, safe='')}?{self.address(**changes)}"

    def conditions(self) -> dict[str, pl.Expr]:
        """Return the condition of the list, and of each filter that is set, by name."""
        _, list_condition = LISTS[self.list]
        conditions = {"list": list_condition}
        for name, column in COLUMNS.items():
            if value := getattr(self, name):
                conditions[name] = pl.col(column) == value
        if self.search:
            text = pl.concat_str("question", pl.lit("\n"), "answer", ignore_nulls=True).str.to_lowercase()
            conditions["search"] = text.str.contains(self.search.lower(), literal=True)
        return conditions


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a pair in a list, and the addresses of its neighbours."""

    number: int | None  # from 1; None if the pair is not in the list
    total: int
    page: int
    before: str | None
    after: str | None


@dataclass(frozen=True, eq=False)
class _BatchRows:
    """Rows of a batch with the versions of their files, and the problem with a file.

    Two objects are equal only if they are the same object, so a batch that was read again differs.
    """

    versions: tuple[Version | None, ...]
    rows: pl.DataFrame
    problem: str | None


class Queue:
    """The pairs of an output folder. A batch is read again when its files change."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._pairs: dict[str, _BatchRows] = {}
        self._decisions: dict[str, _BatchRows] = {}
        self._sorted = PAIR_COLUMNS.to_frame()  # pairs in the order of review
        self._rows = QUEUE.to_frame()  # the same with their decisions
        self._lock = Lock()

    def rows(self) -> pl.DataFrame:
        """Return all pairs (`QUEUE`): undecided pairs first, then the others at random.

        Among undecided pairs the least certain come first, batches and reasons in turn.
        """
        with self._lock:
            self._read_changes()
            return self._rows

    def position(self, filters: Filters, batch: str, pair_id: str) -> Position:
        """Return the position of a pair in a list. If it has left the list, the number is None."""
        rows = self.rows()
        listed = matching(rows, filters)  # indices of rows, ascending
        is_pair = (pl.col("batch") == batch) & (pl.col("pair_id") == pair_id)
        indices_of_pair = rows.select(is_pair.arg_true()).to_series()  # empty, or a single index
        if not len(indices_of_pair):
            return Position(number=None, total=len(listed), page=1, before=None, after=None)
        index = int(listed.search_sorted(indices_of_pair[0]))  # in the list, where the pair is or would be
        is_listed = index < len(listed) and listed[index] == indices_of_pair[0]

        def address(neighbour: int) -> str | None:
            if not 0 <= neighbour < len(listed):
                return None
            row = rows.row(listed[neighbour], named=True)
            return filters.pair_address(row["batch"], row["pair_id"])

        return Position(
            number=index + 1 if is_listed else None,
            total=len(listed),
            page=index // PAGE + 1,
            before=address(index - 1),
            # a pair that has left the list is followed by the pair that took its index
            after=address(index + 1 if is_listed else index),
        )

    @property
    def problems(self) -> dict[str, str]:
        """Return the problem of each batch whose files cannot be read."""
        batches = [*self._pairs.items(), *self._decisions.items()]
        return {batch: rows.problem for batch, rows in batches if rows.problem}

    def _read_changes(self) -> None:
        """Read batches whose tables or decisions have changed. A decision does not change the order."""
        layout = self._layout
        batches = sorted({path.stem for table in (PAIRS, VERDICTS) for path in layout.tables(table.name)})
        pairs, decisions = {}, {}
        for batch in batches:
            table_files = [layout.table(table.name, batch) for table in (PAIRS, CLAIMS, VERDICTS, DOCUMENTS)]
            pairs[batch] = self._read_if_changed(self._pairs, batch, table_files, read_pairs)
            files = [*table_files, layout.decisions(batch)]  # changed pairs can make decisions stale
            decisions[batch] = self._read_if_changed(self._decisions, batch, files, _read_decisions)
        # rows that were read again are never equal, whatever they contain; see `_BatchRows`
        tables_changed, decisions_changed = pairs != self._pairs, decisions != self._decisions
        if not tables_changed and not decisions_changed:
            return
        if tables_changed:
            frames = [batch_rows.rows for batch_rows in pairs.values()]
            self._sorted = _in_order(pl.concat([PAIR_COLUMNS.to_frame(), *frames]))
        self._pairs, self._decisions = pairs, decisions
        key = ("batch", "pair_id")
        decided = pl.concat([DECIDED.to_frame(), *(batch_rows.rows for batch_rows in decisions.values())])
        with_decisions = self._sorted.select(key).join(decided, on=key, how="left", maintain_order="left")
        self._rows = self._sorted.with_columns(with_decisions["decision"], with_decisions["who"])

    def _read_if_changed(
        self,
        remembered: Mapping[str, _BatchRows],
        batch: str,
        files: Sequence[Path],
        read: Callable[[Layout, str], tuple[pl.DataFrame, str | None]],
    ) -> _BatchRows:
        """Return the rows of a batch and their problem; a changed file is read again."""
        versions = tuple(map(version_of, files))
        earlier = remembered.get(batch)
        if earlier is not None and earlier.versions == versions:
            return earlier
        return _BatchRows(versions, *read(self._layout, batch))


def _in_order(pairs: pl.DataFrame) -> pl.DataFrame:
    """Sort pairs for review: undecided pairs by turn, then the others at random."""
    is_undecided = pl.col("verdict") == "needs_review"
    order = pl.when(is_undecided).then(pl.col("turn").cast(pl.UInt64)).otherwise("lot")
    return pairs.sort(~is_undecided, order, maintain_order=True)


def read_pairs(layout: Layout, batch: str) -> tuple[pl.DataFrame, str | None]:
    """Return the pairs of a batch (`PAIR_COLUMNS`), and the problem if its tables cannot be read."""
    columns = {
        PAIRS: ("pair_id", "question", "answer", "language", "question_type"),
        VERDICTS: ("pair_id", "batch", "verdict", "reason", "claims", "supported_claims", "expected_verdict"),
        CLAIMS: ("pair_id", "evidence_document_id", "similarity"),
        DOCUMENTS: ("document_id", "path"),
    }
    try:
        pairs, verdicts, claims, paths = (
            read_table(layout.table(table.name, batch), table, names) for table, names in columns.items()
        )
    except TableError as error:
        return PAIR_COLUMNS.to_frame(), str(error)
    documents = (  # a row for each pair
        claims.join(paths, left_on="evidence_document_id", right_on="document_id")
        .group_by("pair_id")
        .agg(documents=pl.col("path").unique().sort())
    )
    # a pair is as certain as its least certain claim
    certainty = (pl.col("similarity").fill_null(0.0) - _LEAST_CERTAIN).abs().min()
    certainties = claims.group_by("pair_id").agg(certainty=certainty)
    lots = [draw_number("0", pair_id) for pair_id in verdicts["pair_id"]]  # "0" is a seed
    rows = verdicts.with_columns(pl.Series("lot", lots, pl.UInt64()))
    for frame in (pairs, certainties, documents):
        rows = rows.join(frame, on="pair_id", how="left", maintain_order="left")
    turn = pl.col("certainty").fill_null(1.0).rank("ordinal").over("verdict", "reason")  # 1.0: no claims
    rows = rows.with_columns(pl.col("documents").fill_null([]), turn=turn)
    return rows.select(PAIR_COLUMNS.names()).cast(PAIR_COLUMNS), None


def _read_decisions(layout: Layout, batch: str) -> tuple[pl.DataFrame, str | None]:
    """Return the decisions that apply to pairs (`DECIDED`), and the problem if they cannot be read."""
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
    listed = matching(rows, filters)
    pages = max(1, math.ceil(len(listed) / PAGE))
    number = min(max(number, 1), pages)
    indices = listed.slice((number - 1) * PAGE, PAGE)
    return {
        "lists": _list_counts(rows, filters),
        "facets": _facets(rows, filters),
        "rows": [{**row, "reason": in_words(row["reason"] or "")} for row in rows[indices].to_dicts()],
        "number": number,
        "first": (number - 1) * PAGE + 1,
        "pages": pages,
        "total": len(listed),
        "every": rows.height,  # in all lists
        "problems": queue.problems,
    }


def _list_counts(rows: pl.DataFrame, filters: Filters) -> list[tuple[str, str, int]]:
    """Return name, title and number of pairs of each list, under all filters but the list itself."""
    conditions = [condition for name, condition in filters.conditions().items() if name != "list"]
    sums = {name: is_in_list.sum() for name, (_, is_in_list) in LISTS.items()}
    counts = rows.filter(*conditions).select(**sums)
    return [(name, LISTS[name][0], count) for name, count in counts.row(0, named=True).items()]


def _facets(rows: pl.DataFrame, filters: Filters) -> list[dict[str, Any]]:
    """Return the values that each filter offers, with their numbers of pairs in the list.

    Other filters do not reduce the numbers, so that a person can change one filter after another.
    """
    in_list = rows.filter(filters.conditions()["list"])
    facets = []
    for name, column in COLUMNS.items():
        counted = in_list[column].drop_nulls().value_counts().sort("count", column, descending=[True, False])
        offered = dict(counted.head(MOST_CHOICES).iter_rows())  # number of pairs by value
        chosen = getattr(filters, name)
        if chosen:
            offered.setdefault(chosen, 0)
        show_value = _WORDS.get(name, str)
        choices = [(value, show_value(value), count) for value, count in offered.items()]
        facets.append(
            {
                "name": name,
                "value": chosen,
                # such as ("needs_review", "needs review", 12)
                "choices": sorted(choices, key=lambda choice: choice[1].casefold()),
                "more": max(0, counted.height - MOST_CHOICES),  # values that are not offered
            }
        )
    return facets
