"""Decisions made on the page of a pair: recorded before the page says so, refused, undone, applied."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
from starlette.testclient import TestClient

from qa_pipeline.curation.decisions import read_decisions, standing
from qa_pipeline.review.decision_files import REJECTIONS
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import Workspace, invoke
from qa_pipeline_tests.review.test_server import hidden
from qa_pipeline_tests.review.test_server_bad_input import paragraphs

OPENS, WRONG = "When does the safety valve open?", "How does the safety valve open?"
RIGHT = "The safety valve opens at 3 bar."
SignIn = Callable[[Path], TestClient]


def link(workspace: Workspace, question: str) -> str:
    pairs = workspace.table("pairs", "b").filter(pl.col("question") == question)
    return f"/pair/b/{quote(pairs['pair_id'][0])}"


def form_of(page: str) -> dict[str, str]:
    form = page[page.index('class="decide"') :]
    return {name: hidden(form, name) for name in ("form_token", "content_sha256", "seen")}


def post(client: TestClient, address: str, page: str | None = None, **fields: str) -> Any:
    form = form_of(client.get(address).text if page is None else page)
    return client.post(f"{address}/decision", data=form | fields, follow_redirects=False)


def recorded(workspace: Workspace) -> pl.DataFrame:
    return read_decisions(Layout(workspace.out).decisions("b"))


def test_nine_reasons_have_keys_and_are_stored_as_code_and_note(
    workspace: Workspace, client: TestClient
) -> None:
    address = link(workspace, WRONG)
    page = client.get(address).text
    assert len(REJECTIONS) == 9
    for number, code in enumerate(REJECTIONS, start=1):
        assert f'name="code" value="{code}" data-key="{number}"' in page
    for code in REJECTIONS:
        assert post(client, address, code=code, why="see 4.2").status_code == 303
    assert recorded(workspace)["why"].to_list() == [f"{code}: see 4.2" for code in REJECTIONS]


def test_a_decision_leads_to_the_next_pair_which_offers_to_undo_it(
    workspace: Workspace, client: TestClient
) -> None:
    address = link(workspace, WRONG)
    reply = post(client, address, decision="accepted")
    following = client.get(reply.headers["location"]).text
    assert WRONG in paragraphs(following)
    undo = following[following.index('class="undo"') :]
    form = {name: hidden(undo, name) for name in ("form_token", "content_sha256", "seen")}

    reply = client.post(f"{address}/decision", data=form | {"decision": "reopened"})

    assert reply.status_code == 200
    assert recorded(workspace)["decision"].to_list() == ["accepted", "reopened"]
    assert not standing(recorded(workspace)).height
    assert "2 undone" in paragraphs(invoke_status(workspace))


def invoke_status(workspace: Workspace) -> str:
    assert workspace.run("--provider", "none").code == 0
    return invoke("status", "--out", workspace.out).stdout


def test_undo_restores_the_decision_before(workspace: Workspace, client: TestClient) -> None:
    address = link(workspace, WRONG)
    for decision in ("accepted", "rejected", "reopened"):
        assert post(client, address, decision=decision).status_code == 303
    assert standing(recorded(workspace))["decision"].to_list() == ["accepted"]
    post(client, address, decision="reopened")
    refused = post(client, address, decision="reopened", why="an umlaut: ä")
    assert refused.status_code == 409
    assert "an umlaut: ä" in refused.text


def test_an_edit_is_recorded_with_the_texts_that_are_new(workspace: Workspace, client: TestClient) -> None:
    address = link(workspace, WRONG)
    texts = {"edited_question": OPENS, "edited_answer": RIGHT, "evidence_quote": RIGHT, "decision": "edited"}
    assert post(client, address, **texts).status_code == 303
    columns = ("decision", "question", "answer", "evidence_quote")
    assert recorded(workspace).select(columns).rows() == [("edited", OPENS, RIGHT, RIGHT)]
    unchanged = {"edited_question": WRONG, "decision": "edited"}
    assert post(client, address, **unchanged).status_code == 409


def test_a_claim_is_decided_alone_and_the_page_stays(workspace: Workspace, client: TestClient) -> None:
    address = link(workspace, WRONG)
    claim_id = re.search(r'value="rejected (\w+)" aria-label="Claim 1', client.get(address).text)
    assert claim_id is not None
    reply = post(client, address, of_claim=f"rejected {claim_id[1]}")
    assert reply.headers["location"].startswith(address)
    assert recorded(workspace).select("claim_id", "decision").rows() == [(claim_id[1], "rejected")]
    page = client.get(address).text
    assert "Rejected by Ada" in paragraphs(page)
    undo = page[page.index('class="undo"') :]
    form = {name: hidden(undo, name) for name in ("form_token", "content_sha256", "seen", "claim_id")}
    client.post(f"{address}/decision", data=form | {"decision": "reopened"})
    assert not standing(recorded(workspace)).height


def test_the_second_of_two_people_is_told_and_keeps_what_they_wrote(
    workspace: Workspace, sign_in: SignIn
) -> None:
    first, second = sign_in(workspace.out), sign_in(workspace.out)
    address = link(workspace, WRONG)
    page = second.get(address).text
    assert post(first, address, decision="rejected", why="not in the norm").status_code == 303

    told = post(second, address, page, decision="accepted", why="it is in the annex")

    assert told.status_code == 409
    assert "Ada" in paragraphs(told.text)
    assert "it is in the annex" in told.text
    assert "not in the norm" in told.text
    assert recorded(workspace)["decision"].to_list() == ["rejected"]
    assert post(second, address, told.text, decision="accepted", why="it is in the annex").status_code == 303


def test_a_pair_that_changed_keeps_what_was_written(workspace: Workspace, client: TestClient) -> None:
    address = link(workspace, WRONG)
    page = client.get(address).text
    form = form_of(page)
    stale = client.post(
        f"{address}/decision",
        data={**form, "content_sha256": "0" * 64, "decision": "edited", "edited_answer": "My new words."},
    )
    assert stale.status_code == 409
    assert "My new words." in stale.text
    assert client.post("/pair/b/gone/decision", data={**form, "decision": "accepted"}).status_code == 404
    assert not recorded(workspace).height
