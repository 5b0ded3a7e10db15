"""A document as a browser gets it, beside a pair and alone."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from qa_pipeline.cli.exit_codes import FAILED
from qa_pipeline_tests.documents.formats.pdf.builders import at, blank, prose
from qa_pipeline_tests.end_to_end import Workspace, new_workspace


def address_of(workspace: Workspace, quote: str) -> str:
    row = workspace.table("documents", "b").row(0, named=True)
    start = row["text"].index(quote)
    return f"/document/b/{row['document_id']}?start={start}&end={start + len(quote)}"


def test_a_document_is_shown_with_the_quote_marked(client: TestClient, workspace: Workspace) -> None:
    page = client.get(address_of(workspace, "opens at 3 bar")).text
    assert re.search(r'<mark id="evidence" class="evidence">opens at 3 bar</mark>', page)
    assert 'href="?start' in page


@pytest.mark.slow
def test_a_page_of_a_pdf_is_a_picture_with_its_quote_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sign_in: Callable[[Path], TestClient]
) -> None:
    workspace = new_workspace(tmp_path, monkeypatch)
    document = blank()
    at(document, 15, 20, prose("left", 16))
    workspace.write({"b/a.pdf": bytes(document.output())})
    assert workspace.run("--provider", "none").code == FAILED  # no pair is accepted
    client = sign_in(workspace.out)
    page = client.get(address_of(workspace, "left3")).text
    assert "style=" not in page
    picture = re.search(r'<img class="sheet" src="([^"]+)"', page)
    assert picture
    reply = client.get(unescape(picture[1]))
    assert reply.headers["content-type"] == "image/png"
    quoted, plain = reply.content, client.get(picture[1].partition("?")[0]).content
    assert plain != quoted
    assert client.get(picture[1].replace("/1.png", "/7.png")).status_code == 404


@pytest.mark.parametrize("query", [f"start={'9' * 5000}&end=1", "page=-1&part=x&hit=0", "view=x"])
def test_an_address_of_nonsense_shows_the_document(
    client: TestClient, workspace: Workspace, query: str
) -> None:
    path = address_of(workspace, "bar").partition("?")[0]
    assert client.get(f"{path}?{query}").status_code == 200
