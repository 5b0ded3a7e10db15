import json
from typing import Any

import pytest

from qa_pipeline.documents.masking import reference_mask, texts_mask
from qa_pipeline.generation.pair_entries import parse_pairs
from qa_pipeline.generation.pair_import import import_pairs, mask_pairs
from qa_pipeline.settings.documents import MaskingSettings
from qa_pipeline_tests.generation import pairs
from qa_pipeline_tests.verification.rows import chunks, documents

Row = dict[str, Any]
QUESTION, ANSWER = "Is the pump loud?", "The pump is loud."
PASSAGE = "The pump is loud. It weighs 12 kg."
TURN = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": ANSWER}]
WRITTEN: dict[str, Row] = {
    "question/answer": {"question": QUESTION, "answer": ANSWER},
    "messages": {"messages": TURN},
    "parts": {
        "messages": [{**turn, "content": [{"type": "text", "text": turn["content"]}]} for turn in TURN]
    },
}


def imported(*rows: object) -> list[Row]:
    found = documents({"pump.md": PASSAGE})
    return import_pairs(parse_pairs(pairs.lines(*rows), "pairs.jsonl"), found, chunks(found), "b").to_dicts()


@pytest.mark.parametrize("layout", WRITTEN)
def test_every_layout_gives_the_same_pair_and_keeps_further_fields(layout: str) -> None:
    given = {"id": 7, "team": "Blå", "citations": ["[source:pump.md]"], "nothing": None}

    row = imported(WRITTEN[layout] | given)[0]

    assert (row["status"], row["question"], row["answer"]) == ("drafted", QUESTION, ANSWER)
    assert (row["source_line"], row["source_id"]) == (1, "7")
    assert json.loads(row["source_fields"]) == {"team": "Blå", "nothing": None}
    assert [one["resolution"] for one in row["citations"]] == ["document"]


@pytest.mark.parametrize("layout", WRITTEN)
def test_every_layout_is_masked(layout: str) -> None:
    line = json.dumps(WRITTEN[layout] | {"by": "anna@x.se"}).replace("pump", "pump anna@x.se").encode()
    drop = MaskingSettings(action="drop")

    (pair,) = mask_pairs(parse_pairs(line, "pairs.jsonl"), texts_mask(drop), reference_mask(drop))

    assert (pair.question, pair.answer) == ("Is the pump [removed] loud?", "The pump [removed] is loud.")
    assert "anna" not in str(pair)


@pytest.mark.parametrize(
    ("mark", "fields"),
    [
        ("[source:pump.md]", {}),
        ("[source:pump.md#the-pump]", {}),
        ("[1]", {"sources": ["pump.md"]}),
        ("[c1]", {"citations": ["pump.md"]}),
    ],
)
@pytest.mark.parametrize("layout", list(WRITTEN))
def test_every_style_of_citation_is_read_in_the_answers_of_every_layout(
    layout: str, mark: str, fields: Row
) -> None:
    line = json.loads(json.dumps(WRITTEN[layout]).replace(ANSWER, f"{ANSWER} {mark}"))

    row = imported(line | fields)[0]

    assert [one["document_id"] for one in row["citations"]] == ["doc-pump.md"]
    assert row["passage_ids"] == ["pump.md:0"]


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
    found = pairs.imported(pairs.GOOD | {"citations": text}).row(0, named=True)["citations"]
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
        ({"citations": None, "answer": "A [1].", "sources": [{"document": "guide.md"}]}, [(1, "document")]),
        (
            {"citations": LISTED, "answer": "Loud [3]."},
            [(None, "section"), (None, "document"), (3, "unknown_number")],
        ),
        ({"citations": [], "answer": "Loud [1].", "sources": {"odd": 5}}, [(1, "unknown_number")]),
        ({"citations": ["a.md"], "sources": "nowhere.md"}, [(None, "unknown_document")]),
    ],
)
def test_numbers_stand_for_entries_of_the_lists_of_their_row(
    fields: Row, cited: list[tuple[int | None, str]]
) -> None:
    found = pairs.imported(pairs.GOOD | fields).row(0, named=True)
    assert found["status"] == "drafted"
    assert [(one["number"], one["resolution"]) for one in found["citations"]] == cited


def test_a_system_message_is_a_further_field() -> None:
    (chat,) = imported({"messages": [{"role": "system", "content": "Be brief."}, *TURN]})
    assert json.loads(chat["source_fields"]) == {"system": "Be brief."}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{not json", "broken_line"),
        (b"[1, 2]", "broken_line"),
        (b"[" * 100_000, "broken_line"),
        (b'{"question": "a", "answer": ' + b"9" * 5000 + b"}", "broken_line"),
        (pairs.GOOD | {"note": [{"\ud800": 1}]}, "broken_line"),
        ({"question": "A\0?", "answer": "B"}, "broken_line"),
        ({"frage": "A", "antwort": "B"}, "unknown_layout"),
        ({"question": "Why?", "answer": None}, "missing_field"),
        ({"question": "  ", "answer": "So."}, "missing_field"),
        (pairs.GOOD | {"citations": [7]}, "wrong_type"),
        (pairs.GOOD | {"coverage": "much"}, "wrong_type"),
        (pairs.GOOD | {"language": "xx"}, "unsupported_language"),
        (WRITTEN["messages"] | {"question": "A"}, "two_layouts"),
        ({"messages": [*TURN, *TURN]}, "several_turns"),
        ({"messages": TURN[:1]}, "missing_field"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}, TURN[1]]}, "wrong_type"),
    ],
)
def test_an_entry_that_cannot_be_used_is_a_failed_row_and_its_neighbours_go_on(
    line: Any, reason: str
) -> None:
    found = pairs.imported(WRITTEN["messages"], line, WRITTEN["question/answer"])
    assert found["status"].to_list() == ["drafted", "failed", "drafted"]
    assert found["reason"][1] == reason
    assert found["detail"][1].startswith("pairs.jsonl line 2: ")
