import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.masking.masking import reference_mask, texts_mask
from qa_pipeline.generation.pair_entries import COLUMNS
from qa_pipeline.generation.pair_import import import_pairs
from qa_pipeline.generation.pair_masking import mask_pairs
from qa_pipeline.generation.pairs_file import parse_pairs
from qa_pipeline.settings.documents import MaskingSettings
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


def jsonl(*rows: object) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def imported(*rows: object, language: str = "en") -> list[Row]:
    found = documents({"pump.md": PASSAGE}, language)
    return import_pairs(parse_pairs(jsonl(*rows), "pairs.jsonl"), found, chunks(found), "b").to_dicts()


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
        ("[c1]", {"contexts": [PASSAGE]}),
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


def test_a_system_message_is_a_further_field() -> None:
    (chat,) = imported({"messages": [{"role": "system", "content": "Be brief."}, *TURN]})
    assert json.loads(chat["source_fields"]) == {"system": "Be brief."}


@pytest.mark.parametrize(
    ("line", "reason", "told"),
    [
        ({}, "unknown_layout", "question + answer or messages"),
        ({"frage": "A", "antwort": "B"}, "unknown_layout", "frage, antwort"),
        ({str(n): n for n in range(99)}, "unknown_layout", "and 87 more"),
        ({"question": "A", "context": "B"}, "missing_field", "answer"),
        (WRITTEN["messages"] | {"question": "A"}, "two_layouts", "messages"),
        ({"messages": [*TURN, *TURN]}, "several_turns", "4 messages"),
        ({"messages": TURN[:1]}, "missing_field", "user"),
        ({"messages": TURN[::-1]}, "missing_field", "assistant then user"),
        ({"messages": []}, "missing_field", ""),
        ({"messages": "A"}, "wrong_type", "messages"),
        ({"messages": ["A"]}, "wrong_type", "messages"),
        ({"messages": [{"role": "tool", "content": "A"}]}, "wrong_type", "messages"),
        ({"messages": [{"role": ["user"], "content": "A"}]}, "wrong_type", "messages"),
        ({"messages": [TURN[0], {"role": "assistant"}]}, "wrong_type", ""),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}, TURN[1]]},
            "wrong_type",
            "",
        ),
        ({"question": "A\0?", "answer": "B"}, "broken_line", ""),
    ],
)
def test_an_entry_that_fits_no_layout_says_what_was_found(line: Row, reason: str, told: str) -> None:
    before, row, after = imported(WRITTEN["messages"], line, WRITTEN["question/answer"])
    assert (row["status"], row["reason"]) == ("failed", reason)
    assert row["detail"].startswith("pairs.jsonl line 2: ")
    assert told in row["detail"]
    assert (before["status"], after["status"]) == ("drafted", "drafted")


names = st.sampled_from(sorted(COLUMNS))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(names | st.sampled_from(["role", "content", "text", "user"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(names, values, max_size=6))
def test_whatever_stands_in_the_fields_gives_a_pair_or_a_reason(entry: Row) -> None:
    raw = parse_pairs(json.dumps(entry).encode(), "pairs.jsonl")
    assert len(raw) == 1
    assert all(pair.question is not None for pair in raw if pair.reason is None)
    assert all(pair.detail is not None for pair in raw if pair.reason is not None)
