"""Replies are paid for once: every reply is stored before anybody sees it.

What belongs here: the SQLite store of replies and the wrapper that asks it first. What does not: caps,
retries, and anything about what a reply means.

The store is one SQLite file in WAL mode with synchronous=NORMAL: any number of threads and processes may
use it, and a killed process loses no reply it had stored. Errors are not stored.
"""

import sqlite3
import threading
import weakref
from asyncio import wrap_future
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from qa_pipeline.calls import Usage
from qa_pipeline.errors import ModelError, ReplyStoreError, UnreadableReplyError
from qa_pipeline.llm.base import LanguageModel, Reply, ReplyT, Request, close_connections
from qa_pipeline.llm.replies import parse_reply

_VERSION = 1
_BUSY_SECONDS = 60.0
_CREATE = """
CREATE TABLE IF NOT EXISTS replies (
    asked_model TEXT NOT NULL,
    request_key TEXT NOT NULL,
    role TEXT NOT NULL,
    raw TEXT NOT NULL,
    reply_model TEXT NOT NULL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    PRIMARY KEY (asked_model, request_key)
) STRICT
"""
_INSERT = "INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_SELECT = """
SELECT raw, reply_model, input_tokens, output_tokens FROM replies WHERE asked_model = ? AND request_key = ?
"""


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply as it stands in the store: raw text, who replied, and what it took."""

    raw: str
    model: str
    usage: Usage


class ReplyStore:
    """The SQLite file. Nothing is opened before the first use."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def get(self, asked_model: str, request_key: str) -> StoredReply | None:
        """Return the stored reply, None when there is none."""
        with self._open() as connection:
            row = connection.execute(_SELECT, (asked_model, request_key)).fetchone()
        if row is None:
            return None
        raw, model, input_tokens, output_tokens = row
        return StoredReply(raw, model, Usage(input_tokens, output_tokens))

    def put(self, asked_model: str, request: Request[ReplyT], reply: Reply[ReplyT]) -> bool:
        """Store a reply durably; False when another process has stored one for this request before."""
        usage = reply.usage
        row = (asked_model, request.key, request.role, reply.raw, reply.model, usage.input_tokens)
        with self._open() as connection:
            # one statement is one transaction: it is committed when execute returns
            return connection.execute(_INSERT, (*row, usage.output_tokens)).rowcount == 1

    def close(self) -> None:
        """Close the file; a later use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = _connect(self.path)
                    weakref.finalize(self, self._connection.close)
                yield self._connection
            except (sqlite3.Error, OSError) as error:
                raise ReplyStoreError(
                    f"the reply store {self.path} cannot be used: {error}. Free some space if the disk is "
                    "full, and check the rights. It holds replies that were paid for: if it is damaged, "
                    "restore it from a copy, or move it away to start an empty one"
                ) from error


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    # guarded by the store's lock, so threads may share it; autocommit
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("BEGIN IMMEDIATE")  # two processes may create the file at once
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in (0, _VERSION):
        raise ReplyStoreError(
            f"the reply store {path} is of version {version}, this program reads version {_VERSION}: "
            "use the program that wrote it, or name another file"
        )
    connection.execute(_CREATE)
    connection.execute(f"PRAGMA user_version={_VERSION}")
    connection.execute("COMMIT")


class CachedModel:
    """Answers from the store, and asks the wrapped model only what the store does not hold.

    `calls` counts the times the wrapped model was asked, `hits` the requests answered without it. Equal
    requests in flight at the same time share one call.
    """

    def __init__(self, model: LanguageModel, path: Path) -> None:
        self._model = model
        self._store = ReplyStore(path)
        self._lock = threading.Lock()
        self._flights: dict[str, Future[ModelError | None]] = {}
        self.hits = 0
        self.calls = 0

    @property
    def name(self) -> str:
        """The wrapped model's identity: a stored reply is that model's reply."""
        return self._model.name

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Return the stored reply, or ask and store.

        Raises:
            ReplyStoreError: the store, or the stored reply, cannot be read.
        """
        while True:
            flight, leading = self._board(request.key)
            if leading:
                return await self._lead(request, flight)
            failure = await wrap_future(flight)
            if failure is not None:
                raise failure
            # stored by now; or the leading call was cancelled, and this one takes its place

    async def aclose(self) -> None:
        """Pass on to the wrapped model; the store stays open, it belongs to no event loop."""
        await close_connections(self._model)

    def close(self) -> None:
        """Close the store's file."""
        self._store.close()

    def _board(self, key: str) -> tuple[Future[ModelError | None], bool]:
        with self._lock:
            flight = self._flights.get(key)
            if flight is not None:
                return flight, False
            flight = self._flights[key] = Future()
            # a running future cannot be cancelled, so a cancelled waiter leaves the others alone
            flight.set_running_or_notify_cancel()
            return flight, True

    async def _lead(self, request: Request[ReplyT], flight: Future[ModelError | None]) -> Reply[ReplyT]:
        failure: ModelError | None = None
        try:
            return self._stored(request) or await self._ask(request)
        except ModelError as error:
            failure = error
            raise
        finally:
            with self._lock:
                del self._flights[request.key]
            flight.set_result(failure)

    async def _ask(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        with self._lock:
            self.calls += 1
        reply = await self._model.complete(request)
        if self._store.put(self.name, request, reply):
            return reply
        # another process was faster: its reply counts, so that a rerun gives the same
        return self._stored(request) or reply

    def _stored(self, request: Request[ReplyT]) -> Reply[ReplyT] | None:
        stored = self._store.get(self.name, request.key)
        if stored is None:
            return None
        try:
            value = parse_reply(stored.raw, request.reply_model)
        except UnreadableReplyError as error:
            raise ReplyStoreError(
                f"the reply {request.key} of {self.name} in {self._store.path} is damaged ({error}): "
                "restore the file from a copy, or delete this row to ask again"
            ) from error
        with self._lock:
            self.hits += 1
        return Reply(value=value, raw=stored.raw, model=stored.model, usage=stored.usage, cached=True)
