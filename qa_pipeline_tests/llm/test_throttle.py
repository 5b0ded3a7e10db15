"""Turns: never faster than the pace, over any loop."""

import asyncio
import threading
from itertools import pairwise

from qa_pipeline.llm.provider import Clock
from qa_pipeline.llm.throttle import Throttle


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


def throttle(requests_per_minute: int | None = None) -> "Timed":
    return Timed(requests_per_minute, PlayedTime().clock)


class Timed(Throttle):
    """Knows the time of its clock."""

    def __init__(self, requests_per_minute: int | None = None, clock: Clock | None = None) -> None:
        super().__init__(requests_per_minute, clock)
        self.clock = clock or Clock()


async def left_at(turns: Timed) -> float:
    await turns.turn()
    return turns.clock.steady()


def test_a_given_rate_spaces_the_calls() -> None:
    async def run() -> list[float]:
        turns = throttle(60)
        return [await left_at(turns) for _ in range(5)]

    sent = asyncio.run(run())
    assert [round(later - earlier) for earlier, later in pairwise(sent)] == [1, 1, 1, 1]


def test_a_cancelled_caller_leaves_its_slot_to_the_next() -> None:
    async def run() -> float:
        turns = throttle(60)
        first = await left_at(turns)
        gone, wanting = asyncio.ensure_future(left_at(turns)), asyncio.ensure_future(left_at(turns))
        await asyncio.sleep(0)
        gone.cancel()
        return await wanting - first

    assert round(asyncio.run(run())) == 1


def test_several_loops_share_one_pace() -> None:
    turns = Timed(6000)
    sent: list[float] = []

    async def run() -> None:
        sent.extend(await asyncio.gather(*(left_at(turns) for _ in range(20))))

    threads = [threading.Thread(target=lambda: asyncio.run(run())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # 80 slots of 10 ms, of which those of a quarter of a second may be made up for at once
    assert max(sent) - min(sent) >= 0.5


def test_a_refused_wait_holds_every_later_call_back() -> None:
    turns = throttle()

    async def run() -> float:
        first = await left_at(turns)
        turns.refused(30.0)
        return await left_at(turns) - first

    assert asyncio.run(run()) >= 30.0
