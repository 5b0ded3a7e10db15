"""The pairs of all batches in the order in which people look at them, and what narrows them down."""

from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from threading import Lock
from urllib.parse import quote, urlencode

import polars as pl

from qa_pipeline.curation.decisions import APPLIED, content_hashes, decision_states, read_decisions
from qa_pipeline.errors import TableError
from qa_pipeline.review.panel import Rating, RatingPanel, Stand
from qa_pipeline.storage.files import Version, version_of
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_columns
from qa_pipeline.storage.tables import CLAIMS, DECISIONS, DOCUMENTS, PAIRS, VERDICTS

SAMPLE_OF_VERDICT = 50
"""Rejected and accepted pairs in the samples, each: what a person reads in an afternoon."""
PAGE = 50
"""Pairs on a page of the queue."""
_MOST_SELECTIONS = 32
"""Selections in memory, each a number a pair: the lists that a few people go through at a time."""
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
        "claims": pl.Int32(),
        "supported_claims": pl.Int32(),
        "expected_verdict": pl.String(),
        "documents": pl.List(pl.String()),
        "lot": pl.UInt64(),
        "is_drawn": pl.Boolean(),
        "is_disputed": pl.Boolean(),
        "is_for_others": pl.Boolean(),
        "decision": pl.String(),
        "who": pl.String(),
    }
)
"""One pair: `documents` are ids of its evidence, `lot` its place in the order of samples, `is_drawn` whether
it is in the sample of its verdict, `is_disputed` whether two people differ about it, `is_for_others` whether
it waits for other people, `decision` and `who` of the last decision about the pair as it is now."""
_LAST = ("batch", "pair_id", "decision", "who")
_GENERATED = pl.col("expected_verdict").is_null()
"""Not a known-answer pair, which probes the pipeline: `status` counts those apart, `decide` refuses them."""

_WAITS = (
    _GENERATED
    & (pl.col("verdict") == "needs_review")
    & pl.col("decision").is_null()
    & ~pl.col("is_for_others")
)


@dataclass(frozen=True, slots=True)
class PairList:
    """A list of the queue: the pairs that meet `condition`, an expression over `QUEUE`."""

    title: str
    condition: pl.Expr


WAITING = "waiting"
LISTS = {
    WAITING: PairList("Waiting", _WAITS & ~pl.col("is_disputed")),
    "disagreements": PairList("Disagreements", _WAITS & pl.col("is_disputed")),
    "rejected": PairList("Sample of rejected", pl.col("is_drawn") & (pl.col("verdict") == "rejected")),
    "accepted": PairList("Sample of accepted", pl.col("is_drawn") & (pl.col("verdict") == "accepted")),
    "decided": PairList("Decided", pl.col("decision").is_not_null()),
    "known": PairList("Known answers", ~_GENERATED),
    "all": PairList("All", _GENERATED),
}
"""Lists by their name in addresses. A decision that was taken takes a pair out of those that wait."""
COLUMNS = {
    "batch": "batch",
    "language": "language",
    "type": "question_type",
    "verdict": "verdict",
    "reason": "reason",
    "document": "documents",
}
"""Column that each filter by value looks at."""


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
        filters = cls(
            **{field.name: query[field.name].strip() for field in fields(cls) if field.name in query}
        )
        return filters if filters.list in LISTS else replace(filters, list=WAITING)

    def address(self, **changes: str | int) -> str:
        """Return the filters as the query of an address, without those that are empty."""
        values = {field.name: getattr(self, field.name) for field in fields(self)} | changes
        return urlencode({name: value for name, value in values.items() if value not in ("", None)})

    def pair_address(self, batch: str, pair_id: str, **changes: str | int) -> str:
        """Return the address of a pair's page, which goes on in the list of these filters."""
        return f"/pair/{quote(batch, safe='')}/{quote(pair_id, safe='')}?{self.address(**changes)}"

    def conditions(self) -> dict[str, pl.Expr]:
        """Return what each filter that is set asks of a pair, by its name."""
        conditions = {"list": LISTS[self.list].condition}
        for name, column in COLUMNS.items():
            value = getattr(self, name)
            if value:
                is_list = isinstance(QUEUE[column], pl.List)
                values = pl.col(column)
                conditions[name] = values.list.contains(value) if is_list else values == value
        if self.search:
            text = pl.concat_str("question", pl.lit("\n"), "answer", ignore_nulls=True).str.to_lowercase()
            conditions["search"] = text.str.contains(self.search.lower(), literal=True)
        return conditions


def document_address(batch: str, document_id: str, start: int, end: int) -> str:
    """Return the address of a document's page, at a stretch of its text."""
    place = f"{quote(batch, safe='')}/{quote(document_id, safe='')}"
    return f"/document/{place}?start={start}&end={end}#evidence"


@dataclass(frozen=True, slots=True)
class Position:
    """The place of a pair in a list, and the addresses of the pairs around it.

    `number` counts from 1, and is None where the pair is not in the list, or not any more.
    """

    number: int | None
    total: int
    page: int
    before: str | None
    after: str | None


