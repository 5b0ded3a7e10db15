import doctest
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.tables import CLAIMS
from qa_pipeline.verification import deciding
from qa_pipeline.verification.deciding import REPLIES, borderline, decide_claims
from qa_pipeline_tests.verification.rows import pair, pairs

SETTINGS = VerificationSettings()
SIMPLE = VerificationSettings(policy="similarity_only")
ONE_PAIR = pairs(pair("An answer.", cites="a.md"))
CONFLICTS = (
    "number_conflicts",
    "date_conflicts",
    "name_conflicts",
    "polarity_conflicts",
    "quantifier_conflicts",
)


def claim(place: int = 0, **fields: Any) -> dict[str, Any]:
    """A claim with evidence that says the same in other words."""
    return {
        "claim_id": f"claim-{place}",
        "pair_id": "pair-0",
        "batch": "b",
        "position": place,
        "text": "The pump is loud.",
        "start": 0,
        "end": 17,
        "fragment": False,
        "citation_status": "resolved",
        "evidence_document_id": "doc",
        "evidence_quote": "Loud is the pump.",
        "verbatim": False,
        "similarity": 0.9,
        "chunk_similarity": 0.9,
        "uncited_similarity": 0.1,
        "uncited_recall": 0.1,
        "token_recall": 1.0,
        "wording_recall": 1.0,
        "question_recall": 1.0,
        "order_agreement": 1.0,
        "evidence_sentences": 1,
        "open_points": [],
        **{column: [] for column in CONFLICTS},
        **fields,
    }


def decided(*rows: dict[str, Any], settings: VerificationSettings = SETTINGS) -> list[tuple[Any, ...]]:
    verdicts = decide_claims(CLAIMS.frame(list(rows)), ONE_PAIR, settings)
    return verdicts.select("verdict", "decided_by", "reason").rows()


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({}, ("supported", "consistency", None)),
        ({"verbatim": True}, ("supported", "verbatim", None)),
        ({"verbatim": True, "similarity": 0.1}, ("supported", "verbatim", None)),
        (
            {"citation_status": "unresolved", "citation_reason": "fabricated_citation"},
            ("unsupported", "citation", "fabricated_citation"),
        ),
        (
            {"citation_status": "unresolved", "citation_reason": "unknown_number", "verbatim": True},
            ("unsupported", "citation", "unknown_number"),
        ),
        (
            {"citation_status": "unresolved", "citation_reason": "ambiguous_citation"},
            ("undecided", "citation", "ambiguous_citation"),
        ),
        (
            {"citation_status": "unresolved", "citation_reason": "cited_document_without_text"},
            ("failed", "citation", "cited_document_without_text"),
        ),
        ({"citation_status": "quote_not_found"}, ("unsupported", "citation", "quote_not_found")),
        ({"citation_status": "uncited"}, ("unsupported", "citation", "uncited")),
        ({"citation_status": "quote_repaired"}, ("supported", "consistency", None)),
        ({"evidence_quote": None}, ("failed", "no_step", "no_evidence_text")),
        ({"number_conflicts": ["5"]}, ("contradicted", "consistency", "number_mismatch")),
        ({"date_conflicts": ["1987"]}, ("contradicted", "consistency", "date_mismatch")),
        ({"name_conflicts": ["Lund"]}, ("contradicted", "consistency", "name_mismatch")),
        ({"polarity_conflicts": ["not"]}, ("contradicted", "consistency", "negation_mismatch")),
        ({"quantifier_conflicts": ["all"]}, ("contradicted", "consistency", "quantifier_mismatch")),
        (
            {"number_conflicts": ["5"], "wording_recall": 0.2},
            ("undecided", "no_step", "undecided_without_model"),
        ),
        (
            {"number_conflicts": ["5"], "evidence_sentences": 2, "wording_recall": 0.8},
            ("undecided", "no_step", "undecided_without_model"),
        ),
        ({"open_points": ["only"]}, ("undecided", "no_step", "undecided_without_model")),
        ({"open_points": ["only"], "verbatim": True}, ("undecided", "no_step", "undecided_without_model")),
        ({"token_recall": 0.5}, ("undecided", "no_step", "undecided_without_model")),
        ({"evidence_sentences": 2}, ("undecided", "no_step", "undecided_without_model")),
        ({"order_agreement": 0.5}, ("undecided", "no_step", "undecided_without_model")),
        ({"order_agreement": None}, ("supported", "consistency", None)),
        ({"similarity": 0.0, "token_recall": 0.0}, ("unsupported", "similarity", "dissimilar")),
        ({"similarity": 0.0, "token_recall": 0.9}, ("undecided", "no_step", "undecided_without_model")),
        (
            {"similarity": 0.4, "token_recall": 0.2, "uncited_similarity": 0.9, "uncited_recall": 1.0},
            ("unsupported", "similarity", "wrong_citation"),
        ),
        ({"fragment": True}, ("supported", "consistency", None)),
        ({"fragment": True, "question_recall": 0.3}, ("undecided", "no_step", "undecided_without_model")),
        ({"fragment": True, "question_recall": 0.7}, ("undecided", "no_step", "undecided_without_model")),
        (
            {"fragment": True, "question_recall": 0.7, "evidence_is_row": True},
            ("supported", "consistency", None),
        ),
        ({"fragment": True, "question_recall": None}, ("undecided", "no_step", "undecided_without_model")),
    ],
)
def test_the_first_rule_that_applies_decides(fields: dict[str, Any], outcome: tuple[Any, ...]) -> None:
    assert decided(claim(**fields)) == [outcome]


