import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from qa_pipeline.curation.withdrawals import note_gate
from qa_pipeline.defs.running import run_batches
from qa_pipeline.pipeline import fingerprint
from qa_pipeline.pipeline.fingerprint import BatchOutcome
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.curation.withdrawal_corpus import TRUE, Folder
from qa_pipeline_tests.fakes import HashEmbedder

BATCH = "b1"
Change = Callable[[Folder], object]


class Watched:
    """Runs of one batch as the command line starts them, remembering which assets were made."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def run(self, settings: Settings) -> BatchOutcome:
        self.stages.clear()

        def watch(batch: str, stage: str) -> Callable[[int, int], None]:
            self.stages.append(stage)
            return lambda done, total: None

        resources = Resources(settings, embedder=HashEmbedder(), watch=watch)
        unchanged = fingerprint.unchanged_outcomes(resources, [BATCH])
        return unchanged[BATCH] if unchanged else run_batches(resources, [BATCH])[0]


@pytest.fixture
def folder(published_folder: Folder) -> Folder:
    return published_folder


def is_due(folder: Folder) -> bool:
    resources = Resources(folder.settings, embedder=HashEmbedder())
    return not fingerprint.unchanged_outcomes(resources, [BATCH])


def append(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((path.read_bytes() if path.is_file() else b"") + text.encode())


def some_table(folder: Folder) -> Path:
    return folder.layout.table("claims", BATCH)


def test_an_unchanged_batch_is_not_run_and_none_of_its_tables_is_read(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a table was read")

    monkeypatch.setattr("polars.read_parquet", refuse)
    watched = Watched()
    assert watched.run(folder.settings) == BatchOutcome(BATCH, "unchanged")
    assert watched.stages == []


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: append(folder.corpus / BATCH / "guide.md", "\nOne more sentence.\n"),
        lambda folder: append(folder.corpus / BATCH / "new.md", "# New\n\nA pump moves water.\n"),
        lambda folder: (folder.corpus / BATCH / "pairs.jsonl").unlink(),
        lambda folder: append(folder.layout.decisions(BATCH), ""),
        lambda folder: some_table(folder).unlink(),
        lambda folder: folder.layout.index(BATCH).unlink(),
        lambda folder: folder.layout.export("passed", BATCH).write_bytes(b"{}\n"),
        lambda folder: folder.layout.finished(BATCH).write_bytes(b"{"),
        lambda folder: note_gate(folder.layout, BATCH, "pass_rate", "too low"),
    ],
    ids=["edit", "new file", "pairs", "decisions", "table", "index", "export", "note", "withdrawn"],
)
def test_a_batch_is_due_when_what_it_is_made_from_or_what_was_made_has_changed(
    folder: Folder, change: Change
) -> None:
    assert not is_due(folder)
    change(folder)
    assert is_due(folder)


def test_another_setting_or_other_code_runs_a_batch_again(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = folder.settings.model_copy(
        update={"training": folder.settings.training.model_copy(update={"distractors": 3})}
    )
    assert Watched().run(other).outcome == "succeeded"
    assert Watched().run(other).outcome == "unchanged"
    monkeypatch.setattr(fingerprint, "_hash_code", lambda: "other code")
    assert is_due(folder)


def test_speed_and_places_run_nothing_again(folder: Folder, tmp_path: Path) -> None:
    moved = folder.corpus.rename(tmp_path / "moved")
    llm = folder.settings.llm.model_copy(update={"workers": 50})
    settings = folder.settings.model_copy(update={"corpus": str(moved), "llm": llm})
    assert Watched().run(settings).outcome == "unchanged"
    assert folder.layout.origin(BATCH).read_text("utf-8") == str(moved.resolve())


def test_a_batch_that_cannot_be_read_fails_with_the_reason_each_time(folder: Folder) -> None:
    (folder.corpus / BATCH / "batch.yaml").write_text("licence: [unclosed", encoding="utf-8")
    assert [Watched().run(folder.settings).outcome for _ in range(2)] == ["failed", "failed"]


def test_a_blocked_batch_is_run_again_when_it_changes_and_not_when_another_does(
    blocked_folder: Folder,
) -> None:
    watched, folder = Watched(), blocked_folder
    blocked = watched.run(folder.settings)
    assert (blocked.outcome, watched.stages) == ("failed", [])
    assert blocked.failed_gates
    shutil.copy(folder.layout.table("verdicts", "b2"), folder.layout.table("verdicts", "a0"))
    assert watched.run(folder.settings).error == blocked.error
    assert watched.stages == []
    folder.write(BATCH, TRUE)
    assert watched.run(folder.settings).outcome == "succeeded"
    assert watched.stages


def test_an_unchanged_batch_still_says_what_it_waits_for(tmp_path: Path) -> None:
    folder = Folder(tmp_path, judging={"accept_unjudged": False}, quality={"min_pass_rate": 0.0})
    folder.write(BATCH, TRUE)
    waits, unchanged = folder.run()[BATCH], folder.run()[BATCH]
    assert (waits.outcome, unchanged.outcome) == ("waiting", "unchanged")
    assert (unchanged.error, unchanged.failed_gates) == (waits.error, waits.failed_gates)
    assert "judge" in str(unchanged.error)
