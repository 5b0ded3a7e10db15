"""The pairs of all batches in the order in which people look at them, and what narrows them down."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from threading import Lock
from urllib.parse import urlencode

import polars as pl

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.errors import TableError
from qa_pipeline.people.review.stored import version_of
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_columns
from qa_pipeline.storage.tables import CLAIMS, PAIRS, VERDICTS

WAITING, SAMPLE, DECIDED, EVERY = "waiting", "sample", "decided", "all"
LISTS = (WAITING, SAMPLE, DECIDED, EVERY)
SAMPLE_OF_VERDICT = 50
"""Rejected and accepted pairs in the sample, each: what a person reads in an afternoon."""
PAGE = 50
"""Pairs on a page of the queue."""
QUEUE = pl.Schema(
    {
        "batch": pl.String(),
        "pair_id": pl.String(),
        "question": pl.String(),
        "answer": pl.String(),
        "language": pl.String(),
        "question_type": pl.String(),
        "verdict": pl.String(),
        "reason": pl.String(),
        "grounding": pl.Float64(),
        "documents": pl.List(pl.String()),
        "decision": pl.String(),
        "who": pl.String(),
        "lot": pl.String(),
    }
)
"""One pair: `documents` are ids of its evidence, `decision` and `who` of the last decision about the pair,
`lot` its place in the order of samples."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that narrow the queue down, all of them in the address of its page."""

    list: str = WAITING
    batch: str = ""
    language: str = ""
    type: str = ""
    verdict: str = ""
    reason: str = ""
    document: str = ""
    search: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "Filters":
        """Return the filters of an address; names that are none are passed over."""
        filters = cls(**{field.name: query[field.name] for field in fields(cls) if field.name in query})
        return filters if filters.list in LISTS else replace(filters, list=WAITING)

    def address(self, **changes: str) -> str:
        """Return the filters as the query of an address, without those that are empty."""
        changed = replace(self, **changes)
        values = {field.name: getattr(changed, field.name) for field in fields(self)}
        return urlencode({name: value for name, value in values.items() if value})


@dataclass(frozen=True)
class _Part:
    """The queue of one batch, and the versions of the files it was made of."""

    versions: tuple[tuple[int, int] | None, ...]
    rows: pl.DataFrame