def test_a_swap_is_rejected_whatever_its_cosine() -> None:
    assert decided(claim(similarity=0.99, number_conflicts=["30 instead of 40"])) == [
        ("contradicted", "consistency", "number_mismatch")
    ]


def test_every_verdict_names_its_thresholds() -> None:
    verdicts = decide_claims(CLAIMS.frame([claim()]), ONE_PAIR, SETTINGS)

    assert verdicts["thresholds_id"].to_list() == [SETTINGS.thresholds_id]


def test_a_claim_of_an_unknown_pair_is_left_out_and_no_claims_give_no_verdicts() -> None:
    assert decided(claim(pair_id="other")) == []
    assert decided() == []


scores = st.floats(0, 1)
random_claims = st.fixed_dictionaries(
    {
        "similarity": scores,
        "token_recall": scores,
        "wording_recall": scores,
        "order_agreement": st.none() | scores,
        "uncited_similarity": st.none() | scores,
        "uncited_recall": st.none() | scores,
        "chunk_similarity": scores,
        "evidence_sentences": st.integers(1, 3),
        "verbatim": st.booleans(),
        "fragment": st.booleans(),
        "open_points": st.sampled_from([[], ["x"]]),
        "number_conflicts": st.sampled_from([[], ["x"]]),
        "citation_status": st.sampled_from(["resolved", "quote_repaired", "uncited", "quote_not_found"]),
    }
)


def frame_of(drawn: list[dict[str, Any]]) -> pl.DataFrame:
    return CLAIMS.frame([claim(place, **fields) for place, fields in enumerate(drawn)])


@given(st.lists(random_claims, max_size=8), st.sampled_from([SETTINGS, SIMPLE]))
def test_deciding_is_pure_and_gives_each_claim_one_verdict(
    drawn: list[dict[str, Any]], settings: VerificationSettings
) -> None:
    claims = frame_of(drawn)
    before = claims.clone()

    first, second = decide_claims(claims, ONE_PAIR, settings), decide_claims(claims, ONE_PAIR, settings)

    assert first.equals(second)
    assert claims.equals(before)
    assert first["claim_id"].to_list() == claims["claim_id"].to_list()


@given(
    st.lists(random_claims, max_size=8),
    st.sampled_from(["similarity_reject", "accept_similarity", "recall_accept"]),
    scores,
    scores,
)
def test_a_higher_threshold_never_supports_more(
    drawn: list[dict[str, Any]], name: str, one: float, other: float
) -> None:
    low, high = (VerificationSettings(**{name: value}) for value in sorted((one, other)))
    claims = frame_of(drawn)

    def supported(settings: VerificationSettings) -> set[str]:
        verdicts = decide_claims(claims, ONE_PAIR, settings)
        return set(verdicts.filter(pl.col("verdict") == "supported")["claim_id"])

    assert supported(high) <= supported(low)


