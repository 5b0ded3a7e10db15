"""Who gets in, what a browser is allowed, and the way of one decision through the app."""

import re

import pytest
from starlette.testclient import TestClient

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.people.review.server import build_app
from qa_pipeline.people.review.sessions import Sessions
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import Workspace
from qa_pipeline_tests.people.review.conftest import ADDRESS


def hidden(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return found[1]


def first_pair(client: TestClient) -> str:
    link = re.search(r'href="(/pair/[^"?]+)', client.get("/?list=all").text)
    assert link
    return link[1]


def test_a_pair_is_accepted_on_its_page_and_leaves_the_queue(
    client: TestClient, workspace: Workspace
) -> None:
    waiting = client.get("/").text
    link = re.search(r'href="(/pair/b/[^"?]+)', waiting)
    assert link
    assert "1 pair of 4" in waiting
    page = client.get(link[1]).text
    form = {name: hidden(page, name) for name in ("form_token", "content_sha256")}
    reply = client.post(f"{link[1]}/decision", data={**form, "decision": "accepted"}, follow_redirects=False)
    assert reply.status_code == 303
    recorded = read_decisions(Layout(workspace.out).decisions("b")).row(0, named=True)
    assert (recorded["decision"], recorded["who"]) == ("accepted", "Ada")
    assert "No pair fits" in client.get("/").text


def test_what_decide_refuses_the_page_refuses_in_its_words(client: TestClient) -> None:
    rows = client.get("/?list=all&search=How+long").text
    link = re.search(r'href="(/pair/[^"?]+)', rows)
    assert link
    page = client.get(link[1]).text
    form = {name: hidden(page, name) for name in ("form_token", "content_sha256")}
    reply = client.post(f"{link[1]}/decision", data={**form, "decision": "accepted"})
    assert reply.status_code == 409
    assert "the pair failed (not_standalone): there is no answer to accept" in reply.text


@pytest.mark.parametrize("token", ["", "forged"])
def test_a_form_of_another_site_is_refused(client: TestClient, workspace: Workspace, token: str) -> None:
    link = first_pair(client)
    form = {"form_token": token, "content_sha256": "0" * 64, "decision": "accepted"}
    assert client.post(f"{link}/decision", data=form).status_code == 403
    assert read_decisions(Layout(workspace.out).decisions("b")).is_empty()


def test_a_token_signs_in_once_and_a_wrong_one_never(workspace: Workspace) -> None:
    sessions = Sessions("Ada")
    app = build_app(Layout(workspace.out), sessions)
    with TestClient(app, base_url=ADDRESS) as first, TestClient(app, base_url=ADDRESS) as second:
        assert first.get("/enter?token=wrong").status_code == 403
        assert first.get("/").status_code == 401
        reply = first.get(f"/enter?token={sessions.token}", follow_redirects=False)
        assert {"HttpOnly", "SameSite=strict"} <= set(reply.headers["set-cookie"].split("; "))
        assert first.get("/").status_code == 200
        assert second.get(f"/enter?token={sessions.token}").status_code == 403
        assert second.get("/").status_code == 401


def test_a_request_to_another_host_is_refused(client: TestClient) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400


def test_every_answer_forbids_inline_script_and_frames(client: TestClient) -> None:
    for path in ("/", "/static/review.css", "/nowhere", first_pair(client)):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-inline" not in policy
