"""The page of the queue as a browser gets it: links, forms, and what it says where there is nothing."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.curation.rows import verdict
from qa_pipeline_tests.review.tables import decide, write_tables, write_verdicts

SignIn = Callable[[Path], TestClient]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    waiting = [verdict(f"p{number:03}", "needs_review", reason="one_sided") for number in range(60)]
    write_verdicts(layout, "b", *waiting, verdict("known", "accepted", expected_verdict="rejected"))
    return layout


def links(page: str) -> list[str]:
    return [unescape(link) for link in re.findall(r'class="question" href="([^"]+)"', page)]


def test_a_page_has_fifty_pairs_and_the_way_back_leads_to_the_line_of_the_pair(
    layout: Layout, sign_in: SignIn
) -> None:
    client = sign_in(layout.out)
    first, second = client.get("/").text, client.get("/?page=2").text
    assert (len(links(first)), len(links(second))) == (50, 10)
    assert "Page 2 of 2" in second
    pair = client.get(links(second)[3]).text
    assert "54 of 60" in pair
    back = re.search(r'id="back" href="([^"]+)"', pair)
    assert back
    address, _, anchor = unescape(back[1]).partition("#")
    assert f'id="{anchor}"' in client.get(address).text


def test_next_and_previous_go_through_the_list_of_the_filters(layout: Layout, sign_in: SignIn) -> None:
    client = sign_in(layout.out)
    pairs = links(client.get("/?search=question+p00").text)
    assert len(pairs) == 10
    address, walked = pairs[0], []
    while address:
        walked.append(address)
        match = re.search(r'id="next"[^>]* href="([^"]+)"', client.get(address).text)
        address = unescape(match[1]) if match else ""
    assert walked == pairs


def test_the_key_of_the_next_pair_opens_the_first_of_a_list(layout: Layout, sign_in: SignIn) -> None:
    page = sign_in(layout.out).get("/?search=question+p00").text
    (keyed,) = re.findall(r'<a [^>]*href="([^"]+)"[^>]* data-key="s n j"', page)
    assert unescape(keyed) == links(page)[0]


def test_a_filter_that_is_set_is_chosen_in_its_form_and_in_every_link(
    layout: Layout, sign_in: SignIn
) -> None:
    page = sign_in(layout.out).get("/?list=all&reason=one_sided&search=p01").text
    assert '<option value="one_sided" selected>another document says otherwise (10)</option>' in page
    assert 'name="search" value="p01"' in page
    assert len(links(page)) == 10
    assert all("reason=one_sided&search=p01" in link for link in links(page))


def test_a_value_that_no_pair_has_any_more_stays_chosen(layout: Layout, sign_in: SignIn) -> None:
    page = sign_in(layout.out).get("/?batch=gone").text
    assert '<option value="gone" selected>gone (0)</option>' in page
    assert "No pair fits" in page


def test_known_answers_have_their_list_and_are_called_so(layout: Layout, sign_in: SignIn) -> None:
    client = sign_in(layout.out)
    page = client.get("/?list=known").text
    assert "Known answer: rejected" in page
    assert len(links(page)) == 1
    assert "A known-answer pair" in client.get(links(page)[0]).text


def test_an_output_folder_that_is_not_there_says_what_to_run(tmp_path: Path, sign_in: SignIn) -> None:
    page = sign_in(tmp_path / "nowhere").get("/").text
    assert f"is not there; run qa-pipeline run CORPUS --out {tmp_path / 'nowhere'}" in page


def test_a_run_without_a_pair_yet_says_to_wait_or_run_again(tmp_path: Path, sign_in: SignIn) -> None:
    write_tables(Layout(tmp_path), "b")
    page = sign_in(tmp_path).get("/").text
    assert "holds no pairs yet; a run that is at work writes them at its end" in page


def test_a_batch_without_verdicts_is_named_beside_the_others(layout: Layout, sign_in: SignIn) -> None:
    write_verdicts(layout, "half", verdict("q", "needs_review"))
    layout.table("verdicts", "half").unlink()
    page = sign_in(layout.out).get("/").text
    assert "run the step that writes table verdicts" in page
    assert len(links(page)) == 50


def test_once_all_is_decided_the_page_says_what_brings_tables_up_to_date(
    tmp_path: Path, sign_in: SignIn
) -> None:
    layout = Layout(tmp_path)
    write_verdicts(layout, "b", verdict("p", "needs_review"))
    decide(layout, "b", "p")
    page = sign_in(tmp_path).get("/").text
    assert "Nothing waits. Run qa-pipeline run again" in page


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 5000, "²", ""])
def test_a_page_that_is_none_is_the_nearest_that_is(layout: Layout, sign_in: SignIn, number: str) -> None:
    reply = sign_in(layout.out).get("/", params={"page": number})
    assert reply.status_code == 200
    assert links(reply.text)


def test_a_very_long_answer_is_cut_before_it_is_sent(tmp_path: Path, sign_in: SignIn) -> None:
    layout = Layout(tmp_path)
    write_verdicts(layout, "b", verdict("p", "needs_review"), answer="word " * 200_000)
    assert len(sign_in(tmp_path).get("/").text) < 20_000
