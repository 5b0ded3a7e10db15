"""The gates over canaries stop a broken verifier, forgive chance, and say when there was nothing to see."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.curation.batch_gates import (
    Reviewer,
    canary_accepts_gate,
    canary_recall_gate,
    judge_canaries_gate,
    reviewer_trust,
    verifier_canaries_gate,
)
from qa_pipeline.curation.gate import Gate
from qa_pipeline.storage.tables import CANARIES
from qa_pipeline_tests.curation.rows import verdict, verdicts
from qa_pipeline_tests.verification.canary_rows import canaries, joined, judged

GATES = (canary_recall_gate, canary_accepts_gate)


def share(accepted: int, rejected: int, failed: int = 0) -> list[str]:
    return ["accepted"] * accepted + ["rejected"] * rejected + ["failed"] * failed


def reviewer_gates(frame: pl.DataFrame, *rows: dict[str, object]) -> list[Gate]:
    gates = (verifier_canaries_gate, judge_canaries_gate)
    return [gate(canaries=frame, verdicts=verdicts(*rows)) for gate in gates]


def test_without_canaries_every_gate_passes_and_says_why() -> None:
    gates = [gate(canaries=CANARIES.empty()) for gate in GATES] + reviewer_gates(CANARIES.empty())
    assert all(gate.passed and gate.n == 0 and "too little text" in gate.detail for gate in gates)


def test_a_verifier_that_does_not_reject_edits_is_stopped() -> None:
    gate = canary_recall_gate(canaries=canaries(edited=["undecided"] * 20, foreign=share(0, 20)))
    assert (gate.passed, gate.blocking, gate.n) == (False, True, 20)
    assert "edited 0 of 20" in gate.detail


@pytest.mark.parametrize(
    ("accepted", "total", "passed"),
    [(0, 240, True), (8, 240, True), (10, 240, False), (2, 100, True), (5, 100, False), (2, 5, False)],
)
def test_falsehoods_accepted_block_where_the_lower_bound_of_their_share_is_over_the_limit(
    accepted: int, total: int, passed: bool
) -> None:
    wrong = ["accepted"] * accepted + ["undecided"] * (total - accepted)
    gate = canary_accepts_gate(canaries=canaries(foreign=wrong, verbatim=share(9, 0)))
    assert (gate.passed, gate.blocking, gate.n, gate.threshold) == (passed, True, total, 0.02)


@given(st.integers(0, 300))
def test_one_falsehood_accepted_never_blocks_a_batch_by_itself(rejected: int) -> None:
    assert canary_accepts_gate(canaries=canaries(edited=share(1, rejected))).passed


def test_the_policy_that_sees_no_falsehoods_is_warned_and_not_stopped() -> None:
    frame = canaries("similarity_only", edited=share(20, 0))
    gates = [gate(canaries=frame) for gate in GATES]
    assert [(gate.passed, gate.blocking) for gate in gates] == [(False, False)] * 2


def test_what_a_model_decided_blocks_no_batch() -> None:
    assert all(gate(canaries=joined(edited=share(20, 0), verbatim=share(0, 20))).passed for gate in GATES)


@pytest.mark.parametrize(
    ("accepted", "total", "trusted"),
    [(0, 6, True), (1, 6, True), (2, 6, True), (3, 6, False), (6, 6, False), (1, 1, True), (2, 2, False)],
)
@pytest.mark.parametrize("reviewer", ["verifier", "judge"])
def test_a_model_is_trusted_unless_it_surely_accepts_too_many_wrong_ones(
    reviewer: Reviewer, accepted: int, total: int, trusted: bool
) -> None:
    wrong = share(accepted, total - accepted)
    frame = pl.concat([joined(foreign=wrong, verbatim=share(4, 0)), judged(cut=wrong, good=share(2, 0))])
    trust = reviewer_trust(frame, reviewer)
    assert (trust.passed, trust.n, trust.threshold) == (trusted, total, 0.1)


def test_what_the_local_steps_decide_says_nothing_of_a_model() -> None:
    assert reviewer_trust(canaries(mechanism="joined", foreign=share(20, 0)), "verifier").n == 0


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_replies_that_lack_change_nothing(accepted: int, rejected: int, failed: int) -> None:
    with_failed, without = (
        reviewer_trust(judged(cut=share(accepted, rejected, count)), "judge") for count in (failed, 0)
    )
    assert (with_failed.passed, with_failed.value) == (without.passed, without.value)
    assert with_failed.n == without.n == accepted + rejected


@pytest.mark.parametrize(("place", "reviewer"), list(enumerate(("verifier", "judge"))))
def test_pairs_that_wait_for_another_model_are_a_warning_with_its_figures(place: int, reviewer: str) -> None:
    frame = pl.concat([joined(foreign=share(3, 0), edited=share(2, 1)), judged(cut=share(5, 1))])
    waiting = verdict("p", "needs_review", reason=f"{reviewer}_not_trusted")
    gate = reviewer_gates(frame, waiting, verdict("q"))[place]
    assert (gate.passed, gate.blocking, gate.n, gate.counts) == (False, False, 6, {"waiting": 1})
    assert gate.value == pytest.approx(5 / 6)
    assert f"llm.{reviewer}.model" in gate.detail


def test_a_model_that_accepts_nothing_right_is_a_warning_and_one_without_replies_is_counted() -> None:
    refused = pl.concat([joined(verbatim=share(0, 4)), judged(good=share(0, 2))])
    assert [(gate.passed, gate.blocking) for gate in reviewer_gates(refused)] == [(False, False)] * 2
    some = pl.concat([joined(verbatim=share(1, 3)), judged(good=share(1, 1), cut=share(0, 0, 6))])
    verifier, judge = reviewer_gates(some)
    assert verifier.passed
    assert judge.passed
    assert "6 without a reply that can be read" in judge.detail
