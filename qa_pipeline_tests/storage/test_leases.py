"""On an object store a lock bars others on every machine, ends with its holder, and trusts no clock."""

import datetime
import time
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.errors import StorageError
from qa_pipeline.settings.location import output_folder
from qa_pipeline.storage import leases
from qa_pipeline.storage.files import locked
from qa_pipeline.storage.object_stores import store_of


@pytest.fixture
def folder(bucket: str) -> Path:
    return output_folder(f"memory://{bucket}/out")


def held_by(folder: Path) -> list[str]:
    return sorted(path.name.partition("-")[0] for path in (folder / ".lock").glob("*"))


def test_a_locked_folder_lets_in_only_those_who_share_it(folder: Path) -> None:
    with locked(folder, shared=True), locked(folder, shared=True):
        assert held_by(folder) == ["shared", "shared"]
        with pytest.raises(StorageError, match=r"memory://.*process"), locked(folder):
            pass
    with locked(folder):
        for shared in (True, False):
            with pytest.raises(StorageError), locked(folder, shared=shared):
                pass
    assert held_by(folder) == []


def age(folder: Path, seconds: float) -> None:
    """Move the store's own times of all locks back."""
    store, place = store_of(folder / ".lock") or pytest.fail("no store")
    for entry in store.listdir(place):
        file: Any = store._files.store[entry["name"]]
        file.modified -= datetime.timedelta(seconds=seconds)


def test_the_lock_of_a_dead_holder_ends_after_its_lease_and_not_before(folder: Path) -> None:
    store, place = store_of(folder / ".lock") or pytest.fail("no store")
    store.pipe_file(f"{place}/alone-dead", b'{"host": "h", "process": 1}')
    age(folder, leases.LEASE - 5)
    with pytest.raises(StorageError, match="process 1 on 'h'"), locked(folder):
        pass
    age(folder, 10)
    with locked(folder):
        assert len(held_by(folder)) == 1


def test_a_lock_is_renewed_while_it_is_held(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE", 0.4)
    store, place = store_of(folder / ".lock") or pytest.fail("no store")
    with locked(folder):
        (entry,) = store.listdir(place)
        first = store.modified(entry["name"])
        deadline = time.monotonic() + 30
        while store.modified(entry["name"]) == first and time.monotonic() < deadline:
            time.sleep(0.01)
        assert store.modified(entry["name"]) > first


def test_who_lost_the_lock_meanwhile_hears_of_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE", 0.2)
    store, place = store_of(folder / ".lock") or pytest.fail("no store")

    def work() -> None:
        (entry,) = store.listdir(place)
        store.rm(entry["name"])
        deadline = time.monotonic() + 30
        while not store.exists(entry["name"]) and time.monotonic() < deadline:
            time.sleep(0.01)

    with pytest.raises(StorageError), locked(folder):
        work()
