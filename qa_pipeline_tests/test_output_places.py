"""Whole runs from the command line into output folders that are on no disk."""

from pathlib import Path

import pytest

from qa_pipeline import load_release
from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline.errors import StorageError
from qa_pipeline.settings.base import output_folder
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.object_stores import ObjectStore
from qa_pipeline_tests.end_to_end import GUIDE, Workspace, invoke, new_workspace


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("QA_PIPELINE_CACHE", str(tmp_path / "cache"))
    made = new_workspace(tmp_path, monkeypatch)
    made.write({"b/guide.md": GUIDE, "c/other.md": GUIDE.replace("10 minutes", "20 minutes")})
    return made


def far(tmp_path: Path) -> Workspace:
    """The same corpus, and an output folder in memory."""
    return Workspace(tmp_path / "corpus", output_folder(f"memory:/{tmp_path}".replace(" ", "")))


@pytest.mark.slow
def test_a_store_gets_the_bytes_that_a_folder_gets(workspace: Workspace, tmp_path: Path) -> None:
    stored = far(tmp_path)
    for place in (workspace, stored):
        assert place.run().code == OK
        assert place.run().code == OK
        assert invoke("release", "--out", str(place.out)).code == OK
    assert stored.contents() == {
        name: content for name, content in workspace.contents().items() if ".lock" not in name
    }
    assert load_release(f"{stored.out}/releases", "train").collect().height > 0


@pytest.mark.slow
def test_a_release_that_ends_midway_leaves_the_one_before_and_nothing_of_itself(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = far(tmp_path)
    assert stored.run().code == OK
    assert invoke("release", "--out", str(stored.out)).code == OK
    stored.write({"c/other.md": GUIDE.replace("10 minutes", "30 minutes")})
    assert stored.run().code == OK
    put = ObjectStore.put_if

    def fails(self: ObjectStore, path: str, content: bytes, version: str | None) -> None:
        if path.endswith("/2/manifest.json"):
            raise StorageError("the store went away")
        put(self, path, content, version)

    monkeypatch.setattr(ObjectStore, "put_if", fails)
    assert invoke("release", "--out", str(stored.out)).code == BAD_INPUT
    assert (stored.out / "releases" / "2" / "README.md").is_file()
    assert invoke("verify", f"{stored.out}/releases").code == OK
    assert (stored.out / "releases" / "latest.json").read_bytes() == b'{"version": 1}\n'
    write_bytes(stored.out / "releases" / "2" / "part", b"of the one that was stopped")
    monkeypatch.undo()
    monkeypatch.setenv("QA_PIPELINE_CACHE", str(tmp_path / "cache"))
    new_workspace(tmp_path, monkeypatch)
    assert invoke("release", "--out", str(stored.out)).code == OK
    assert not (stored.out / "releases" / "2" / "part").is_file()
    assert invoke("verify", f"{stored.out}/releases/2").code == OK


@pytest.mark.parametrize(
    "address", ["https://host/x", "s3://key:planted@bucket/x", "nowhere://x", "file:///x"]
)
def test_an_address_that_cannot_be_written_is_refused(workspace: Workspace, address: str) -> None:
    ran = invoke("run", workspace.corpus, "--out", address)
    assert ran.code == BAD_INPUT
    assert "planted" not in ran.stderr
