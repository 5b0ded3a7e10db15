"""Forgetting documents: what was made from them leaves all tables, indexes, exports and caches of a folder.

The hashes of forgotten contents are written first, then the ids that go, then the files without them, the
documents last, whose text is needed until then. A command that is killed is finished by the next one.
"""

import difflib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.curation.coverage import cover_sections
from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.curation.erasure import (
    KINDS,
    RemovedIds,
    kind_of,
    listed,
    mended,
    names_removed,
    repeating,
    words_of,
)
from qa_pipeline.curation.exports import (
    CHAT_FILES,
    LEDGER_FILES,
    chat_rows,
    json_lines,
    ledger_files,
    ledger_rows,
)
from qa_pipeline.errors import InputError, StorageError
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.maintenance import Erased, read_calls, versions_of
from qa_pipeline.llm.store.maintenance import erase as erase_replies
from qa_pipeline.models.vector_cache import VectorCache, VectorSpace
from qa_pipeline.retrieval.shard import build_index, dump_shard
from qa_pipeline.settings.generation import IndexSettings
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table, table_bytes
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import (
    CHUNKS,
    COVERAGE,
    DECISIONS,
    DOCUMENTS,
    EMBEDDINGS,
    LAYOUTS,
    PAIRS,
    STORED,
    TRAINING_EXAMPLES,
    VERDICTS,
)

SHORTEST_NAME = 6
"""Characters of a hash from which its beginning names it."""
_ID_LENGTH = 32  # hex digits: a document's id is the beginning of its content's hash
_PLACE = ("batch", "path")
PLACES = pl.Schema(dict.fromkeys(("content_sha256", "document_id", *_PLACE), pl.String()))


def forgotten_documents(layout: Layout) -> frozenset[str]:
    """Return the hashes of the contents that must not come back, in tables or releases.

    Raises:
        InputError: the list is damaged; nothing goes on as if it were empty.
    """
    if not layout.forgotten.is_file():
        return frozenset()
    try:
        lines = layout.forgotten.read_text(encoding="utf-8").splitlines()
        return frozenset(str(json.loads(line)["content_sha256"]) for line in lines)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{layout.forgotten} is damaged; restore it, or write one line "
            f'{{"content_sha256": "..."}} for each document that must not come back'
        ) from error


def known_places(layout: Layout) -> pl.DataFrame:
    """Return the contents of the tables and their places: PLACES.

    Raises:
        TableError: a table cannot be read.
    """
    aside = sorted(layout.withdrawals.glob("*/tables/documents/*.parquet"))
    tables = (
        read_table(path, DOCUMENTS).select(*PLACES) for path in [*layout.tables(DOCUMENTS.name), *aside]
    )
    return (
        pl.concat([PLACES.to_frame(), *tables])
        .drop_nulls("content_sha256")
        .unique()
        .sort(*_PLACE, "content_sha256")
    )


