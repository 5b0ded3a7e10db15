"""Audits and rating sheets are labelled on pages, in the files that the commands read."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from qa_pipeline.review.server import build_app
from qa_pipeline.review.sessions import Sessions, User
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import Workspace, invoke
from qa_pipeline_tests.review.conftest import ADDRESS
from qa_pipeline_tests.review.test_server import hidden

ROWS: list[dict[str, Any]] = [
    {"id": "q1", "query": "How hot?", "answer": "Hot", "statements": [{"text": "Hot", "quote": "At 60 °C."}]},
    {"id": "q2", "query": "How high?", "answer": "3 m.", "statements": None},
]  # fmt: skip


def post(client: TestClient, address: str, label: str, item: str | None = None) -> tuple[int, str]:
    page = client.get(address).text
    form = {"form_token": hidden(page, "form_token"), "id": item or hidden(page, "id"), "label": label}
    reply = client.post(address, data=form, follow_redirects=False)
    return reply.status_code, reply.headers.get("location", reply.text)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_audit_that_is_labelled_in_the_app_certifies_the_release(
    audited: Workspace, sign_in: Callable[[Path], TestClient]
) -> None:
    client, file = sign_in(audited.out), audited.out / "audits" / "first.jsonl"
    drawn = rows_of(file)
    assert "10" in client.get("/sheets").text
    address: str = "/sheets/first.jsonl/1"
    for place in range(10):
        status, address = post(client, address, "wrong" if place == 3 else "right")
        assert status == 303
        assert rows_of(file)[place]["label"] is not None
    assert address == "/sheets/first.jsonl"
    done = client.get(address).text
    assert "10 of 10 rows labelled, 0 open" in done
    assert "qa-pipeline audit certify" in done
    labelled = rows_of(file)
    assert [{**row, "label": None} for row in drawn] == [
        {name: None if name == "label" else value for name, value in row.items() if name != "who"}
        for row in labelled
    ]
    assert {row["who"] for row in labelled} == {"Ada"}
    shown = invoke("audit", "certify", audited.out / "releases", file, "--json")
    certificate = json.loads(shown.stdout)
    assert (certificate["looks"][0]["labelled"], certificate["looks"][0]["wrong"]) == (10, 1)
    assert certificate["at_most"] is not None


def test_a_row_is_shown_with_its_quotes_beside_the_source(
    audited: Workspace, sign_in: Callable[[Path], TestClient]
) -> None:
    page = sign_in(audited.out).get("/sheets/first.jsonl/1").text
    quote = re.search(r'<mark id="evidence" [^>]*>([^<]+)</mark>', page)
    assert quote
    assert quote[1] in str(rows_of(audited.out / "audits" / "first.jsonl")[0]["quotes"])


def test_a_row_whose_pair_the_tables_have_no_longer_is_shown_with_its_quotes(
    audited: Workspace, sign_in: Callable[[Path], TestClient]
) -> None:
    for file in (audited.out / "tables" / "pairs").glob("*.parquet"):
        file.unlink()
    client = sign_in(audited.out)
    page = client.get("/sheets/first.jsonl/1").text
    assert "The tables no longer have this pair" in page
    assert "<blockquote" in page
    assert post(client, "/sheets/first.jsonl/1", "right")[0] == 303


def test_a_label_can_be_changed_and_taken_back(
    audited: Workspace, sign_in: Callable[[Path], TestClient]
) -> None:
    client, file = sign_in(audited.out), audited.out / "audits" / "first.jsonl"
    labels = []
    for label in ("wrong", "right", ""):
        assert post(client, "/sheets/first.jsonl/2", label)[0] == 303
        labels.append(rows_of(file)[1]["label"])
    assert labels == ["wrong", "right", None]
    assert len(rows_of(file)) == 10


def test_two_people_rate_a_sheet_and_neither_sees_the_ratings_of_the_other(
    workspace: Workspace, tmp_path: Path
) -> None:
    file = tmp_path / "sheet.jsonl"
    blank = {"criterion": "faithfulness", "group": None, "annotator": None, "rating": None}
    file.write_text("".join(f"{json.dumps({**row, **blank})}\n" for row in ROWS))
    users = [User(name=name, token_sha256=hash_text(name)) for name in ("Ada", "Bo")]
    app = build_app(Layout(workspace.out), Sessions("", users), sheets=[file])
    with TestClient(app, base_url=ADDRESS) as ada, TestClient(app, base_url=ADDRESS) as bo:
        ada.post("/enter", data={"token": "Ada"})
        bo.post("/enter", data={"token": "Bo"})
        for client, ratings in ((ada, ("yes", "no")), (bo, ("yes", "partly"))):
            assert "0 of 2 rows labelled" in client.get("/sheets/sheet.jsonl").text
            assert "✓" not in client.get("/sheets/sheet.jsonl/1").text
            for number, rating in enumerate(ratings, start=1):
                post(client, f"/sheets/sheet.jsonl/{number}", rating)
        post(bo, "/sheets/sheet.jsonl/1", "no")
    figures = json.loads(invoke("eval", "annotators", file, "--json").stdout)
    by_person = {(row["id"], row["annotator"]): row["rating"] for row in rows_of(file)}
    assert by_person == {
        ("q1", "Ada"): "yes", ("q2", "Ada"): "no", ("q1", "Bo"): "no", ("q2", "Bo"): "partly",
    }  # fmt: skip
    assert (figures["items"], figures["ratings"], figures["left_out"]) == (2, 4, [])


@pytest.mark.parametrize(
    ("label", "item", "problem"),
    [("perhaps", None, "is no label of"), ("right", "another", "has changed since its page was loaded")],
)
def test_what_is_no_label_or_of_another_row_is_not_written(
    audited: Workspace, sign_in: Callable[[Path], TestClient], label: str, item: str | None, problem: str
) -> None:
    file = audited.out / "audits" / "first.jsonl"
    before = file.read_bytes()
    status, text = post(sign_in(audited.out), "/sheets/first.jsonl/1", label, item)
    assert (status, problem in text) == (404, True)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"pair_id": "a"}\n', "is neither a file of"),
        ('{"pair_id": "a", "label": "good"}\n', "line 1: label: "),
        ("not json\n", "line 1: "),
        ("", "is neither a file of"),
    ],
)
def test_a_file_that_cannot_be_labelled_is_named_with_its_problem(
    workspace: Workspace, sign_in: Callable[[Path], TestClient], content: str, problem: str
) -> None:
    (workspace.out / "audits").mkdir()
    (workspace.out / "audits" / "x.jsonl").write_text(content)
    page = sign_in(workspace.out).get("/sheets")
    assert (page.status_code, problem in page.text) == (200, True)
    assert sign_in(workspace.out).get("/sheets/..%2Fx.jsonl").status_code == 404
    assert sign_in(workspace.out).get("/sheets/other.jsonl").status_code == 404
