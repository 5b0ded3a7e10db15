from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.calibration.what_if import (
    NEEDS_MODEL,
    Models,
    Redecided,
    add_up,
    compare,
    redecide,
    stored_replies,
)
from qa_pipeline.settings.verification import JudgingSettings, VerificationSettings
from qa_pipeline.storage.parquet import frame_hash
from qa_pipeline_tests.calibration.stored import Frames, Rows, run, tables

USUAL, LENIENT = VerificationSettings(), VerificationSettings(entailment_accept=0.4)
JUDGING = JudgingSettings()
ALONE, BOTH = Models(verifier=False, judge=False), Models(verifier=True, judge=True)
OPEN: dict[str, Any] = {"unproved": ["x"], "entailment": 0.5}

share = st.floats(0, 1)
scores = st.fixed_dictionaries(
    {
        "similarity": share,
        "token_recall": share,
        "unproved": st.sampled_from([[], ["x"]]),
        "denied": st.sampled_from([[], ["number_mismatch: x"]]),
        "scope_differs": st.booleans(),
        "entailment": st.none() | share,
        "contradiction": st.none() | share,
        "entailment_model": st.just("reader"),
        "citation_status": st.sampled_from(["resolved", "resolved", "uncited"]),
    }
)
batches = st.lists(st.lists(scores, min_size=1, max_size=3), max_size=5)
refused = st.lists(
    st.fixed_dictionaries({"similarity": st.none() | share, "token_recall": st.none() | share}), max_size=3
)
words = st.lists(st.sampled_from(["accept", "reject", "unsure", "not_json"]), min_size=15, max_size=15)
readable = st.lists(st.sampled_from(["accept", "reject", "unsure"]), min_size=15, max_size=15)
verifications = st.builds(
    VerificationSettings,
    entailment_accept=st.none() | share,
    entailment_contradict=st.none() | st.floats(0.5, 1),
    policy=st.sampled_from(["cascade", "cascade", "similarity_only"]),
    unsure=st.sampled_from(["unsupported", "undecided"]),
    accept_grounding=st.floats(0.1, 1),
    refusal_recall_none=share,
)
canary_scores = st.lists(share, max_size=6)
judgings = st.builds(
    JudgingSettings,
    max_canary_accepts=share,
    weight_source=st.floats(0.1, 1),
    threshold=share,
    floor_correctness=share,
    accept_unjudged=st.booleans(),
)


def anew(
    frames: Frames, verification: VerificationSettings, models: Models, judging: JudgingSettings = JUDGING
) -> Redecided:
    return redecide(frames, verification, judging, models)


def same(found: Redecided, frames: Frames) -> bool:
    return all(
        frame_hash(getattr(found, name)) == frame_hash(frames[name])
        for name in ("claim_verdicts", "refusals", "verdicts")
    )


@given(
    batches,
    refused,
    words,
    verifications,
    judgings,
    st.booleans(),
    st.booleans(),
    canary_scores,
)
def test_the_settings_of_the_run_give_the_stored_tables_to_the_byte(
    drawn: Rows,
    refusals: list[dict[str, Any]],
    said: list[str],
    verification: VerificationSettings,
    judging: JudgingSettings,
    verifies: bool,
    judges: bool,
    canaries: list[float],
) -> None:
    made = tables(drawn, refusals)
    replies = dict(zip(made["claims"]["claim_id"], said, strict=False))
    frames = run(
        made,
        verification,
        judging,
        verifier=replies if verifies else None,
        judge=defaultdict(lambda: 0.8) if judges else None,
        canaries=canaries if judges else (),
    )

    found = anew(frames, verification, Models(verifies, judges), judging)

    assert same(found, frames)
    assert (len(found.open_claims), len(found.unjudged_pairs), len(found.open_pairs)) == (0, 0, 0)


@given(batches, refused, verifications, verifications, judgings, judgings)
def test_where_no_model_is_asked_it_equals_a_run_with_the_other_settings(
    drawn: Rows,
    refusals: list[dict[str, Any]],
    before: VerificationSettings,
    after: VerificationSettings,
    judged: JudgingSettings,
    other: JudgingSettings,
) -> None:
    made = tables(drawn, refusals)

    found = anew(run(made, before, judged), after, ALONE, other)

    assert same(found, run(made, after, other))


