from typing import Any

import polars as pl
import pytest

from qa_pipeline.generation.pair_entries import parse_pairs
from qa_pipeline.generation.pair_import import import_pairs
from qa_pipeline_tests.generation.pairs import CHUNKS, DOCUMENTS, GOOD, imported, lines
from qa_pipeline_tests.verification.rows import chunks, documents


def test_a_pair_becomes_a_row_with_its_citation_resolved() -> None:
    row = imported(GOOD | {"expected_verdict": "accepted", "expected_kind": "verbatim"}).row(0, named=True)
    told = ("status", "origin", "question_type", "generator", "coverage", "language", "expected_kind")
    expected = ["drafted", "imported", "imported", "pairs.jsonl", "full", "en", "verbatim"]
    assert [row[name] for name in told] == expected
    assert row["passage_ids"] == row["used_chunk_ids"] == ["sub/note.md:0"]
    assert row["citations"] == [
        {
            "raw": "[source:sub/note.md]",
            "document_id": "doc-sub/note.md",
            "chunk_id": "sub/note.md:0",
            "quote": None,
            "number": None,
            "resolution": "document",
        }
    ]


@pytest.mark.parametrize(
    ("citation", "resolution", "chunk_ids"),
    [
        ("source:guide.md#install", "section", ["guide.md:1"]),
        ({"document": "guide.md", "quote": "Run it."}, "document", ["guide.md:0", "guide.md:1"]),
        ({"document": "guide.md", "section": "Install"}, "section", ["guide.md:1"]),
        ({"chunk_id": "guide.md:1"}, "chunk", ["guide.md:1"]),
        ({"quote": "the  pump is LOUD"}, "chunk", ["sub/note.md:0"]),
        ({"quote": "never written"}, "unknown_document", []),
        ("nowhere.md", "unknown_document", []),
        ("guide.md#nowhere", "section_not_found", ["guide.md:0", "guide.md:1"]),
    ],
)
def test_every_way_to_cite_is_read(citation: Any, resolution: str, chunk_ids: list[str]) -> None:
    row = imported(GOOD | {"citations": [citation]}).row(0, named=True)
    assert [one["resolution"] for one in row["citations"]] == [resolution]
    assert row["passage_ids"] == chunk_ids


def test_marks_in_the_answer_are_citations_and_count_once() -> None:
    answer = "It runs [source:guide.md#install]. It is loud. [source:sub/note.md]"
    row = imported(GOOD | {"answer": answer}).row(0, named=True)
    assert row["answer"] == answer
    assert [one["resolution"] for one in row["citations"]] == ["document", "section"]


def test_an_id_depends_on_the_pair_and_its_citations_and_not_on_its_place() -> None:
    found = imported(GOOD, GOOD, GOOD | {"citations": []})
    assert found["pair_id"].n_unique() == 3
    assert found["source_line"].to_list() == [1, 2, 3]
    assert imported({"question": "X?", "answer": "Y."}, GOOD)["pair_id"][1] == found["pair_id"][0]


@pytest.mark.parametrize(
    ("fields", "coverage"),
    [
        ({"answer": "Den här informationen finns inte i kunskapsbasen.", "language": "sv"}, "none"),
        ({"answer": "I cannot answer this question."}, "none"),
        ({"answer": "The pump is not red."}, "full"),
        ({"answer": "I cannot answer this question.", "coverage": "partial"}, "partial"),
    ],
)
def test_coverage_is_what_is_given_or_shown_by_a_refusal(fields: dict[str, str], coverage: str) -> None:
    assert imported(GOOD | fields)["coverage"].to_list() == [coverage]


def test_the_language_is_given_or_that_of_the_cited_document() -> None:
    swedish = documents({"a.md": "Text."}, "sv")
    raw = parse_pairs(lines(GOOD | {"citations": ["a.md"]}, GOOD | {"language": "de"}, GOOD), "pairs.jsonl")
    assert import_pairs(raw, swedish, chunks(swedish), "b")["language"].to_list() == ["sv", "de", "sv"]


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Vad ska ägaren göra innan pumpen startas på våren?", "sv"),
        ("Was muss der Besitzer tun, bevor die Pumpe im Frühjahr gestartet wird?", "de"),
        ("What must the owner do before the pump is started in spring?", "sv"),
        ("Pumpen?", "sv"),
    ],
)
def test_a_pair_that_cites_nothing_is_in_its_questions_language_where_the_batch_has_it(
    question: str, language: str
) -> None:
    swedish = documents({"a.md": "Ägaren ska tömma tanken innan pumpen startas på våren."}, "sv")
    german = documents({"b.md": "Der Besitzer muss den Tank leeren."}, "de")
    batch = pl.concat([swedish, german])
    raw = parse_pairs(lines({"question": question, "answer": "This is not available."}), "pairs.jsonl")
    assert import_pairs(raw, batch, chunks(batch), "b")["language"].to_list() == [language]
    without_text = import_pairs(raw, DOCUMENTS.clear(), CHUNKS.clear(), "b")
    assert without_text["language"].to_list() == ["en"]


def test_a_pair_without_citations_says_that_evidence_is_searched_for() -> None:
    found = imported(GOOD | {"citations": []}, GOOD)
    assert found.select("status", "reason").rows() == [("drafted", "found_by_search"), ("drafted", None)]
    assert found["citations"][0].to_list() == []
