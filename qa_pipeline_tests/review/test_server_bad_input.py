"""What cannot be shown or recorded ends in one clear sentence, and nothing that was recorded is lost."""

import errno
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import polars as pl
import pytest
from starlette.testclient import TestClient

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.storage import files
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table, write_table
from qa_pipeline.storage.tables import DOCUMENTS
from qa_pipeline_tests.end_to_end import Workspace
from qa_pipeline_tests.review.test_server import first_pair, hidden

SignIn = Callable[[Path], TestClient]


def paragraphs(page: str) -> str:
    """The text of a page on one line."""
    return " ".join(re.sub("<[^>]+>", " ", page).split())


def decide(client: TestClient, link: str, why: str) -> int:
    page = client.get(link).text
    form = {name: hidden(page, name) for name in ("form_token", "content_sha256", "seen")}
    reply = client.post(
        f"{link}/decision", data={**form, "decision": "rejected", "why": why}, follow_redirects=False
    )
    return reply.status_code


@pytest.mark.parametrize("folder", ["", "tables/verdicts"])
def test_an_output_folder_without_tables_names_the_next_step(
    tmp_path: Path, sign_in: SignIn, folder: str
) -> None:
    out = tmp_path / "new"
    if folder:
        (out / folder).mkdir(parents=True)
    reply = sign_in(out).get("/")
    assert reply.status_code == 200
    assert "qa-pipeline run" in reply.text
    assert str(out) in reply.text


@pytest.mark.parametrize(
    "address",
    [
        "/pair/nowhere/p",
        f"/pair/{'b' * 5000}/p",
        "/document/nowhere/d",
        "/page/nowhere/d/1.png",
        f"/page/b/d/{'9' * 5000}.png",
    ],
)
def test_an_unknown_batch_and_a_number_that_is_too_long_are_not_there(
    client: TestClient, address: str
) -> None:
    assert client.get(address).status_code == 404


def test_a_form_that_is_sent_twice_decides_once(workspace: Workspace, client: TestClient) -> None:
    link = first_pair(client)
    page = client.get(link).text
    form = {name: hidden(page, name) for name in ("form_token", "content_sha256", "seen")}
    for _ in range(2):
        client.post(f"{link}/decision", data={**form, "decision": "rejected"}, follow_redirects=False)
    assert read_decisions(Layout(workspace.out).decisions("b")).height == 1


def test_a_form_whose_last_decision_has_thousands_of_digits_is_refused(client: TestClient) -> None:
    link = first_pair(client)
    page = client.get(link).text
    form = {name: hidden(page, name) for name in ("form_token", "content_sha256")}
    reply = client.post(f"{link}/decision", data={**form, "decision": "rejected", "seen": "9" * 5000})
    assert reply.status_code < 500


def test_a_pair_whose_document_has_other_words_now_is_shown_and_says_so(
    workspace: Workspace, client: TestClient
) -> None:
    link = first_pair(client)
    file = Layout(workspace.out).table(DOCUMENTS.name, "b")
    changed = read_table(file, DOCUMENTS).with_columns(pl.lit("x" * 500).alias("text"))
    write_table(file, changed, DOCUMENTS)
    reply = client.get(link)
    assert reply.status_code == 200
    assert "changed since" in paragraphs(reply.text)


def test_a_damaged_table_is_named_and_does_not_hide_other_batches(
    workspace: Workspace, client: TestClient
) -> None:
    layout = Layout(workspace.out)
    for name in ("pairs", "claims", "verdicts"):
        layout.table(name, "c").write_bytes(layout.table(name, "b").read_bytes())
    layout.table("verdicts", "c").write_bytes(b"PAR1 and no more")
    text = paragraphs(client.get("/?list=all").text)
    assert str(layout.table("verdicts", "c")) in text
    assert "When does the safety valve open?" in text


def test_a_decision_that_cannot_be_written_says_why_and_leaves_the_earlier_ones(
    workspace: Workspace, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = first_pair(client)
    assert decide(client, link, "the first") == 303
    file = Layout(workspace.out).decisions("b")
    before = file.read_bytes()
    page = client.get(link).text
    form = {name: hidden(page, name) for name in ("form_token", "content_sha256", "seen")}

    def fail(file: BinaryIO, content: bytes) -> None:
        file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(files, "_write_synced", fail)
        reply = client.post(f"{link}/decision", data={**form, "decision": "rejected", "why": "the second"})
    assert reply.status_code >= 400
    assert os.strerror(errno.ENOSPC) in paragraphs(reply.text)
    assert file.read_bytes() == before
    assert {path.name for path in file.parent.iterdir()} == {file.name, ".lock"}
    assert decide(client, link, "the third") == 303


def test_two_servers_on_one_folder_lose_no_decision_that_they_confirmed(
    workspace: Workspace, sign_in: SignIn
) -> None:
    browsers = [sign_in(workspace.out), sign_in(workspace.out)]
    link = first_pair(browsers[0])
    confirmed: list[str] = []

    def work(number: int) -> None:
        """Decide until three decisions are taken: whose page is older than a decision is refused."""
        taken = 0
        for count in range(200):
            why = f"{number}.{count}"
            if taken < 3 and decide(browsers[number], link, why) == 303:
                confirmed.append(why)
                taken += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorded = read_decisions(Layout(workspace.out).decisions("b"))
    assert sorted(recorded["why"]) == sorted(confirmed)
    assert recorded["sequence"].to_list() == list(range(len(confirmed)))
    assert sorted(why[0] for why in confirmed) == ["0", "0", "0", "1", "1", "1"]
