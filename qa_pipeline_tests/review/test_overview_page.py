"""The overview shows what `status` counts, in pictures and in words."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from qa_pipeline.publishing.certificate import in_words
from qa_pipeline.publishing.manifest import read_manifest
from qa_pipeline_tests.end_to_end import Workspace, invoke
from qa_pipeline_tests.publishing.plants import release
from qa_pipeline_tests.review.test_server import hidden


def test_the_figures_are_those_of_status(client: TestClient, workspace: Workspace) -> None:
    page = client.get("/overview").text
    status = json.loads(invoke("status", "--out", workspace.out, "--json").stdout)
    batch = status["batches"][0]
    decided = batch["accepted"] + batch["rejected"]
    assert f"{batch['accepted'] / decided:.1%}" in page
    assert f'<td class="number">{batch["pairs"]}</td>' in page
    assert f"{batch['needs_review']} pair" in page
    assert "Share of claims supported, of" in page
    assert "In words: " in page


def test_every_reason_leads_to_its_pairs(client: TestClient) -> None:
    page = client.get("/overview").text
    link = page.split('href="/?', 1)[1].split('"', 1)[0].replace("&amp;", "&")
    assert "reason=" in link
    assert "No pair fits" not in client.get(f"/?{link}").text


def test_an_empty_folder_says_the_next_step(tmp_path: Path, sign_in: Callable[[Path], TestClient]) -> None:
    page = sign_in(tmp_path / "empty").get("/overview").text
    assert "no batch was run to its end" in page
    assert "qa-pipeline run CORPUS" in page


def test_a_batch_that_cannot_be_counted_is_named(client: TestClient, workspace: Workspace) -> None:
    (workspace.out / "tables" / "claims" / "b.parquet").write_bytes(b"no table")
    page = client.get("/overview").text
    assert "claims" in page
    assert "no batch was run to its end" in page


def test_a_decision_shows_at_once(client: TestClient) -> None:
    assert "1 pair wait" in client.get("/overview").text
    link = client.get("/").text.split('href="/pair/', 1)[1].split('"', 1)[0].split("?")[0]
    page = client.get(f"/pair/{link}").text
    form = {name: hidden(page, name) for name in ("form_token", "content_sha256")}
    client.post(f"/pair/{link}/decision", data={**form, "decision": "accepted"})
    page = client.get("/overview").text
    assert "0 pairs wait" in page
    assert "brings verdicts and exports up to date" in page


def test_nothing_released_says_how_to_release(client: TestClient) -> None:
    assert "Nothing was released yet" in client.get("/overview").text


def test_a_release_that_nobody_audited_says_how_to_audit_it(
    audited: Workspace, sign_in: Callable[[Path], TestClient]
) -> None:
    page = sign_in(audited.out).get("/overview").text
    assert "has no certificate: people have not audited it" in page
    assert "qa-pipeline audit sample" in page


def test_the_certificate_of_a_release_is_given_in_its_words(
    audited: Workspace, sign_in: Callable[[Path], TestClient]
) -> None:
    client, file = sign_in(audited.out), audited.out / "audits" / "first.jsonl"
    client.get("/overview")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(f"{json.dumps({**row, 'label': 'right', 'who': 'Ada'})}\n" for row in rows))
    ran = release(audited, "--audit", str(file))
    assert ran.code == 0, ran
    certificate = read_manifest(audited.out / "releases" / "2").certificate
    assert certificate is not None
    page = client.get("/overview").text
    assert "The certificate of release <bdi>2</bdi>" in page
    assert [f"<li>{sentence}</li>" in page for sentence in in_words(certificate)] == [True]


@pytest.mark.parametrize(
    ("file", "words"),
    [("latest.json", "of the newest release"), ("1/manifest.json", "restore the release from a copy")],
)
def test_a_release_that_cannot_be_read_is_one_sentence_beside_the_other_figures(
    audited: Workspace, sign_in: Callable[[Path], TestClient], file: str, words: str
) -> None:
    damaged = audited.out / "releases" / file
    damaged.write_bytes(b"{")
    page = sign_in(audited.out).get("/overview").text
    assert f"{damaged} is damaged; " in page
    assert words in page
    assert "Share of claims supported, of" in page
