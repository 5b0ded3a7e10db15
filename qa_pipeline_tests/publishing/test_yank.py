import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline import load_release
from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline.errors import ReleaseError, StorageError
from qa_pipeline.publishing import yank
from qa_pipeline.publishing.manifest import alone, latest_release, newest_keys, read_manifest, yank_reason
from qa_pipeline_tests.end_to_end import Workspace, invoke
from qa_pipeline_tests.publishing.plants import release


@pytest.fixture(scope="module")
def released_twice(published: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    out = Path(shutil.copytree(published.out, tmp_path_factory.mktemp("yank") / "out"))
    made = Workspace(published.corpus, out)
    assert release(made, "--set", "release.min_grounding=0.5").code == OK
    assert latest_release(made.out / "releases") == made.out / "releases" / "2"
    return made


@pytest.fixture
def copied(released_twice: Workspace, tmp_path: Path) -> Workspace:
    """Two releases of the same batches."""
    return Workspace(released_twice.corpus, Path(shutil.copytree(released_twice.out, tmp_path / "out")))


def withdraw(workspace: Workspace, version: int, *options: str) -> Any:
    folder = workspace.out / "releases" / str(version)
    return invoke("yank", folder, "--reason", "It held a letter.", *(options or ("--yes",)))


def test_of_a_yanked_release_a_tombstone_manifest_and_keys_are_left(copied: Workspace) -> None:
    releases = copied.out / "releases"
    rows = sum(read_manifest(releases / "2").splits.values())
    ran = withdraw(copied, 2)
    assert (ran.code, f"The newest that is left: {releases / '1'}" in ran.stdout) == (OK, True)
    assert sorted(one.name for one in (releases / "2").iterdir()) == [
        "keys.parquet", "manifest.json", "tombstone.json",
    ]  # fmt: skip
    said = json.loads((releases / "2" / "tombstone.json").read_bytes())
    assert said == {"version": 2, "reason": "It held a letter.", "rows": rows}
    assert latest_release(releases) == releases / "1"


def test_who_reads_a_yanked_release_is_told_why_and_which_is_newest(copied: Workspace) -> None:
    releases = copied.out / "releases"
    withdraw(copied, 2)
    told = f"{releases / '2'} is yanked: It held a letter.; the newest release is {releases / '1'}"
    with pytest.raises(ReleaseError, match="is yanked: It held a letter"):
        load_release(releases / "2", "train")
    first, second = (releases / one for one in "12")
    commands = (
        ("verify", second),
        ("diff", first, second),
        ("diff", second, first),
        ("audit", "sample", second, "3"),
    )
    for command in commands:
        ran = invoke(*command)
        assert (ran.code, told in ran.stderr) == (BAD_INPUT, True), command
    assert load_release(releases, "train").collect().height
    assert invoke("verify", releases).code == OK


def test_the_next_release_has_a_new_number_and_moves_no_row(copied: Workspace) -> None:
    releases = copied.out / "releases"
    before = {name: set(load_release(releases, name).collect()["pair_id"]) for name in ("train", "test")}
    keys = pl.read_parquet(releases / "2" / "keys.parquet")
    withdraw(copied, 2)
    withdraw(copied, 1)
    assert newest_keys(releases) == releases / "2" / "keys.parquet"
    other = '{"train": 1, "test": 9}'
    assert release(copied, "--set", f"release.splits={other}").code == OK
    manifest = read_manifest(releases / "3")
    assert manifest.previous is None
    for name, rows in before.items():
        assert rows <= set(load_release(releases, name).collect()["pair_id"])
    placed = pl.read_parquet(releases / "3" / "keys.parquet")
    assert keys.join(placed, on=["key", "split"], how="anti").is_empty()


def test_when_all_are_yanked_there_is_no_latest(copied: Workspace) -> None:
    releases = copied.out / "releases"
    withdraw(copied, 1)
    assert latest_release(releases) == releases / "2"
    ran = withdraw(copied, 2)
    assert "No release is left" in ran.stdout
    assert latest_release(releases) is None
    with pytest.raises(ReleaseError, match="no latest release; the newest, 2, is yanked"):
        load_release(releases, "train")


def test_a_yank_that_was_killed_is_finished_by_the_next_and_keeps_its_reason(
    copied: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    releases = copied.out / "releases"
    seen = []

    def fails(path: Path) -> None:
        seen.append((latest_release(releases), yank_reason(releases / "2")))
        raise StorageError("no right")

    with monkeypatch.context() as patched:
        patched.setattr(yank, "_delete", fails)
        assert withdraw(copied, 2).code == BAD_INPUT
    assert seen[0][0] == releases / "1"
    assert seen[0][1] is not None
    with pytest.raises(ReleaseError, match="is yanked"):
        load_release(releases / "2", "train")
    assert invoke("yank", releases / "2", "--reason", "another", "--yes").code == OK
    assert yank_reason(releases / "2") == "It held a letter."
    assert not (releases / "2" / "data").exists()


def test_without_yes_or_while_others_publish_nothing_is_yanked(copied: Workspace) -> None:
    releases = copied.out / "releases"
    before = copied.contents()
    rows = sum(read_manifest(releases / "2").splits.values())
    ran = withdraw(copied, 2, "--reason", "It held a letter.")
    assert f"would lose its {rows} rows; add --yes" in ran.stdout
    with alone(releases):
        ran = withdraw(copied, 2)
    assert (ran.code, "another command works on" in ran.stderr) == (BAD_INPUT, True)
    assert copied.contents() == before


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "two\nlines", "\x1b[31mred"])
def test_a_reason_is_one_short_line(copied: Workspace, reason: str) -> None:
    ran = invoke("yank", copied.out / "releases" / "2", "--reason", reason, "--yes")
    assert (ran.code, "a reason is one line" in ran.stderr) == (BAD_INPUT, True)


@pytest.mark.parametrize("folder", ["3", ".", "../tables"])
def test_what_is_no_release_is_not_yanked(copied: Workspace, folder: str) -> None:
    before = copied.contents()
    ran = invoke("yank", copied.out / "releases" / folder, "--reason", "why", "--yes")
    assert (ran.code, "is no whole release" in ran.stderr) == (BAD_INPUT, True)
    assert copied.contents() == before


def test_a_copy_of_a_release_elsewhere_is_not_yanked(copied: Workspace, tmp_path: Path) -> None:
    shutil.copytree(copied.out / "releases" / "2", tmp_path / "copy")
    ran = invoke("yank", tmp_path / "copy", "--reason", "why", "--yes")
    assert (ran.code, "is no release in its place" in ran.stderr) == (BAD_INPUT, True)