class Queue:
    """The pairs of an output folder; a batch is read again once its files have changed.

    Args:
        layout: the output folder.
        seed: another one draws other samples.
    """

    def __init__(self, layout: Layout, seed: str = "0") -> None:
        self._layout = layout
        self._seed = seed
        self._parts: dict[str, _Part] = {}
        self._rows: pl.DataFrame | None = None
        self._lock = Lock()
        self.problems: dict[str, str] = {}
        """What is wrong with the tables of a batch that cannot be shown, by batch."""

    def rows(self) -> pl.DataFrame:
        """Return all pairs (`QUEUE`), those that wait first, then in an order by lot."""
        with self._lock:
            batches = [path.stem for path in self._layout.tables(VERDICTS.name)]
            versions = {batch: self._versions(batch) for batch in batches}
            changed = [
                batch
                for batch in batches
                if batch not in self._parts or self._parts[batch].versions != versions[batch]
            ]
            removed = self._parts.keys() - set(batches)
            for batch in changed:
                try:
                    rows = self._read(batch)
                    self.problems.pop(batch, None)
                except TableError as error:
                    rows = QUEUE.to_frame()
                    self.problems[batch] = str(error)
                self._parts[batch] = _Part(versions[batch], rows)
            for batch in removed:
                del self._parts[batch]
                self.problems.pop(batch, None)
            if changed or removed or self._rows is None:
                self._rows = self._ordered()
            return self._rows

    def _versions(self, batch: str) -> tuple[tuple[int, int] | None, ...]:
        tables = [self._layout.table(name, batch) for name in (PAIRS.name, CLAIMS.name, VERDICTS.name)]
        return tuple(map(version_of, [*tables, self._layout.decisions(batch)]))

    def _read(self, batch: str) -> pl.DataFrame:
        """Return the pairs of a batch, in the order of its tables."""
        pair_columns = ("pair_id", "question", "answer", "language", "question_type")
        pairs = read_columns(self._layout.table(PAIRS.name, batch), PAIRS, pair_columns)
        verdict_columns = ("pair_id", "batch", "verdict", "reason", "grounding")
        verdicts = read_columns(self._layout.table(VERDICTS.name, batch), VERDICTS, verdict_columns)
        sources = ("pair_id", "evidence_document_id", "second_evidence_document_id")
        claims = read_columns(self._layout.table(CLAIMS.name, batch), CLAIMS, sources)
        documents = (
            claims.unpivot(index="pair_id", value_name="documents")
            .drop_nulls("documents")
            .group_by("pair_id")
            .agg(pl.col("documents").unique().sort())
        )
        last = (
            read_decisions(self._layout.decisions(batch))
            .filter(pl.col("claim_id").is_null())
            .unique("pair_id", keep="last", maintain_order=True)
            .select("pair_id", "decision", "who")
        )
        rows = verdicts.join(pairs, on="pair_id", how="left", maintain_order="left")
        for other in (documents, last):
            rows = rows.join(other, on="pair_id", how="left", maintain_order="left")
        lots = [hash_parts(self._seed, pair_id) for pair_id in rows["pair_id"]]
        return (
            rows.with_columns(pl.col("documents").fill_null([]), pl.Series("lot", lots, pl.String()))
            .select(QUEUE.names())
            .cast(QUEUE)
        )

    def _ordered(self) -> pl.DataFrame:
        parts = [self._parts[batch].rows for batch in sorted(self._parts)]
        rows = pl.concat([QUEUE.to_frame(), *parts])
        waits = pl.col("verdict") == "needs_review"
        order = pl.when(~waits).then("lot")  # those that wait stay beside others of their document
        return rows.sort((~waits), order, maintain_order=True)


def chosen(rows: pl.DataFrame, filters: Filters) -> pl.DataFrame:
    """Return the pairs that the filters leave, in the order of the queue."""
    conditions = [
        pl.col(column) == value
        for column, value in (
            ("batch", filters.batch),
            ("language", filters.language),
            ("question_type", filters.type),
            ("verdict", filters.verdict),
            ("reason", filters.reason),
        )
        if value
    ]
    if filters.document:
        conditions.append(pl.col("documents").list.contains(filters.document))
    if filters.search:
        text = pl.concat_str("question", pl.lit("\n"), "answer", ignore_nulls=True).str.to_lowercase()
        conditions.append(text.str.contains(filters.search.lower(), literal=True))
    rows = rows.filter(_listed(filters.list))
    return rows.filter(conditions) if conditions else rows


def _listed(name: str) -> pl.Expr:
    """Return whether a pair is in a list; a decision that was taken takes it out of those to be decided."""
    undecided = pl.col("decision").is_null()
    drawn = pl.int_range(pl.len()).over("verdict") < SAMPLE_OF_VERDICT
    return {
        WAITING: (pl.col("verdict") == "needs_review") & undecided,
        SAMPLE: pl.col("verdict").is_in(["rejected", "accepted"]) & drawn,
        DECIDED: ~undecided,
        EVERY: pl.lit(value=True),
    }[name]


def neighbours(rows: pl.DataFrame, every: pl.DataFrame, pair_id: str) -> tuple[str | None, str | None]:
    """Return the pair before and after one in the queue; it need not be in the list any more.

    Args:
        rows: the list that a person goes through.
        every: all pairs, whose order says where a pair was that has left the list.
        pair_id: the pair that is shown.
    """
    places = every.select("pair_id").with_row_index("place")
    here = places.filter(pl.col("pair_id") == pair_id)
    if not here.height:
        return None, None
    listed = rows.select("pair_id").join(places, on="pair_id", maintain_order="left")
    before = listed.filter(pl.col("place") < here["place"][0])
    after = listed.filter(pl.col("place") > here["place"][0])
    return (
        before["pair_id"][-1] if before.height else None,
        after["pair_id"][0] if after.height else None,
    )
