import asyncio
import threading
import time
from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import BudgetExhaustedError, ReplyStoreError
from qa_pipeline.llm.budget.amounts import Amount, Caps, NoRoom
from qa_pipeline.llm.budget.budget import Budget, Reservation, open_budget
from qa_pipeline.llm.budget.daily import LONGEST_CALL, DayLedger, DayReservation, write
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.schema import RESERVED, SPENT
from qa_pipeline.records import Usage
from qa_pipeline.settings.llm import BudgetSettings, LLMSettings
from qa_pipeline_tests.llm.budget.fakes import DAY, DOLLAR_A_TOKEN, MODEL, NOON, Clock, Naps
from qa_pipeline_tests.llm.requests import claim


class Process:
    """A run of its own over the shared file, with a clock that all share."""

    def __init__(self, file: Path, clock: Clock, **caps: float) -> None:
        self.database = Database(file)
        chosen = BudgetSettings.model_validate(caps)
        self.naps = Naps()
        ledger = DayLedger(self.database, Caps.of_day(chosen), clock=clock)
        self.budget = Budget(chosen, DOLLAR_A_TOKEN, days=ledger, clock=clock, sleep=self.naps)

    async def reserve(self, tokens_in: int = 1, tokens_out: int = 1) -> Reservation:
        return await self.budget.reserve(claim(), MODEL, tokens_in, tokens_out)

    def spend(self, tokens: int) -> None:
        async def call() -> None:
            (await self.reserve(tokens, 0)).settle(Usage(tokens, 0))

        asyncio.run(call())

    def spent(self) -> dict[str, Amount]:
        """What the table says of each day."""
        self.budget.end()
        rows = self.database.transact(lambda connection: connection.execute(sa.select(SPENT)).all())
        return {row.day: Amount(row.calls, row.tokens, Decimal(row.cost) / 10**9) for row in rows}

    def held(self) -> int:
        """Calls that hold room."""
        return self.database.transact(lambda one: len(one.execute(sa.select(RESERVED)).all()))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def test_two_processes_share_the_cap_of_a_day(file: Path) -> None:
    clock = Clock()
    first, second = (Process(file, clock, max_tokens_a_day=10) for _ in range(2))
    first.spend(6)
    second.spend(4)
    with pytest.raises(
        BudgetExhaustedError, match="max_tokens_a_day: the cap of the UTC day 2026-11-22 is 10"
    ):
        first.spend(1)
    assert second.spent() == {"2026-11-22": Amount(2, 10, Decimal(10))}


def test_the_next_day_has_a_budget_of_its_own(file: Path) -> None:
    clock = Clock()
    process = Process(file, clock, max_calls_a_day=1)
    process.spend(1)
    clock.now += DAY
    process.spend(1)
    assert set(process.spent()) == {"2026-11-22", "2026-11-23"}


def test_a_clock_that_is_set_back_opens_no_new_budget_and_is_reported(file: Path) -> None:
    clock = Clock()
    process = Process(file, clock, max_calls_a_day=1)
    process.spend(1)
    clock.now -= DAY
    with pytest.raises(BudgetExhaustedError, match=r"clock says 2026-11-21, but calls of 2026-11-22 were"):
        process.spend(1)


def test_a_clock_set_back_while_a_call_is_in_flight_leaves_its_room_held_no_longer_than_a_call(
    file: Path,
) -> None:
    clock = Clock()
    process, other = (Process(file, clock, max_tokens_a_day=10) for _ in range(2))

    async def run() -> None:
        reservation = await process.reserve(6, 0)
        clock.now -= DAY
        (await other.reserve(4, 0)).settle(Usage(4, 0))
        reservation.settle(Usage(1, 0))

    asyncio.run(run())
    process.budget.end()
    assert other.spent() == {"2026-11-22": Amount(2, 5, Decimal(5))}


def test_a_call_waits_for_one_of_another_process(file: Path) -> None:
    clock = Clock()
    first, second = (Process(file, clock, max_tokens_a_day=10) for _ in range(2))

    async def run() -> None:
        held = await first.reserve(8, 0)
        waiting = asyncio.ensure_future(second.reserve(8, 0))
        await second.naps.third.wait()
        assert not waiting.done()
        held.settle(Usage(2, 0))
        (await waiting).settle(Usage(8, 0))

    asyncio.run(run())
    assert second.budget.spent.tokens == 8
    assert second.spent()["2026-11-22"].tokens <= 10


def test_room_of_a_process_that_died_counts_as_spent_after_a_while(file: Path) -> None:
    clock = Clock()
    died, alive = (Process(file, clock, max_tokens_a_day=10) for _ in range(2))
    asyncio.run(died.reserve(3, 3))
    assert alive.held() == 1
    clock.now += LONGEST_CALL + 1
    alive.spend(4)
    with pytest.raises(BudgetExhaustedError, match="10 tokens are spent in 2 calls"):
        alive.spend(1)
    assert alive.held() == 0


def test_a_call_that_settles_after_all_gives_back_what_it_did_not_take(file: Path) -> None:
    clock = Clock()
    slow, other = (Process(file, clock, max_tokens_a_day=10) for _ in range(2))

    async def run() -> None:
        reservation = await slow.reserve(3, 3)
        clock.now += LONGEST_CALL + 1
        (await other.reserve(1, 0)).settle(Usage(1, 0))
        reservation.settle(Usage(3, 0))

    asyncio.run(run())
    slow.budget.end()
    assert other.spent() == {"2026-11-22": Amount(2, 4, Decimal(4))}


