"""The gates over canaries stop a broken verifier, forgive chance, and say when there was nothing to see."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.curation.gates.canaries import (
    canary_accepts_gate,
    canary_alarms_gate,
    canary_drift_gate,
    canary_misplaced_gate,
    canary_recall_gate,
    judge_alarms_gate,
    judge_canaries_gate,
    judge_trust,
    swap_counts,
)
from qa_pipeline.curation.gates.gate import Gate
from qa_pipeline.curation.gates.gates import batch_gates
from qa_pipeline.settings.verification import QualitySettings
from qa_pipeline.storage.tables import CANARIES, JUDGE_CANARIES
from qa_pipeline_tests.curation.rows import verdict, verdicts
from qa_pipeline_tests.verification.canaries.rows import canaries, judge_canaries


def canary_gates(canaries: pl.DataFrame) -> list[Gate]:
    return batch_gates({"canaries": canaries}, QualitySettings())


GOOD = ["contradicted"] * 20
BLIND = ["undecided"] * 20
FOOLED = ["supported"] * 20


def test_without_canaries_every_gate_passes() -> None:
    assert [gate.passed for gate in canary_gates(CANARIES.empty())] == [True] * 5


def test_a_verifier_that_rejects_no_swaps_is_stopped() -> None:
    gate = canary_recall_gate(canaries=canaries(number=BLIND, name=GOOD, date=BLIND))
    assert (gate.passed, gate.blocking) == (False, True)
    assert "number 0 of 20" in gate.detail


def test_a_verifier_that_accepts_what_is_false_is_stopped() -> None:
    gate = canary_accepts_gate(canaries=canaries(phrase_deleted=FOOLED))
    assert (gate.passed, gate.blocking) == (False, True)


@pytest.mark.parametrize(
    ("accepted", "total", "passed"),
    [(0, 240, True), (8, 240, True), (10, 240, False), (2, 100, True), (5, 100, False), (2, 5, False)],
)
def test_falsehoods_accepted_block_where_the_lower_bound_of_their_share_is_over_the_limit(
    accepted: int, total: int, passed: bool
) -> None:
    frame = canaries(item_added=["supported"] * accepted + ["undecided"] * (total - accepted), number=FOOLED)
    gate = canary_accepts_gate(canaries=frame)
    assert (gate.passed, gate.n, gate.threshold) == (passed, total, 0.02)


@given(st.integers(1, 300))
def test_one_falsehood_accepted_never_blocks_a_batch_by_itself(total: int) -> None:
    frame = canaries(item_added=["supported"] + ["undecided"] * (total - 1))
    assert canary_accepts_gate(canaries=frame).passed


def test_sentences_accepted_as_answers_to_other_questions_are_a_warning() -> None:
    frame = canaries(neighbours_question=FOOLED, other_lead_in=BLIND, roles_exchanged=BLIND, number=FOOLED)
    gate = canary_misplaced_gate(canaries=frame)
    assert (gate.passed, gate.blocking, gate.n) == (False, False, 60)
    assert "neighbours_question 20 of 20" in gate.detail


def test_true_claims_rejected_are_a_warning() -> None:
    gate = canary_alarms_gate(canaries=canaries(sentences_merged=GOOD))
    assert (gate.passed, gate.blocking) == (False, False)


@given(st.integers(1, 3))
def test_a_few_bad_ones_are_no_proof_of_a_broken_verifier(count: int) -> None:
    frame = canaries(number=["supported"] * count + GOOD, date=["undecided"] * count)
    assert all(gate.passed for gate in canary_gates(frame))


def test_kinds_that_local_steps_cannot_see_do_not_count_for_recall() -> None:
    frame = canaries(words_exchanged=BLIND, wrong_passage=BLIND, number=GOOD)
    gate = canary_recall_gate(canaries=frame)
    assert (gate.passed, gate.value, gate.n) == (True, 1.0, 20)


def test_the_policy_that_sees_no_swaps_is_warned_and_not_stopped() -> None:
    gates = canary_gates(canaries("similarity_only", number=FOOLED, item_added=FOOLED))
    assert [gate.passed for gate in gates[:2]] == [False, False]
    assert not any(gate.blocking for gate in gates[:2])


@pytest.mark.parametrize(("earlier", "passed"), [([(20, 20)], False), ([(2, 20), (4, 20)], True), ([], True)])
def test_a_fall_against_earlier_batches_warns(earlier: list[tuple[int, int]], passed: bool) -> None:
    frame = canaries(number=GOOD[:10] + BLIND[:10])
    gate = canary_drift_gate(canaries=frame, earlier=earlier)
    assert (gate.passed, gate.blocking) == (passed, False)


def test_earlier_batches_without_canaries_are_nothing_to_compare_with() -> None:
    gate = canary_drift_gate(canaries=canaries(number=GOOD), earlier=[(0, 0)])
    assert (gate.passed, gate.threshold) == (True, None)
    assert swap_counts(CANARIES.empty()) == (0, 0)


def wrong(accepted: int, rejected: int, failed: int = 0) -> list[str]:
    return ["accepted"] * accepted + ["rejected"] * rejected + ["failed"] * failed


@pytest.mark.parametrize(
    ("accepted", "total", "trusted"),
    [(0, 6, True), (1, 6, True), (2, 6, True), (3, 6, False), (6, 6, False), (1, 1, True), (2, 2, False)],
)
def test_a_judge_is_trusted_unless_it_surely_passes_too_many_wrong_pairs(
    accepted: int, total: int, trusted: bool
) -> None:
    frame = judge_canaries(fragment=wrong(accepted, total - accepted), good=["accepted"] * 2)
    trust = judge_trust(frame)
    assert (trust.passed, trust.n, trust.threshold) == (trusted, total, 0.1)
    assert f"fragment {accepted} of {total}" in trust.detail


@given(st.integers(0, 300))
def test_one_wrong_pair_passed_never_costs_a_judge_its_trust(rejected: int) -> None:
    assert judge_trust(judge_canaries(changed=wrong(1, rejected))).passed


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_replies_that_lack_change_nothing(accepted: int, rejected: int, failed: int) -> None:
    with_failed, without = (
        judge_trust(judge_canaries(changed=wrong(accepted, rejected, count))) for count in (failed, 0)
    )
    assert (with_failed.passed, with_failed.value) == (without.passed, without.value)
    assert with_failed.n == without.n == accepted + rejected


def test_a_judge_without_a_readable_reply_passes_nothing_and_the_gate_counts_it() -> None:
    frame = judge_canaries(fragment=["failed"] * 6)
    assert judge_trust(frame).passed
    gate = judge_canaries_gate(judge_canaries=frame, verdicts=verdicts(verdict("p")))
    assert (gate.passed, gate.value, gate.n) == (True, None, 0)
    assert "6 canaries" in gate.detail


def test_pairs_that_wait_for_another_judge_are_a_warning_with_its_figures() -> None:
    frame = judge_canaries(fragment=wrong(3, 0), other_answer=wrong(2, 1), good=["accepted"])
    waiting = verdict("p", "needs_review", reason="judge_not_trusted", stage="quality_assessment")
    gate = judge_canaries_gate(judge_canaries=frame, verdicts=verdicts(waiting, verdict("q")))
    assert (gate.passed, gate.blocking, gate.n, gate.counts) == (False, False, 6, {"waiting": 1})
    assert gate.value == pytest.approx(5 / 6)
    assert "5 of 6" in gate.detail
    assert "llm.judge.model" in gate.detail


def test_a_judge_that_fails_good_pairs_is_a_warning() -> None:
    def gate(good: list[str]) -> Gate:
        frame = judge_canaries(good=good, fragment=["rejected"] * 6)
        return judge_alarms_gate(judge_canaries=frame)

    assert (gate(["rejected"] * 2).passed, gate(["rejected"] * 2).blocking) == (False, False)
    assert gate(["rejected", "accepted"]).passed


def test_without_a_judge_its_gates_pass() -> None:
    frame = JUDGE_CANARIES.empty()
    assert judge_canaries_gate(judge_canaries=frame, verdicts=verdicts(verdict("p"))).passed
    assert judge_alarms_gate(judge_canaries=frame).passed
