"""What a budget costs each call.

Usage: python -m qa_pipeline_tests.benchmarks.bench_budget

Prints one JSON line: microseconds of reserving and settling a call under caps of a run, and calls a second
under caps of a day in a SQLite file, one after the other and 200 at once.
"""

import asyncio
import json
import tempfile
import time
from pathlib import Path

from qa_pipeline.llm.budget.amounts import Caps
from qa_pipeline.llm.budget.budget import Budget
from qa_pipeline.llm.budget.daily import DayLedger
from qa_pipeline.llm.budget.prices import load_prices
from qa_pipeline.llm.budget.tokens import most_request_tokens
from qa_pipeline.llm.store.database import Database
from qa_pipeline.records import Usage
from qa_pipeline.settings.llm import BudgetSettings
from qa_pipeline_tests.llm.asking import claim

MODEL = "gemini/gemini-3-flash-preview"
REQUEST = claim("word " * 1600)


async def call(budget: Budget) -> None:
    """One call that takes no time."""
    reservation = await budget.reserve(REQUEST, MODEL, most_request_tokens(REQUEST), 65_536)
    reservation.settle(Usage(1800, 300))


async def timed(budget: Budget, calls: int, at_once: int) -> float:
    """Seconds that so many calls take."""

    async def some() -> None:
        for _ in range(calls // at_once):
            await call(budget)

    started = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(at_once)))
    return time.perf_counter() - started


def main() -> None:
    """Measure."""
    a_run = BudgetSettings(max_calls=10**9, max_tokens=10**15, max_cost=1e9)
    a_day = BudgetSettings(max_calls_a_day=10**9, max_tokens_a_day=10**15, max_cost_a_day=1e9)
    seconds = asyncio.run(timed(Budget(a_run, load_prices()), 50_000, 1))
    with tempfile.TemporaryDirectory() as folder:
        ledger = DayLedger(Database(Path(folder) / "store.sqlite"), Caps.of_day(a_day))
        budget = Budget(a_day, load_prices(), days=ledger)
        asyncio.run(call(budget))
        alone = 500 / asyncio.run(timed(budget, 500, 1))
        together = 20_000 / asyncio.run(timed(budget, 20_000, 200))
        budget.end()
    shown = {"run_us_a_call": seconds / 50_000 * 1e6, "day_calls_a_second": {"1": alone, "200": together}}
    print(json.dumps(shown))


if __name__ == "__main__":
    main()
