import math
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.llm.calls import calls_frame
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.maintenance import read_calls
from qa_pipeline.pipeline.costs import STAGES, cost_summary
from qa_pipeline.records import CallRecord, Usage
from qa_pipeline.storage.parquet import table_bytes
from qa_pipeline.storage.tables import LLM_CALLS
from qa_pipeline_tests.calls import STARTED, call, note
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


@given(made)
def test_stages_add_up_to_the_whole(calls: list[tuple[object, Usage, float | None]]) -> None:
    summary = cost_summary(calls_frame(records(calls), keep_prompts=False))
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
    frames = [calls_frame(each, keep_prompts=False) for each in (ordered, mixed)]
    assert table_bytes(frames[0], LLM_CALLS) == table_bytes(frames[1], LLM_CALLS)


def test_each_stage_has_its_calls_and_tokens_a_kept_question() -> None:
    calls: list[tuple[object, Usage, float | None]] = [
        ("questions", Usage(100, 20), None),
        ("judge", Usage(50, 10), None),
        ("judge", Usage(50, 10), None),
    ]
    frame = calls_frame(records(calls), keep_prompts=False)
    figures = ("stage", "calls_per_kept_question", "tokens_per_kept_question")
    assert cost_summary(frame, kept_questions=2).stages.select(figures).rows() == [
        ("questions", 0.5, 60),
        ("judge", 1.0, 60),
        ("all", 1.5, 120),
    ]
    assert "calls_per_kept_question" not in cost_summary(frame, kept_questions=0).stages


def test_a_call_is_a_row_with_its_time_in_utc() -> None:
    row = calls_frame([call(usage=Usage(100, None, None, 5), cost=None)], keep_prompts=False).row(
        0, named=True
    )
    assert row["started_at"] == datetime.fromtimestamp(STARTED, UTC)
    assert (row["input_tokens"], row["output_tokens"], row["cached_tokens"]) == (100, None, None)
    assert (row["cost"], row["outcome"], row["repair"]) == (None, "replied", "none")


def test_what_an_accepted_pair_costs_counts_all_calls_and_no_known_answers() -> None:
    calls = calls_frame([call(n, cost=0.01) for n in range(4)], keep_prompts=False)
    decided = verdicts(
        verdict("a", verdict="accepted"),
        verdict("b", verdict="accepted"),
        verdict("c", verdict="rejected"),
        verdict("k", verdict="accepted", expected_verdict="accepted"),
    )
    summary = cost_summary(calls, decided)
    assert summary.accepted == 2
    assert summary.cost_per_accepted_pair == pytest.approx(0.02)
    assert "0.020000 USD" in summary.message()[0]


def test_unknown_costs_are_counted_and_never_nothing() -> None:
    free = [call(n, cost=None, currency=None, usage=Usage()) for n in range(2)]
    summary = cost_summary(calls_frame([*free, call(7)], keep_prompts=False))
    assert (summary.cost, summary.calls_without_cost, summary.calls_without_tokens) == (0.001, 2, 2)
    unpriced = cost_summary(calls_frame(free, keep_prompts=False))
    assert (unpriced.cost, unpriced.currency) == (None, None)


def test_costs_of_two_currencies_are_not_added_up() -> None:
    summary = cost_summary(calls_frame([call(0), call(1, currency="EUR")], keep_prompts=False))
    assert (summary.cost, summary.currency) == (None, None)


def test_calls_are_read_back_as_noted_those_of_the_batch_alone(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.sqlite")
    kept = [call(2, prompt="p"), call(1, outcome="not_json", repair="reasked", usage=Usage())]
    note(database, *kept, call(3, batch="other"))
    assert read_calls(database, "b") == sorted(kept, key=lambda one: one.started_at)
    assert read_calls(database, "none") == []


def test_repairs_and_failures_are_counted_and_reported() -> None:
    calls = [
        call(0, repair="repaired"),
        call(1, repair="stripped"),
        call(2, repair="repaired"),
        call(3, outcome="not_json"),
        call(4, repair="reasked"),
    ]
    summary = cost_summary(calls_frame(calls, keep_prompts=False))
    assert summary.repairs == {"repaired": 2, "reasked": 1, "stripped": 1}
    assert summary.failures == {"not_json": 1}


def test_replies_of_the_fake_server_are_counted_and_said_to_be_fake() -> None:
    calls = [call(0, replied_model="gemini/fake-m"), call(1, replied_model="openai/fakery-m"), call(2)]
    summary = cost_summary(calls_frame(calls, keep_prompts=False))
    assert summary.fake_calls == 1
    assert summary.message()[0].startswith("1 of 3 replies")
