"""The page of the queue as a browser gets it: links, forms, and what it says where there is nothing."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.curation.rows import verdict
from qa_pipeline_tests.review.tables import write_verdicts

SignIn = Callable[[Path], TestClient]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    waiting = [verdict(f"p{number:03}", "needs_review", reason="solver_disagrees") for number in range(60)]
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


def test_a_filter_that_is_set_is_chosen_in_its_form_and_in_every_link(
    layout: Layout, sign_in: SignIn
) -> None:
    page = sign_in(layout.out).get("/?list=all&reason=solver_disagrees&search=p01").text
    assert re.search(r'<option value="solver_disagrees" selected>[^<]*\(60\)</option>', page)
    assert 'name="search" value="p01"' in page
    assert len(links(page)) == 10
    assert all("reason=solver_disagrees&search=p01" in link for link in links(page))


def test_a_value_that_no_pair_has_any_more_stays_chosen(layout: Layout, sign_in: SignIn) -> None:
    page = sign_in(layout.out).get("/?batch=gone").text
    assert '<option value="gone" selected>gone (0)</option>' in page
    assert links(page) == []
