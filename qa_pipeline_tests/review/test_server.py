"""Who gets in, what a browser is allowed, and the way of one decision through the app."""

import errno
import re

import pytest
from starlette.testclient import TestClient

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.review.app import Access
from qa_pipeline.review.queue import Queue
from qa_pipeline.review.server import build_app
from qa_pipeline.settings.tree import ReviewSettings, Settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import Workspace
from qa_pipeline_tests.review.conftest import ADDRESS


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
    page = client.get(link[1]).text
    form = {name: hidden(page, name) for name in ("form_token", "content_sha256")}
    reply = client.post(f"{link[1]}/decision", data={**form, "decision": "accepted"}, follow_redirects=False)
    assert reply.status_code == 303
    recorded = read_decisions(Layout(workspace.out).decisions("b")).row(0, named=True)
    assert (recorded["decision"], recorded["who"]) == ("accepted", "Ada")
    assert link[1] not in client.get("/").text


@pytest.mark.parametrize("token", ["", "forged"])
def test_a_form_of_another_site_is_refused(client: TestClient, workspace: Workspace, token: str) -> None:
    link = first_pair(client)
    form = {"form_token": token, "content_sha256": "0" * 64, "decision": "accepted"}
    assert client.post(f"{link}/decision", data=form).status_code == 403
    assert read_decisions(Layout(workspace.out).decisions("b")).is_empty()


def test_the_token_signs_in_and_a_wrong_one_never(workspace: Workspace) -> None:
    access = Access("Ada")
    app = build_app(Layout(workspace.out), access)
    with TestClient(app, base_url=ADDRESS) as browser:
        assert browser.get("/enter?token=wrong").status_code == 403
        assert browser.get("/").status_code == 401
        browser.cookies.set(f"qa_pipeline_review_{80}", access.token)
        assert browser.get("/").status_code == 401
        browser.cookies.clear()
        reply = browser.get(f"/enter?token={access.token}", follow_redirects=False)
        assert {"HttpOnly", "SameSite=strict"} <= set(reply.headers["set-cookie"].split("; "))
        assert "<bdi>Ada</bdi>" in browser.get("/").text


def test_behind_a_proxy_its_header_names_the_person_and_no_token_helps(workspace: Workspace) -> None:
    url = "https://review.example.org"
    settings = Settings(review=ReviewSettings(url=url, user_header="X-Forwarded-User"))
    access = Access("nobody", "X-Forwarded-User")
    with TestClient(build_app(Layout(workspace.out), access, settings), base_url=url) as browser:
        assert browser.get(f"/enter?token={access.token}").status_code == 403
        assert browser.get("/").status_code == 401
        ada, bo = {"x-forwarded-user": "Ada"}, {"x-forwarded-user": "Bo"}
        assert "<bdi>Ada</bdi>" in browser.get("/", headers=ada).text
        link = re.search(r'href="(/pair/[^"?]+)', browser.get("/?list=all", headers=ada).text)
        assert link
        page = browser.get(link[1], headers=ada).text
        form = {name: hidden(page, name) for name in ("form_token", "content_sha256")}
        form |= {"decision": "rejected"}
        sent = {"origin": url}
        assert browser.post(f"{link[1]}/decision", data=form, headers=bo | sent).status_code == 403
        assert browser.post(f"{link[1]}/decision", data=form, headers=ada).status_code == 200
    assert read_decisions(Layout(workspace.out).decisions("b"))["who"].to_list() == ["Ada"]


def test_with_https_the_cookie_is_sent_over_tls_only(workspace: Workspace) -> None:
    url = "https://review.example.org"
    access = Access("Ada")
    app = build_app(Layout(workspace.out), access, Settings(review=ReviewSettings(url=url)))
    with TestClient(app, base_url=url) as browser:
        reply = browser.get(f"/enter?token={access.token}", follow_redirects=False)
        assert "Secure" in reply.headers["set-cookie"].split("; ")


@pytest.mark.parametrize("host", ["evil.example:80", "127.0.0.1.evil.example", "", "[::1", "a@b"])
def test_a_request_to_another_name_is_refused(client: TestClient, host: str) -> None:
    reply = client.get("/", headers={"host": host})
    assert reply.status_code == 400


@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST:8787", "[::1]", "[::1]:8787", "localhost"])
def test_the_names_of_this_machine_are_answered_with_any_port(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": "https://127.0.0.1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_post_from_another_site_is_refused_even_with_the_token_of_its_form(
    client: TestClient, workspace: Workspace, headers: dict[str, str]
) -> None:
    link = first_pair(client)
    page = client.get(link).text
    form = {name: hidden(page, name) for name in ("form_token", "content_sha256")}
    reply = client.post(f"{link}/decision", data={**form, "decision": "rejected"}, headers=headers)
    assert reply.status_code == 403
    assert read_decisions(Layout(workspace.out).decisions("b")).is_empty()


@pytest.mark.parametrize(
    ("content_type", "size", "limit"),
    [
        ("multipart/form-data", 300_000_000, "50,000,000"),
        ("application/x-www-form-urlencoded", 2_000_001, "2,000,000"),
    ],
)
def test_what_is_too_large_is_refused_before_it_is_read(
    client: TestClient, content_type: str, size: int, limit: str
) -> None:
    headers = {"content-type": content_type, "content-length": str(size)}
    reply = client.post(f"{first_pair(client)}/decision", content=b"", headers=headers)
    assert reply.status_code == 413
    assert limit in reply.text


def test_an_upload_that_does_not_say_how_large_it_is_is_refused(client: TestClient) -> None:
    assert client.post("/ask", content=iter([b"form_token="])).status_code == 411


def test_a_fault_is_a_page_too_and_is_not_swallowed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/upload")

    access = Access("Ada")
    app = build_app(Layout(workspace.out), access)
    monkeypatch.setattr(Queue, "rows", fail)
    with TestClient(app, base_url=ADDRESS, raise_server_exceptions=False) as browser:
        reply = browser.get(f"/enter?token={access.token}")
        assert (reply.status_code, "No space left" in reply.text) == (500, True)
        assert "default-src 'none'" in reply.headers["content-security-policy"]
    with (
        TestClient(app, base_url=ADDRESS, cookies=browser.cookies) as strict,
        pytest.raises(OSError, match="No space"),
    ):
        strict.get("/")


def test_every_answer_forbids_inline_script_and_frames(client: TestClient) -> None:
    for path in ("/", "/static/review.css", "/nowhere", first_pair(client)):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-inline" not in policy


def test_wrong_tokens_that_other_sites_send_do_not_keep_anybody_from_signing_in(workspace: Workspace) -> None:
    access = Access("Ada")
    browser = TestClient(build_app(Layout(workspace.out), access), base_url=ADDRESS)
    for _ in range(20):
        forged = browser.get("/enter?token=wrong", headers={"sec-fetch-site": "cross-site"})
        assert forged.status_code == 403
    assert browser.get(f"/enter?token={access.token}", follow_redirects=False).status_code == 303