def find_contents(documents: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the rows of `documents` with this name, and of earlier contents of the same paths.

    Args:
        documents: PLACES frame.
        name: a path, batch and path, or an id or hash or the beginning of one.

    Returns:
        PLACES; empty where no document is called so.

    Raises:
        InputError: several documents are called so.
    """
    full_path = pl.concat_str("batch", pl.lit("/"), "path")
    begins = [pl.col(column).str.starts_with(name) for column in ("document_id", "content_sha256")]
    by_id = pl.any_horizontal(begins) & (len(name) >= SHORTEST_NAME)
    exact = documents.filter(
        (full_path == name) | pl.any_horizontal(pl.col("document_id", "content_sha256") == name)
    )
    matching = exact if exact.height else documents.filter(by_id | (pl.col("path") == name))
    places, contents = matching.select(*_PLACE).unique(), matching["content_sha256"].unique()
    if len(contents) > 1 and places.height > 1:
        paths = [f"{batch}/{path}" for batch, path in places.sort(*_PLACE).iter_rows()]
        raise InputError(
            f"{len(contents)} documents are called {name!r}: {', '.join(paths[:5])}; "
            f"give batch and path, or an id"
        )
    versions = documents.join(places, on=_PLACE, how="semi")["content_sha256"]
    return documents.filter(pl.col("content_sha256").is_in(versions.unique().implode()))


def unknown_document(documents: pl.DataFrame, name: str) -> InputError:
    """Return the message about an unknown name, with names like it, or the first ones."""
    full_paths = documents.select(pl.concat_str("batch", pl.lit("/"), "path")).to_series()
    near = dict.fromkeys(difflib.get_close_matches(name, [*full_paths, *documents["path"]], n=3))
    if near:
        advice = f"did you mean {', '.join(near)}?"
    elif full_paths.len():
        more = f" and {full_paths.len() - _MOST_PATHS} more" if full_paths.len() > _MOST_PATHS else ""
        first_paths = ", ".join(full_paths[:_MOST_PATHS])
        advice = f"give a path or an id as table documents has it; there are {first_paths}{more}"
    else:
        advice = "there are no documents; run qa-pipeline run CORPUS first, or name its folder with --out"
    return InputError(f"no document is called {name!r}; {advice}")


_MOST_PATHS = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """The ids of all that a document takes with it; nothing readable is stored.

    Args:
        contents: hashes of contents.
        documents: ids of documents, those of earlier versions among them.
        ids: ids that go, by kind, for each batch.
    """

    contents: tuple[str, ...]
    documents: tuple[str, ...]
    ids: Mapping[str, RemovedIds] = field(default_factory=dict)

    def written(self) -> bytes:
        """Return the plan as JSON; equal plans give equal bytes."""
        ids_by_batch = {
            batch: {kind: sorted(ids) for kind, ids in kinds.items()} for batch, kinds in self.ids.items()
        }
        content = {
            "contents": sorted(self.contents),
            "documents": sorted(self.documents),
            "gone": ids_by_batch,
        }
        return json.dumps(content, sort_keys=True).encode() + b"\n"


def read_plan(layout: Layout) -> Plan | None:
    """Return the plan that a killed command had begun; None without one.

    Raises:
        InputError: it is damaged.
    """
    if not layout.forgetting.is_file():
        return None
    try:
        content: dict[str, Any] = json.loads(layout.forgetting.read_bytes())
        ids_by_batch = {
            batch: {kind: set(ids) for kind, ids in kinds.items()} for batch, kinds in content["gone"].items()
        }
        return Plan(tuple(content["contents"]), tuple(content["documents"]), ids_by_batch)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{layout.forgetting} is damaged; delete it and forget the document again"
        ) from error


def plan_erasure(layout: Layout, places: pl.DataFrame, database: Database | None) -> Plan:
    """Return the plan of what goes with these contents.

    Args:
        layout: the output folder.
        places: PLACES frame of the contents, as `find_contents` gives it.
        database: the store of replies, which knows earlier versions; None without one.

    Raises:
        TableError: a table of a batch that holds one of them cannot be read.
        ReplyStoreError: the store cannot be used.
    """
    contents = set(places["content_sha256"])
    ids = {*places["document_id"], *(content[:_ID_LENGTH] for content in contents)}
    if database is not None:
        for batch, path in places.select(*_PLACE).unique().sort(*_PLACE).iter_rows():
            ids.update(document for document, _, _ in versions_of(database, f"{batch}/{path}"))
    ids_by_batch = {
        batch: _Batch(layout, batch, contents).removed_ids() for batch in sorted(_holding(layout, contents))
    }
    return Plan(tuple(sorted(contents)), tuple(sorted(ids)), ids_by_batch)


def _holding(layout: Layout, contents: Collection[str]) -> set[str]:
    places = known_places(layout)
    return set(places.filter(pl.col("content_sha256").is_in(list(contents)))["batch"])


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The removed rows by batch and table, and removals from the store of replies."""

    rows: Mapping[str, Mapping[str, int]]
    replies: Erased


def rows_of(layout: Layout, plan: Plan) -> dict[str, dict[str, int]]:
    """Return the number of rows that go, by batch and table."""
    return {batch: _Batch(layout, batch, plan.contents).counts(ids) for batch, ids in plan.ids.items()}


def carry_out(layout: Layout, plan: Plan, database: Database | None, index: IndexSettings) -> Forgotten:
    """Delete what goes, in an order in which a kill loses nothing: run again, it ends the same.

    Raises:
        TableError: a table cannot be read; nothing of its batch is deleted.
        ReplyStoreError: the store cannot be used.
        StorageError: a file cannot be written or deleted.
    """
    hashes = sorted({*forgotten_documents(layout), *plan.contents})
    lines = "".join(f"{json.dumps({'content_sha256': content_hash})}\n" for content_hash in hashes).encode()
    if not (layout.forgotten.is_file() and layout.forgotten.read_bytes() == lines):
        write_bytes(layout.forgotten, lines)
    write_bytes(layout.forgetting, plan.written())
    replies = Erased(0, 0) if database is None else erase_replies(database, plan.documents)
    rows = {}
    for batch, ids in plan.ids.items():
        calls_shown = set[str]()
        if database is not None:
            calls_shown = {call.call_id for call in read_calls(database, batch) if call.prompt is not None}
        rows[batch] = _Batch(layout, batch, plan.contents, calls_shown).write(ids, index)
    _renew_caches(layout)
    _remove(path for path in layout.out.rglob(".*.tmp") if layout.releases not in path.parents)
    _remove([layout.forgetting])
    return Forgotten(rows, replies)


@dataclass(frozen=True, slots=True)
class _File:
    """A stored table of a batch, in its place or moved aside; people's decisions are one of `JSON` lines."""

    table: Table
    path: Path
    frame: pl.DataFrame

    def written(self, frame: pl.DataFrame) -> bytes:
        if self.path.suffix == ".parquet":
            return table_bytes(frame, self.table)
        return frame.write_ndjson().encode()


class _Batch:
    """All files of one batch in an output folder, those moved aside included.

    Args:
        layout: the output folder.
        batch: the name of the batch.
        contents: hashes of the contents that go.
        calls_shown: calls whose prompts the store of replies still has.
    """

    def __init__(
        self, layout: Layout, batch: str, contents: Collection[str], calls_shown: Collection[str] = ()
    ) -> None:
        self.batch, self.contents, self.shown = batch, contents, calls_shown
        self.folders = (layout, Layout(layout.tombstone(batch).parent))
        self.files = [
            _File(table, path, read_table(path, table))
            for folder in self.folders
            for table in STORED.values()
            if (path := folder.table(table.name, batch)).is_file()
        ]
        recorded = layout.decisions(batch)
        if recorded.is_file():
            self.files.append(_File(DECISIONS, recorded, read_decisions(recorded)))
        frames = self._by_name([file.frame for file in self.files])
        documents, chunks = (frames.get(table.name, table.empty()) for table in (DOCUMENTS, CHUNKS))
        self.said = words_of(documents, chunks, contents)
        self.repeating = [repeating(file.table, file.frame, self.said) for file in self.files]

    def _by_name(self, frames: Sequence[pl.DataFrame]) -> dict[str, pl.DataFrame]:
        """Return the tables by name; of a table both in place and moved aside, the one in place."""
        by_table = zip((file.table.name for file in self.files), frames, strict=True)
        return dict(reversed(list(by_table)))

    def removed_ids(self, earlier: RemovedIds | None = None) -> RemovedIds:
        """Return every id that goes with the contents, and the earlier ones."""
        ids: RemovedIds = {kind: set((earlier or {}).get(kind, ())) for kind in KINDS}
        ids["content"] |= set(self.contents)
        while True:
            before = sum(map(len, ids.values()))
            for file, repeats in zip(self.files, self.repeating, strict=True):
                going = file.frame.filter(names_removed(file.table, ids) | repeats)
                for name in {*file.table.key, "pair_id"} & {*file.frame.columns}:
                    kind = kind_of(name)
                    if kind and (name == "pair_id" or file.table.key == (name,)):
                        ids[kind] |= set(going[name])
            if sum(map(len, ids.values())) == before:
                return ids

    def counts(self, ids: RemovedIds) -> dict[str, int]:
        """Return the number of rows of each table that go."""
        return self._counts(self._remaining_frames(ids))

    def _counts(self, frames: Sequence[pl.DataFrame]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for file, frame in zip(self.files, frames, strict=True):
            if file.path.suffix == ".parquet" and (went := file.frame.height - frame.height):
                counts[file.table.name] = counts.get(file.table.name, 0) + went
        return counts

    def write(self, ids: RemovedIds, index: IndexSettings) -> dict[str, int]:
        """Write every file without what goes, documents last; those that stay the same not at all.

        Returns:
            How many rows went of each table.
        """
        remaining = self._remaining_frames(ids)
        frames = self._by_name(remaining)
        shards = [path for folder in self.folders if (path := folder.index(self.batch)).is_file()]
        if shards and EMBEDDINGS.name in frames:
            content = dump_shard(build_index(frames[EMBEDDINGS.name], index))
            for path in shards:
                _replace(path, content)
        for path, content in self._exports(frames):
            _replace(path, content)
        last = [DOCUMENTS.name, CHUNKS.name]
        files = sorted(
            zip(self.files, remaining, strict=True),
            key=lambda item: -last.index(item[0].table.name) if item[0].table.name in last else -len(last),
        )
        for file, frame in files:
            if not frame.equals(file.frame):
                write_bytes(file.path, file.written(frame))
        return self._counts(remaining)

    def _exports(self, frames: Mapping[str, pl.DataFrame]) -> Iterator[tuple[Path, bytes]]:
        """Yield the present exports, made from what remains; empty where their tables are gone."""
        needed = ("pairs", "verdicts", "claims", "claim_verdicts", "assessments", "documents")
        tables = {name: frames.get(name, STORED[name].empty()) for name in needed}
        rows = ledger_files(ledger_rows(**tables))
        examples = frames.get(TRAINING_EXAMPLES.name, TRAINING_EXAMPLES.empty())
        chats = zip(CHAT_FILES, LAYOUTS, strict=True)
        rows |= {name: chat_rows(examples, layout) for name, layout in chats}
        for name in (*LEDGER_FILES, *CHAT_FILES):
            for folder in self.folders:
                if (path := folder.export(name, self.batch)).is_file():
                    yield path, b"".join(json_lines(rows[name]))

    def _remaining_frames(self, ids: RemovedIds) -> list[pl.DataFrame]:
        """Return the remaining rows of each file."""
        all_ids = self.removed_ids(ids)
        remaining = []
        for file, repeats in zip(self.files, self.repeating, strict=True):
            staying = file.frame.filter(~(names_removed(file.table, all_ids) | repeats))
            remaining.append(mended(file.table, staying, all_ids, self.said, self.shown))
        frames = self._by_name(remaining)
        if VERDICTS.name in frames:
            accepted = frames[VERDICTS.name].filter(pl.col("verdict") == "accepted")
            remaining = self._changed(
                TRAINING_EXAMPLES,
                remaining,
                lambda frame: frame.join(accepted, on="pair_id", how="semi", maintain_order="left"),
            )
        counted = [frames.get(name) for name in ("chunks", "questions", "pairs", "verdicts")]
        known_all = [frame for frame in counted if frame is not None]
        if len(known_all) == len(counted):
            remaining = self._changed(COVERAGE, remaining, lambda _: cover_sections(*known_all))
        return remaining

    def _changed(
        self,
        table: Table,
        frames: Sequence[pl.DataFrame],
        change: Callable[[pl.DataFrame], pl.DataFrame],
    ) -> list[pl.DataFrame]:
        files_and_frames = zip(self.files, frames, strict=True)
        return [change(frame) if file.table is table else frame for file, frame in files_and_frames]


def _renew_caches(layout: Layout) -> None:
    """Delete what was computed from texts, by whose hashes nobody can tell whose they are.

    Vectors of the chunks that are left are put back from their tables; others are computed again.
    """
    for path in (layout.logits, layout.vectors):
        is_there = path.is_file()
        _remove(path.with_name(f"{path.name}{ending}") for ending in ("-wal", "-shm", ""))
        if is_there and path == layout.vectors:
            cache = VectorCache(path)
            try:
                for file in layout.tables(EMBEDDINGS.name):
                    _put_back(cache, read_table(file, EMBEDDINGS))
            finally:
                cache.close()


def _put_back(cache: VectorCache, embeddings: pl.DataFrame) -> None:
    space = ("model", "model_revision", "precision")
    for key, vectors_of_space in embeddings.partition_by(space, as_dict=True).items():
        vectors = (vector.to_numpy() for vector in vectors_of_space["vector"])
        cache.put_many(
            VectorSpace(*map(str, key)), dict(zip(vectors_of_space["text_sha256"], vectors, strict=True))
        )


def _replace(path: Path, content: bytes) -> None:
    if path.read_bytes() != content:
        write_bytes(path, content)


def _remove(paths: Iterable[Path]) -> None:
    for path in list(paths):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(
                f"cannot delete {path}: {error.strerror or error}; delete it, then run again"
            ) from error


def near_texts(layout: Layout, contents: Sequence[str]) -> list[str]:
    """Return batch and path of remaining documents whose text is nearly that of a forgotten one."""
    near_paths: list[str] = []
    for path in layout.tables(DOCUMENTS.name):
        documents = read_table(path, DOCUMENTS)
        is_own = pl.col("content_sha256").is_in(list(contents)).fill_null(value=False)
        same = {
            *documents.filter(is_own)["document_id"],
            *documents.filter(is_own)["near_duplicate_of"].drop_nulls(),
        }
        alike = listed(same)
        near = (pl.col("near_duplicate_of").is_in(alike) | pl.col("document_id").is_in(alike)).fill_null(
            value=False
        )
        paths = documents.filter(near, ~is_own).select(pl.concat_str("batch", pl.lit("/"), "path"))
        near_paths += paths.to_series().to_list()
    return near_paths


def unlinked_decisions(layout: Layout, batches: Iterable[str]) -> dict[str, int]:
    """Return the number of decisions about pairs in no table, by batch: what they rest on is unknown.

    Raises:
        TableError: a file is damaged.
    """
    counts = {}
    for batch in batches:
        pairs = layout.table(PAIRS.name, batch)
        frame = read_table(pairs, PAIRS) if pairs.is_file() else PAIRS.empty()
        lost = read_decisions(layout.decisions(batch)).join(frame, on="pair_id", how="anti").height
        if lost:
            counts[batch] = lost
    return counts