@given(st.lists(random_claims, max_size=8))
def test_a_conflict_or_an_open_point_is_never_supported(drawn: list[dict[str, Any]]) -> None:
    verdicts = decide_claims(frame_of(drawn), ONE_PAIR, SETTINGS)["verdict"]

    for fields, verdict in zip(drawn, verdicts, strict=True):
        assert not (verdict == "supported" and (fields["open_points"] or fields["number_conflicts"]))


@pytest.mark.parametrize(
    ("similarities", "outcome"),
    [
        ([0.9, 0.6], ("supported", "similarity_only", None)),
        ([0.75], ("supported", "similarity_only", None)),
        ([0.9, 0.3], ("undecided", "no_step", "undecided_without_model")),
        ([0.5], ("undecided", "no_step", "undecided_without_model")),
        ([0.4, 0.3], ("unsupported", "similarity_only", "dissimilar")),
    ],
)
def test_similarity_only_goes_by_the_mean_of_the_pair(
    similarities: list[float], outcome: tuple[Any, ...]
) -> None:
    rows = [
        claim(place, chunk_similarity=value, number_conflicts=["5"])
        for place, value in enumerate(similarities)
    ]

    assert decided(*rows, settings=SIMPLE) == [outcome] * len(rows)


def test_similarity_only_still_needs_a_citation() -> None:
    rows = [claim(0), claim(1, citation_status="uncited", chunk_similarity=None)]

    assert decided(*rows, settings=SIMPLE) == [
        ("supported", "similarity_only", None),
        ("unsupported", "citation", "uncited"),
    ]


def replies(**said: Any) -> pl.DataFrame:
    return pl.DataFrame([{"claim_id": "claim-0", "model": "m", "prompt_hash": "h", **said}], schema=REPLIES)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({"decision": "accept"}, ("supported", "llm", None)),
        ({"decision": "reject"}, ("unsupported", "llm", "llm_rejected")),
        ({"decision": "unsure"}, ("unsupported", "llm", "llm_unsure")),
        ({"reason": "not_json", "detail": "not_json: oops"}, ("failed", "llm", "not_json")),
    ],
)
def test_a_model_decides_what_is_borderline(said: dict[str, Any], outcome: tuple[Any, ...]) -> None:
    claims = CLAIMS.frame([claim(token_recall=0.5)])

    verdict = decide_claims(claims, ONE_PAIR, SETTINGS, replies(**said))

    assert verdict.select("verdict", "decided_by", "reason").row(0) == outcome
    assert verdict.select("model", "prompt_hash").row(0) == ("m", "h")


def test_a_model_has_no_say_in_what_is_decided() -> None:
    claims = CLAIMS.frame([claim(number_conflicts=["5"])])

    verdict = decide_claims(claims, ONE_PAIR, SETTINGS, replies(decision="accept"))

    assert verdict.select("verdict", "model").row(0) == ("contradicted", None)


def test_unsure_may_stay_undecided() -> None:
    lenient = VerificationSettings(unsure="undecided")

    verdict = decide_claims(
        CLAIMS.frame([claim(token_recall=0.5)]), ONE_PAIR, lenient, replies(decision="unsure")
    )

    assert verdict.select("verdict", "reason").row(0) == ("undecided", "llm_unsure")


def test_borderline_is_what_the_local_steps_left_open() -> None:
    claims = CLAIMS.frame([claim(0), claim(1, token_recall=0.5), claim(2, citation_status="uncited")])

    left = borderline(claims, decide_claims(claims, ONE_PAIR, SETTINGS))

    assert left["claim_id"].to_list() == ["claim-1"]


def test_the_example_of_the_documentation_holds() -> None:
    results = doctest.testmod(deciding)

    assert (results.failed, results.attempted > 0) == (0, True)
