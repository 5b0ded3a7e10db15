import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.evaluation.answered_questions import RAG_ROWS, read_rag_rows
from qa_pipeline.evaluation.labelled_files import Labelled


def read(folder: Path, *rows: Any) -> Labelled:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return read_rag_rows([path])


def one(folder: Path, row: dict[str, Any]) -> dict[str, Any]:
    return read(folder, row).items.row(0, named=True)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    ["id", "query", "answer", "contexts", "citations", "ground_truth", "samples",
     "evidence", "messages", "language", "confidences", "seconds", "must_refuse"]
)  # fmt: skip


@given(row=st.dictionaries(names, values, max_size=6))
def test_whatever_a_row_holds_it_is_used_or_counted_with_a_reason(
    tmp_path_factory: pytest.TempPathFactory, row: dict[str, Any]
) -> None:
    found = read(tmp_path_factory.mktemp("rows"), row, {"query": "Who?", "id": "usable"})
    assert found.items.height + found.left_out["rows"].sum() == 2
    assert found.items.schema == RAG_ROWS


@pytest.mark.parametrize(
    "row",
    [
        {"query": "Who?", "answer": "Ann.", "contexts": ["Ann did."], "ground_truth": {"answer": "Ann"}},
        {"user_input": "Who?", "response": "Ann.", "retrieved_contexts": ["Ann did."], "reference": "Ann"},
        {"question": "Who?", "answer": "Ann.", "contexts": ["Ann did."], "ground_truth": "Ann"},
        {"question": "Who?", "answer": "Ann.", "contexts": ["Ann did."], "ground_truths": ["Ann"]},
        {
            "input": "Who?",
            "actual_output": "Ann.",
            "retrieval_context": ["Ann did."],
            "expected_output": "Ann",
        },
        {"record_id": "r", "input": "Who?", "output": "Ann.", "contexts": ["Ann did."], "reference": "Ann"},
    ],
)  # fmt: skip
def test_exports_of_other_evaluators_are_the_same_rows(tmp_path: Path, row: dict[str, Any]) -> None:
    found = one(tmp_path, row)
    assert (found["query"], found["answer"], found["reference"]) == ("Who?", "Ann.", "Ann")
    assert [context["text"] for context in found["contexts"]] == ["Ann did."]
    assert found["must_refuse"] is False


def test_the_quotes_of_a_released_row_are_contexts_below_the_headings_of_their_passages(
    tmp_path: Path,
) -> None:
    evidence = [{"claim": "It opens.", "path": "a.md", "chunk_id": "c", "quote": "It opens."}]
    shown = [{"chunk_id": "c", "heading": "Guide › Hours"}]
    row = {"question": "Does it?", "answer": "It opens.", "messages": [], "evidence": evidence}
    for passages, headings in ((shown, ["Guide", "Hours"]), (None, None)):
        (context,) = one(tmp_path, {**row, "passages": passages})["contexts"]
        assert (context["text"], context["document"], context["headings"]) == ("It opens.", "a.md", headings)


def test_contexts_stand_in_the_order_of_their_ranks(tmp_path: Path) -> None:
    contexts = [{"text": "b", "rank": 7}, {"text": "a", "rank": 2}]
    found = one(tmp_path, {"query": "Who?", "contexts": contexts})
    assert [(context["text"], context["rank"]) for context in found["contexts"]] == [("a", 1), ("b", 2)]


@pytest.mark.parametrize(
    ("contexts", "reason"),
    [
        ([{"text": "a", "rank": 1}, {"text": "b", "rank": 1}], "repeated_rank"),
        ([{"text": "a", "rank": 1}, {"text": "b"}], "missing_rank"),
        ([{"text": "a", "authority": 2.0}], "wrong_type"),
        ([{"text": "half a \ud800 character"}], "broken_text"),
    ],
)
def test_contexts_that_cannot_be_used_are_left_out_with_a_reason(
    tmp_path: Path, contexts: list[dict[str, Any]], reason: str
) -> None:
    found = read(tmp_path, {"query": "Who?", "contexts": contexts}, {"query": "When?"})
    assert found.left_out["reason"].to_list() == [reason]
    assert found.items["query"].to_list() == ["When?"]


