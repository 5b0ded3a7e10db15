from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.curation.measures import MEASURES, citation_quality
from qa_pipeline.storage.tables import CLAIM_VERDICTS, CLAIMS, PAIRS
from qa_pipeline_tests.curation.rows import claim, claim_verdict, claim_verdicts, claims, pair, pairs

Row = dict[str, Any]


def cites(chunk_id: str | None, document_id: str | None = "d", **values: Any) -> Row:
    kind = "chunk" if chunk_id else "document"
    return {"raw": "x", "document_id": document_id, "chunk_id": chunk_id, "resolution": kind, **values}


def quoted(given: str, kind: str) -> Row:
    return {"given": given, "kind": kind}


def measured(citations: list[Row], *rows: tuple[Row, str]) -> Row:
    """Measures of one pair whose claims are given with their verdicts."""
    found = citation_quality(
        pairs(pair("p", citations=citations)),
        claims(*(claim("p", n, **values) for n, (values, _) in enumerate(rows))),
        claim_verdicts(*(claim_verdict("p", verdict, n) for n, (_, verdict) in enumerate(rows))),
    )
    (row,) = found.to_dicts()
    return row


def test_of_three_citations_of_which_two_support_a_claim_the_accuracy_is_two_thirds() -> None:
    """The worked example of the specification."""
    citations = [cites("c", quote="q"), cites("c2"), cites("c3", quote="r")]
    found = {"quotes": [quoted("q", "exact"), quoted("r", "exact")]}
    row = measured(citations, (found, "supported"), ({"evidence_chunk_id": "c2"}, "supported"))
    assert row["citation_existence"] == 1.0
    assert row["citation_accuracy"] == pytest.approx(0.67, abs=0.005)
    assert row["citation_quality"] == pytest.approx(0.4 + 0.3 * 2 / 3 + 0.3)


def test_without_citations_or_claims_nothing_is_made_up() -> None:
    assert measured([], ({}, "supported"))["citation_accuracy"] is None
    none = measured([cites("c", quote="q")])
    assert (none["citation_existence"], none["citation_accuracy"], none["citation_quality"]) == (
        1.0,
        None,
        None,
    )
    tables = PAIRS.empty(), CLAIMS.empty(), CLAIM_VERDICTS.empty()
    assert citation_quality(*tables).columns == ["pair_id", *MEASURES]


def test_a_citation_of_nothing_exists_not_and_is_not_accurate() -> None:
    broken = cites(None, None, resolution="unknown_document")
    row = measured([cites("c"), broken], ({}, "supported"))
    assert (row["citation_existence"], row["citation_accuracy"]) == (0.5, 0.5)
    assert row["citation_quality"] == 0.65


CITATIONS = st.lists(
    st.builds(
        cites,
        st.sampled_from([None, "c", "c2"]),
        st.sampled_from(["d", "e"]),
        resolution=st.sampled_from(
            ["chunk", "document", "section", "unknown_document", "ambiguous", "no_text"]
        ),
        quote=st.sampled_from([None, "q", "r"]),
    ),
    max_size=4,
)
CLAIM_ROWS = st.lists(
    st.tuples(
        st.fixed_dictionaries(
            {
                "evidence_chunk_id": st.sampled_from(["c", "c2", None]),
                "evidence_document_id": st.sampled_from(["d", "e", None]),
                "quotes": st.lists(
                    st.builds(quoted, st.sampled_from("qr"), st.sampled_from(["exact", "missing"])),
                    max_size=2,
                ),
            }
        ),
        st.sampled_from(["supported", "unsupported", "failed"]),
    ),
    max_size=4,
)


@given(CITATIONS, CLAIM_ROWS)
def test_every_share_lies_between_none_and_all_and_rows_are_those_of_the_pairs(
    citations: list[Row], rows: list[tuple[Row, str]]
) -> None:
    row = measured(citations, *rows)
    shares = [row[name] for name in MEASURES]
    assert all(share is None or 0.0 <= share <= 1.0 for share in shares)
    if row["citation_accuracy"] is not None:
        assert row["citation_accuracy"] <= row["citation_existence"]


@pytest.mark.parametrize(
    ("supported", "quality"), [(20, 1.0), (17, 1.0), (16, 0.91), (11, 0.91), (10, 0.7), (0, 0.4)]
)
def test_grounding_counts_in_bands_that_begin_above_their_limit(supported: int, quality: float) -> None:
    verdicts = ["supported"] * supported + ["unsupported"] * (20 - supported)
    row = measured([cites("c")], *(({}, verdict) for verdict in verdicts))
    assert row["citation_quality"] == quality
