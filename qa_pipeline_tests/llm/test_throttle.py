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


def throttle(requests_per_minute: int | None = None) -> Throttle:
    return Throttle(requests_per_minute, PlayedTime().clock)


def test_a_given_rate_spaces_the_calls() -> None:
    async def run() -> list[float]:
        turns = throttle(60)
        return [(await turns.turn()).sent_at for _ in range(5)]

    sent = asyncio.run(run())
    assert [round(later - earlier) for earlier, later in pairwise(sent)] == [1, 1, 1, 1]


def test_a_cancelled_caller_leaves_its_slot_to_the_next() -> None:
    async def run() -> float:
        turns = throttle(60)
        first = await turns.turn()
        gone, wanting = asyncio.ensure_future(turns.turn()), asyncio.ensure_future(turns.turn())
        await asyncio.sleep(0)
        gone.cancel()
        return (await wanting).sent_at - first.sent_at

    assert round(asyncio.run(run())) == 1


def test_several_loops_share_one_pace() -> None:
    turns = Throttle(6000)
    sent: list[float] = []

    async def run() -> None:
        sent.extend([turn.sent_at for turn in await asyncio.gather(*(turns.turn() for _ in range(20)))])

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
        turn = await turns.turn()
        turns.refused(turn, 30.0)
        return (await turns.turn()).sent_at - turn.sent_at

    assert asyncio.run(run()) >= 30.0


async def admitted(turns: Throttle, most: int = 20) -> int:
    """How many further calls may leave now; they take their turns."""
    for number in range(most):
        waiting = asyncio.ensure_future(turns.turn())
        for _ in range(5):
            await asyncio.sleep(0)
        if not waiting.done():
            waiting.cancel()
            return number
    return most


def test_a_server_that_refuses_so_many_at_a_time_gets_fewer() -> None:
    async def run() -> list[int]:
        turns = throttle()
        left = [await turns.turn() for _ in range(10)]
        for turn in left[5:]:  # they left together: refusals of all of them say it once
            turns.crowded(turn)
            turns.end()
        return [await admitted(turns), await admitted(turns)]

    assert asyncio.run(run()) == [2, 0]


def test_a_server_that_refuses_even_two_at_a_time_still_gets_one() -> None:
    async def run() -> int:
        turns = throttle()
        for _ in range(3):
            turns.crowded(await turns.turn())
            turns.end()
        return await admitted(turns)

    assert asyncio.run(run()) == 1


def test_replies_raise_the_number_at_a_time_again_one_after_the_other() -> None:
    async def run() -> list[int]:
        turns, numbers = throttle(), []
        turns.crowded(await turns.turn())
        turns.end()
        for _ in range(4):
            for _ in range(20):
                await turns.turn()
                turns.replied()
                turns.end()
            numbers.append(await admitted(turns))
            for _ in range(numbers[-1]):
                turns.end()
        return numbers

    assert asyncio.run(run()) == [3, 4, 5, 6]
