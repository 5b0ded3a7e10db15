from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.tables import CLAIMS
from qa_pipeline.verification.deciding import REPLIES, borderline, decide_claims
from qa_pipeline_tests.verification.rows import pair, pairs

SETTINGS = VerificationSettings()
SIMPLE = VerificationSettings(policy="similarity_only")
ONE_PAIR = pairs(pair("An answer.", cites="a.md"))


def claim(place: int = 0, **fields: Any) -> dict[str, Any]:
    """A claim with evidence that neither proves nor denies it."""
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
        "similarity": 0.9,
        "token_recall": 1.0,
        "proved_by": None,
        "denied": [],
        "scope_differs": False,
        **fields,
    }


def decided(*rows: dict[str, Any], settings: VerificationSettings = SETTINGS) -> list[tuple[Any, ...]]:
    verdicts = decide_claims(CLAIMS.frame(list(rows)), ONE_PAIR, settings)
    return verdicts.select("verdict", "decided_by", "reason").rows()


OPEN = ("undecided", "no_step", "undecided_without_model")
PROVED = ("supported", "quotation", None)


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({}, OPEN),
        ({"proved_by": "quotation"}, PROVED),
        (
            {"citation_status": "unresolved", "citation_reason": "fabricated_citation"},
            ("unsupported", "citation", "fabricated_citation"),
        ),
        (
            {"citation_status": "unresolved", "citation_reason": "unknown_number", "proved_by": "quotation"},
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
        ({"evidence_quote": None}, ("failed", "no_step", "no_evidence_text")),
        ({"denied": ["number_mismatch: 5"]}, ("contradicted", "quotation", "number_mismatch")),
        (
            {"denied": ["number_mismatch: 5"], "evidence_doubt": "order"},
            ("contradicted", "quotation", "number_mismatch"),
        ),
        ({"evidence_doubt": "order"}, OPEN),
        ({"denied": ["date_mismatch: 1", "x_mismatch: 2"]}, ("contradicted", "quotation", "date_mismatch")),
        ({"fragment": True, "proved_by": "quotation"}, PROVED),
    ],
)
def test_the_first_rule_that_applies_decides(fields: dict[str, Any], outcome: tuple[Any, ...]) -> None:
    assert decided(claim(**fields)) == [outcome]


scores = st.floats(0, 1)
random_claims = st.fixed_dictionaries(
    {
        "similarity": scores,
        "token_recall": scores,
        "fragment": st.booleans(),
        "proved_by": st.none() | st.just("quotation"),
        "denied": st.sampled_from([[], ["number_mismatch: x"]]),
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


@given(st.lists(random_claims, max_size=8))
def test_only_a_claim_of_which_everything_is_proved_is_accepted(drawn: list[dict[str, Any]]) -> None:
    verdicts = decide_claims(frame_of(drawn), ONE_PAIR, SETTINGS)["verdict"]
    for fields, verdict in zip(drawn, verdicts, strict=True):
        cited = fields["citation_status"] in ("resolved", "quote_repaired")
        assert (verdict == "supported") == (cited and fields["proved_by"] is not None)


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
        claim(place, similarity=value, denied=["number_mismatch: 5"])
        for place, value in enumerate(similarities)
    ]
    uncited = claim(9, similarity=None, citation_status="uncited")
    others = [("unsupported", "citation", "uncited")]
    assert decided(*rows, uncited, settings=SIMPLE) == [outcome] * len(rows) + others


def replies(**said: Any) -> pl.DataFrame:
    return pl.DataFrame([{"claim_id": "claim-0", "model": "m", "prompt_hash": "h", **said}], schema=REPLIES)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({"decision": "accept"}, ("supported", "llm", None)),
        ({"decision": "accept", "reason": "no_quote"}, ("undecided", "llm", "no_quote")),
        ({"decision": "reject"}, ("unsupported", "llm", "llm_rejected")),
        ({"decision": "unsure"}, ("unsupported", "llm", "llm_unsure")),
        ({"reason": "not_json", "detail": "not_json: oops"}, ("failed", "llm", "not_json")),
    ],
)
def test_a_model_decides_what_is_borderline_and_nothing_else(
    said: dict[str, Any], outcome: tuple[Any, ...]
) -> None:
    claims = CLAIMS.frame([claim(), claim(1, denied=["number_mismatch: 5"]), claim(2)])
    both = pl.concat([replies(**said), replies(**said).with_columns(claim_id=pl.lit("claim-1"))])
    asked, decided_before, unasked = decide_claims(claims, ONE_PAIR, SETTINGS, both).iter_rows(named=True)
    names = ("verdict", "decided_by", "reason", "model", "prompt_hash")
    assert [asked[name] for name in names] == [*outcome, "m", "h"]
    assert (decided_before["verdict"], decided_before["model"]) == ("contradicted", None)
    assert (unasked["verdict"], unasked["reason"]) == ("undecided", "undecided_without_model")


def test_borderline_is_what_the_local_steps_left_open() -> None:
    claims = CLAIMS.frame([claim(0, proved_by="quotation"), claim(1), claim(2, citation_status="uncited")])
    left = borderline(claims, decide_claims(claims, ONE_PAIR, SETTINGS))
    assert left["claim_id"].to_list() == ["claim-1"]


@pytest.mark.parametrize("settings", [SETTINGS, SIMPLE])
def test_nothing_is_accepted_by_evidence_in_doubt(settings: VerificationSettings) -> None:
    doubted = claim(proved_by="quotation", entailment=0.99, evidence_doubt="table")
    verdict, _, reason = decided(doubted, settings=settings)[0]
    assert (verdict, reason) == ("undecided", "evidence_in_doubt")
