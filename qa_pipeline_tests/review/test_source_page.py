"""A document as a browser gets it, beside a pair and alone."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from qa_pipeline_tests.documents.formats.pdf.builders import at, blank, prose
from qa_pipeline_tests.end_to_end import Workspace, new_workspace


def address_of(workspace: Workspace, quote: str) -> str:
    row = workspace.table("documents", "b").row(0, named=True)
    start = row["text"].index(quote)
    return f"/document/b/{row['document_id']}?start={start}&end={start + len(quote)}"


def test_a_document_is_shown_with_its_headings_and_the_quote_marked(
    client: TestClient, workspace: Workspace
) -> None:
    page = client.get(address_of(workspace, "opens at 3 bar")).text
    assert re.search(r"<h4 [^>]*><span data-start=\"\d+\">Safety</span></h4>", page)
    assert re.search(r'<mark id="evidence" class="evidence" data-start="\d+">opens at 3 bar</mark>', page)
    assert 'href="?start' in page


def test_a_search_marks_and_counts_without_script(client: TestClient, workspace: Workspace) -> None:
    page = client.get(f"{address_of(workspace, 'opens at 3 bar')}&find=VALVE").text
    assert page.count('class="hit"') + page.count('class="current hit"') == 2
    assert "of 2<" in page
    assert 'class="hit"' not in client.get(f"{address_of(workspace, 'bar')}&find=xyzzy").text


@pytest.mark.slow
def test_a_page_of_a_pdf_has_a_picture_boxes_and_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sign_in: Callable[[Path], TestClient]
) -> None:
    workspace = new_workspace(tmp_path, monkeypatch)
    document = blank()
    at(document, 15, 20, prose("left", 16))
    workspace.write({"b/a.pdf": bytes(document.output())})
    assert workspace.run("--provider", "none").code == 0
    client = sign_in(workspace.out)
    page = client.get(address_of(workspace, "left3")).text
    assert len(re.findall(r'<rect id="evidence" class="evidence"', page)) == 1
    assert "left3" in page
    assert "style=" not in page
    picture = re.search(r'<image href="([^"]+)"', page)
    assert picture
    reply = client.get(picture[1])
    assert reply.headers["content-type"] == "image/png"
    plain, quoted = reply.content, client.get(picture[1].partition("?")[0] + "?start=0&end=40").content
    assert plain != quoted
    assert client.get(picture[1].replace("/1.png", "/7.png")).status_code == 404


@pytest.mark.parametrize("query", [f"start={'9' * 5000}&end=1", "page=-1&part=x&hit=0", f"find={'a' * 5000}"])
def test_an_address_of_nonsense_shows_the_document(
    client: TestClient, workspace: Workspace, query: str
) -> None:
    path = address_of(workspace, "bar").partition("?")[0]
    assert client.get(f"{path}?{query}").status_code == 200
