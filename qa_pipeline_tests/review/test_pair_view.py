"""What a page of a pair is made of: support, claims with their evidence, spans, the judge, the origin."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.review.pair import (
    ClaimView,
    PairView,
    Support,
    answer_pieces,
    pair_view,
    support_of,
)
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.layout import Layout
from qa_pipeline.text.rendering import HTML
from qa_pipeline_tests.curation import rows
from qa_pipeline_tests.review.tables import ANSWER, CLAIMS, write_pair, write_tables


def view_of(layout: Layout) -> PairView:
    return pair_view(StoredTables(layout), "b", "p")


@pytest.fixture
def view(tmp_path: Path) -> PairView:
    write_pair(Layout(tmp_path))
    return view_of(Layout(tmp_path))


def badge(support: Support) -> str:
    """Return the words of a badge in English."""
    marks = HTML.get_template("review/templates/marks.html.j2").module
    return str(marks.support_words(support)).strip()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("supported", "claims", "level", "words"),
    [
        (4, 4, "well_supported", "Well supported: 4 of 4 claims (100 %)"),
        (3, 4, "well_supported", "Well supported: 3 of 4 claims (75 %)"),
        (747, 1000, "partial", "Partly supported: 747 of 1,000 claims (74 %)"),
        (2, 5, "partial", "Partly supported: 2 of 5 claims (40 %)"),
        (1, 3, "weak", "Weakly supported: 1 of 3 claims (33 %)"),
        (0, 1, "weak", "Weakly supported: 0 of 1 claim (0 %)"),
        (0, 0, "none", "No claims: nothing was checked"),
    ],
)
def test_support_is_in_words_with_its_numbers(supported: int, claims: int, level: str, words: str) -> None:
    support = support_of(supported, claims)
    assert support.level == level
    assert badge(support) == words


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
    assert badge(view.support) == "A refusal: there is no claim to support"
    claim, place = view.selected(None, None)
    assert claim is None
    assert place is not None
    assert rows.TEXT[place.start : place.end] == place.quote == sentence


def test_a_claim_says_what_decided_it_and_the_first_difference(view: PairView) -> None:
    supported, contradicted = view.claims
    assert supported.differences == []
    assert contradicted.decided_by == "Decided by comparison word by word"
    assert contradicted.explanation == 'number mismatch: "five" became "six"'
    assert contradicted.differences == ['"five" became "six"', '"at" left out']


def test_scores_of_the_entailment_model_stand_with_their_claim(tmp_path: Path) -> None:
    write_pair(Layout(tmp_path), claims=[{"entailment": 0.9, "contradiction": 0.05}, {}])
    assert [claim.scores for claim in view_of(Layout(tmp_path)).claims] == [
        {"entailment": 0.9, "contradiction": 0.05}, {},
    ]  # fmt: skip


def test_the_answer_is_cut_at_its_claims_and_nothing_is_lost(view: PairView) -> None:
    assert "".join(piece.text for piece in view.answer) == ANSWER
    marked = [piece.text for piece in view.answer if piece.claim]
    assert marked == [claim["text"] for claim in CLAIMS]


@given(answer=st.text(max_size=40), borders=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40))))
def test_the_pieces_of_an_answer_are_the_answer_however_claims_overlap(
    answer: str, borders: list[tuple[int, int]]
) -> None:
    claims = [
        ClaimView(number, f"c{number}", "", min(ends), max(ends), "supported", "", None, [], {}, [])
        for number, ends in enumerate(borders, start=1)
        if max(ends) <= len(answer)
    ]
    assert "".join(piece.text for piece in answer_pieces(answer, claims)) == answer


def test_evidence_says_where_it_is(view: PairView) -> None:
    place = view.claims[0].places[0]
    assert (place.path, place.section, place.page, place.similarity) == (
        "library.md", "Opening hours", None, 0.91,
    )  # fmt: skip
    assert rows.TEXT[place.start : place.end] == place.quote


def test_the_first_claim_that_is_not_supported_is_looked_at(view: PairView) -> None:
    claim, place = view.selected(None, None)
    assert claim is view.claims[1]
    assert place is view.claims[1].places[0]


@pytest.mark.parametrize(
    ("claim", "evidence", "number"), [(1, None, 1), (None, 0, 1), (2, 0, 1), (99, 99, 2)]
)
def test_a_claim_or_its_evidence_is_asked_for_by_its_number(
    view: PairView, claim: int | None, evidence: int | None, number: int
) -> None:
    selected, place = view.selected(claim, evidence)
    assert selected is not None
    assert selected.number == number
    assert place is selected.places[0]


def test_evidence_of_two_pieces_is_counted_through(tmp_path: Path) -> None:
    second = {
        f"second_evidence_{name}": value
        for name, value in (
            ("document_id", "d"), ("content_sha256", rows.sha("d")), ("chunk_id", "c"), ("start", 0),
            ("end", 13), ("page", 3), ("quote", rows.TEXT[:13]),
        )
    }  # fmt: skip
    write_pair(Layout(tmp_path), claims=[second, {}])
    view = view_of(Layout(tmp_path))
    assert [place.number for claim in view.claims for place in claim.places] == [0, 1, 2]
    claim, place = view.selected(None, 1)
    assert claim is view.claims[0]
    assert place is not None
    assert (place.page, place.similarity) == (3, None)


def test_spans_that_are_not_supported_have_their_reason_in_words(view: PairView) -> None:
    assert view.not_supported == [("It closes at six.", "number mismatch")]


def test_the_judge_and_the_passages_are_shown_as_far_as_there_are_any(tmp_path: Path, view: PairView) -> None:
    assert view.assessment is None
    assert view.dimensions == []
    assert [passage.chunk["chunk_id"] for passage in view.passages] == ["c"]
    assessment = rows.assessment("p", 0.5, relevance_reason="It answers.", completeness=None)
    write_pair(Layout(tmp_path), assessments=[assessment])
    judged = view_of(Layout(tmp_path))
    assert [(part.name, part.score, part.reason) for part in judged.dimensions] == [
        ("relevance", 0.5, "It answers."), ("correctness", 0.5, None), ("question_quality", 0.5, None),
    ]  # fmt: skip


def test_a_pair_that_is_gone_names_its_batch(view: PairView, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="batch 'b' has no pair 'q'"):
        pair_view(StoredTables(Layout(tmp_path)), "b", "q")
