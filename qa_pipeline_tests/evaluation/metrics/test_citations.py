import pytest

from qa_pipeline_tests.evaluation.metrics.frames import Row, statements, value


def cited(
    exists: bool = True, quote_found: bool | None = None, document: str | None = "a.md", mentions: int = 1
) -> Row:
    return {
        "document": document,
        "contexts": [0],
        "exists": exists,
        "quote_found": quote_found,
        "marks": [],
        "mentions": mentions,
    }


def support(score: float | None, *proves: int) -> Row:
    return {"score": score, "proves": list(proves), "decided_by": "quotation"}


def test_of_three_citations_of_which_two_support_a_statement_precision_is_067() -> None:
    row = {"citation_support": [support(1.0, 0), support(0.9, 1), support(0.2)]}
    assert value("citation_precision", row) == pytest.approx(0.67, abs=0.005)


@pytest.mark.parametrize(("score", "band"), [(1.0, 1.0), (0.81, 1.0), (0.8, 0.7), (0.51, 0.7), (0.5, 0.0)])
def test_accuracy_counts_support_in_bands(score: float, band: float) -> None:
    assert value("citation_accuracy", {"citation_support": [support(score)]}) == band


def test_accuracy_is_unknown_where_the_support_of_one_citation_is() -> None:
    assert value("citation_accuracy", {"citation_support": [support(1.0, 0), support(None)]}) is None
    assert value("citation_accuracy", {"citation_support": []}) is None


def test_quality_weighs_existence_accuracy_and_grounding() -> None:
    row = {
        "cited": [cited(), cited(exists=False)],
        "citation_support": [support(1.0, 0), support(0.0)],
        "statements": statements("supported", "supported", "unsupported"),
    }
    assert value("citation_quality", row) == pytest.approx(0.4 * 0.5 + 0.3 * 0.5 + 0.3 * 0.7)


def test_completeness_is_the_share_of_statements_that_their_citations_prove() -> None:
    row = {
        "citation_support": [support(1.0, 0), support(1.0, 0, 1), support(0.1)],
        "statements": statements("supported", "supported", "supported", "unsupported"),
    }
    assert value("citation_completeness", row) == 0.5
    assert value("citation_completeness", {**row, "citation_support": []}) == 0.0
    assert value("citation_completeness", {**row, "citation_support": [support(None)]}) is None


def test_source_coverage_counts_each_cited_document_once() -> None:
    row = {
        "cited": [cited(document="a"), cited(document="a"), cited(document="b"), cited(exists=False)],
        "citation_support": [support(1.0, 0), support(0.0), support(0.0), support(0.0)],
    }
    assert value("source_coverage", row) == 0.5
    named = {"cited": [cited(document=None)], "citation_support": [support(1.0, 0)]}
    assert value("source_coverage", named) is None


def test_fabricated_are_citations_of_nothing_known_and_quotes_that_are_not_there() -> None:
    found = [cited(), cited(exists=False), cited(quote_found=False), cited(quote_found=True)]
    assert value("fabricated_citations", {"cited": found}) == 2
    assert value("fabricated_citations", {"cited": []}) == 0
    assert value("fabricated_citations", {"cited": None}) is None


@pytest.mark.parametrize(
    ("documents", "annotated", "expected"),
    [
        (["a.md", "b.md"], ["b.md", "./A.md"], 1.0),
        (["a.md"], ["a.md", "b.md"], 1.0),
        (["a.md", "b.md", "c.md"], ["a.md", "c.md"], 2 / 3),
        (["c.md"], ["a.md"], 0.0),
        ([], ["a.md"], None),
        ([None], ["a.md"], None),
        (["a.md"], [], None),
    ],
)
def test_citations_are_accurate_as_far_as_they_name_annotated_documents(
    documents: list[str | None], annotated: list[str], expected: float | None
) -> None:
    row = {"cited": [cited(document=one) for one in documents], "relevant_documents": annotated}
    assert value("annotated_citation_accuracy", row) == expected


def test_a_citation_of_several_claims_counts_for_each_of_them() -> None:
    found = [cited(document="a.md", mentions=2), cited(document="b.md")]
    row = {"cited": found, "relevant_documents": ["a.md"]}
    assert value("annotated_citation_accuracy", row) == 2 / 3
