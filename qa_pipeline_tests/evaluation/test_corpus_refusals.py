import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from qa_pipeline.cli.app import app
from qa_pipeline.errors import IndexMismatchError
from qa_pipeline.evaluation.corpus_refusals import BatchText, index_snapshot, judge_over_corpus
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.tables import EMBEDDINGS
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.verification.rows import chunks, documents, pair, pairs

WEIGHT = "The outdoor unit of the heat pump has a weight of 80 kg."
ASKED = "What is the weight of the outdoor unit of the heat pump?"
ALIEN = "Who won the Olympic marathon in Sydney?"
REFUSALS = pairs(
    pair("Not known.", cites=[], coverage="none", question=ASKED),
    pair("Not known.", cites=[], coverage="none", question=ALIEN),
)


def batch(name: str, text: str, model: str = "hash") -> BatchText:
    frame = documents({f"{name}.md": text})
    cut = chunks(frame)
    rows = [
        {
            "chunk_id": one,
            "batch": name,
            "text_sha256": one,
            "model": model,
            "model_revision": "1",
            "precision": "float32",
            "vector": vector,
        }
        for one, vector in zip(
            cut["chunk_id"], HashEmbedder().encode(cut["text"].to_list()).tolist(), strict=True
        )
    ]
    return BatchText(name, frame, cut, EMBEDDINGS.frame(rows))


def judged(*batches: BatchText) -> pl.DataFrame:
    found, _ = judge_over_corpus(REFUSALS, batches, HashEmbedder(), VerificationSettings(), model="hash")
    return found


LIBRARY, PUMP = batch("library", "Members may borrow five books for four weeks."), batch("pump", WEIGHT)


def test_an_answer_in_any_batch_is_named_with_its_batch_and_document() -> None:
    row = judged(LIBRARY, PUMP).to_dicts()[0]
    assert (row["outcome"], row["found_batch"], row["found_path"]) == (
        "refused_answerable",
        "pump",
        "pump.md",
    )
    assert row["found_sentence"] == WEIGHT


def test_a_refusal_is_right_where_every_batch_proves_it() -> None:
    assert judged(LIBRARY)["outcome"].to_list() == ["correct_refusal", "correct_refusal"]
    assert judged(LIBRARY, PUMP)["outcome"].to_list()[1] == "correct_refusal"


def test_the_order_of_batches_changes_nothing() -> None:
    assert judged(LIBRARY, PUMP).equals(judged(PUMP, LIBRARY))


def test_without_a_batch_nothing_is_proved() -> None:
    assert judged()["outcome"].to_list() == ["unproved_refusal", "unproved_refusal"]


def test_the_snapshot_names_the_shards_and_nothing_else() -> None:
    assert index_snapshot({"a": "1", "b": "2"}) == index_snapshot({"b": "2", "a": "1"})
    assert index_snapshot({"a": "1"}) != index_snapshot({"a": "2"})
    assert index_snapshot({"a": "1"}) != index_snapshot({"b": "1"})


def test_vectors_of_another_model_are_refused() -> None:
    with pytest.raises(IndexMismatchError, match="other"):
        judged(batch("pump", WEIGHT, model="other"))


def test_the_command_names_the_batch_that_holds_the_answer_and_writes_nothing(tmp_path: Path) -> None:
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    for name, text in (("library", "Members may borrow five books for four weeks."), ("pump", WEIGHT)):
        (corpus / name).mkdir(parents=True)
        (corpus / name / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    refused = {"question": ASKED, "answer": "This information is not available in the knowledge base."}
    (corpus / "library" / "pairs.jsonl").write_text(json.dumps(refused) + "\n", encoding="utf-8")
    runner = CliRunner()
    runner.invoke(app, ["run", str(corpus), "--out", str(out), "--provider", "none", "--json"])
    before = {path: path.stat().st_mtime_ns for path in (out / "tables").rglob("*.parquet")}

    told = runner.invoke(app, ["refusals", "--out", str(out), "--json"])

    document = json.loads(told.stdout)
    (row,) = document["refusals"]
    assert (row["batch"], row["found_batch"], row["found_path"]) == ("library", "pump", "pump.md")
    assert row["outcome"] == "refused_answerable"
    assert set(document["shards"]) == {"library", "pump"}
    assert before == {path: path.stat().st_mtime_ns for path in (out / "tables").rglob("*.parquet")}


def test_a_folder_without_pairs_is_said_so(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["refusals", "--out", str(tmp_path)]).exit_code == 2
