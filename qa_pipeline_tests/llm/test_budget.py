import asyncio
import threading
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import BudgetExhaustedError
from qa_pipeline.llm.budget import Amount, Budget, Reservation
from qa_pipeline.records import Usage
from qa_pipeline.settings.llm import BudgetSettings
from qa_pipeline_tests.llm.fakes import MODEL, dollar_a_token
from qa_pipeline_tests.llm.requests import claim

CALL = st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 100), st.booleans())
"""Tokens in, most tokens out, percent of them used, and whether the provider tells the usage."""


def budget(**caps: float | None) -> Budget:
    return Budget(
        BudgetSettings.model_validate(caps), price_by_name=dollar_a_token, sleep=lambda _: asyncio.sleep(0)
    )


async def reserve(of: Budget, tokens_in: int = 1, tokens_out: int = 1, model: str = MODEL) -> Reservation:
    return await of.reserve(claim(), model, tokens_in, tokens_out)


caps = st.one_of(st.none(), st.integers(0, 120))


@given(caps, caps, caps, st.lists(CALL, max_size=25))
def test_what_is_spent_never_exceeds_a_cap_however_calls_interleave(
    calls: int | None,
    tokens: int | None,
    cost: int | None,
    asked: list[tuple[int, int, int, bool]],
) -> None:
    of = budget(max_calls=calls, max_tokens=tokens, max_cost=cost)

    def holds() -> bool:
        within = [of.spent.calls <= calls] if calls is not None else []
        within += [of.spent.tokens <= tokens] if tokens is not None else []
        within += [of.spent.cost <= cost] if cost is not None else []
        return all(within)

    async def one(tokens_in: int, tokens_out: int, percent: int, tells: bool) -> str:
        await asyncio.sleep(0)
        try:
            reservation = await reserve(of, tokens_in, tokens_out)
        except BudgetExhaustedError:
            return "refused"
        for _ in range(percent % 7):
            await asyncio.sleep(0)
        if percent > 90:
            reservation.cancel()
        else:
            reservation.settle(Usage(tokens_in, tokens_out * percent // 100) if tells else Usage())
        assert holds()
        return "asked"

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(one(*call) for call in asked))

    outcomes = asyncio.run(all_of_them())
    assert holds()
    assert len(outcomes) == len(asked)


def test_a_call_waits_while_one_in_flight_may_leave_room() -> None:
    of = budget(max_tokens=10)

    async def run() -> None:
        first = await reserve(of, 4, 4)
        second = asyncio.ensure_future(reserve(of, 2, 4))
        await asyncio.sleep(0)
        assert not second.done()
        first.settle(Usage(4, 0))
        (await second).settle(Usage(2, 4))

    asyncio.run(run())
    assert of.spent.tokens == 10


@pytest.mark.parametrize("cap", ["max_calls", "max_tokens", "max_cost"])
def test_a_cap_of_nothing_asks_nothing(cap: str) -> None:
    of = budget(**{cap: 0})
    with pytest.raises(BudgetExhaustedError, match=f"llm.budget.{cap}"):
        asyncio.run(reserve(of))
    assert of.spent.calls == 0


@pytest.mark.parametrize("usage", [Usage(), Usage(1, None), Usage(1, 10**30), Usage(1, -1, thought_tokens=3)])
def test_all_that_was_held_counts_where_the_provider_does_not_tell_what_it_took(usage: Usage) -> None:
    of = budget()
    asyncio.run(reserve(of, 3, 4)).settle(usage)
    assert of.spent == Amount(1, 7, Decimal(7))


def test_many_threads_with_loops_of_their_own_share_a_budget() -> None:
    of = budget(max_tokens=200)
    refused = []

    async def work() -> None:
        async def one(n: int) -> None:
            try:
                reservation = await reserve(of, 2, n % 3)
            except BudgetExhaustedError:
                refused.append(n)
                return
            await asyncio.sleep(0)
            reservation.settle(Usage(2, 0))

        await asyncio.gather(*(one(n) for n in range(40)))

    threads = [threading.Thread(target=lambda: asyncio.run(work())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert of.spent.tokens <= 200
    assert of.spent.calls + len(refused) == 160
    assert of.spent.tokens == 2 * of.spent.calls
