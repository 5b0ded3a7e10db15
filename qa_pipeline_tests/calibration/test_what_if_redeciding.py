from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.calibration.what_if import (
    decide_again,
)
from qa_pipeline.settings.verification import JudgingSettings, VerificationSettings
from qa_pipeline.storage.parquet import frame_hash
from qa_pipeline_tests.calibration.stored import Frames, Rows, run, tables
from qa_pipeline_tests.settings.artefacts import thresholds, written
from qa_pipeline_tests.verification.canary_rows import joined, judged

FOLDER = TemporaryDirectory()


def accepting(accept: float, contradict: float | None = None) -> VerificationSettings:
    """Settings whose file accepts from an entailment on."""
    folder = Path(FOLDER.name) / f"{accept}-{contradict}"
    artefact = thresholds(entailment={"accept": accept, "contradict": contradict})
    return VerificationSettings(thresholds=written(folder, artefact))


USUAL, LENIENT = VerificationSettings(), accepting(0.4)
JUDGING = JudgingSettings()
OPEN: dict[str, Any] = {"entailment": 0.5, "entailment_model": "reader", "proved_by": None}

share = st.floats(0, 1)
scores = st.fixed_dictionaries(
    {
        "similarity": share,
        "token_recall": share,
        "proved_by": st.sampled_from(["quotation", None]),
        "denied": st.sampled_from([[], ["number_mismatch: x"]]),
        "scope_differs": st.booleans(),
        "entailment": st.none() | share,
        "contradiction": st.none() | share,
        "entailment_model": st.just("reader"),
        "citation_status": st.sampled_from(["resolved", "resolved", "uncited"]),
    }
)
batches = st.lists(st.lists(scores, min_size=1, max_size=3), max_size=5)
refused = st.lists(st.sampled_from(["correct_refusal", "refused_answerable", "unproved_refusal"]), max_size=3)
words = st.lists(st.sampled_from(["accept", "reject", "unsure", "not_json"]), min_size=15, max_size=15)
verifications = st.builds(
    VerificationSettings,
    thresholds=st.sampled_from([None, LENIENT.thresholds, accepting(0.7, 0.6).thresholds]),
    policy=st.sampled_from(["cascade", "cascade", "similarity_only"]),
    accept_grounding=st.floats(0.1, 1),
)
seeded = st.sampled_from([joined(foreign=["accepted"] * 9), judged(cut=["accepted"] * 6), None])
judgings = st.builds(
    JudgingSettings,
    weight_source=st.floats(0.1, 1),
    threshold=share,
    floor_correctness=share,
    accept_unjudged=st.booleans(),
)


Decided = tuple[pl.DataFrame, pl.DataFrame]


def anew(frames: Frames, verification: VerificationSettings, judging: JudgingSettings = JUDGING) -> Decided:
    return decide_again(frames, verification, judging)


def same(found: Decided, frames: Frames) -> bool:
    stored = (frames["claim_verdicts"], frames["verdicts"])
    return all(frame_hash(new) == frame_hash(old) for new, old in zip(found, stored, strict=True))


@given(
    batches,
    refused,
    words,
    verifications,
    judgings,
    st.booleans(),
    st.booleans(),
    seeded,
)
def test_the_settings_of_the_run_give_the_stored_tables_to_the_byte(
    drawn: Rows,
    refusals: list[str],
    said: list[str],
    verification: VerificationSettings,
    judging: JudgingSettings,
    verifies: bool,
    judges: bool,
    canaries: pl.DataFrame | None,
) -> None:
    made = tables(drawn, refusals)
    replies = dict(zip(made["claims"]["claim_id"], said, strict=False))
    frames = run(
        made,
        verification,
        judging,
        verifier=replies if verifies else None,
        judge=defaultdict(lambda: 0.8) if judges else None,
        canaries=canaries,
    )

    assert same(anew(frames, verification, judging), frames)


@given(batches, refused, verifications, verifications, judgings, judgings)
def test_where_no_model_is_asked_it_equals_a_run_with_the_other_settings(
    drawn: Rows,
    refusals: list[str],
    before: VerificationSettings,
    after: VerificationSettings,
    judged: JudgingSettings,
    other: JudgingSettings,
) -> None:
    made = tables(drawn, refusals)

    found = anew(run(made, before, judged), after, other)

    assert same(found, run(made, after, other))


def test_a_reply_speaks_for_a_claim_that_is_open_still_and_not_for_one_decided_now() -> None:
    frames = run(tables([[OPEN]]), USUAL, JUDGING, verifier={"0-0": "reject"})

    still = anew(frames, accepting(0.8))[0]
    decided = anew(frames, LENIENT)[0]

    assert still.select("verdict", "decided_by", "model").row(0) == ("unsupported", "llm", "m")
    assert decided.select("verdict", "decided_by", "model").row(0) == ("supported", "entailment", None)


def test_a_pair_that_passes_now_and_was_never_judged_says_so() -> None:
    judge: dict[str, float] = defaultdict(lambda: 0.9)
    made = tables([[OPEN | {"entailment": 0.4}], [{}]])
    frames = run(made, USUAL, JUDGING, verifier={"0-0": "reject"}, judge=judge)

    _, verdicts = anew(frames, accepting(0.3))

    assert verdicts["reason"].to_list() == ["judge_not_asked", "passed"]
