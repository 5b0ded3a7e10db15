"""Turns: never faster than the pace, nor before a server wants to be asked again."""

import asyncio
import time
from itertools import pairwise

from qa_pipeline.llm.provider import Throttle


async def left_at(turns: Throttle) -> float:
    await turns.wait_turn()
    return time.monotonic()


def test_a_given_rate_spaces_the_calls() -> None:
    turns = Throttle(1200)

    async def run() -> list[float]:
        return sorted(await asyncio.gather(*(left_at(turns) for _ in range(6))))

    for _ in range(2):  # in one loop after the other
        sent = asyncio.run(run())
        assert all(later - earlier > 0.03 for earlier, later in pairwise(sent))
        assert sent[-1] - sent[0] > 0.2


def test_a_refused_wait_holds_every_later_call_back() -> None:
    turns = Throttle()

    async def run() -> float:
        first = await left_at(turns)
        turns.pause(0.3)
        return await left_at(turns) - first

    assert asyncio.run(run()) >= 0.3
