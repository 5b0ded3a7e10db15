import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.generation.pair_import import import_pairs
from qa_pipeline.generation.pairs_file import parse_pairs, read_pairs
from qa_pipeline.storage.row_files import Limits
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline_tests.verification.rows import chunks, documents

DOCUMENTS = documents(
    {"guide.md": "# Guide\n\nAll.\n\n## Install\n\nRun it.", "sub/note.md": "The pump is loud."}
)
CHUNKS = chunks(DOCUMENTS)
GOOD = {"question": "Is it loud?", "answer": "The pump is loud.", "citations": ["[source:sub/note.md]"]}


def lines(*values: Any) -> bytes:
    return b"\n".join(value if isinstance(value, bytes) else json.dumps(value).encode() for value in values)


def imported(*values: Any, name: str = "pairs.jsonl", limits: Limits | None = None) -> pl.DataFrame:
    raw = parse_pairs(lines(*values), name, limits or Limits())
    return import_pairs(raw, DOCUMENTS, CHUNKS, "b")


def test_a_pair_becomes_a_row_with_its_citation_resolved() -> None:
    row = imported(GOOD | {"expected_verdict": "accepted", "expected_kind": "verbatim"}).row(0, named=True)

    assert (row["status"], row["origin"], row["question_type"], row["generator"]) == (
        "drafted",
        "imported",
        "imported",
        "pairs.jsonl",
    )
    assert (row["coverage"], row["language"], row["expected_kind"]) == ("full", "en", "verbatim")
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
        ("guide.md", "document", ["guide.md:0", "guide.md:1"]),
        ({"document": "guide.md", "quote": "Run it."}, "document", ["guide.md:0", "guide.md:1"]),
        ({"document": "guide.md", "section": "Install"}, "section", ["guide.md:1"]),
        ({"chunk_id": "guide.md:1"}, "chunk", ["guide.md:1"]),
        ({"passage": "the  pump is LOUD"}, "chunk", ["sub/note.md:0"]),
        ({"passage": "\ufeffThe pu\u00admp is"}, "chunk", ["sub/note.md:0"]),
        ({"quote": "Run it."}, "chunk", ["guide.md:1"]),
        ({"passage": "never written"}, "unknown_document", []),
        ("nowhere.md", "unknown_document", []),
        ("guide.md#nowhere", "section_not_found", ["guide.md:0", "guide.md:1"]),
        ("https://other.example/guide.md", "unknown_document", []),
        ({"passage": "All. ## Install Run it."}, "document", ["guide.md:0", "guide.md:1"]),
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


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{not json", "broken_line"),
        (b"[1, 2]", "broken_line"),
        (b'"text"', "broken_line"),
        (b"null", "broken_line"),
        (b"[" * 100_000, "broken_line"),
        (b'{"question": "a", "answer": ' + b"9" * 5000 + b"}", "broken_line"),
        (b'{"question": "a\\ud800", "answer": "b"}', "broken_line"),
        ({"question": "Why?"}, "missing_field"),
        ({"answer": "So."}, "missing_field"),
        ({"question": "Why?", "answer": None}, "missing_field"),
        ({"question": "  ", "answer": "So."}, "missing_field"),
        ({"question": 5, "answer": "So."}, "wrong_type"),
        (GOOD | {"citations": [7]}, "wrong_type"),
        (GOOD | {"coverage": "much"}, "wrong_type"),
        (GOOD | {"language": "xx"}, "unsupported_language"),
    ],
)
def test_a_line_that_cannot_be_used_is_a_failed_row_and_its_neighbours_go_on(line: Any, reason: str) -> None:
    found = imported(GOOD, line, GOOD | {"question": "And?"})

    assert found["status"].to_list() == ["drafted", "failed", "drafted"]
    assert found["reason"].to_list() == [None, reason, None]
    assert "pairs.jsonl line 2" in (found["detail"][1] or "")


def test_unknown_fields_blank_lines_windows_ends_and_a_byte_order_mark_do_no_harm() -> None:
    content = b"\xef\xbb\xbf" + lines(GOOD | {"note": 1}) + b"\r\n\r\n  \n" + lines(GOOD | {"question": "B?"})

    assert [pair.line for pair in parse_pairs(content, "pairs.jsonl")] == [1, 4]


def test_a_line_separator_inside_a_string_does_not_end_the_line() -> None:
    assert imported('{"question": "A\u2028B?", "answer": "C."}'.encode())["status"].to_list() == ["drafted"]


def test_too_long_a_line_is_a_row_and_too_many_lines_an_error() -> None:
    small = Limits(max_line_bytes=200, max_rows=2)

    assert imported(GOOD, GOOD | {"answer": "x" * 300}, limits=small)["reason"].to_list() == [
        None,
        "line_too_long",
    ]
    with pytest.raises(InputError, match="2 rows"):
        imported(GOOD, GOOD, GOOD, limits=small)


