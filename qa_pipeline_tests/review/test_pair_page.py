"""The page of a pair as a browser gets it: badge, claims, tooltips, the source, and its links."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from qa_pipeline.review import pair as pair_module
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.curation import rows
from qa_pipeline_tests.review.tables import QUOTES, decide, write_pair
from qa_pipeline_tests.review.test_server import hidden

SignIn = Callable[[Path], TestClient]
ADDRESS = "/pair/b/p?list=all"


@pytest.fixture
def client(tmp_path: Path, sign_in: SignIn) -> TestClient:
    write_pair(Layout(tmp_path))
    return sign_in(tmp_path)


def part(page: str, name: str) -> str:
    """The element of this id, as far as the next one that the script swaps."""
    match = re.search(rf'id="{name}".*?(?=<(?:div|section) (?:id|class)="|</main>)', page, re.DOTALL)
    assert match, name
    return unescape(match[0])


def test_each_claim_has_a_chip_in_the_answer_that_says_its_verdict_and_reason(client: TestClient) -> None:
    answer = part(client.get(ADDRESS).text, "answer")
    first, second = re.findall(r'<span class="unseen"> (.*?)</span>', answer)
    assert first.startswith("supported: ")
    assert second == 'contradicted: number mismatch: "five" became "six"'
    assert '<mark class="contradicted current">It closes at six.</mark>' in answer


def test_a_claim_that_is_asked_for_is_marked_and_opens_its_evidence(client: TestClient) -> None:
    for number, verdict in ((1, "supported"), (2, "contradicted")):
        page = client.get(f"{ADDRESS}&claim={number}").text
        assert f'<mark class="{verdict} current">' in part(page, "answer")
        assert page.count(" current") - page.count('aria-current="page"') == 2
        assert re.search(rf'id="evidence-{number}"[^>]* aria-current="true"', page)
        assert re.search(rf'<mark id="evidence"[^>]*>{QUOTES[number - 1]}</mark>', page)


def test_the_first_difference_of_a_claim_is_shown(client: TestClient) -> None:
    assert '<bdi>"five" became "six"' in part(client.get(ADDRESS).text, "claims")


def test_the_judge_is_shown_with_scores_and_reasons(tmp_path: Path, sign_in: SignIn) -> None:
    assessment = rows.assessment("p", 0.5, relevance_reason="It answers.")
    write_pair(Layout(tmp_path), assessments=[assessment], verdict={"composite": 0.62})
    page = sign_in(tmp_path).get(ADDRESS).text
    assert re.search(r'Relevance</th><td class="number">0\.50.*?<bdi>It answers\.</bdi>', page)
    assert '<td class="number">0.62</td>' in page


def test_decisions_are_listed_with_their_state(tmp_path: Path, client: TestClient) -> None:
    decide(Layout(tmp_path), "b", "p", "rejected", why="low_relevance: see 4.2")
    listed = (
        r"<strong>Rejected</strong> by <bdi>Ada</bdi>.*?: <bdi>the answer is not relevant enough: see 4.2"
    )
    assert re.search(
        rf'class="history".*?{listed}</bdi> <span class="soft">\(applied', client.get(ADDRESS).text
    )
    write_pair(Layout(tmp_path), pair={"answer": "It opens at ten. It closes at six."})
    assert re.search(
        rf'class="history".*?{listed}</bdi> <span class="soft">\(stale', client.get(ADDRESS).text
    )


def test_a_known_answer_takes_no_decision(tmp_path: Path, sign_in: SignIn) -> None:
    expected = {"expected_verdict": "rejected"}
    write_pair(Layout(tmp_path), pair={**expected, "expected_kind": "swapped_number"}, verdict=expected)
    page = sign_in(tmp_path).get("/pair/b/p?list=known").text
    assert "“rejected”" in page
    assert "(swapped number)" in page
    assert 'name="decision"' not in page


def test_of_many_claims_those_that_are_not_supported_are_shown_and_the_others_counted(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_module, "_MOST_CLAIMS", 1)
    page = client.get(ADDRESS).text
    assert "1 of 2 claims" in page
    assert 'id="claim-2"' in page
    assert 'id="claim-1"' not in page


@pytest.mark.parametrize("text", ["x" * 1_000_000, "words and " * 100_000])
def test_a_megabyte_of_question_and_answer_is_a_page(tmp_path: Path, sign_in: SignIn, text: str) -> None:
    write_pair(Layout(tmp_path), pair={"question": text, "answer": text})
    client = sign_in(tmp_path)
    page = client.get(ADDRESS).text
    assert len(page) < 500_000
    assert 'name="edited_answer"' not in page
    form = {name: hidden(page, name) for name in ("form_token", "content_sha256", "seen")}
    reply = client.post("/pair/b/p/decision", data={**form, "decision": "accepted"}, follow_redirects=False)
    assert reply.status_code == 303