def test_a_reference_that_refuses_says_that_the_answer_must_refuse(tmp_path: Path) -> None:
    said = "I cannot answer this question based on the provided documents."
    assert one(tmp_path, {"query": "Who?", "ground_truth": said})["must_refuse"] is True
    assert one(tmp_path, {"query": "Who?"})["must_refuse"] is None


def test_a_ground_truth_without_documents_leaves_those_of_its_row(tmp_path: Path) -> None:
    row = {"query": "Who?", "relevant_documents": ["a.md"], "ground_truth": {"answer": "Ann"}}
    found = one(tmp_path, row)
    assert (found["reference"], found["relevant_documents"]) == ("Ann", ["a.md"])


def test_a_row_is_about_its_first_relevant_document_then_its_first_context(tmp_path: Path) -> None:
    contexts = [{"text": "t", "document": "b.md"}]
    relevant = {"query": "Who?", "contexts": contexts, "ground_truth": {"relevant_documents": ["a.md"]}}
    assert one(tmp_path, relevant)["group"] == "a.md"
    assert one(tmp_path, {"query": "Who?", "contexts": contexts})["group"] == "b.md"
    assert one(tmp_path, {"query": "Who?", "group_id": "c"})["group"] == "c"


# As DeepEval 4.3 (save_as) and Ragas 0.4 (to_csv, to_pandas, to_hf_dataset, Dataset.save) write them.
_DEEPEVAL_ROW = {"input": "How heavy?", "actual_output": "43 kg.", "expected_output": "43 kg", "name": None}
_RAGAS_HEAD = "user_input,retrieved_contexts,reference_contexts,response,reference\n"
_TEXTS = ["It weighs 43 kg.", "A 'quoted' \"text\", here\nand there"]
_SAVED_FILES = {
    "goldens.json": json.dumps(
        [{**_DEEPEVAL_ROW, "retrieval_context": _TEXTS, "context": [_TEXTS[0]]}], indent=4
    ),
    "semicolons.csv": _RAGAS_HEAD.replace(",", ";")
    + 'How heavy?;"[""It weighs 43 kg."", ""A \'quoted\' \\""text\\"", here\\nand there""]";'
    + '"[""It weighs 43 kg.""]";43 kg.;43 kg\n',
}


@pytest.mark.parametrize("name", _SAVED_FILES)
def test_files_that_other_evaluators_save_are_read_as_what_they_hold(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(_SAVED_FILES[name], encoding="utf-8", newline="")
    row = read_rag_rows([tmp_path / name]).items.row(0, named=True)
    assert (row["query"], row["answer"], row["reference"]) == ("How heavy?", "43 kg.", "43 kg")
    assert [one["text"] for one in row["contexts"]] == _TEXTS


GOLDEN_ROW = {
    "id": "g1",
    "query": "How heavy?",
    "ground_truth": {"answer": "43 kg", "relevant_docs": ["guide.md"], "citations": ["guide.md#mass"]},
}


def test_a_golden_row_has_the_right_answer_and_its_documents(tmp_path: Path) -> None:
    row = one(tmp_path, GOLDEN_ROW)
    assert (row["reference"], row["relevant_documents"], row["must_refuse"]) == ("43 kg", ["guide.md"], False)
    assert row["true_claims"] is None


@pytest.mark.parametrize(
    "relevant",
    [{"a.md": 3, "b.md": 1, "c.md": 0}, [{"document": "a.md", "grade": 3}, {"document": "b.md", "grade": 1}]],
)
def test_relevant_documents_may_have_grades(tmp_path: Path, relevant: object) -> None:
    row = one(tmp_path, {"query": "Who?", "ground_truth": {"answer": "Ann", "relevant_docs": relevant}})
    assert (row["relevant_documents"], row["relevance_grades"]) == (["a.md", "b.md"], [3, 1])


@pytest.mark.parametrize("truth", ["UNANSWERABLE", {"answer": "unanswerable "}, {"answer": "UNANSWERABLE"}])
def test_an_unanswerable_question_must_be_refused_and_has_no_right_answer(
    tmp_path: Path, truth: object
) -> None:
    row = one(tmp_path, {"query": "What does it cost?", "ground_truth": truth})
    assert (row["must_refuse"], row["reference"]) == (True, None)
