"""The one place that says how source verification of a pair ended."""

from typing import Any

import pytest

from qa_pipeline.verification.outcomes import (
    fabricated_citations,
    ground_pairs,
    grounded_pairs,
)
from qa_pipeline_tests.curation.rows import claim, claim_verdict, claim_verdicts, claims, pair, pairs


def outcome(*words: str, accept: float = 1.0, **values: Any) -> dict[str, Any]:
    frame = ground_pairs(
        pairs(pair("p", **values)),
        claims(*(claim("p", n) for n in range(len(words)))),
        claim_verdicts(*(claim_verdict("p", word, n) for n, word in enumerate(words))),
        accept_grounding=accept,
    )
    return frame.row(0, named=True)


@pytest.mark.parametrize(
    ("words", "accept", "expected"),
    [
        ([], 1.0, "no_claims"),
        (["supported"], 1.0, "grounded"),
        (["supported", "unsupported"], 1.0, "rejected"),
        (["supported", "undecided"], 1.0, "undecided"),
        (["undecided", "unsupported"], 1.0, "rejected"),
        (["supported", "failed", "contradicted"], 1.0, "failed"),
        (["supported"] * 4 + ["unsupported"], 0.8, "grounded"),
        (["supported"] * 4 + ["undecided"], 0.8, "grounded"),
        (["supported"] * 7 + ["unsupported"] * 93, 0.07, "grounded"),
        (["supported"] * 4 + ["contradicted"], 0.8, "rejected"),
        (["supported"] * 3 + ["undecided", "unsupported"], 0.8, "undecided"),
        (["supported"] * 2 + ["unsupported"], 0.8, "rejected"),
        (["supported", "a word nobody knows"], 1.0, "failed"),
    ],
)
def test_the_share_of_supported_claims_decides(words: list[str], accept: float, expected: str) -> None:
    assert outcome(*words, accept=accept)["outcome"] == expected


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"status": "failed", "reason": "not_json"}, "not_json"),
        ({"status": "failed"}, "draft_failed"),
        ({"question": None}, "no_question"),
        ({"answer": None}, "no_answer"),
        ({"coverage": None}, "no_coverage"),
        ({"coverage": "most"}, "no_coverage"),
    ],
)
def test_a_pair_that_was_not_drafted_stops_with_its_reason(values: dict[str, Any], reason: str) -> None:
    row = outcome("supported", **values)
    assert (row["outcome"], row["reason"]) == ("not_drafted", reason)


def test_a_claim_that_nobody_decided_fails_its_pair() -> None:
    frame = ground_pairs(pairs(pair("p")), claims(claim("p")), claim_verdicts(), accept_grounding=1.0)
    assert frame.select("outcome", "reason").row(0) == ("failed", "no_claim_verdict")


def test_the_worst_claim_gives_the_reason_and_the_first_of_equals_goes_first() -> None:
    frame = ground_pairs(
        pairs(pair("p")),
        claims(*(claim("p", n) for n in range(4))),
        claim_verdicts(
            claim_verdict("p", "unsupported", 0, reason="low_similarity"),
            claim_verdict("p", "contradicted", 2, reason="number_conflict", detail="7 is not 5"),
            claim_verdict("p", "contradicted", 1, reason="polarity_conflict", detail="not"),
            claim_verdict("p", "supported", 3),
        ),
        accept_grounding=1.0,
    )
    assert frame.select("reason", "detail").row(0) == ("polarity_conflict", "not")
    assert frame.select("claims", "supported_claims", "grounding").row(0) == (4, 1, 0.25)


