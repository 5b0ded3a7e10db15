"""The store as coroutines see it: one thread writes, and equal requests of one process share one call."""

import asyncio
import atexit
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from qa_pipeline.errors import ReplyStoreError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.schema import RequestId
from qa_pipeline.llm.store.store import Outcome, Paid, SqlReplyStore
from qa_pipeline.records import CallRecord

Done = TypeVar("Done")
Flight = Future[Outcome | None]
"""A request in flight and its outcome to come; None lets the next coroutine ask."""
_FIRST_PAUSE, _LONGEST_PAUSE, _GROWTH = 0.02, 1.0, 1.5
"""Seconds between two looks whether another process has its reply: a call takes 1 s or more."""


class ReplyFront:
    """A store that any thread and any event loop may ask. Nothing is opened before the first use.

    Every method raises ReplyStoreError when the store cannot be used.
    """

    def __init__(self, store: SqlReplyStore) -> None:
        self._store = store
        self._lock = threading.RLock()  # a coroutine that is collected meanwhile gives its claim up
        self._flights: dict[RequestId, Flight] = {}
        self._worker: _Worker | None = None

    @property
    def place(self) -> str:
        """Return the file or address, for messages."""
        return self._store.place

    async def find(self, asked_model: str, request: Request[Any]) -> Outcome | None:
        """Return the stored outcome, without waiting for anybody who asks."""
        return await self._do(lambda: self._store.find((asked_model, request.key), request.documents))

    async def claim(self, asked_model: str, request: Request[Any]) -> Outcome | None:
        """Return the stored outcome; None when the caller is to ask.

        Waits as long as another coroutine or process asks the same. Whoever gets None must `put`, `release`
        or `hand_over`, whatever happens.

        Raises:
            ModelError: what the coroutine released that asked the same.
        """
        request_id = (asked_model, request.key)
        while (before := self._join_flight(request_id)) is not None:
            # shielded: who is cancelled while waiting must not cancel the others' future
            outcome = await asyncio.shield(asyncio.wrap_future(before))
            if outcome is not None:
                return outcome
        try:
            outcome = await self._claimed(request_id, request.documents)
        except Exception as error:
            self._end_flight(request_id, error)
            raise
        except BaseException:  # cancelled, maybe just when it became this coroutine's
            self.hand_over(asked_model, request)
            raise
        if outcome is not None:
            self._end_flight(request_id, outcome)
        return outcome

    async def put(
        self, asked_model: str, request: Request[Any], outcome: Outcome, calls: tuple[CallRecord, ...]
    ) -> Outcome:
        """Store an outcome durably; return what is stored, which another process may have stored before."""
        request_id = (asked_model, request.key)
        paid = Paid(request_id, request.role, request.batch, request.documents, outcome, calls)

        def store() -> Outcome:
            try:
                stored = self._store.put(paid)
            except Exception as error:
                self._end_flight(request_id, error)
                raise
            self._end_flight(request_id, stored)
            return stored

        return await self._do(store)

    async def release(
        self,
        asked_model: str,
        request: Request[Any],
        error: Exception,
        calls: tuple[CallRecord, ...] = (),
    ) -> None:
        """Give up a claim because of an error, which callers of this process that wait for it get too."""
        request_id = (asked_model, request.key)

        def give_up() -> None:
            try:
                self._store.release(request_id, calls, request.documents)
            finally:
                self._end_flight(request_id, error)

        await self._do(give_up)

    def hand_over(self, asked_model: str, request: Request[Any]) -> None:
        """Give up a claim without an error, so that the next caller may ask; returns at once."""
        request_id = (asked_model, request.key)
        self._submit(lambda: self._store.release(request_id))
        self._end_flight(request_id, None)

    def close(self) -> None:
        """End the thread when all that was asked is written; a later use opens the store again."""
        with self._lock:
            worker, self._worker = self._worker, None
            flights = list(self._flights)
        if worker is None:
            return
        closed = ReplyStoreError(f"the reply store {self.place} was closed while it was being asked")
        for request_id in flights:
            worker.submit(partial(self._store.release, request_id))
            self._end_flight(request_id, closed)
        worker.end()

    async def _claimed(self, request_id: RequestId, documents: tuple[str, ...]) -> Outcome | None:
        """Wait until nobody else asks."""
        pause = _FIRST_PAUSE
        while True:
            reply = await self._do(lambda: self._store.claim(request_id, documents))
            if not isinstance(reply, bool):
                return reply
            if reply:
                return None
            await asyncio.sleep(pause)
            pause = min(pause * _GROWTH, _LONGEST_PAUSE)

    def _join_flight(self, request_id: RequestId) -> Flight | None:
        """Return the flight of another asker; None where the caller is the first."""
        with self._lock:
            before = self._flights.get(request_id)
            if before is None:
                self._flights[request_id] = Future()
            return before

    def _end_flight(self, request_id: RequestId, end: Outcome | Exception | None) -> None:
        with self._lock:
            flight = self._flights.pop(request_id, None)
        if flight is None:
            return
        if isinstance(end, Exception):
            flight.set_exception(end)
        else:
            flight.set_result(end)

    async def _do(self, work: Callable[[], Done]) -> Done:
        # shielded: what is under way is done although nobody waits for it any more
        return await asyncio.shield(asyncio.wrap_future(self._submit(work)))

    def _submit(self, work: Callable[[], Done]) -> Future[Done]:
        with self._lock:
            if self._worker is None:
                self._worker = _Worker(self._store)
                # a collection of garbage may hold any lock that the thread needs to end: it waits for nothing
                weakref.finalize(self, self._worker.stop).atexit = False
                atexit.register(self._worker.end)
            return self._worker.submit(work)


class _Worker:
    """The thread; it knows nothing of the front, so that a forgotten front ends it.

    No executor, whose locks a finalizer would wait for in vain that runs while they are held.
    """

    def __init__(self, store: SqlReplyStore) -> None:
        self._store = store
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._work, name="qa-pipeline-replies", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], Done]) -> Future[Done]:
        """Run it after what was submitted before."""
        if self._process != os.getpid():
            raise RuntimeError("a forked process has no thread of its parent: let it open the replies itself")
        done: Future[Done] = Future()

        def job() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - raised by who waits for it
                done.set_exception(error)

        self._jobs.put(job)
        return done

    def stop(self) -> None:
        """Have it finish what was submitted and close the store; return at once."""
        if self._process == os.getpid():
            self._jobs.put(None)

    def end(self) -> None:
        """Wait until it has finished what was submitted and closed the store."""
        atexit.unregister(self.end)
        self.stop()
        if self._process == os.getpid() and self._thread is not threading.current_thread():
            self._thread.join()

    def _work(self) -> None:
        every, beaten = self._store.beat_seconds, time.monotonic()
        while True:
            with suppress(queue.Empty):
                job = self._jobs.get(timeout=every)
                if job is None:
                    break
                job()
                del job  # it holds the front, which nobody else may need any more
            if every is not None and time.monotonic() - beaten >= every:
                with suppress(ReplyStoreError):  # the next who asks meets the same error
                    self._store.beat()
                beaten = time.monotonic()
        self._store.close()


def open_replies(place: Path | str) -> ReplyFront:
    """Return the store in a SQLite file, or at a postgresql:// address."""
    return ReplyFront(SqlReplyStore(Database(place)))
