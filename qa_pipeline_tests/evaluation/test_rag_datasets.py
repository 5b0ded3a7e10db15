import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.rag_datasets import RAG_ROWS, read_rag_rows

Row = dict[str, Any]


def read(folder: Path, *rows: Row, name: str = "rows.jsonl") -> pl.DataFrame:
    path = folder / name
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return read_rag_rows([path]).items


def one(folder: Path, row: Row) -> Row:
    return read(folder, row).row(0, named=True)


def test_rows_have_our_columns_whatever_they_are_called(tmp_path: Path) -> None:
    assert read(tmp_path, {"query": "Who?"}).schema == RAG_ROWS


@pytest.mark.parametrize(
    "row",
    [
        {"user_input": "Who?", "response": "Ann.", "retrieved_contexts": ["Ann did."], "reference": "Ann"},
        {"question": "Who?", "answer": "Ann.", "contexts": ["Ann did."], "ground_truths": ["Ann"]},
        {"question": "Who?", "answer": "Ann.", "contexts": ["Ann did."], "ground_truth": "Ann"},
        {
            "input": "Who?",
            "actual_output": "Ann.",
            "retrieval_context": ["Ann did."],
            "expected_output": "Ann",
        },
        {
            "query": "Who?",
            "answer": "Ann.",
            "contexts": [{"text": "Ann did."}],
            "ground_truth": {"answer": "Ann"},
        },
    ],
    ids=["ragas", "ragas before 0.2", "ragas 0.1", "deepeval", "ours"],
)
def test_exports_of_others_are_read_by_their_names(tmp_path: Path, row: Row) -> None:
    found = one(tmp_path, row)
    assert (found["query"], found["answer"], found["reference"]) == ("Who?", "Ann.", "Ann")
    assert [context["text"] for context in found["contexts"]] == ["Ann did."]


def test_a_record_of_trulens_has_its_id_and_its_texts(tmp_path: Path) -> None:
    found = one(tmp_path, {"record_id": "r1", "input": "Who?", "output": "Ann."})
    assert (found["id"], found["query"], found["answer"]) == ("r1", "Who?", "Ann.")


def test_context_ids_of_ragas_name_documents(tmp_path: Path) -> None:
    row = {
        "user_input": "Who?",
        "retrieved_contexts": ["A.", "B."],
        "retrieved_context_ids": [1, "b"],
        "reference_context_ids": ["b"],
    }
    found = one(tmp_path, row)
    assert [context["document"] for context in found["contexts"]] == ["1", "b"]
    assert found["relevant_documents"] == ["b"]


def test_contexts_without_ids_are_named_by_their_texts(tmp_path: Path) -> None:
    found = one(
        tmp_path, {"user_input": "Who?", "retrieved_contexts": ["A.", "B."], "reference_contexts": ["B."]}
    )
    assert found["relevant_documents"] == [found["contexts"][1]["document"]]


def test_contexts_stand_in_the_order_of_their_ranks(tmp_path: Path) -> None:
    contexts = [{"text": "second", "rank": 7}, {"text": "first", "rank": 2}]
    found = one(tmp_path, {"query": "Who?", "contexts": contexts})["contexts"]
    assert [(context["text"], context["rank"]) for context in found] == [("first", 1), ("second", 2)]


@pytest.mark.parametrize(("ranks", "reason"), [([1, 1], "repeated_rank"), ([1, None], "missing_rank")])
def test_ranks_that_repeat_or_lack_leave_the_row_out_with_a_reason(
    tmp_path: Path, ranks: list[int | None], reason: str
) -> None:
    bad = {"query": "Who?", "contexts": [{"text": "A.", "rank": rank} for rank in ranks]}
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(bad)}\n{json.dumps({'query': 'Why?'})}", encoding="utf-8")
    found = read_rag_rows([path])
    assert found.items.height == 1
    assert found.left_out["reason"].to_list() == [reason]


def test_a_score_that_is_no_number_is_unknown(tmp_path: Path) -> None:
    row = {"query": "Who?", "contexts": [{"text": "A.", "score": float("nan")}], "seconds": float("inf")}
    found = one(tmp_path, row)
    assert (found["contexts"][0]["score"], found["seconds"]) == (None, None)


def test_the_group_is_the_document_a_row_is_about(tmp_path: Path) -> None:
    asked = {"query": "Who?", "contexts": [{"text": "A.", "document": "c.md"}]}
    assert one(tmp_path, asked)["group"] == "c.md"
    assert one(tmp_path, {**asked, "ground_truth": {"relevant_documents": ["r.md"]}})["group"] == "r.md"
    assert one(tmp_path, {**asked, "group": "g"})["group"] == "g"
    alone = read(tmp_path, {"query": "Who?"}, {"query": "Why?"})["group"]
    assert alone.n_unique() == 2


def test_a_reference_that_refuses_says_that_the_answer_must(tmp_path: Path) -> None:
    assert one(tmp_path, {"query": "Who?", "reference": "I do not know."})["must_refuse"] is True
    assert one(tmp_path, {"query": "Who?", "reference": "Ann."})["must_refuse"] is False
    assert one(tmp_path, {"query": "Who?"})["must_refuse"] is None


def test_true_claims_may_be_texts_or_have_sources(tmp_path: Path) -> None:
    claims = ["A.", {"claim": "B.", "source": "b.md"}]
    found = one(tmp_path, {"query": "Who?", "ground_truth": {"claims": claims}})["true_claims"]
    assert found == [{"claim": "A.", "source": None}, {"claim": "B.", "source": "b.md"}]


def test_an_id_may_stand_in_one_file_only(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        read(tmp_path, {"id": "1", "query": "Who?"}, name=name)
    with pytest.raises(InputError, match="id '1'"):
        read_rag_rows([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])


def test_a_file_of_no_usable_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read(tmp_path, {"answer": "No question."})


@pytest.mark.parametrize(("authority", "kept"), [(None, 2), (0.5, 2), (1.5, 1), (float("nan"), 2)])
def test_authority_is_unknown_or_from_0_to_1(tmp_path: Path, authority: float | None, kept: int) -> None:
    row = {"query": "Who?", "contexts": [{"text": "A.", "authority": authority}]}
    assert read(tmp_path, row, {"query": "Why?"}).height == kept
