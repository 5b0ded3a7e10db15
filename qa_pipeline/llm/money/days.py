"""Caps of a UTC day, which hold for all runs and processes that share a store of replies.

What belongs here: taking room for calls of this process, in turn, and waiting for it. What does not: what
stands in the tables (`day_tables.py`), caps of a run (`budget.py`).

All that is asked for while a transaction runs goes into the next one together, so that hundreds of calls in
flight do not queue for the database one by one. One thread of its own does them: no event loop waits.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from qa_pipeline.errors import BudgetExhaustedError, ReplyStoreError
from qa_pipeline.llm.database import Database
from qa_pipeline.llm.money.amounts import Amount, Caps
from qa_pipeline.llm.money.day_tables import Asked, DayTables, Held, Settled, State
from qa_pipeline.llm.money.prices import utc_day
from qa_pipeline.llm.money.refusing import refusal_of_day

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


class Entry:
    """Room of a day taken for one call."""

    __slots__ = ("_held", "_ledger")

    def __init__(self, ledger: "DayLedger", held: Held) -> None:
        self._ledger = ledger
        self._held = held

    def settle(self, took: Amount) -> None:
        """Count what the call took; nothing if it was not charged."""
        self._ledger.settle(Settled(self._held, took))


@dataclass(slots=True)
class _Ask:
    asked: Asked
    answer: "Future[Held | State]" = field(default_factory=Future)


class DayLedger:
    """The caps of a day over the tables `spent` and `reserved`.

    Args:
        database: shared by all runs of a deployment.
        caps: of a day.
        currency: of the prices, for messages.
        clock: Unix seconds.
        sleep: waits for calls of other processes; tests pass one that takes no time.
    """

    def __init__(
        self,
        database: Database,
        caps: Caps,
        *,
        currency: str = "USD",
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._tables = DayTables(database, caps)
        self._caps = caps
        self._currency = currency
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._asks: list[_Ask] = []
        self._settled: list[Settled] = []
        self._worker: ThreadPoolExecutor | None = None

    async def take(self, want: Amount, told: str) -> Entry:
        """Take room of today for a call, and wait for it while others in flight may leave some.

        Raises:
            BudgetExhaustedError: the day has no room for it.
            ReplyStoreError: the database cannot be used.
        """
        pause = _FIRST_PAUSE
        while True:
            answer = await self._ask(want)
            if isinstance(answer, Held):
                return Entry(self, answer)
            if answer.hopeless:
                raise self._refusal(answer, want, told)
            await self._sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def take_now(self, want: Amount, told: str) -> Held:
        """Take room of today without waiting for calls in flight.

        Raises:
            BudgetExhaustedError: there is none at present.
            ReplyStoreError: the database cannot be used.
        """
        answer = await self._ask(want)
        if isinstance(answer, Held):
            return answer
        raise self._refusal(answer, want, told)

    def settle(self, settled: Settled) -> None:
        """Count what a call took; written soon, and at the latest before anything else is asked for."""
        with self._lock:
            self._settled.append(settled)
            self._run()

    def close(self) -> None:
        """Write all that is settled.

        Raises:
            ReplyStoreError: it cannot be written; the room stays held until it expires, and then counts as
                spent.
        """
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.shutdown()
        if self._settled:
            self._transact([], self._drain()[1])

    async def _ask(self, want: Amount) -> Held | State:
        ask = _Ask(Asked(want))
        with self._lock:
            self._asks.append(ask)
            self._run()
        try:
            return await asyncio.wrap_future(ask.answer)
        except asyncio.CancelledError:
            ask.answer.add_done_callback(self._return)
            raise

    def _return(self, answer: "Future[Held | State]") -> None:
        """Give back what was taken for somebody who no longer waits."""
        if not answer.cancelled() and answer.exception() is None:
            given = answer.result()
            if isinstance(given, Held):
                self.settle(Settled(given, Amount()))

    def _run(self) -> None:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="day-ledger")
        self._worker.submit(self._work)

    def _work(self) -> None:
        asks, settled = self._drain()
        asks = [ask for ask in asks if ask.answer.set_running_or_notify_cancel()]
        if not asks and not settled:
            return
        try:
            answers = self._transact([ask.asked for ask in asks], settled)
        except ReplyStoreError as error:
            with self._lock:  # whoever asks next tries again, and is told
                self._settled = settled + self._settled
            for ask in asks:
                ask.answer.set_exception(error)
            return
        for ask, answer in zip(asks, answers, strict=True):
            ask.answer.set_result(answer)

    def _drain(self) -> tuple[list[_Ask], list[Settled]]:
        with self._lock:
            drained = self._asks, self._settled
            self._asks, self._settled = [], []
        return drained

    def _transact(self, asks: list[Asked], settled: list[Settled]) -> list[Held | State]:
        return self._tables.write(asks, settled, self._clock())

    def _refusal(self, state: State, want: Amount, told: str) -> BudgetExhaustedError:
        today = utc_day(self._clock()).isoformat()
        unit = state.unit
        return refusal_of_day(self._caps, unit, state.spent, want, told, self._currency, state.day, today)
