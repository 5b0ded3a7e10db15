import json
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.retrieval.chunks import ChunkRow
from qa_pipeline.review.source import split_at_borders
from qa_pipeline.storage.table_schema import DocumentRow
from qa_pipeline_tests.curation import rows
from qa_pipeline_tests.documents.builders import pdf_bytes
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Workspace, invoke, new_workspace


def document(text: str, sections: list[tuple[int, int]], pages: list[tuple[int, int]]) -> DocumentRow:
    parts = [{"heading_path": ["A"], "start": start, "end": end} for start, end in sections]
    sheets = [{"number": n, "start": start, "end": end} for n, (start, end) in enumerate(pages, 1)]
    return cast("DocumentRow", rows.document("d", text, sections=parts, pages=sheets))


def chunk(position: int, start: int, end: int) -> ChunkRow:
    span: dict[str, Any] = {
        "char_start": start,
        "char_end": end,
        "section_start": 0,
        "section_end": 40,
        "passed_over": None,
    }
    return cast("ChunkRow", rows.chunk(f"{position}", position=position, **span))


SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted).map(tuple), max_size=5)


@given(SPANS, SPANS, SPANS)
def test_the_text_comes_out_whole_whatever_borders_cut_it(
    sections: list[tuple[int, int]], pages: list[tuple[int, int]], chunks: list[tuple[int, int]]
) -> None:
    text = "0123456789" * 4
    cut = [chunk(n, *span) for n, span in enumerate(chunks)]
    found = list(split_at_borders(document(text, sections, pages), cut))
    assert "".join(words for kind, words in found if kind == "text") == text
    for kind, count in (("chunk", len(chunks)), ("page", len(pages)), ("section", len(sections))):
        assert sum(name == kind for name, _ in found) == count


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    with pytest.MonkeyPatch.context() as patch:
        made = new_workspace(tmp_path_factory.mktemp("documents"), patch)
        printed = pdf_bytes("The boiler is drained through the lower valve.")
        made.write({"one/guide.md": GUIDE, "print/guide.md": GUIDE, "print/printed.pdf": printed})
        made.run()
    return made


def show(workspace: Workspace, name: str, *options: str | Path) -> Ran:
    return invoke("show", name, "--out", workspace.out, *options)


def test_a_document_is_shown_with_its_facts_and_borders(workspace: Workspace) -> None:
    shown = show(workspace, "one/guide.md")
    assert shown.code == 0
    for part in ("guide.md", "Kestrel 4 guide > Filling", "chunk 0", "open the lower valve"):
        assert part in shown.stdout


def test_programs_get_one_json_document(workspace: Workspace) -> None:
    shown = json.loads(show(workspace, "one/guide.md", "--json").stdout)
    for part in shown["chunks"]:
        assert shown["document"]["text"][part["char_start"] : part["char_end"]] == part["text"]


@pytest.mark.parametrize(
    ("name", "told"), [("guide.md", "one/guide.md, print/guide.md"), ("nothing.md", "'nothing.md'")]
)
def test_what_cannot_be_found_is_reported_with_what_can(workspace: Workspace, name: str, told: str) -> None:
    shown = show(workspace, name)
    assert (shown.code, told in shown.stderr) == (2, True)
