import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.llm.reply_database import calls_frame
from qa_pipeline.pipeline.costs import STAGES, CostSummary, cost_summary
from qa_pipeline.records import CallRecord, Usage
from qa_pipeline.storage.parquet import table_bytes
from qa_pipeline.storage.tables import LLM_CALLS, VERDICTS
from qa_pipeline_tests.calls import call
from qa_pipeline_tests.curation.rows import verdict, verdicts

tokens = st.one_of(st.none(), st.integers(0, 10**9))
usages = st.builds(Usage, tokens, tokens, tokens, tokens)
costs = st.one_of(st.none(), st.floats(0, 1000))
made = st.lists(st.tuples(st.sampled_from(STAGES), usages, costs), max_size=12)


def records(calls: list[tuple[object, Usage, float | None]]) -> list[CallRecord]:
    return [
        call(n, role, usage=usage, cost=cost, currency=None if cost is None else "USD")  # type: ignore[arg-type]
        for n, (role, usage, cost) in enumerate(calls)
    ]


def summary_of(*calls: CallRecord, decided: pl.DataFrame | None = None) -> CostSummary:
    frame = calls_frame(calls)
    return cost_summary(frame, VERDICTS.empty() if decided is None else decided)


@given(made)
def test_stages_add_up_to_the_whole(calls: list[tuple[object, Usage, float | None]]) -> None:
    summary = summary_of(*records(calls))
    parts, whole = summary.stages[:-1], summary.stages[-1:]
    assert summary.calls == len(calls)
    if not calls:
        assert summary.stages.height == 0
        return
    for name in ("calls", "failed", "input_tokens", "output_tokens", "calls_without_cost"):
        assert parts[name].sum() == whole[name].item()
    cost = summary.stages.columns[-2]
    known = [each for _, _, each in calls if each is not None]
    assert whole[cost].item() is None if not known else math.isclose(whole[cost].item(), sum(known))
    assert summary.cost is None if not known else math.isclose(summary.cost or 0.0, sum(known))


@given(made, st.randoms(use_true_random=False))
def test_equal_calls_give_equal_bytes_in_whatever_order_they_come(
    calls: list[tuple[object, Usage, float | None]], dice: object
) -> None:
    ordered = records(calls)
    mixed = list(ordered)
    dice.shuffle(mixed)  # type: ignore[attr-defined]
    frames = [calls_frame(each) for each in (ordered, mixed)]
    assert table_bytes(frames[0], LLM_CALLS) == table_bytes(frames[1], LLM_CALLS)


def test_what_an_accepted_pair_costs_counts_all_calls_and_no_known_answers() -> None:
    decided = verdicts(
        verdict("a", verdict="accepted"),
        verdict("b", verdict="accepted"),
        verdict("c", verdict="rejected"),
        verdict("k", verdict="accepted", expected_verdict="accepted"),
    )
    summary = summary_of(*(call(n, cost=0.01) for n in range(4)), decided=decided)
    assert summary.cost_per_accepted_pair == pytest.approx(0.02)


def test_unknown_costs_are_counted_and_costs_of_two_currencies_are_not_added_up() -> None:
    free = [call(n, cost=None, currency=None, usage=Usage()) for n in range(2)]
    assert (summary_of(*free, call(7)).cost, summary_of(*free, call(7)).calls_without_cost) == (0.001, 2)
    for calls in (free, [call(0), call(1, currency="EUR")]):
        assert (summary_of(*calls).cost, summary_of(*calls).currency) == (None, None)


def test_replies_of_the_fake_server_are_counted_and_said_to_be_fake() -> None:
    calls = [call(0, replied_model="gemini/fake-m"), call(1, replied_model="openai/fakery-m"), call(2)]
    summary = summary_of(*calls)
    assert summary.fake_calls == 1
    assert "1 of 3" in summary.notes()[0]
