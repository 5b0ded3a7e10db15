"""Every pair gets exactly one verdict, whatever the frames hold, each for the reason it should."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.curation.ledger import SCORES as JUDGE_SCORES
from qa_pipeline.curation.ledger import build_verdicts, judged_verdicts
from qa_pipeline.settings.verification import JudgingSettings, VerificationSettings
from qa_pipeline.storage.tables import CANARIES, ROUND_TRIPS
from qa_pipeline_tests.curation.rows import (
    Row,
    assessment,
    assessments,
    claim,
    claim_verdict,
    claim_verdicts,
    claims,
    decision,
    decisions,
    pair,
    pairs,
    refusal,
    refusals,
)
from qa_pipeline_tests.verification.canary_rows import joined, judged

WORDS = {"accepted", "rejected", "needs_review", "failed"}
IDS = st.sampled_from(["p0", "p1", "p2", "p3", "stranger"])
SCORES = st.none() | st.sampled_from([0.0, 0.4, 0.7, 1.0, -1.0, float("nan"), float("inf")])
CLAIM_WORDS = st.sampled_from(["supported", "contradicted", "unsupported", "undecided", "failed", "odd"])


def pair_rows() -> st.SearchStrategy[list[Row]]:
    values = st.fixed_dictionaries(
        {
            "question": st.sampled_from(["When?", "when", "Who?", None]),
            "answer": st.sampled_from(["At nine.", "at nine", "Ann.", None]),
            "coverage": st.sampled_from(["full", "partial", "none", "odd", None]),
            "status": st.sampled_from(["drafted", "drafted", "drafted", "failed"]),
            "reason": st.sampled_from([None, "not_json"]),
            "expected_verdict": st.sampled_from([None, None, "accepted", "rejected"]),
        }
    )
    rows = st.lists(values, max_size=4)
    return rows.map(lambda found: [pair(f"p{n}", **row) for n, row in enumerate(found)])


CLAIM_ROWS = st.lists(
    st.tuples(IDS, st.integers(0, 2), st.none() | CLAIM_WORDS), max_size=9, unique_by=lambda one: one[:2]
)
ASSESSMENT_ROWS = st.lists(
    st.tuples(IDS, st.sampled_from(["judged", "judged", "not_judged", "failed", "odd"]), SCORES, SCORES),
    max_size=5,
    unique_by=lambda one: one[0],
)
REFUSAL_ROWS = st.lists(
    st.tuples(IDS, st.sampled_from(["correct_refusal", "refused_answerable", "unproved_refusal", "odd"])),
    max_size=5,
    unique_by=lambda one: one[0],
)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, pl.DataFrame]:
    made = draw(CLAIM_ROWS)
    return {
        "pairs": pairs(*draw(pair_rows())),
        "claims": claims(*(claim(pair_id, n) for pair_id, n, _ in made)),
        "claim_verdicts": claim_verdicts(*(claim_verdict(i, word, n) for i, n, word in made if word)),
        "assessments": assessments(
            *(assessment(i, s, status=status, relevance=r) for i, status, s, r in draw(ASSESSMENT_ROWS))
        ),
        "refusals": refusals(*(refusal(*one) for one in draw(REFUSAL_ROWS))),
    }


def settle(frames: dict[str, pl.DataFrame], accept: float = 1.0, **judging: Any) -> pl.DataFrame:
    made = {
        "decisions": decisions(),
        "round_trips": ROUND_TRIPS.empty(),
        "canaries": CANARIES.empty(),
        **frames,
    }
    return build_verdicts(
        **made,
        verification=VerificationSettings(accept_grounding=accept),
        judging=JudgingSettings(**judging),
    )


@given(frames=tables(), accept=st.sampled_from([0.5, 1.0]), unjudged=st.booleans())
def test_every_pair_gets_exactly_one_known_verdict_in_the_order_of_pairs(
    frames: dict[str, pl.DataFrame], accept: float, unjudged: bool
) -> None:
    verdicts = settle(frames, accept, accept_unjudged=unjudged)
    assert verdicts["pair_id"].to_list() == frames["pairs"]["pair_id"].to_list()
    assert set(verdicts["verdict"]) <= WORDS
    assert verdicts["reason"].null_count() == 0
    counts = verdicts["verdict"].value_counts()["count"].sum() if verdicts.height else 0
    assert counts == frames["pairs"].height


@given(frames=tables(), unjudged=st.booleans())
def test_accepted_means_every_claim_supported_or_a_proved_refusal(
    frames: dict[str, pl.DataFrame], unjudged: bool
) -> None:
    accepted = settle(frames, accept_unjudged=unjudged).filter(pl.col("verdict") == "accepted")
    refused = pl.col("reason") == "correct_refusal"
    proved = (pl.col("claims") > 0) & (pl.col("supported_claims") == pl.col("claims"))
    assert accepted.filter(~refused & ~proved).height == 0
    assert accepted.filter(~refused & (pl.col("unsupported_spans").list.len() > 0)).height == 0
    assert set(accepted["stage"]) <= {"accepted"}


@given(frames=tables(), seed=st.integers(0, 9))
def test_row_order_changes_no_verdict(frames: dict[str, pl.DataFrame], seed: int) -> None:
    mixed = {name: frame.sample(fraction=1.0, shuffle=True, seed=seed) for name, frame in frames.items()}
    one, other = settle(frames), settle(mixed)
    assert one.sort("pair_id").equals(other.sort("pair_id"))


@given(frames=tables())
def test_known_answer_pairs_change_no_other_verdict(frames: dict[str, pl.DataFrame]) -> None:
    known = pl.col("expected_verdict").is_not_null()
    alone = {**frames, "pairs": frames["pairs"].filter(~known)}
    assert settle(frames).filter(~known).equals(settle(alone))


def one(
    words: list[str],
    *,
    values: Row | None = None,
    judged: Row | None = None,
    outcome: str | None = None,
    by_person: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """The verdict of a single pair with these claims."""
    frames = {
        "pairs": pairs(pair("p", **(values or {}))),
        "claims": claims(*(claim("p", n) for n in range(len(words)))),
        "claim_verdicts": claim_verdicts(*(claim_verdict("p", word, n) for n, word in enumerate(words))),
        "assessments": assessments(judged) if judged else assessments(),
        "refusals": refusals(refusal("p", outcome)) if outcome else refusals(),
    }
    if by_person:
        decided = decision("p", pairs=frames["pairs"], claims=frames["claims"])
        frames["decisions"] = decisions(decided)
    return settle(frames, **settings).row(0, named=True)


def ending(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["verdict"], row["stage"], row["reason"]


SCORED = {"question_quality": 0.9, "relevance": 0.9, "correctness": 0.9, "completeness": 0.9}


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ({}, "passed"),
        ({"relevance": 0.49}, "low_relevance"),
        ({"correctness": 0.69}, "low_correctness"),
        ({"completeness": 0.39}, "low_completeness"),
        ({"question_quality": 0.49}, "low_question_quality"),
        ({"relevance": None}, "no_scores"),
        ({"correctness": float("nan")}, "no_scores"),
    ],
)
def test_floors_stand_under_each_dimension(scores: Row, reason: str) -> None:
    row = one(["supported"], judged=assessment("p", **{**SCORED, **scores}))
    verdict = {"passed": "accepted", "no_scores": "failed"}.get(reason, "rejected")
    stage = "accepted" if reason == "passed" else "quality_assessment"
    assert ending(row) == (verdict, stage, reason)
    is_unknown = any(value is None or value != value for value in scores.values())
    assert (row["composite"] is None) == (is_unknown and "question_quality" not in scores)


def test_the_composite_is_the_weighted_mean() -> None:
    row = one(["supported"], judged=assessment("p", relevance=0.5, correctness=0.7, completeness=0.4))
    assert row["composite"] == pytest.approx(0.3 + 0.2 * 0.5 + 0.3 * 0.7 + 0.2 * 0.4)
    low = one(["supported"], judged=assessment("p", **SCORED), threshold=0.95)
    assert ending(low) == ("rejected", "quality_assessment", "low_composite")
    assert "0.93" in low["detail"]
    assert one(["supported"], judged=assessment("p", None, status="not_judged"))["composite"] is None


NOT_JUDGED = assessment("p", None, status="not_judged", judge=None)
GOOD = ["supported"]


@pytest.mark.parametrize(
    ("words", "given", "expected"),
    [
        ([], {}, ("failed", "source_verification", "no_claims")),
        (["supported", "failed"], {}, ("failed", "source_verification", "failed")),
        (["supported", "unsupported"], {}, ("rejected", "source_verification", "unsupported")),
        (["unsupported", "contradicted"], {}, ("rejected", "source_verification", "contradicted")),
        (["supported", "undecided"], {}, ("needs_review", "source_verification", "undecided_without_model")),
        (GOOD, {}, ("failed", "quality_assessment", "no_assessment")),
        (GOOD, {"judged": NOT_JUDGED}, ("needs_review", "quality_assessment", "not_judged")),
        (GOOD, {"judged": NOT_JUDGED, "accept_unjudged": True}, ("accepted", "accepted", "unjudged")),
        (GOOD, {"by_person": True}, ("accepted", "person", "person_accepted")),
        (
            ["undecided"],
            {"by_person": True},
            ("needs_review", "source_verification", "undecided_without_model"),
        ),
        (["unsupported"], {"by_person": True}, ("rejected", "source_verification", "unsupported")),
        (
            GOOD,
            {"judged": assessment("p", 0.9, reason="injection_in_source")},
            ("needs_review", "quality_assessment", "injection_in_source"),
        ),
        (
            GOOD,
            {"judged": assessment("p", 0.1, reason="injection_in_source")},
            ("rejected", "quality_assessment", "low_relevance"),
        ),
    ],
)
def test_what_is_known_of_a_pair_decides(
    words: list[str], given: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    assert ending(one(words, **given)) == expected


@pytest.mark.parametrize(
    ("question_type", "coverage", "outcome", "expected"),
    [
        ("fact_single", "none", "correct_refusal", ("accepted", "correct_refusal")),
        ("fact_single", "none", "refused_answerable", ("rejected", "refused_answerable")),
        ("fact_single", "none", "unproved_refusal", ("needs_review", "unproved_refusal")),
        ("fact_single", "none", None, ("failed", "no_refusal_evidence")),
        ("unanswerable", "none", "correct_refusal", ("accepted", "correct_refusal")),
        ("unanswerable", "full", None, ("rejected", "question_answered")),
        ("false_premise", "full", None, ("accepted", "passed")),
        ("false_premise", "none", "correct_refusal", ("rejected", "premise_not_denied")),
    ],
)
def test_a_refusal_fits_its_question(
    question_type: str, coverage: str, outcome: str | None, expected: tuple[str, str]
) -> None:
    values = {"question_type": question_type, "coverage": coverage}
    row = one(GOOD, values=values, judged=assessment("p"), outcome=outcome)
    assert (row["verdict"], row["reason"]) == expected


CARELESS = judged(other_answer=["accepted"] * 3, cut=["accepted"] * 3)
HONEST = judged(other_answer=["rejected"] * 3, cut=["accepted", "rejected", "rejected"])


def judged_by(canaries: pl.DataFrame, judged: Row, **judging: Any) -> dict[str, Any]:
    frames = {**accepted_pairs(pair("p")), "canaries": canaries, "assessments": assessments(judged)}
    return settle(frames, **judging).row(0, named=True)


def test_a_judge_that_passes_wrong_pairs_judges_nothing() -> None:
    row = judged_by(CARELESS, assessment("p", 1.0), accept_unjudged=True)
    assert ending(row) == ("needs_review", "quality_assessment", "judge_not_trusted")
    assert "6 of 6" in row["detail"]


def test_people_and_verification_decide_without_the_judge() -> None:
    frames = {**accepted_pairs(pair("p"), pair("q")), "canaries": CARELESS}
    words = {"p": "supported", "q": "unsupported"}
    frames["claim_verdicts"] = claim_verdicts(*(claim_verdict(i, word) for i, word in words.items()))
    decided = decision("p", **{name: frames[name] for name in ("pairs", "claims")})
    verdicts = settle({**frames, "decisions": decisions(decided)})
    assert verdicts["reason"].to_list() == ["person_accepted", "unsupported"]


@given(scores=st.lists(st.sampled_from([0.0, 0.45, 0.7, 1.0]), min_size=4, max_size=4))
def test_a_canary_gets_the_verdict_that_a_proved_pair_with_its_scores_gets(scores: list[float]) -> None:
    scored = assessment("p", **dict(zip(JUDGE_SCORES, scores, strict=True)))
    decided = judged_verdicts(assessments(scored), JudgingSettings())["verdict"].item()
    assert decided == judged_by(HONEST, scored)["verdict"]


def verified_by(decided_by: str, word: str, wrong: str, *, accepted: bool = False) -> tuple[str, str, str]:
    """The end of a pair with one claim, by a model that decided twelve wrong claims so."""
    frames = {**accepted_pairs(pair("p")), "canaries": joined(foreign=[wrong] * 12)}
    frames["claim_verdicts"] = claim_verdicts(claim_verdict("p", word, decided_by=decided_by))
    if accepted:
        decided = decision("p", **{name: frames[name] for name in ("pairs", "claims")})
        frames["decisions"] = decisions(decided)
    return ending(settle(frames).row(0, named=True))


@pytest.mark.parametrize("word", ["supported", "unsupported"])
def test_what_a_verifier_that_accepts_wrong_claims_decided_waits_for_a_person(word: str) -> None:
    waits = ("needs_review", "source_verification", "verifier_not_trusted")
    assert verified_by("llm", word, "accepted") == waits
    by_person = ("accepted", "person", "person_accepted")
    assert verified_by("llm", word, "accepted", accepted=True) == (
        by_person if word == "supported" else waits
    )


@pytest.mark.parametrize(
    ("supported", "expected"),
    [
        (1, ("rejected", "source_verification", "unsupported", None)),
        (2, ("rejected", "quality_assessment", "low_grounding", 0.6)),
        (3, ("rejected", "quality_assessment", "low_composite", 0.66)),
        (4, ("accepted", "accepted", "partially_supported", 0.72)),
        (5, ("accepted", "accepted", "passed", 0.78)),
    ],
)
def test_partially_supported_answers_meet_the_floor_of_grounding_and_then_the_composite(
    supported: int, expected: tuple[str, str, str, float | None]
) -> None:
    words = ["supported"] * supported + ["unsupported"] * (5 - supported)
    scores = assessment("p", relevance=0.6, correctness=0.8, completeness=0.6)
    row = one(words, judged=scores, accept=0.4)
    assert (*ending(row), row["composite"]) == expected
    assert len(row["unsupported_spans"]) == 5 - supported
    strict = one(words, judged=scores)
    assert (strict["verdict"] == "accepted") == (supported == 5)


def test_the_share_of_supported_claims_has_an_interval_and_a_level() -> None:
    row = one(["supported", "supported", "supported", "unsupported"])
    assert (row["grounding"], row["support_level"]) == (0.75, "well_supported")
    assert (row["grounding_low"], row["grounding_high"]) == pytest.approx((0.3006, 0.9544), abs=1e-4)
    words = ["supported"] * 2 + ["unsupported"] * 3
    assert one(words)["support_level"] == "partial"
    assert one([*words, "unsupported"])["support_level"] == "weak"


def accepted_pairs(*rows: Row) -> dict[str, pl.DataFrame]:
    """Pairs that a judge accepts, the later the better."""
    ids = [row["pair_id"] for row in rows]
    return {
        "pairs": pairs(*rows),
        "claims": claims(*(claim(i) for i in ids)),
        "claim_verdicts": claim_verdicts(*(claim_verdict(i, "supported") for i in ids)),
        "assessments": assessments(*(assessment(i, 0.80 + n / 100) for n, i in enumerate(ids))),
        "refusals": refusals(),
    }


def test_different_accepted_answers_to_one_question_go_to_a_person() -> None:
    frames = accepted_pairs(
        pair("a", question="When?", answer="At nine."),
        pair("b", question="when", answer="At ten."),
        pair("c", question="Who?", answer="Ann."),
    )
    rows = settle(frames).to_dicts()
    assert [row["reason"] for row in rows] == ["conflicting_answers", "conflicting_answers", "passed"]


@pytest.mark.parametrize(
    ("scores", "kept"), [((0.9, 0.8, 0.8), "a"), ((0.8, 0.9, 0.8), "b"), ((0.9, 0.9, 0.9), "a")]
)
def test_of_several_accepted_drafts_the_best_is_kept_and_the_others_are_its_alternatives(
    scores: tuple[float, ...], kept: str
) -> None:
    ids = "abc"
    frames = {
        "pairs": pairs(
            *(pair(one, question="When?", question_id="q", draft=n) for n, one in enumerate(ids, 1))
        ),
        "claims": claims(*(claim(one) for one in ids)),
        "claim_verdicts": claim_verdicts(*(claim_verdict(one, "supported") for one in ids)),
        "assessments": assessments(*map(assessment, ids, scores)),
        "refusals": refusals(),
    }
    verdicts = settle(frames)
    assert verdicts.filter(pl.col("verdict") == "accepted")["pair_id"].to_list() == [kept]
    others = verdicts.filter(pl.col("pair_id") != kept)
    assert others.select("verdict", "reason", "duplicate_of").unique().rows() == [
        ("rejected", "alternative", kept)
    ]


def test_of_equal_pairs_the_best_stays_and_the_others_name_it() -> None:
    frames = accepted_pairs(
        pair("a", question="When?", answer="At nine."), pair("b", question="when", answer="at nine")
    )
    rows = settle(frames).to_dicts()
    assert [(*ending(row), row["duplicate_of"]) for row in rows] == [
        ("rejected", "deduplication", "duplicate", "b"),
        ("accepted", "accepted", "passed", None),
    ]


def test_threshold_and_floors_of_the_composite_are_those_of_the_specification() -> None:
    made = JudgingSettings()
    assert (made.threshold, made.floor_source, made.floor_relevance) == (0.7, 0.5, 0.5)
    assert (made.floor_correctness, made.floor_completeness) == (0.7, 0.4)
