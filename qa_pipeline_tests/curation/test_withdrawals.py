"""What consumers read equals the ledger of now, whatever becomes of a batch."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from qa_pipeline.cli.app import app
from qa_pipeline.curation.withdrawals import (
    note_gate,
    withdraw_outdated,
    withdrawn_batches,
)
from qa_pipeline.defs.running import run_batches
from qa_pipeline.errors import CorpusError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.storage.tables import VERDICTS
from qa_pipeline_tests.curation.withdrawal_corpus import TRUE, Folder
from qa_pipeline_tests.fakes import HashEmbedder

RUNNER = CliRunner()


@pytest.fixture
def finished(published_folder: Folder) -> Folder:
    return published_folder


def files(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_a_batch_whose_gate_fails_loses_its_training_examples_and_the_reason_is_kept(
    blocked_folder: Folder,
) -> None:
    assert blocked_folder.published() == {"b2": 1}
    stone = withdrawn_batches(blocked_folder.layout)["b1"]
    assert (stone.reason, list(stone.details)) == ("gate_failed", ["pass_rate"])


def test_an_unchanged_batch_whose_gate_fails_changes_no_byte(
    blocked_folder: Folder,
) -> None:
    before = files(blocked_folder.settings.out)
    blocked_folder.run()
    assert files(blocked_folder.settings.out) == before


def test_a_batch_that_is_gone_loses_its_tables_index_and_exports(finished: Folder) -> None:
    finished.delete("b1")
    finished.run()
    assert finished.published() == {"b2": 1}
    assert withdrawn_batches(finished.layout)["b1"].reason == "batch_gone"
    left = [path for path in files(finished.settings.out) if Path(path).stem == "b1"]
    assert {Path(path).parts[0] for path in left} == {"withdrawn", "origins"}
    assert finished.layout.table("pairs", "b2").is_file()


@pytest.mark.parametrize("way", ["gate", "deleted"])
def test_a_batch_that_is_restored_publishes_again_and_its_tombstone_goes(
    blocked_folder: Folder, published_once: Folder, way: str
) -> None:
    folder = blocked_folder
    if way == "deleted":
        folder.delete("b1")
        folder.run()
    folder.write("b1", TRUE)
    assert folder.run()["b1"].outcome == "succeeded"
    assert folder.published() == {"b1": 1, "b2": 1}
    assert withdrawn_batches(folder.layout) == {}
    made = files(folder.settings.out).items() - files(published_once.settings.out).items()
    assert {Path(name).parts[0] for name, _ in made} <= {"cache", "origins"}


def test_a_corpus_that_cannot_be_listed_withdraws_nothing(finished: Folder) -> None:
    finished.corpus.rename(finished.corpus.parent / "elsewhere")
    with pytest.raises(CorpusError):
        finished.run()
    assert finished.published() == {"b1": 1, "b2": 1}


def test_pairs_that_were_only_validated_are_not_gone(finished: Folder, tmp_path: Path) -> None:
    loose = Folder(tmp_path / "loose", out=finished.settings.out)
    loose.write("mine", TRUE)
    pairs = tmp_path / "mine.jsonl"
    (loose.corpus / "mine" / "pairs.jsonl").rename(pairs)
    run_batches(Resources(loose.settings, embedder=HashEmbedder(), pairs_file=pairs), ["mine"])
    loose.delete("mine")
    finished.run()
    assert finished.published() == {"b1": 1, "b2": 1, "mine": 1}


def test_a_run_that_is_killed_after_the_ledger_leaves_no_example_of_the_former_one(finished: Folder) -> None:
    ledger = pl.read_parquet(finished.layout.table(VERDICTS.name, "b1"))
    withdraw_outdated(finished.layout, "b1", ledger)
    assert finished.published() == {"b1": 1, "b2": 1}
    withdraw_outdated(finished.layout, "b1", ledger.with_columns(verdict=pl.lit("rejected")))
    assert finished.published() == {"b2": 1}
    assert withdrawn_batches(finished.layout)["b1"].reason == "being_rebuilt"
    finished.run()
    assert finished.published() == {"b1": 1, "b2": 1}


def test_status_names_what_is_withdrawn_and_why(blocked_folder: Folder) -> None:
    finished = blocked_folder
    finished.delete("b2")
    finished.run()
    out = ["status", "--out", str(finished.settings.out)]
    told = json.loads(RUNNER.invoke(app, [*out, "--json"]).stdout)
    assert {batch: stone["reason"] for batch, stone in told["withdrawn"].items()} == {
        "b1": "gate_failed",
        "b2": "batch_gone",
    }
    assert {row["batch"]: row["examples"] for row in told["batches"]} == {"b1": 0}
    printed = RUNNER.invoke(app, out).stdout
    assert all(word in printed for word in ("b1", "pass_rate", "b2"))


def test_a_damaged_tombstone_is_reported_and_replaced(finished: Folder) -> None:
    note_gate(finished.layout, "b1", "proof", "broken")
    finished.layout.tombstone("b1").write_bytes(b"{")
    assert withdrawn_batches(finished.layout)["b1"].reason == "being_rebuilt"
    finished.run()
    assert withdrawn_batches(finished.layout) == {}


def test_decisions_of_people_outlive_their_batch(finished: Folder) -> None:
    decisions = finished.settings.out / "decisions" / "b1.parquet"
    decisions.parent.mkdir()
    decisions.write_bytes(b"kept")
    finished.delete("b1")
    finished.run()
    assert decisions.read_bytes() == b"kept"