def test_a_call_settled_twice_because_the_servers_answer_got_lost_counts_once(file: Path) -> None:
    database, caps = Database(file), Caps(None, 10, None)
    held = write(database, caps, [Amount(1, 8, Decimal(8))], [], NOON)
    assert isinstance(held, DayReservation)
    for _ in range(2):
        write(database, caps, [], [(held, Amount(1, 3, Decimal(3)))], NOON + 1)
    found = write(database, caps, [Amount(1, 8)], [], NOON + 2)
    assert isinstance(found, NoRoom)
    assert found.spent == Amount(1, 3, Decimal(3))


def test_a_call_that_is_cancelled_while_it_asks_for_room_leaves_none_held(file: Path) -> None:
    process = Process(file, Clock(), max_tokens_a_day=10)

    async def run() -> None:
        asking = asyncio.ensure_future(process.reserve(5, 0))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(run())
    process.budget.end()
    assert process.held() == 0
    assert process.budget.spent == Amount()


def test_the_end_waits_for_what_a_cancelled_call_gives_back(file: Path) -> None:
    class Slow(Clock):
        def __call__(self) -> float:
            time.sleep(0.05)  # in the thread of the ledger, while the end of the budget is waited for
            return super().__call__()

    ledger = DayLedger(Database(file), Caps.of_day(BudgetSettings(max_calls_a_day=10)), clock=Slow())

    async def run() -> None:
        asking = asyncio.ensure_future(ledger.take([Amount(1, 1)]))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(run())
    ledger.close()
    assert Process(file, Clock(), max_calls_a_day=10).held() == 0


CALLS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 100)), max_size=12)


@given(st.integers(0, 40), st.integers(0, 8), CALLS, CALLS)
def test_two_processes_never_spend_more_than_the_cap_of_a_day_together(
    tmp_path_factory: pytest.TempPathFactory,
    tokens: int,
    calls: int,
    first: list[tuple[int, int, int]],
    second: list[tuple[int, int, int]],
) -> None:
    file = tmp_path_factory.mktemp("day") / "store.sqlite"
    Database(file).transact(lambda _: None)
    clock = Clock()
    caps = {"max_tokens_a_day": tokens, "max_calls_a_day": calls, "max_cost_a_day": tokens + 3}
    processes = [Process(file, clock, **caps) for _ in range(2)]

    async def one(process: Process, tokens_in: int, tokens_out: int, percent: int) -> None:
        try:
            reservation = await process.reserve(tokens_in, tokens_out)
        except BudgetExhaustedError:
            return
        await asyncio.sleep(0)
        reservation.settle(Usage(tokens_in, tokens_out * percent // 100) if percent else Usage())

    async def all_of(process: Process, asked: list[tuple[int, int, int]]) -> None:
        await asyncio.gather(*(one(process, *call) for call in asked))

    work = zip(processes, (first, second), strict=True)
    threads = [threading.Thread(target=lambda at=at: asyncio.run(all_of(*at))) for at in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = [process.spent() for process in processes][-1].get("2026-11-22", Amount())
    assert spent.tokens <= tokens
    assert spent.calls <= calls
    assert spent == processes[0].budget.spent + processes[1].budget.spent
    assert processes[0].held() == 0


def test_a_run_whose_caps_refuse_holds_nothing_of_the_day(file: Path) -> None:
    process = Process(file, Clock(), max_calls=0, max_calls_a_day=5)
    with pytest.raises(BudgetExhaustedError, match=r"max_calls: "):
        process.spend(1)
    assert process.held() == 0


def test_a_database_that_cannot_be_used_is_reported_and_its_room_given_back(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").write_bytes(b"no database at all" * 100)
    process = Process(tmp_path / "store.sqlite", Clock(), max_calls_a_day=5, max_calls=1)
    for _ in range(2):
        with pytest.raises(ReplyStoreError, match="cannot be used"):
            process.spend(1)


def test_costs_far_below_a_cent_add_up_without_a_remainder(file: Path) -> None:
    process = Process(file, Clock(), max_cost_a_day=1)

    async def run() -> None:
        for _ in range(10):
            reservation = await process.reserve(0, 0)
            assert reservation.day is not None
            process.budget.settle_day(reservation.day, Amount(1, 0, Decimal("0.000000001")))

    asyncio.run(run())
    assert process.spent()["2026-11-22"].cost == Decimal("0.00000001")


def test_without_a_cap_of_a_day_no_database_is_touched(file: Path) -> None:
    hosted = LLMSettings(provider="gemini", budget=BudgetSettings(max_calls=3))
    budget = open_budget(hosted, Database(file))

    async def run() -> None:
        (await budget.reserve(claim(), "gemini/gemini-2.5-pro", 1, 1)).settle(Usage(1, 1))

    asyncio.run(run())
    budget.end()
    assert not file.exists()
    daily = hosted.model_copy(update={"budget": BudgetSettings(max_calls_a_day=3)})
    asyncio.run(open_budget(daily, Database(file)).reserve(claim(), "gemini/gemini-2.5-pro", 1, 1))
    assert file.exists()
