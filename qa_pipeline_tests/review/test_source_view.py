from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fpdf import FPDF

from qa_pipeline.curation.withdrawals import note_origin
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.review.source import LONGEST_PART, PageFiles, SourceView, source_view
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


def shown_text(view: SourceView) -> str:
    return "".join(text for text, _ in view.spans)


def two_pages() -> bytes:
    pdf: FPDF = blank()
    at(pdf, 15, 20, prose("first", 8))
    pdf.add_page()
    at(pdf, 15, 20, prose("second", 8))
    return bytes(pdf.output())


def long_text() -> str:
    return "\n".join(SECTION.format(number) * 20 for number in range(200))


def test_a_long_document_opens_at_the_part_with_the_evidence(sources: Sources) -> None:
    view = sources.store(long_text()).show("number 150 opens")
    assert view.part > 1
    assert [text for text, is_evidence in view.spans if is_evidence] == ["number 150 opens"]
    assert shown_text(view) in sources.texts["d"]


def test_the_parts_of_a_document_are_all_of_it(sources: Sources) -> None:
    views = [sources.store(long_text()).show(part="1")]
    views += [sources.show(part=str(part + 1)) for part in range(1, views[0].parts)]
    assert len(views) > 2
    assert "".join(map(shown_text, views)) == sources.texts["d"]


@pytest.mark.parametrize("text", ["x" * 300_000, "word " * 60_000, "Name: a | Town: b\n" * 20_000])
@pytest.mark.parametrize("query", [{}, {"part": "2"}, {"part": "999999"}])
def test_no_view_of_a_text_is_long(sources: Sources, text: str, query: dict[str, str]) -> None:
    view = sources.store(text).show(text[1000:250_000], **query)
    assert 0 < len(shown_text(view)) <= LONGEST_PART


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
    assert view.picture is None
    assert view.problem
    assert "first" in shown_text(view)
