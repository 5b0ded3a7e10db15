import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fpdf import FPDF

from qa_pipeline.curation.withdrawals import note_origin
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.review.page_files import PageFiles
from qa_pipeline.review.source import LONGEST_PART, SourceView, source_view
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import write_table
from qa_pipeline.storage.tables import DOCUMENTS
from qa_pipeline_tests.curation.rows import document, documents
from qa_pipeline_tests.documents.formats.pdf.builders import at, blank, prose

SECTION = "The valve of number {0} opens at {0} bar and closes again. "


class Sources:
    """Documents of a batch, and how they are shown."""

    def __init__(self, folder: Path) -> None:
        self.layout = Layout(folder / "out")
        self.files = folder / "corpus"
        self.texts: dict[str, str] = {}
        self.pages = PageFiles(self.layout, DocumentSettings())

    def store(self, text: str, **values: Any) -> "Sources":
        write_table(self.layout.table("documents", "b"), documents(document("d", text, **values)), DOCUMENTS)
        self.texts["d"] = text
        return self

    def read(self, content: bytes) -> str:
        (self.files / "b").mkdir(parents=True, exist_ok=True)
        (self.files / "b" / "a.pdf").write_bytes(content)
        frame = read_documents("b", self.files / "b", DocumentSettings())
        write_table(self.layout.table("documents", "b"), frame, DOCUMENTS)
        note_origin(self.layout, "b", self.files)
        identity: str = frame["document_id"][0]
        self.texts[identity] = frame["text"][0]
        return identity

    def show(self, quote: str = "", identity: str = "d", **query: str) -> SourceView:
        start = self.texts[identity].index(quote)
        span = (start, start + len(quote)) if quote else None
        return source_view(StoredTables(self.layout), self.pages, "b", identity, span, query)


@pytest.fixture
def sources(tmp_path: Path) -> Iterator[Sources]:
    made = Sources(tmp_path)
    yield made
    made.pages.close()


def long_text(sections: int, sentences: int = 20) -> tuple[str, list[dict[str, Any]]]:
    text, rows = "", []
    for number in range(sections):
        start = len(text)
        text += f"## Part {number}\n\n{SECTION.format(number) * sentences}".rstrip() + "\n\n"
        path = [f"Part {number}"]
        rows.append({"heading_path": path, "level": 2, "start": start, "end": len(text) - 2})
    return text, rows


def shown_text(view: SourceView) -> str:
    return " ".join(p.text for b in view.blocks for row in b.rows for cell in row.cells for p in cell)


def two_pages() -> bytes:
    pdf: FPDF = blank()
    at(pdf, 15, 20, prose("first", 8))
    pdf.add_page()
    at(pdf, 15, 20, prose("second", 8))
    return bytes(pdf.output())


def test_a_long_document_opens_at_the_section_of_the_evidence(sources: Sources) -> None:
    text, sections = long_text(60)
    view = sources.store(text, sections=sections).show("number 30 opens")
    assert view.part is None
    assert "Part 30" in shown_text(view)
    assert "Part 3 " not in shown_text(view)
    assert len(shown_text(view)) < 10_000


def test_the_parts_of_a_document_are_all_of_it_and_none_is_long(sources: Sources) -> None:
    text, sections = long_text(100)
    views = [sources.store(text, sections=sections).show(part="1")]
    views += [sources.show(part=str(part + 1)) for part in range(1, len(views[0].cuts))]
    assert len(views) > 2
    assert "".join(text[slice(*view.window)] for view in views) == text
    assert all(text[slice(*view.window)].startswith("## Part") for view in views)


@pytest.mark.parametrize("text", ["x" * 300_000, "word " * 60_000, "Name: a | Town: b\n" * 20_000])
@pytest.mark.parametrize("query", [{}, {"part": "2"}, {"part": "999999"}, {"find": "o", "hit": "900"}])
def test_no_view_of_a_text_without_sections_is_long(
    sources: Sources, text: str, query: dict[str, str]
) -> None:
    view = sources.store(text).show(text[1000:250_000], **query)
    assert 0 < view.window[1] - view.window[0] <= LONGEST_PART


def test_a_search_counts_all_places_and_begins_behind_the_evidence(sources: Sources) -> None:
    text, sections = long_text(60, sentences=2)
    view = sources.store(text, sections=sections).show("number 30 opens", find="VALVE  of")
    assert len(view.hits.places) == 120
    assert view.hits.current == 62
    other = sources.show("number 30 opens", find="valve of", hit="1")
    assert other.window[0] == 0
    assert sources.show(find="nowhere").hits.current == 0


@pytest.mark.slow
def test_a_pdf_opens_at_the_page_of_the_evidence_with_its_words_boxed(sources: Sources) -> None:
    identity = sources.read(two_pages())
    quote = re.search(r"second\d+\b.*?\.", sources.texts[identity])
    assert quote
    view = sources.show(quote[0], identity)
    assert view.sheet
    assert (view.sheet.number, view.page_before, view.page_after) == (2, 1, None)
    assert view.problem is None
    assert {name for name, _, _ in view.sheet.boxes} == {"evidence"}
    words = [text for _, text, frame in view.sheet.words if frame.y == view.sheet.boxes[0][1].y]
    assert quote[0].split()[0] in " ".join(words)
    assert all(sources.texts[identity][start:].startswith(text) for start, text, _ in view.sheet.words)


@pytest.mark.parametrize("change", ["gone", "changed", "corpus", "unrecorded"])
def test_text_stands_in_for_pages_whose_file_is_gone_or_changed(sources: Sources, change: str) -> None:
    identity = sources.read(two_pages())
    file = sources.files / "b" / "a.pdf"
    if change == "changed":
        file.write_bytes(two_pages() + b"%")
    else:
        file.unlink()
    if change == "corpus":
        file.parent.rmdir()
        sources.files.rmdir()
    if change == "unrecorded":
        sources.layout.origin("b").unlink()
    view = sources.show("first", identity)
    assert view.sheet is None
    assert view.problem
    assert "first" in shown_text(view)
