"""What a page of a pair is made of: support, claims with their evidence, spans, the judge, the origin."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.review.pair import (
    ClaimView,
    PairView,
    Support,
    answer_spans,
    pair_view,
    support_of,
)
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.layout import Layout
from qa_pipeline.text.rendering import HTML
from qa_pipeline_tests.curation import rows
from qa_pipeline_tests.review.tables import write_pair, write_tables


def view_of(layout: Layout) -> PairView:
    return pair_view(StoredTables(layout), "b", "p")


@pytest.fixture
def view(tmp_path: Path) -> PairView:
    write_pair(Layout(tmp_path))
    return view_of(Layout(tmp_path))


def claim_of(start: int, end: int, verdict: str = "supported") -> ClaimView:
    return ClaimView(1, "c1", "", start, end, verdict, "", None, [], {}, None)


def badge(support: Support) -> str:
    """Return the words of a badge in English."""
    marks = HTML.get_template("review/templates/marks.html.j2").module
    return str(marks.support_words(support)).strip()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("supported", "claims", "level", "words"),
    [
        (4, 4, "well_supported", "4 of 4 claims (100 %)"),
        (3, 4, "well_supported", "3 of 4 claims (75 %)"),
        (747, 1000, "partial", "747 of 1,000 claims (74 %)"),
        (0, 1, "weak", "0 of 1 claim (0 %)"),
        (0, 0, "none", ""),
    ],
)
def test_support_is_in_words_with_its_numbers(supported: int, claims: int, level: str, words: str) -> None:
    verdicts = ["supported"] * supported + ["unsupported"] * (claims - supported)
    support = support_of([claim_of(0, 0, verdict) for verdict in verdicts])
    assert support.level == level
    assert badge(support).endswith(words)


def test_a_refusal_has_no_claim_to_support(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    sentence = "The library opens at nine."
    write_tables(
        layout,
        "b",
        pairs=[rows.pair("p", coverage="none", answer="I do not know.")],
        refusals=[{**rows.refusal("p", "unproved_refusal"), "best_chunk_id": "c", "best_sentence": sentence}],
        verdicts=[rows.verdict("p", "needs_review", reason="unproved_refusal", claims=0)],
    )
    view = view_of(layout)
    assert badge(view.support).startswith("A refusal")
    claim, place = view.selected(None)
    assert claim is None
    assert place is not None
    assert rows.TEXT[place.start : place.end] == place.text
    assert sentence in place.text


@given(answer=st.text(max_size=40), borders=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40))))
def test_the_spans_of_an_answer_are_the_answer_however_claims_overlap(
    answer: str, borders: list[tuple[int, int]]
) -> None:
    claims = [claim_of(min(ends), max(ends)) for ends in borders if max(ends) <= len(answer)]
    assert "".join(text for text, _ in answer_spans(answer, claims)) == answer


def test_a_claim_inside_another_is_not_split_off_also_at_its_start() -> None:
    inner, outer = claim_of(0, 4), claim_of(0, 10)
    assert [text for text, _ in answer_spans("Nine to five.", [inner, outer])] == ["Nine to fi", "ve."]


def test_what_a_model_says_of_a_supported_claim_is_shown_though_rules_did_not_prove_it(
    tmp_path: Path,
) -> None:
    write_tables(
        Layout(tmp_path),
        "b",
        pairs=[rows.pair("p")],
        claims=[rows.claim("p", unproved=['"opens" left out'])],
        claim_verdicts=[rows.claim_verdict("p", "supported", decided_by="llm", detail="the passage says so")],
        verdicts=[rows.verdict("p", "accepted")],
    )
    (claim,) = view_of(Layout(tmp_path)).claims
    assert (claim.reason, claim.differences) == ("the passage says so", [])