@pytest.mark.parametrize(
    ("content", "name"),
    [(b'{"question": "\xff"}', "pairs.jsonl"), (b"no parquet", "pairs.parquet"), (b"", "pairs.xlsx")],
)
def test_a_file_that_cannot_be_read_as_a_whole_is_named(content: bytes, name: str) -> None:
    with pytest.raises(InputError, match=name):
        parse_pairs(content, name)


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def test_parquet_is_read_like_json_lines() -> None:
    content = parquet(
        pl.DataFrame(
            {
                "question": ["Is it loud?", None],
                "answer": ["The pump is loud.", "So."],
                "citations": [["guide.md"], []],
                "extra": [1, 2],
            }
        )
    )

    found = import_pairs(parse_pairs(content, "pairs.parquet"), DOCUMENTS, CHUNKS, "b")

    assert found["status"].to_list() == ["drafted", "failed"]
    assert found["citations"][0][0]["resolution"] == "document"


def test_parquet_without_the_columns_says_which() -> None:
    with pytest.raises(InputError, match="answer"):
        parse_pairs(parquet(pl.DataFrame({"question": ["a"]})), "pairs.parquet")


def test_a_missing_file_and_a_large_one_are_named(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    with pytest.raises(InputError, match=str(file)):
        read_pairs(file)
    file.write_bytes(lines(GOOD))
    assert len(read_pairs(file)) == 1
    with pytest.raises(InputError, match=file.name):
        read_pairs(file, Limits(max_bytes=3))


def test_equal_pairs_have_different_ids_and_equal_files_equal_rows() -> None:
    found = imported(GOOD, GOOD, GOOD | {"citations": []})

    assert found["pair_id"].n_unique() == 3
    assert found.equals(imported(GOOD, GOOD, GOOD | {"citations": []}))


def test_an_id_depends_on_the_pair_and_not_on_its_place() -> None:
    assert imported({"question": "X?", "answer": "Y."}, GOOD)["pair_id"][1] == imported(GOOD)["pair_id"][0]


@pytest.mark.parametrize(
    ("fields", "coverage"),
    [
        ({"answer": "This information is not available in the knowledge base."}, "none"),
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

    found = import_pairs(raw, swedish, chunks(swedish), "b")

    assert found["language"].to_list() == ["sv", "de", "sv"]


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


def test_a_pair_that_cites_nothing_in_a_batch_without_text_is_in_english() -> None:
    raw = parse_pairs(
        lines({"question": "Vad ska ägaren göra innan pumpen startas?", "answer": "x"}), "a.jsonl"
    )

    assert import_pairs(raw, DOCUMENTS.clear(), CHUNKS.clear(), "b")["language"].to_list() == ["en"]


@pytest.mark.parametrize(
    ("text", "references"),
    [
        ("guide.md", ["guide.md"]),
        ("[source:guide.md#install] [source:sub/note.md]", ["guide.md#install", "sub/note.md"]),
        ("guide.md; sub/note.md\n", ["guide.md", "sub/note.md"]),
        ("  ", []),
    ],
)
def test_citations_may_be_one_text(text: str, references: list[str]) -> None:
    found = imported(GOOD | {"citations": text}).row(0, named=True)["citations"]

    assert [one["raw"].strip() for one in found] == references
    assert {one["resolution"] for one in found} <= {"document", "section"}


LISTED = ["guide.md#install", "sub/note.md"]


@pytest.mark.parametrize(
    ("fields", "cited"),
    [
        ({"citations": LISTED, "answer": "The pump is loud [2]."}, [(None, "section"), (2, "document")]),
        ({"citations": LISTED, "answer": "It is loud. [c2] [1]"}, [(1, "section"), (2, "document")]),
        ({"citations": "[2]", "sources": LISTED}, [(2, "document")]),
        ({"citations": ["[1, 2]"], "sources": LISTED}, [(1, "section"), (2, "document")]),
        ({"citations": [], "answer": "Loud [1].", "contexts": ["The pump is loud."]}, [(1, "chunk")]),
        (
            {"citations": None, "answer": "Loud [1].", "contexts": [{"document": "guide.md"}]},
            [(1, "document")],
        ),
        (
            {"citations": LISTED, "answer": "Loud [3]."},
            [(None, "section"), (None, "document"), (3, "unknown_number")],
        ),
        ({"citations": [], "answer": "Loud [1]."}, [(1, "unknown_number")]),
        ({"citations": [], "answer": "Loud [1].", "sources": {"odd": 5}}, [(1, "unknown_number")]),
        ({"citations": ["a.md"], "contexts": 7, "sources": "nowhere.md"}, [(None, "unknown_document")]),
    ],
)
def test_numbers_stand_for_entries_of_the_lists_of_their_row(
    fields: dict[str, Any], cited: list[tuple[int | None, str]]
) -> None:
    found = imported(GOOD | fields).row(0, named=True)

    assert found["status"] == "drafted"
    assert [(one["number"], one["resolution"]) for one in found["citations"]] == cited


def test_a_pair_without_citations_says_that_evidence_is_searched_for() -> None:
    found = imported(GOOD | {"citations": []}, GOOD)

    assert found.select("status", "reason").rows() == [("drafted", "found_by_search"), ("drafted", None)]
    assert found["citations"][0].to_list() == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
fields = st.sampled_from(
    [
        "question",
        "answer",
        "citations",
        "sources",
        "contexts",
        "language",
        "coverage",
        "id",
        "expected_verdict",
    ]
)


@given(st.lists(st.dictionaries(fields, json_values, max_size=5) | st.binary(max_size=20), max_size=5))
def test_whatever_is_in_the_lines_each_is_one_row(values: list[Any]) -> None:
    encoded = [value.replace(b"\n", b" ") if isinstance(value, bytes) else value for value in values]
    content = lines(*encoded)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return
    assume(
        not content.startswith((b"PK", b"PAR1", b"%PDF"))
    )  # what begins like another file is refused whole
    expected = sum(1 for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip())

    found = import_pairs(parse_pairs(content, "pairs.jsonl"), DOCUMENTS, CHUNKS, "b")

    assert found.height == expected
    assert PAIRS.problems(found) == []


def test_line_number_id_and_further_fields_of_a_line_are_kept() -> None:
    more = {"team": "Blå", "tags": ["a", 1], "nothing": None}
    frame = imported(GOOD | {"id": 7} | more, b"", GOOD | {"id": "x", "question": "Why?"}, {"id": "y"})
    assert frame.select("source_line", "source_id").rows() == [(1, "7"), (3, "x"), (4, "y")]
    fields = frame["source_fields"].to_list()
    assert json.loads(fields[0]) == more
    assert fields[1:] == [None, None]


def test_a_line_that_repeats_is_two_rows_with_their_own_numbers() -> None:
    frame = imported(GOOD, GOOD)
    assert frame["source_line"].to_list() == [1, 2]
    assert frame["pair_id"].n_unique() == 2


@pytest.mark.parametrize("value", ["\ud800", {"\ud800": 1}, [[[{"a": "\ud800"}]]]])
def test_half_a_character_in_further_fields_does_no_harm(value: Any) -> None:
    row = imported(GOOD | {"note": value}).row(0, named=True)
    assert json.loads(row["source_fields"]) == {"note": value}


def test_further_columns_of_a_parquet_file_are_kept_and_bounded() -> None:
    content = io.BytesIO()
    rows = [{**GOOD, "id": 3, "score": 0.5}, {**GOOD, "id": 4, "score": 1.0}]
    pl.DataFrame(rows).write_parquet(content)
    raw = parse_pairs(content.getvalue(), "pairs.parquet", Limits())
    frame = import_pairs(raw, DOCUMENTS, CHUNKS, "b")
    assert frame.select("source_line", "source_id", "source_fields").rows() == [
        (1, "3", '{"score": 0.5}'),
        (2, "4", '{"score": 1.0}'),
    ]
    short = parse_pairs(content.getvalue(), "pairs.parquet", Limits(max_line_bytes=10))
    assert [pair.reason for pair in short] == ["line_too_long"] * 2


def test_a_cell_may_hold_a_list_as_json() -> None:
    turns = [{"role": "user", "content": "A"}, {"role": "assistant", "content": "B [1]"}]
    rows = [{"Messages": json.dumps(turns), "sources": '["guide.md"]', "citations": ""}]
    rows += [{"Messages": json.dumps(turns), "sources": "guide.md", "citations": "[1]"}]
    found = imported(pl.DataFrame(rows).write_csv(separator=";").encode(), name="pairs.csv")
    assert found["question"].to_list() == ["A", "A"]
    assert [[one["number"] for one in cited] for cited in found["citations"]] == [[1], [1]]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("frage;antwort\na;b", "frage, antwort; .*question"),
        ("question,svar\na,b", "answer"),
        ('{"question": "a", "answer": "b"}', ""),
    ],
)
def test_a_file_that_is_no_csv_of_pairs_says_what_was_found(text: str, told: str) -> None:
    with pytest.raises(InputError, match=rf"pairs\.csv row 1.*{told}"):
        parse_pairs(text.encode(), "pairs.csv")
