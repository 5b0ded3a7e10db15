"""What cannot be shown or recorded ends in one clear sentence, and nothing that was recorded is lost."""

import errno
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import httpx
import polars as pl
import pytest
from starlette.testclient import TestClient

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.storage import files, parquet
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table, write_table
from qa_pipeline.storage.tables import DOCUMENTS, SCHEMA_VERSION
from qa_pipeline_tests.benchmarks.support.process_memory import peak_of
from qa_pipeline_tests.end_to_end import Workspace
from qa_pipeline_tests.review.test_server import first_pair, hidden
from qa_pipeline_tests.support.review_server import review_server

SignIn = Callable[[Path], TestClient]


MEGABYTE = b"x" * 1_000_000


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


def test_a_pair_whose_document_is_gone_is_shown_and_says_so(workspace: Workspace, client: TestClient) -> None:
    link = first_pair(client)
    file = Layout(workspace.out).table(DOCUMENTS.name, "b")
    write_table(file, read_table(file, DOCUMENTS).clear(), DOCUMENTS)
    reply = client.get(link)
    assert reply.status_code == 200
    assert "it may have been removed since" in paragraphs(reply.text)


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


def test_a_table_of_another_version_names_the_version_and_what_to_run(
    workspace: Workspace, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = first_pair(sign_in(workspace.out))
    monkeypatch.setattr(parquet, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    client = sign_in(workspace.out)
    for path in ("/", link):
        text = paragraphs(client.get(path).text)
        assert f"has schema version {SCHEMA_VERSION}, this release reads {SCHEMA_VERSION + 1}" in text
        assert "run the step that writes table" in text


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


def test_a_pair_that_was_generated_anew_names_its_batch(client: TestClient) -> None:
    reply = client.get("/pair/b/gone")
    assert reply.status_code == 404
    assert "batch 'b' has no pair 'gone'" in paragraphs(reply.text).replace("&#39;", "'")


@pytest.mark.parametrize("batch", ["..", "%2e%2e", "..%2f..", "nowhere", "a%00b", "%2fetc"])
def test_a_batch_that_is_none_reads_no_file(client: TestClient, batch: str) -> None:
    for path in (f"/pair/{batch}/p", f"/document/{batch}/d"):
        assert client.get(path).status_code in (404, 500)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "No space left on device; free some space there"),
        (errno.EROFS, "Read-only file system; give this user the right to write there"),
        (errno.EACCES, "Permission denied; give this user the right to write there"),
    ],
)
def test_a_decision_that_cannot_be_written_says_why_and_leaves_the_earlier_ones(
    workspace: Workspace, client: TestClient, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    link = first_pair(client)
    assert decide(client, link, "the first") == 303
    file = Layout(workspace.out).decisions("b")
    before = file.read_bytes()
    page = client.get(link).text
    form = {name: hidden(page, name) for name in ("form_token", "content_sha256", "seen")}

    def fail(file: BinaryIO, content: bytes) -> None:
        file.write(content[: len(content) // 2])
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(files, "_write_synced", fail)
        reply = client.post(f"{link}/decision", data={**form, "decision": "rejected", "why": "the second"})
    assert reply.status_code >= 400
    assert words in paragraphs(reply.text)
    assert file.read_bytes() == before
    assert [path for path in file.parent.iterdir() if path != file] == []
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        (
            {"Content-Length": "300000000"},
            413,
            "What was sent has 300,000,000 bytes, and at most 50,000,000 are read",
        ),
        ({}, 411, "The request does not say how large it is. Send its Content-Length, as browsers do."),
    ],
    ids=["with its length", "in chunks"],
)
def test_an_upload_of_300_megabytes_is_refused_and_takes_no_memory(
    tmp_path: Path, headers: dict[str, str], status: int, words: str
) -> None:
    def content() -> Iterator[bytes]:
        for _ in range(300):
            yield MEGABYTE

    with review_server(tmp_path / "new") as server, httpx.Client(base_url=server.base) as browser:
        browser.get(server.address, follow_redirects=True)
        before = peak_of(server.process.pid)
        headers |= {"Content-Type": "multipart/form-data; boundary=x"}
        reply = browser.post("/ask/document", headers=headers, content=content())
        assert (reply.status_code, words in paragraphs(reply.text)) == (status, True)
        assert peak_of(server.process.pid) - before < 10_000_000
        assert browser.get("/ask").status_code == 200