@given(batches, readable, verifications, verifications)
def test_where_every_reply_is_stored_it_equals_a_run_with_the_models(
    drawn: Rows, said: list[str], before: VerificationSettings, after: VerificationSettings
) -> None:
    made = tables(drawn)
    replies = dict(zip(made["claims"]["claim_id"], said, strict=False))
    models: dict[str, Any] = {"verifier": replies, "judge": defaultdict(lambda: 0.9)}

    found = anew(run(made, before, JUDGING, **models), after, BOTH)

    real = run(made, after, JUDGING, **models)
    if not len(found.open_claims) and not len(found.unjudged_pairs):
        assert same(found, real)
    settled = ~found.verdicts["pair_id"].is_in(found.open_pairs.to_list())
    assert found.verdicts.filter(settled)["verdict"].equals(real["verdicts"].filter(settled)["verdict"])


@given(canary_scores, judgings, judgings)
def test_a_judge_is_trusted_anew_by_other_limits(
    canaries: list[float], before: JudgingSettings, after: JudgingSettings
) -> None:
    made, judge = tables([[{}], [{}]]), defaultdict[str, float](lambda: 0.9)

    found = anew(run(made, USUAL, before, judge=judge, canaries=canaries), USUAL, BOTH, after)

    assert same(found, run(made, USUAL, after, judge=judge, canaries=canaries))


def test_a_laxer_floor_can_cost_a_judge_its_trust() -> None:
    judge: dict[str, float] = defaultdict(lambda: 0.9)
    frames = run(tables([[{}]]), USUAL, JUDGING, judge=judge, canaries=[0.6] * 6)
    assert frames["verdicts"]["reason"].to_list() == ["passed"]

    laxer = JudgingSettings(floor_correctness=0.5)

    found = anew(frames, USUAL, BOTH, laxer.model_copy(update={"threshold": 0.5}))
    assert found.verdicts["reason"].to_list() == ["judge_not_trusted"]


def test_a_reply_speaks_for_a_claim_that_is_open_still_and_not_for_one_decided_now() -> None:
    frames = run(tables([[OPEN]]), USUAL, JUDGING, verifier={"0-0": "reject"})

    still = anew(frames, VerificationSettings(entailment_accept=0.8), BOTH).claim_verdicts
    decided = anew(frames, LENIENT, BOTH).claim_verdicts

    assert still.select("verdict", "decided_by", "model").row(0) == ("unsupported", "llm", "m")
    assert decided.select("verdict", "decided_by", "model").row(0) == ("supported", "entailment", None)


@pytest.mark.parametrize("word", ["accept", "reject", "unsure", "not_json"])
def test_replies_come_back_as_they_were_given(word: str) -> None:
    frames = run(tables([[OPEN]]), USUAL, JUDGING, verifier={"0-0": word})
    reply = stored_replies(frames["claim_verdicts"]).row(0, named=True)
    assert (reply["decision"] or reply["reason"]) == word


def test_what_only_a_model_could_tell_is_counted() -> None:
    judge: dict[str, float] = defaultdict(lambda: 0.9)
    made = tables([[OPEN | {"entailment": 0.6}], [OPEN | {"entailment": 0.4}], [{}]])
    middle = VerificationSettings(entailment_accept=0.5)
    frames = run(made, middle, JUDGING, verifier={"1-0": "reject"}, judge=judge)

    stricter = anew(frames, USUAL, BOTH)
    laxer = anew(frames, VerificationSettings(entailment_accept=0.3), BOTH)

    assert stricter.open_claims.to_list() == ["0-0"]
    assert stricter.open_pairs.to_list() == ["pair-0"]
    assert laxer.unjudged_pairs.to_list() == ["pair-1"]
    moved = add_up([compare(frames, laxer)])
    assert moved["moved_pairs"].select("old", "new", "count").rows() == [("rejected", NEEDS_MODEL, 1)]
    assert anew(frames, USUAL, ALONE).open_pairs.is_empty()


def test_every_row_is_counted_on_both_sides() -> None:
    made = tables(
        [[OPEN], [{}], [{"unproved": ["x"], "denied": ["number_mismatch: 5"]}]], [{"token_recall": 0.0}]
    )
    frames = run(made, USUAL, JUDGING)

    steps = add_up([compare(frames, anew(frames, LENIENT, ALONE))] * 2)["yield"]

    for stage in ("claims", "refusals", "verdicts"):
        of_stage = steps.filter(steps["stage"] == stage)
        for side in ("old", "new"):
            assert of_stage[side][0] * 2 == of_stage[side].sum()
    assert steps.filter(steps["old"] != steps["new"]).height
