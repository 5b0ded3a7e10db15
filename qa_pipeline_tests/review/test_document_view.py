import json
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.review.document_view import DocumentView, pieces
from qa_pipeline.storage.rows import ChunkRow, DocumentRow
from qa_pipeline_tests.documents.builders import pdf_bytes
from qa_pipeline_tests.end_to_end import GUIDE, Workspace, invoke, new_workspace


def document(text: str, sections: list[tuple[int, int]], pages: list[tuple[int, int]]) -> DocumentRow:
    row = {
        "document_id": "d" * 32,
        "batch": "b",
        "path": "a.md",
        "text": text,
        "sections": [{"heading_path": ["A"], "start": start, "end": end} for start, end in sections],
        "pages": [{"number": n, "start": start, "end": end} for n, (start, end) in enumerate(pages, 1)],
    }
    return cast("DocumentRow", row)


def chunk(position: int, start: int, end: int) -> ChunkRow:
    row = {
        "chunk_id": f"{position}" * 32,
        "position": position,
        "char_start": start,
        "char_end": end,
        "section_start": 0,
        "section_end": 40,
        "section_path": ["A"],
        "tokens": 3,
        "language": "en",
        "page_first": None,
        "page_last": None,
        "repeats": None,
    }
    return cast("ChunkRow", row)


SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted).map(tuple), max_size=5)


@given(SPANS, SPANS, SPANS)
def test_the_text_comes_out_whole_whatever_borders_cut_it(
    sections: list[tuple[int, int]], pages: list[tuple[int, int]], chunks: list[tuple[int, int]]
) -> None:
    text = "0123456789" * 4
    shown = DocumentView(document(text, sections, pages), [chunk(n, *span) for n, span in enumerate(chunks)])
    found = list(pieces(shown))
    assert "".join(piece.text for piece in found if piece.kind == "text") == text
    for kind, count in (("chunk", len(chunks)), ("page", len(pages)), ("section", len(sections))):
        assert sum(piece.kind == kind for piece in found) == count


@pytest.fixture
def workspace_with_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    workspace = new_workspace(tmp_path, monkeypatch)
    workspace.write({"one/guide.md": GUIDE, "two/guide.md": GUIDE + "\nMore.\n", "two/broken.pdf": b"no pdf"})
    workspace.run()
    return workspace


def test_a_document_is_shown_with_its_facts_and_borders(workspace_with_documents: Workspace) -> None:
    shown = invoke("show", "one/guide.md", "--out", workspace_with_documents.out)
    assert shown.code == 0
    for part in ("one/guide.md", "section Kestrel 4 guide > Filling [", "▼ chunk 0", "open the lower valve"):
        assert part in shown.stdout


def test_programs_get_one_json_document(workspace_with_documents: Workspace) -> None:
    shown = json.loads(invoke("show", "one/guide.md", "--out", workspace_with_documents.out, "--json").stdout)
    for part in shown["chunks"]:
        assert shown["document"]["text"][part["char_start"] : part["char_end"]] == part["text"]


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("guide.md", [], "2 documents are called 'guide.md': one/guide.md, two/guide.md"),
        ("nothing.md", [], "no document is called 'nothing.md'"),
        ("one/guide.md", ["--chunk", "zz"], "0 chunks of guide.md have an id that begins with 'zz'"),
    ],
)
def test_what_cannot_be_found_is_reported_with_what_can(
    workspace_with_documents: Workspace, name: str, options: list[str], told: str
) -> None:
    shown = invoke("show", name, "--out", workspace_with_documents.out, *options)
    assert (shown.code, told in shown.stderr) == (2, True)


def test_a_page_of_a_pdf_is_drawn_with_a_chunk_highlighted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = new_workspace(tmp_path, monkeypatch)
    workspace.write({"one/printed.pdf": pdf_bytes("The boiler is drained through the lower valve.")})
    workspace.run()
    (workspace.corpus / "one" / "printed.pdf").rename(workspace.corpus / "one" / "renamed.pdf")
    (chunk_id,) = workspace.table("chunks", "one")["chunk_id"]
    picture = tmp_path / "page.png"
    options: list[str | Path] = [
        "--out",
        workspace.out,
        "--corpus",
        workspace.corpus,
        "--picture",
        picture,
        "--chunk",
        chunk_id,
    ]
    shown = invoke("show", "one/printed.pdf", *options)
    assert shown.code == 0
    assert "38 of 38 letters highlighted" in shown.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--page", "7"], "has no page 7 with text; it has 1"),
        (["--span", "9"], "'9' is no span"),
        (
            ["--span", "9:12", "--page", "2"],
            "of printed.pdf (46 characters) is on page 1, not on page 2",
        ),
        (["--span", "900:912"], "900:912 of printed.pdf (46 characters) is on no page"),
    ],
)
def test_a_picture_that_cannot_be_drawn_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], told: str
) -> None:
    workspace = new_workspace(tmp_path, monkeypatch)
    workspace.write({"one/printed.pdf": pdf_bytes("The boiler is drained through the lower valve.")})
    workspace.run()
    place: list[str | Path] = [
        "--out",
        workspace.out,
        "--corpus",
        workspace.corpus,
        "--picture",
        tmp_path / "page.png",
    ]
    shown = invoke("show", "one/printed.pdf", *place, *options)
    assert (shown.code, told in shown.stderr) == (2, True)
    (workspace.corpus / "one" / "printed.pdf").write_bytes(pdf_bytes("Another text."))
    shown = invoke("show", "one/printed.pdf", *place)
    assert (shown.code, "run the batch again" in shown.stderr) == (2, True)
