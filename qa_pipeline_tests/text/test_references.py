import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.storage.tables import DOCUMENTS
from qa_pipeline.text.references import (
    Sources,
    mark_references,
    marked_numbers,
    split_reference,
)
from qa_pipeline_tests.verification.rows import chunks, documents

GUIDE = (
    "Before.\n\n# Guide\n\nAll.\n\n## Install\n\nRun it.\n\n### On Linux\n\nUse it.\n\n"
    "## Usage\n\nFirst.\n\n# Usage\n\nSecond.\n"
)
TEXTS = {
    "docs/Guide One.md": GUIDE,
    "docs/råd.md": "# Råvatten\n\nKlart.\n",
    "a/readme.md": "One.",
    "b/readme.md": "Two.",
}


@pytest.fixture(scope="module")
def sources() -> Sources:
    frame = documents(TEXTS)
    return Sources(frame, chunks(frame))


SPELLINGS = (
    "docs/Guide One.md",
    "[source:docs/Guide One.md]",
    "DOCS\\GUIDE ONE.MD",
    "./docs/Guide%20One.md",
    "guide one",
    "corpora/batch/docs/Guide One.md",
    "doc-docs/Guide One.md",
    "Källa: Guide One.md",
)


@pytest.mark.parametrize("reference", SPELLINGS)
def test_every_spelling_of_a_path_names_its_document(sources: Sources, reference: str) -> None:
    found = sources.resolve(reference)
    assert (found.kind, found.document_id, len(found.chunk_ids)) == ("document", "doc-docs/Guide One.md", 6)


@pytest.mark.parametrize(
    ("section", "held"),
    [("#install", "23"), ("#On%20Linux", "3"), ("#usage", "45"), ("#usage-1", "5"), ("#guide", "1234")],
)
def test_a_section_holds_its_own_text_and_all_below_it(sources: Sources, section: str, held: str) -> None:
    found = sources.resolve(f"docs/Guide One.md{section}")
    assert found.kind == "section"
    assert "".join(chunk_id.rsplit(":", 1)[1] for chunk_id in found.chunk_ids) == held


@pytest.mark.parametrize("anchor", ["råvatten", "ravatten", "raavatten", "r%C3%A5vatten"])
def test_an_anchor_may_be_written_without_accents(sources: Sources, anchor: str) -> None:
    assert sources.resolve(f"råd.md#{anchor}").kind == "section"


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        ("missing.md", "unknown_document"),
        ("Guide One.pdf", "unknown_document"),
        ("../../etc/passwd", "unknown_document"),
        ("", "unknown_document"),
        ("docs/Guide One.md#nowhere", "section_not_found"),
        ("https://other.example/a/readme.md", "unknown_document"),
        ("readme.md", "ambiguous"),
        ("a/readme.md", "document"),
        ("a/readme.md:0", "chunk"),
    ],
)
def test_what_is_not_there_or_not_one_is_distinguished(sources: Sources, reference: str, kind: str) -> None:
    assert sources.resolve(reference).kind == kind


def test_a_duplicate_stands_for_its_original_and_a_failed_document_has_no_text() -> None:
    frame = documents({"one.md": "Text."})
    row = frame.row(0, named=True)
    empty = {**row, "text": None, "sections": []}
    twin = {**empty, "document_id": "twin", "path": "two.md", "status": "duplicate"}
    failed = {**empty, "document_id": "bad", "path": "bad.md", "status": "failed"}
    found = Sources(pl.concat([frame, DOCUMENTS.frame([twin, failed])]), chunks(frame))
    assert found.resolve("two.md").document_id == "doc-one.md"
    assert found.resolve("bad.md").kind == "no_text"


def test_references_are_read_from_marks_in_order() -> None:
    text = "One [source:a.md#x]. Two [Source: b.md; source:c.md] and [3] and [not a source]."
    assert mark_references(text) == ["a.md#x", "b.md", "c.md"]


@given(st.text(max_size=60))
def test_no_reference_breaks_the_look_up(reference: str) -> None:
    frame = documents(TEXTS)
    assert Sources(frame, chunks(frame)).resolve(reference).kind
    split_reference(reference)


def test_a_chunk_of_several_sections_is_found_under_each_of_their_headings() -> None:
    frame = documents({"a.md": "# A\n\n## B\n\nOne.\n\n## C\n\nTwo.\n"})
    apart = chunks(frame)
    start, end = apart["char_start"][1], apart["char_end"][2]
    merged = apart[1:2].with_columns(pl.lit(start).alias("char_start"), pl.lit(end).alias("char_end"))
    sources = Sources(frame, merged)
    found = [sources.resolve(f"a.md#{section}").chunk_ids for section in ("b", "c", "a")]
    assert found == [tuple(merged["chunk_id"])] * 3


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        ("https://docs.example/guide.md", "document"),
        ("http://DOCS.example/guide.md/", "document"),
        ("[source:https://docs.example/guide.md#install]", "section"),
        ("https://docs.example/r%C3%A5d", "document"),
        ("https://other.example/guide.md", "unknown_document"),
        ("https://docs.example/guide.md?version=2", "unknown_document"),
        ("https://docs.example/shared", "ambiguous"),
        ("https://[half/guide.md", "unknown_document"),
    ],
)
def test_an_address_names_the_document_that_came_from_it_and_no_other(reference: str, kind: str) -> None:
    frame = documents({"guide.md": "# Guide\n\n## Install\n\nRun.", "r.md": "R.", "b.md": "B.", "c.md": "C."})
    at = ["https://docs.example/guide.md", "https://docs.example/råd", *["https://docs.example/shared"] * 2]
    frame = frame.with_columns(source_uri=pl.Series(at))

    assert Sources(frame, chunks(frame)).resolve(reference).kind == kind


def test_a_section_that_is_not_there_stands_for_its_whole_document(sources: Sources) -> None:
    found = sources.resolve("docs/råd.md#nowhere")
    assert found.resolved
    assert found.chunk_ids == ("docs/råd.md:0",)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("One [1]. Two [c2].", [1, 2]),
        ("Both [1, 3] and [2-4] and [^5].", [1, 3, 2, 3, 4, 5]),
        ("See `argv[1]` and ```x[2]```.", []),
        ("Not [12345], [a1] or [source:a.md].", []),
    ],
)
def test_numbered_citations_are_read_in_order(text: str, numbers: list[int]) -> None:
    assert marked_numbers(text) == numbers