@dataclass(frozen=True)
class _Part:
    """The queue of one batch, paths of its documents, and the versions of the tables it was made of."""

    versions: tuple[Version | None, ...]
    rows: pl.DataFrame
    paths: dict[str, str]
    problem: str | None = None


@dataclass(frozen=True)
class _Decided:
    """The last decision about each pair of a batch as it is now, its ratings, and versions of their files."""

    versions: tuple[Version | None, ...]
    rows: pl.DataFrame
    ratings: dict[str, dict[str, Rating]]
    problem: str | None = None


class Queue:
    """The pairs of an output folder; a batch is read again once its files have changed.

    Args:
        layout: the output folder.
        seed: another one draws other samples.
        panel: who rates pairs apart from each other; None where nobody does.
    """

    def __init__(self, layout: Layout, seed: str = "0", panel: RatingPanel | None = None) -> None:
        self._layout = layout
        self.panel = panel
        self._seed = seed
        self._parts: dict[str, _Part] = {}
        self._decided: dict[str, _Decided] = {}
        self._ordered = QUEUE.to_frame()
        self._rows = QUEUE.to_frame()
        self._views: dict[str, pl.DataFrame] = {}
        self._stands: dict[tuple[str, str], Stand] = {}
        self._selections: OrderedDict[tuple[str, Filters], pl.Series] = OrderedDict()
        self._lock = Lock()
        self.paths: dict[str, str] = {}
        """Paths of documents by their ids."""

    def rows(self, who: str = "") -> pl.DataFrame:
        """Return all pairs (`QUEUE`) as a person sees them: those that wait first, others by lot."""
        with self._lock:
            self._read_changes()
            return self._view(who)

    def stands(self) -> Mapping[tuple[str, str], Stand]:
        """Return how far people are with the pairs that not just anybody decides, by batch and pair."""
        with self._lock:
            self._read_changes()
            return self._stands

    def stand(self, batch: str, pair_id: str) -> Stand:
        """Return how far people are with a pair."""
        return self.stands().get((batch, pair_id), Stand()) if self.panel else Stand()

    def _view(self, who: str) -> pl.DataFrame:
        if self.panel is None:
            return self._rows
        if who not in self._views:
            self._views[who] = self.panel.seen_by(who, self._rows, self._stands)
        return self._views[who]

    def _read_changes(self) -> None:
        is_new = self._read_tables()
        if self._read_decisions() or is_new:
            last = pl.concat(
                [self._rows.select(_LAST).clear(), *(part.rows for part in self._decided.values())]
            )
            undecided = self._ordered.drop("decision", "who")
            self._rows = undecided.join(last, on=["batch", "pair_id"], how="left", maintain_order="left")
            ratings = {
                (batch, pair_id): of_pair
                for batch, part in self._decided.items()
                for pair_id, of_pair in part.ratings.items()
            }
            self._stands = self.panel.stands(self._rows, ratings) if self.panel else {}
            self._views.clear()
            self._selections.clear()

    def places(self, rows: pl.DataFrame, filters: Filters, who: str = "") -> pl.Series:
        """Return the places in `rows` of the pairs that the filters leave, in the order of the queue.

        Args:
            rows: what `rows` returned; another request may have read others since.
            filters: those of an address.
            who: the person whose view `rows` is.
        """
        key = who if self.panel else "", filters
        with self._lock:
            if rows is self._view(who) and key in self._selections:
                self._selections.move_to_end(key)
                return self._selections[key]
        places = rows.select(pl.all_horizontal(*filters.conditions().values()).arg_true()).to_series()
        with self._lock:
            if rows is self._view(who):
                self._selections[key] = places
                while len(self._selections) > _MOST_SELECTIONS:
                    self._selections.popitem(last=False)
        return places

    def position(self, filters: Filters, batch: str, pair_id: str, who: str = "") -> Position:
        """Return where a pair is in a person's list; of one that has left it, where it was."""
        rows = self.rows(who)
        places = self.places(rows, filters, who)
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
        """Return what is wrong with the files of a batch, by batch."""
        parts: list[tuple[str, _Part | _Decided]] = [*self._parts.items(), *self._decided.items()]
        return {batch: part.problem for batch, part in parts if part.problem}

    def _read_tables(self) -> bool:
        """Read the batches whose tables have changed; return whether there were any."""
        batches = {path.stem for table in (PAIRS, VERDICTS) for path in self._layout.tables(table.name)}
        versions = {batch: self._versions(batch) for batch in sorted(batches)}
        changed = [
            batch
            for batch, version in versions.items()
            if batch not in self._parts or self._parts[batch].versions != version
        ]
        removed = self._parts.keys() - batches
        for batch in changed:
            try:
                self._parts[batch] = _Part(versions[batch], *self._read(batch))
            except TableError as error:
                self._parts[batch] = _Part(versions[batch], QUEUE.to_frame(), {}, str(error))
        for batch in removed:
            del self._parts[batch]
        if changed or removed:
            parts = [self._parts[batch] for batch in sorted(self._parts)]
            self._ordered = _in_order(
                pl.concat([QUEUE.to_frame(), *(part.rows for part in parts)]),
                self.panel.gold if self.panel else (),
            )
            self.paths = {key: path for part in parts for key, path in part.paths.items()}
        return bool(changed or removed)

    def _read_decisions(self) -> bool:
        """Read the decisions about batches whose files have changed; return whether there were any."""
        changed = False
        self._decided = {batch: part for batch, part in self._decided.items() if batch in self._parts}
        for batch in self._parts:
            files = self._layout.decisions(batch), self._layout.ratings(batch)
            versions = (*map(version_of, files), *self._parts[batch].versions)
            if batch in self._decided and self._decided[batch].versions == versions:
                continue
            changed = True
            try:
                self._decided[batch] = _Decided(versions, *self._read_people(batch))
            except TableError as error:
                self._decided[batch] = _Decided(
                    versions, DECISIONS.empty().select(_LAST), {}, self._parts[batch].problem or str(error)
                )
        return changed

    def _read_people(self, batch: str) -> tuple[pl.DataFrame, dict[str, dict[str, Rating]]]:
        """Return the decisions that apply to pairs of a batch as they are now, and the ratings of these."""
        decisions = read_decisions(self._layout.decisions(batch))
        ratings = self.panel.ratings(batch) if self.panel else {}
        if not decisions.height and not ratings:
            return decisions.select(_LAST), {}
        pairs = read_columns(self._layout.table(PAIRS.name, batch), PAIRS, ("pair_id", "question", "answer"))
        quotes = ("pair_id", "claim_id", "evidence_quote", "second_evidence_quote")
        claims = read_columns(self._layout.table(CLAIMS.name, batch), CLAIMS, quotes)
        states = decision_states(decisions, pairs, claims)
        is_rated = pl.col("pair_id").is_in([*ratings])
        content = content_hashes(pairs.filter(is_rated), claims.filter(is_rated))
        now = {
            pair_id: {
                who: rating for (sha256, who), rating in of_pair.items() if sha256 == content.get(pair_id)
            }
            for pair_id, of_pair in ratings.items()
        }
        last = states.filter(pl.col("state") == APPLIED, pl.col("claim_id").is_null()).select(_LAST)
        return last, {pair_id: of_pair for pair_id, of_pair in now.items() if of_pair}

    def _versions(self, batch: str) -> tuple[Version | None, ...]:
        names = (PAIRS.name, CLAIMS.name, VERDICTS.name, DOCUMENTS.name)
        return tuple(version_of(self._layout.table(name, batch)) for name in names)

    def _read(self, batch: str) -> tuple[pl.DataFrame, dict[str, str]]:
        """Return the pairs of a batch, in the order of its tables, and the paths of its documents."""
        pair_columns = ("pair_id", "question", "answer", "language", "question_type")
        pairs = read_columns(self._layout.table(PAIRS.name, batch), PAIRS, pair_columns)
        verdict_columns = (
            "pair_id", "batch", "verdict", "reason", "claims", "supported_claims", "expected_verdict",
        )  # fmt: skip
        verdicts = read_columns(self._layout.table(VERDICTS.name, batch), VERDICTS, verdict_columns)
        sources = ("pair_id", "evidence_document_id", "second_evidence_document_id")
        claims = read_columns(self._layout.table(CLAIMS.name, batch), CLAIMS, sources)
        names = read_columns(self._layout.table(DOCUMENTS.name, batch), DOCUMENTS, ("document_id", "path"))
        documents = (
            claims.unpivot(index="pair_id", value_name="documents")
            .drop_nulls("documents")
            .group_by("pair_id")
            .agg(pl.col("documents").unique().sort())
        )
        lots = [int(hash_parts(self._seed, pair_id)[:16], 16) for pair_id in verdicts["pair_id"]]
        rows = (
            verdicts.with_columns(pl.Series("lot", lots, pl.UInt64()))
            .join(pairs, on="pair_id", how="left", maintain_order="left")
            .join(documents, on="pair_id", how="left", maintain_order="left")
            .with_columns(pl.col("documents").fill_null([]))
        )
        missing = {name: pl.lit(None, QUEUE[name]) for name in QUEUE.names() if name not in rows.columns}
        return rows.with_columns(**missing).select(QUEUE.names()).cast(QUEUE), dict(names.iter_rows())


def _in_order(rows: pl.DataFrame, gold: Collection[str]) -> pl.DataFrame:
    """Return the pairs in the order of the queue, with the samples drawn; `gold` ones are as if they wait."""
    waits = (pl.col("verdict") == "needs_review") | pl.col("pair_id").is_in(list(gold))
    order = pl.when(~waits).then("lot")  # those that wait stay beside others of their document
    place = pl.int_range(pl.len()).over("verdict", "expected_verdict")
    return rows.sort(~waits, order, maintain_order=True).with_columns(
        is_drawn=_GENERATED & (place < SAMPLE_OF_VERDICT), is_disputed=False, is_for_others=False
    )
