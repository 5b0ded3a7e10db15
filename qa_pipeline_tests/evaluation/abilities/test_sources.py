import json
from pathlib import Path

import polars as pl
import pytest

from qa_pipeline.errors import InputError, TableError
from qa_pipeline.evaluation.abilities.sources import Text, batch_source, release_source
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import GUIDE, new_workspace
from qa_pipeline_tests.evaluation.boilers import boiler_source


def test_a_batch_gives_its_accepted_pairs_and_all_of_its_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = new_workspace(tmp_path, monkeypatch)
    workspace.write({"boilers/guide.md": GUIDE})
    assert workspace.run().code == 0
    source = batch_source(Layout(workspace.out), "boilers")
    chunks = workspace.table("chunks", "boilers")
    assert [one.text for one in source.texts] == chunks.sort("document_id", "position")["text"].to_list()
    assert {one.pair_id for one in source.pairs} == {
        *workspace.table("training_examples", "boilers")["pair_id"]
    }
    for pair in source.pairs:
        assert all(proof.quote in proof.passage.text for proof in pair.proofs)
        assert pair.documents == ("guide.md",)
    between = [one.before + one.text + one.behind for one in source.texts]
    document = workspace.table("documents", "boilers")["text"].item()
    assert all(text in document for text in between)
    assert any(one.before.strip() for one in source.texts)


def test_a_batch_that_was_not_run_is_an_error_that_names_its_table(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"boilers\.parquet is not there"):
        batch_source(Layout(tmp_path), "boilers")


EVIDENCE = {"claim": "It holds 340 l.", "path": "a.md", "quote": "It holds 340 l."}
ROW = {
    "pair_id": "p",
    "question": "How much?",
    "answer": "It holds 340 l.",
    "language": "en",
    "question_type": "fact_single",
    "evidence": [EVIDENCE],
}


def release(folder: Path, **evaluation: object) -> Path:
    (folder / "data").mkdir(parents=True)
    pl.DataFrame([ROW]).write_parquet(folder / "data" / "test.parquet")
    (folder / "manifest.json").write_text("{}")
    if evaluation:
        (folder / "evaluation").mkdir()
        (folder / "evaluation" / "test.jsonl").write_text(json.dumps(evaluation), encoding="utf-8")
    return folder


def test_a_release_gives_the_contexts_of_its_evaluation_format(tmp_path: Path) -> None:
    contexts = [{"text": "Old. It holds 340 l.", "document": "a.md"}, {"text": "Other.", "document": "b.md"}]
    source = release_source(
        release(tmp_path / "r", id="p", query="How much?", contexts=contexts, language="en")
    )
    assert {one.text for one in source.texts} == {"Old. It holds 340 l.", "Other."}
    assert source.pairs[0].proofs[0].passage.text == "Old. It holds 340 l."


def test_a_folder_without_data_is_no_release(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no release that can be read"):
        release_source(tmp_path)


def test_a_passage_is_shown_as_training_examples_show_it_and_bare_without_a_title() -> None:
    text = Text("n", "a.md", "Guide", ("Guide", "Tank"), "It is big.", "en")
    assert text.numbered(3) == "[3] Guide › Tank\nIt is big."
    assert Text("n", "a.md", "", (), "It is big.", "en").numbered(3) == "It is big."


def test_a_passage_is_under_the_heading_of_another_of_its_document_and_of_no_other() -> None:
    text = Text("n", "a.md", "Guide", ("Guide", "Tank"), "It is big.", "en")
    below = Text("m", "a.md", "Guide", ("Guide", "Tank", "Lid"), "It is heavy.", "en")
    elsewhere = Text("o", "b.md", "Guide", ("Guide", "Tank"), "It is small.", "en")
    assert [one.is_under(text) for one in (text, below, elsewhere)] == [True, True, False]
    assert not text.is_under(below)


def test_near_passages_are_those_that_share_words_in_the_language() -> None:
    source = boiler_source()
    near = source.near("warranty of the Merlin boiler", "en")
    assert near[0].name == "Merlin-Warranty"
    assert source.near("warranty", "sv") == []
