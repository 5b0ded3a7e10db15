"""The one place that says how source verification of a pair ended."""

from typing import Any

import pytest

from qa_pipeline.verification.outcomes import (
    fabricated_citations,
    ground_pairs,
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


CITATION = {"raw": "x.md", "document_id": None, "chunk_id": None, "quote": None}


@pytest.mark.parametrize(
    ("resolution", "coverage", "expected"),
    [
        *((f"unknown_{what}", "full", "rejected") for what in ("document", "number", "passage")),
        ("unknown_document", "none", "rejected"),
        *((what, "full", "grounded") for what in ("document", "section", "chunk", "ambiguous", "no_text")),
    ],
)
def test_a_citation_of_what_does_not_exist_rejects_whatever_is_forgiven(
    resolution: str, coverage: str, expected: str
) -> None:
    cited = [{**CITATION, "resolution": resolution}]
    row = outcome("supported", "undecided", accept=0.5, coverage=coverage, citations=cited)
    assert (row["outcome"], row["reason"] == "fabricated_citation") == (expected, expected == "rejected")


def test_broken_citations_are_counted_in_pairs_and_claims_but_once() -> None:
    broken = {**CITATION, "resolution": "unknown_document"}
    found = fabricated_citations(
        pairs(
            pair("two", citations=[broken, broken]),
            pair("one", citations=[broken]),
            pair("quote"),
            pair("mark"),
            pair("fine", citations=[{**CITATION, "resolution": "chunk"}]),
        ),
        claims(
            claim("two", citation_status="unresolved", citation_reason="fabricated_citation"),
            claim("one", 0, citation_status="unresolved", citation_reason="fabricated_citation"),
            claim("quote", 0, citation_status="quote_not_found"),
            claim("mark", 0, citation_status="unresolved", citation_reason="unknown_number"),
            claim("fine", 0),
            claim("fine", 1, citation_status="unresolved", citation_reason="ambiguous_citation"),
        ),
    )
    assert found.rows() == [
        ("two", 2),
        ("one", 1),
        ("quote", 1),
        ("mark", 1),
    ]
