import asyncio
from pathlib import Path

import pytest

from qa_pipeline.errors import BudgetExhaustedError, TransientModelError
from qa_pipeline.llm.asking import ask_all
from qa_pipeline.llm.base import Reply
from qa_pipeline.llm.cached import CachedModel
from qa_pipeline.llm.capped import CappedModel
from qa_pipeline.llm.scripted import ScriptedModel
from qa_pipeline.llm.store.front import open_replies
from qa_pipeline_tests.llm.asking import ACCEPT, claim


def test_exactly_the_capped_number_of_calls_is_let_through() -> None:
    inner = ScriptedModel(lambda _: ACCEPT)
    model = CappedModel(inner, 3)
    for number in range(3):
        asyncio.run(model.complete(claim(f"{number}")))
    with pytest.raises(BudgetExhaustedError):
        asyncio.run(model.complete(claim("3")))
    assert len(inner.asked) == 3


def test_the_error_says_what_was_spent_and_how_to_go_on() -> None:
    model = CappedModel(ScriptedModel([ACCEPT]), 1)
    asyncio.run(model.complete(claim()))
    with pytest.raises(
        BudgetExhaustedError,
        match=r"all 1 calls .* scripted .* run again .* QA_PIPELINE_LLM__BUDGET__MAX_CALLS",
    ):
        asyncio.run(model.complete(claim()))


def test_a_failed_call_counts_as_it_may_have_been_charged() -> None:
    model = CappedModel(ScriptedModel([TransientModelError("busy")]), 1)
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
            ask_all(
                CachedModel(CappedModel(inner, 4), open_replies(tmp_path / "replies.db")), requests, workers=3
            )
    outcomes = ask_all(
        CachedModel(CappedModel(inner, 4), open_replies(tmp_path / "replies.db")), requests, workers=3
    )
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    assert len(inner.asked) == 10


def test_a_cap_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        CappedModel(ScriptedModel([]), 0)


def test_the_name_is_the_wrapped_models() -> None:
    assert CappedModel(ScriptedModel([], name="inner"), 1).name == "inner"