def test_an_undecided_pair_names_its_first_undecided_claim() -> None:
    frame = ground_pairs(
        pairs(pair("p"), pair("q")),
        claims(*(claim("p", n) for n in range(3)), claim("q")),
        claim_verdicts(
            claim_verdict("p", "unsupported", 0, reason="dissimilar"),
            claim_verdict("p", "undecided", 1, reason="ambiguous_citation"),
            claim_verdict("p", "undecided", 2, reason="llm_unsure"),
            claim_verdict("q", "undecided", 0),
        ),
        accept_grounding=0.6,
    )
    assert frame.select("outcome", "reason").rows() == [
        ("undecided", "ambiguous_citation"),
        ("undecided", "undecided_without_model"),
    ]


CITATION = {"raw": "x.md", "document_id": None, "chunk_id": None, "quote": None}


@pytest.mark.parametrize("resolution", ["unknown_document", "unknown_number", "unknown_passage"])
@pytest.mark.parametrize("coverage", ["full", "none"])
def test_a_citation_of_what_does_not_exist_rejects_whatever_is_forgiven(
    resolution: str, coverage: str
) -> None:
    row = outcome(
        "supported",
        "undecided",
        accept=0.5,
        coverage=coverage,
        citations=[{**CITATION, "resolution": resolution}],
    )
    assert (row["outcome"], row["reason"]) == ("rejected", "fabricated_citation")
    assert row["detail"] == "citations of sources that do not exist: 1"


@pytest.mark.parametrize("resolution", ["document", "section", "chunk", "ambiguous", "no_text"])
def test_a_citation_that_exists_or_may_exist_is_not_fabricated(resolution: str) -> None:
    row = outcome("supported", citations=[{**CITATION, "resolution": resolution}])
    assert row["outcome"] == "grounded"


def test_broken_citations_are_counted_in_pairs_and_claims_but_once() -> None:
    broken = {**CITATION, "resolution": "unknown_document"}
    found = fabricated_citations(
        pairs(
            pair("two", citations=[broken, broken]),
            pair("one", citations=[broken]),
            pair("quote"),
            pair("mark"),
            pair("itself"),
            pair("fine", citations=[{**CITATION, "resolution": "chunk"}]),
        ),
        claims(
            claim("two", citation_status="unresolved", citation_reason="fabricated_citation"),
            claim("one", 0, citation_status="unresolved", citation_reason="fabricated_citation"),
            claim("quote", 0, citation_status="quote_not_found"),
            claim("mark", 0, citation_status="unresolved", citation_reason="unknown_number"),
            claim("itself", 0, citation_status="unresolved", citation_reason="self_citation"),
            claim("itself", 1, citation_status="quote_not_found"),
            claim("fine", 0),
            claim("fine", 1, citation_status="unresolved", citation_reason="ambiguous_citation"),
        ),
    )
    assert found.rows() == [
        ("two", 2, False),
        ("one", 1, False),
        ("quote", 1, False),
        ("mark", 1, False),
        ("itself", 2, True),
    ]


def test_a_pair_that_cites_itself_is_rejected_for_that_whatever_else_is_proved() -> None:
    rows = [claim("p", 0), claim("p", 1, citation_status="unresolved", citation_reason="self_citation")]
    found = ground_pairs(
        pairs(pair("p")),
        claims(*rows),
        claim_verdicts(claim_verdict("p", "supported"), claim_verdict("p", "unsupported", 1)),
        accept_grounding=0.5,
    )
    assert found.select("outcome", "reason").row(0) == ("rejected", "self_citation")


def test_only_grounded_pairs_go_on_and_keep_their_order() -> None:
    everything = pairs(pair("z"), pair("r", coverage="none"), pair("a"), pair("x"))
    passed = grounded_pairs(
        everything,
        claims(claim("a"), claim("z"), claim("x"), claim("r")),
        claim_verdicts(
            claim_verdict("a", "supported"),
            claim_verdict("z", "supported"),
            claim_verdict("x", "unsupported"),
            claim_verdict("r", "supported"),
        ),
        accept_grounding=1.0,
    )
    assert passed["pair_id"].to_list() == ["z", "a"]
    assert passed.schema == everything.schema
