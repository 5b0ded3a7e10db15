import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.masking.masking import reference_mask, texts_mask
from qa_pipeline.generation.pair_layouts import LAYOUTS, unfolded
from qa_pipeline.generation.pairs_file import import_pairs, mask_pairs, parse_pairs
from qa_pipeline.prompts.loading import refusal
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
    "ShareGPT": {
        "conversations": [{"from": "human", "value": QUESTION}, {"from": "gpt", "value": ANSWER}],
    },
    "alpaca": {"instruction": QUESTION, "input": "", "output": ANSWER},
    "completion": {"prompt": QUESTION, "completion": ANSWER},
    "conversational completion": {"prompt": TURN[:1], "completion": TURN[1:]},
    "SQuAD": {
        "question": QUESTION,
        "context": PASSAGE,
        "answers": {"text": [ANSWER, ANSWER], "answer_start": [0, 0]},
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
@pytest.mark.parametrize("layout", [name for name in WRITTEN if name != "SQuAD"])
def test_every_style_of_citation_is_read_in_the_answers_of_every_layout(
    layout: str, mark: str, fields: Row
) -> None:
    line = json.loads(json.dumps(WRITTEN[layout]).replace(ANSWER, f"{ANSWER} {mark}"))

    row = imported(line | fields)[0]

    assert [one["document_id"] for one in row["citations"]] == ["doc-pump.md"]
    assert row["passage_ids"] == ["pump.md:0"]


def test_the_context_of_squad_is_what_the_answer_rests_on_unless_it_cites_itself() -> None:
    own, named = imported(WRITTEN["SQuAD"], WRITTEN["SQuAD"] | {"citations": ["pump.md"]})
    assert [one["resolution"] for one in own["citations"]] == ["chunk"]
    assert own["passage_ids"] == ["pump.md:0"]
    assert [one["raw"] for one in named["citations"]] == ["pump.md"]


@pytest.mark.parametrize("language", ["en", "sv", "de"])
@pytest.mark.parametrize(
    "fields", [{"answers": {"text": [], "answer_start": []}}, {"answers": []}, {"is_impossible": True}]
)
def test_what_squad_calls_impossible_is_refused_in_the_language_of_its_document(
    fields: Row, language: str
) -> None:
    row = imported(WRITTEN["SQuAD"] | fields, language=language)[0]
    assert (row["status"], row["coverage"], row["language"]) == ("drafted", "none", language)
    assert row["answer"] == refusal(language)


def test_of_several_answers_the_first_counts_and_all_are_kept() -> None:
    answers = [{"text": "loud", "answer_start": 12}, {"text": "is loud", "answer_start": 9}]
    row = imported(WRITTEN["SQuAD"] | {"answers": answers})[0]
    assert row["answer"] == "loud"
    assert json.loads(row["source_fields"]) == {"answers": answers}


def test_nested_squad_is_one_row_a_question_with_the_title_of_its_article() -> None:
    one = {"context": PASSAGE, "qas": [{"question": f"{n}?", "answers": [{"text": str(n)}]} for n in (1, 2)]}
    two = {"context": PASSAGE, "qas": [{"question": "3?", "is_impossible": True}, 4, {"question": "5?"}]}

    rows = imported({"title": "Pumps", "paragraphs": [one, two]})

    assert [row["question"] for row in rows] == ["1?", "2?", "3?", None, None]
    assert [row["reason"] for row in rows] == [None, None, None, "broken_line", "missing_field"]
    assert [row["coverage"] for row in rows[:3]] == ["full", "full", "none"]
    assert json.loads(rows[0]["source_fields"]) == {"title": "Pumps"}
    assert len({row["pair_id"] for row in rows}) == 5


def test_the_input_of_an_instruction_is_part_of_the_question_and_a_system_message_a_further_field() -> None:
    alpaca, chat = imported(
        {"instruction": "Say whether it is loud.", "input": "The pump.", "output": "Yes."},
        {"messages": [{"role": "system", "content": "Be brief."}, *TURN]},
    )
    assert alpaca["question"] == "Say whether it is loud.\n\nThe pump."
    assert json.loads(chat["source_fields"]) == {"system": "Be brief."}


@pytest.mark.parametrize(
    ("line", "reason", "told"),
    [
        ({}, "unknown_layout", "found no field with a value; expected question + answer, messages"),
        ({"frage": "A", "antwort": "B"}, "unknown_layout", "found frage, antwort; expected"),
        ({str(n): n for n in range(99)}, "unknown_layout", "and 87 more; expected"),
        ({"instruction": "A"}, "unknown_layout", "instruction + output"),
        ({"question": "A", "context": "B"}, "missing_field", "answer"),
        (WRITTEN["messages"] | WRITTEN["alpaca"], "two_layouts", "messages and instruction + output"),
        (WRITTEN["messages"] | {"question": "A"}, "two_layouts", "question beside messages"),
        ({"messages": [*TURN, *TURN]}, "several_turns", "4 messages"),
        (WRITTEN["alpaca"] | {"history": [["A", "B"]]}, "several_turns", "history"),
        ({"messages": TURN[:1]}, "missing_field", "found user"),
        ({"messages": TURN[::-1]}, "missing_field", "found assistant then user"),
        ({"messages": []}, "missing_field", "found none"),
        ({"messages": "A"}, "wrong_type", "expected a list of messages, found str"),
        ({"messages": ["A"]}, "wrong_type", "expected a message object, found str"),
        ({"messages": [{"role": "tool", "content": "A"}]}, "wrong_type", "role tool"),
        ({"messages": [{"role": ["user"], "content": "A"}]}, "wrong_type", "role ['user']"),
        ({"messages": [TURN[0], {"role": "assistant"}]}, "wrong_type", "something else than text"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}, TURN[1]]},
            "wrong_type",
            "something else than text",
        ),
        ({"instruction": 5, "output": "A"}, "wrong_type", "instruction and input"),
        ({"prompt": ["A"], "completion": "B"}, "wrong_type", "question"),
        (WRITTEN["SQuAD"] | {"answers": {"text": [None]}}, "wrong_type", "answers"),
        (WRITTEN["SQuAD"] | {"answers": "loud"}, "wrong_type", "answers"),
        (WRITTEN["SQuAD"] | {"answers": {"text": [""]}}, "missing_field", "answer"),
        ({"question": "A\0?", "answer": "B"}, "broken_line", "NUL"),
    ],
)
def test_an_entry_that_fits_no_layout_says_what_was_found(line: Row, reason: str, told: str) -> None:
    before, row, after = imported(WRITTEN["messages"], line, WRITTEN["alpaca"])
    assert (row["status"], row["reason"]) == ("failed", reason)
    assert row["detail"].startswith("pairs.jsonl line 2: ")
    assert told in row["detail"]
    assert (before["status"], after["status"]) == ("drafted", "drafted")


names = st.sampled_from(
    sorted({name for layout in LAYOUTS for name in (*layout.known_by, *layout.also)} | {"data", "qas"})
)
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
    assert len(raw) == len([*unfolded(entry)])
    assert all(pair.question is not None for pair in raw if pair.reason is None)
    assert all(pair.detail is not None for pair in raw if pair.reason is not None)
