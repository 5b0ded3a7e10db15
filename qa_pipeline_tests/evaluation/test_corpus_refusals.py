import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from qa_pipeline.cli.app import app
from qa_pipeline.errors import IndexMismatchError
from qa_pipeline.evaluation.corpus_refusals import BatchText, judge_over_corpus
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
    return BatchText(name, f"hash of {name}", frame, cut, EMBEDDINGS.frame(rows))


def judged(*batches: BatchText) -> pl.DataFrame:
    found, _ = judge_over_corpus(REFUSALS, batches, HashEmbedder(), VerificationSettings(), model="hash")
    return found


LENT = "Members may borrow five books for four weeks."
LIBRARY, PUMP = batch("library", LENT), batch("pump", WEIGHT)


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


def test_vectors_of_another_model_are_refused() -> None:
    with pytest.raises(IndexMismatchError, match="other"):
        judged(batch("pump", WEIGHT, model="other"))


@pytest.mark.parametrize("nearest", [[], ["--nearest", "3"]])
def test_the_command_names_the_batch_that_holds_the_answer_and_writes_no_table(
    tmp_path: Path, nearest: list[str]
) -> None:
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    for name, text in (("library", LENT), ("pump", WEIGHT)):
        (corpus / name).mkdir(parents=True)
        (corpus / name / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    refused = {"question": ASKED, "answer": "This information is not available in the knowledge base."}
    (corpus / "library" / "pairs.jsonl").write_text(json.dumps(refused) + "\n", encoding="utf-8")
    runner = CliRunner()
    runner.invoke(app, ["run", str(corpus), "--out", str(out), "--provider", "none", "--json"])
    before = {path: path.stat().st_mtime_ns for path in (out / "tables").rglob("*.parquet")}

    told = runner.invoke(app, ["refusals", "--out", str(out), "--json", *nearest])

    document = json.loads(told.stdout)
    (row,) = document["refusals"]
    assert (row["batch"], row["found_batch"], row["found_path"]) == ("library", "pump", "pump.md")
    assert row["outcome"] == "refused_answerable"
    assert document["searched"]["by"] == ("every vector" if nearest else "every chunk")
    assert set(document["shards"]) == {"library", "pump"}
    assert before == {path: path.stat().st_mtime_ns for path in (out / "tables").rglob("*.parquet")}


def test_both_ways_name_the_same_snapshot_and_the_index_proves_no_absence(tmp_path: Path) -> None:
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    (corpus / "library").mkdir(parents=True)
    (corpus / "library" / "library.md").write_text(f"# Library\n\n{LENT}\n", encoding="utf-8")
    refused = {"question": ALIEN, "answer": "This information is not available in the knowledge base."}
    (corpus / "library" / "pairs.jsonl").write_text(json.dumps(refused) + "\n", encoding="utf-8")
    runner = CliRunner()
    runner.invoke(app, ["run", str(corpus), "--out", str(out), "--provider", "none", "--json"])
    every, nearest = (
        json.loads(runner.invoke(app, ["refusals", "--out", str(out), "--json", *options]).stdout)
        for options in ([], ["--nearest", "5"])
    )
    assert every["index_snapshot"] == nearest["index_snapshot"]
    assert (every["outcomes"], nearest["outcomes"]) == ({"correct_refusal": 1}, {"unproved_refusal": 1})


def test_a_folder_without_pairs_is_said_so(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["refusals", "--out", str(tmp_path)]).exit_code == 2
