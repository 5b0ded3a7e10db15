"""Turns: never more in flight than the window, never faster than the pace, over any loop."""

import asyncio
import threading
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.llm.pace import Declared
from qa_pipeline.llm.provider import Clock
from qa_pipeline.llm.throttle import Throttle
from qa_pipeline_tests.llm.requests import claim


class PlayedTime:
    """Time that passes only in sleep, for one loop."""

    def __init__(self) -> None:
        self.at = 1000.0

    async def sleep(self, seconds: float) -> None:
        until = self.at + seconds
        await asyncio.sleep(0)
        self.at = max(self.at, until)

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.at, steady=lambda: self.at, sleep=self.sleep)


def throttle(most: int = 4, declared: Declared | None = None) -> Throttle:
    return Throttle(most, declared or Declared(), PlayedTime().clock)


@given(st.integers(1, 8), st.integers(1, 40))
def test_never_more_calls_are_in_flight_than_the_window_holds(most: int, calls: int) -> None:
    turns = throttle(most)
    flying, highest = 0, 0

    async def one() -> None:
        nonlocal flying, highest
        async with turns.turn(claim()) as turn:
            flying += 1
            highest = max(highest, flying)
            await asyncio.sleep(0)
            flying -= 1
        turns.served(turn, 1)

    async def run() -> None:
        await asyncio.gather(*(one() for _ in range(calls)))

    asyncio.run(run())
    assert highest <= most


def test_the_whole_window_is_used() -> None:
    async def run() -> None:
        turns, all_in = throttle(5), asyncio.Barrier(5)

        async def one() -> None:
            async with turns.turn(claim()):
                await asyncio.wait_for(all_in.wait(), 30)

        await asyncio.gather(*(one() for _ in range(10)))

    asyncio.run(run())


def test_a_refusal_narrows_the_window_and_successes_widen_it_again() -> None:
    async def run() -> tuple[int, int]:
        turns = throttle(16)
        async with turns.turn(claim()) as turn:
            pass
        turns.refused(turn, 0.0)
        narrow = turns.window.limit
        for _ in range(200):
            turns.served(turn, 1)
        return narrow, turns.window.limit

    assert asyncio.run(run()) == (12, 16)


def test_server_faults_narrow_it_only_when_they_persist() -> None:
    async def run() -> list[int]:
        turns, limits = throttle(16), []
        async with turns.turn(claim()) as turn:
            pass
        for _ in range(9):
            turns.failed(turn)
            limits.append(turns.window.limit)
        return limits

    assert asyncio.run(run()) == [16] * 7 + [8, 8]


def test_a_cancelled_caller_gives_its_place_to_the_next() -> None:
    async def run() -> str:
        turns = throttle(1)

        async def hold() -> None:
            async with turns.turn(claim()):
                await asyncio.sleep(3600)

        async def want() -> str:
            async with turns.turn(claim()):
                return "had a turn"

        holder = asyncio.ensure_future(hold())
        await asyncio.sleep(0)
        gone, wanting = asyncio.ensure_future(want()), asyncio.ensure_future(want())
        await asyncio.sleep(0)
        gone.cancel()
        holder.cancel()
        return await wanting

    assert asyncio.run(run()) == "had a turn"


def test_several_loops_share_one_window() -> None:
    turns = Throttle(3, Declared())
    lock, flying, highest = threading.Lock(), 0, 0

    async def one() -> None:
        nonlocal flying, highest
        async with turns.turn(claim()):
            with lock:
                flying += 1
                highest = max(highest, flying)
            await asyncio.sleep(0.001)
            with lock:
                flying -= 1

    async def run() -> None:
        await asyncio.gather(*(one() for _ in range(20)))

    threads = [threading.Thread(target=lambda: asyncio.run(run())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert highest <= 3


def test_a_declared_rate_spaces_the_calls() -> None:
    async def run() -> list[float]:
        turns = throttle(4, Declared(requests_per_minute=60))
        sent = []
        for _ in range(5):
            async with turns.turn(claim()) as turn:
                sent.append(turn.sent_at)
        return sent

    sent = asyncio.run(run())
    assert [round(later - earlier) for earlier, later in pairwise(sent)] == [1, 1, 1, 1]


def test_a_refused_wait_holds_every_later_call_back() -> None:
    turns = throttle()

    async def run() -> float:
        async with turns.turn(claim()) as turn:
            pass
        turns.refused(turn, 30.0)
        async with turns.turn(claim()) as later:
            return later.sent_at - turn.sent_at

    assert asyncio.run(run()) >= 30.0
