import asyncio
from pathlib import Path

import pytest

from qa_pipeline.calls import Usage
from qa_pipeline.errors import (
    BudgetExhaustedError,
    PermanentModelError,
    TransientModelError,
    UnreadableReplyError,
)
from qa_pipeline.llm.asking import ask_all
from qa_pipeline.llm.base import LanguageModel, Reply
from qa_pipeline.llm.cached import CachedModel
from qa_pipeline.llm.money.budget import Budget
from qa_pipeline.llm.money.budgeted import BudgetedModel
from qa_pipeline.llm.money.price_table import load_prices
from qa_pipeline.llm.scripted import ScriptedModel
from qa_pipeline.settings.models import BudgetSettings
from qa_pipeline_tests.llm.asking import ACCEPT, claim


def capped(model: LanguageModel, most: int) -> BudgetedModel:
    return BudgetedModel(model, Budget(BudgetSettings(max_calls=most), load_prices()))


def test_exactly_the_capped_number_of_calls_is_let_through() -> None:
    inner = ScriptedModel(lambda _: ACCEPT)
    model = capped(inner, 3)
    for number in range(3):
        asyncio.run(model.complete(claim(f"{number}")))
    with pytest.raises(BudgetExhaustedError):
        asyncio.run(model.complete(claim("3")))
    assert len(inner.asked) == 3


def test_the_error_says_what_was_spent_and_how_to_go_on() -> None:
    model = capped(ScriptedModel([ACCEPT]), 1)
    asyncio.run(model.complete(claim()))
    with pytest.raises(
        BudgetExhaustedError,
        match=r"run is 1 calls; 1 calls .* scripted.* run again .* QA_PIPELINE_LLM__BUDGET__MAX_CALLS",
    ):
        asyncio.run(model.complete(claim()))


def test_a_failed_call_counts_as_it_may_have_been_charged() -> None:
    model = capped(ScriptedModel([TransientModelError("busy")]), 1)
    with pytest.raises(TransientModelError):
        asyncio.run(model.complete(claim()))
    with pytest.raises(BudgetExhaustedError):
        asyncio.run(model.complete(claim()))


def test_a_run_that_hit_its_cap_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Three runs with a cap of 4 answer 10 requests with exactly 10 calls: nothing is paid for twice."""
    inner = ScriptedModel(lambda _: ACCEPT)
    requests = [claim(f"claim {number}") for number in range(10)]
    for _ in range(2):
        with pytest.raises(BudgetExhaustedError):
            ask_all(CachedModel(capped(inner, 4), tmp_path / "replies.db"), requests, workers=3)
    outcomes = ask_all(CachedModel(capped(inner, 4), tmp_path / "replies.db"), requests, workers=3)
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    assert len(inner.asked) == 10


def test_a_refused_call_costs_nothing_and_leaves_its_room() -> None:
    model = capped(ScriptedModel([PermanentModelError("no such model"), ACCEPT]), 1)
    with pytest.raises(PermanentModelError):
        asyncio.run(model.complete(claim()))
    asyncio.run(model.complete(claim()))


def test_a_reply_that_cannot_be_read_counts_what_it_took() -> None:
    failure = UnreadableReplyError("not_json", "half of it", usage=Usage(30, 12))
    model = capped(ScriptedModel([failure]), 1)
    with pytest.raises(UnreadableReplyError):
        asyncio.run(model.complete(claim()))
    assert (model.budget.spent.tokens, model.budget.unknown_usage) == (42, 0)


def test_the_name_is_the_wrapped_models() -> None:
    assert capped(ScriptedModel([], name="inner"), 1).name == "inner"
