"""Room for jobs: no more than the caps leave, and none of it lost."""

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from qa_pipeline.errors import BudgetExhaustedError
from qa_pipeline.llm.budget.amounts import Amount, Caps
from qa_pipeline.llm.budget.budget import Budget, Reservation
from qa_pipeline.llm.budget.daily import DayLedger, DayReservation
from qa_pipeline.llm.store.database import Database
from qa_pipeline.settings.llm import BudgetSettings
from qa_pipeline_tests.llm.budget.fakes import DOLLAR_A_TOKEN, MODEL, Clock

HELD = TypeAdapter(DayReservation)
WANTS = st.lists(st.integers(1, 50), min_size=1, max_size=20)


def wanted(tokens: Sequence[int]) -> list[Amount]:
    return [Amount(1, one, Decimal(one)) for one in tokens]


def taken(budget: Budget, tokens: Sequence[int]) -> Reservation:
    return asyncio.run(budget.commit(wanted(tokens), MODEL, "a test"))


def budget_with(most: int, days: DayLedger | None = None) -> Budget:
    return Budget(BudgetSettings(max_cost=float(most)), DOLLAR_A_TOKEN, days=days)


@given(tokens=WANTS, most=st.integers(0, 200))
def test_as_many_of_the_first_requests_are_taken_as_fit_and_not_one_more(
    tokens: list[int], most: int
) -> None:
    budget = budget_with(most)
    if tokens[0] > most:
        with pytest.raises(BudgetExhaustedError, match="max_cost"):
            taken(budget, tokens)
        return
    room = taken(budget, tokens)
    assert sum(tokens[: room.amount.calls]) <= most
    assert room.amount.calls == len(tokens) or sum(tokens[: room.amount.calls + 1]) > most
    room.spend()
    assert budget.spent.tokens == sum(tokens[: room.amount.calls])


@given(tokens=WANTS)
def test_room_that_is_given_back_is_there_again(tokens: list[int]) -> None:
    budget = budget_with(sum(tokens))
    for _ in range(2):
        room = taken(budget, tokens)
        assert room.amount.calls == len(tokens)
        room.cancel()
    assert budget.spent == Amount()


def test_the_day_counts_what_replies_took_in_whatever_process_they_are_collected(tmp_path: Path) -> None:
    def budget_of_a_process() -> Budget:
        ledger = DayLedger(
            Database(tmp_path / "store.sqlite"), Caps(None, 100, None, "_a_day"), clock=Clock()
        )
        return budget_with(1000, ledger)

    first = budget_of_a_process()
    room = taken(first, [30, 30, 30, 30])
    assert room.amount.calls == 3
    room.spend()
    assert room.day is not None
    kept = HELD.dump_json(room.day)
    with pytest.raises(BudgetExhaustedError, match="max_tokens_a_day"):
        taken(budget_of_a_process(), [50])
    held = HELD.validate_json(kept)
    assert held == room.day
    collecting = budget_of_a_process()
    collecting.settle_day(held, Amount(3, 10, Decimal(10)))
    collecting.end()
    assert taken(budget_of_a_process(), [50, 40]).amount.calls == 2
