"""On an object store a path is read like a local one, faults are named, and no write is lost."""

import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from qa_pipeline.errors import StorageError
from qa_pipeline.settings.base import output_folder
from qa_pipeline.storage.files import (
    delete,
    local_copy,
    prepare_folder,
    publish_folder,
    rewrite,
    version_of,
    work_folder,
    write_bytes,
)
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.object_stores import ChangedMeanwhileError, ObjectStore, store_of


@pytest.fixture(params=["file", "memory", "s3"])
def out(request: Any, tmp_path: Path, bucket: str) -> Path:
    """An output folder of each kind."""
    if request.param == "file":
        return tmp_path / "out"
    if request.param == "s3":
        request.getfixturevalue("s3_access")
    return output_folder(f"{request.param}://{bucket}/out")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_written_is_listed_and_read_as_on_a_disk(out: Path) -> None:
    layout = Layout(out)
    assert (layout.tables("verdicts"), out.is_dir(), version_of(out / "x")) == ([], False, None)
    path = layout.table("verdicts", "2024-01.v2 å#%&+")
    write_bytes(path, b"old")
    first = version_of(path)
    write_bytes(path, "nåw\r\n".encode())
    assert layout.tables("verdicts") == [path]
    assert [found.stem for found in layout.tables("verdicts")] == ["2024-01.v2 å#%&+"]
    assert (path.is_file(), path.parent.is_dir(), path.parent.is_file()) == (True, True, False)
    assert (path.read_bytes(), path.read_text(encoding="utf-8")) == ("nåw\r\n".encode(), "nåw\n")
    assert version_of(path) not in (None, first)
    with pytest.raises(FileNotFoundError):
        (out / "missing").read_bytes()


def test_a_folder_of_files_takes_its_place_with_its_manifest_last_and_comes_back(out: Path) -> None:
    prepare_folder(out)
    with work_folder(out) as folder:
        (folder / "data").mkdir()
        (folder / "data" / "x").write_bytes(b"1")
        (folder / "manifest").write_bytes(b"2")
        publish_folder(folder, out / "1", "manifest")
    assert contents(out) == {str(Path("1", "data", "x")): b"1", str(Path("1", "manifest")): b"2"}
    with local_copy(out / "1") as copy:
        assert isinstance(copy, Path)
        assert contents(copy) == {str(Path("data", "x")): b"1", "manifest": b"2"}


def test_of_two_who_rewrite_a_file_at_once_none_is_lost(out: Path) -> None:
    path = out / "decisions" / "b.jsonl"

    def add(name: int) -> None:
        for place in range(5):
            rewrite(path, partial(lambda line, content: content + line, f"{name}.{place}\n".encode()))

    threads = [threading.Thread(target=add, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = path.read_text(encoding="utf-8").splitlines()
    assert sorted(lines) == sorted(f"{name}.{place}" for name in range(3) for place in range(5))


def test_a_write_on_a_condition_is_refused_where_the_file_is_another(s3_access: None, bucket: str) -> None:
    path = output_folder(f"s3://{bucket}/x")
    store, name = stored(path)
    store.put_if(name, b"1", None)
    content, version = store.read_version(name)
    assert content == b"1"
    with pytest.raises(ChangedMeanwhileError):
        store.put_if(name, b"2", None)
    store.put_if(name, b"3", version)
    with pytest.raises(ChangedMeanwhileError):
        store.put_if(name, b"4", version)
    store.put_if(name, b"3", version)  # as after a try whose answer was lost
    assert path.read_bytes() == b"3"
    delete(path)
    with pytest.raises(ChangedMeanwhileError):
        store.put_if(name, b"5", version)


def stored(path: Path) -> tuple[ObjectStore, str]:
    found = store_of(path)
    assert found is not None
    return found


class Failing:
    """A file system that fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def pipe_file(self, path: str) -> None:
        raise self.error


def answer(code: str, status: int) -> ClientError:
    facts: Any = {"Error": {"Code": code, "Message": "?X-Amz-Signature=planted"}}
    return ClientError({**facts, "ResponseMetadata": {"HTTPStatusCode": status}}, "GetObject")


def raised(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (raised(PermissionError("planted"), answer("ExpiredToken", 400)), "ExpiredToken"),
        (raised(FileNotFoundError("planted"), answer("NoSuchBucket", 404)), "NoSuchBucket"),
        (type("NoCredentialsError", (Exception,), {})("planted"), "NoCredentialsError"),
        (EndpointConnectionError(endpoint_url="http://planted"), "EndpointConnectionError"),
    ],
)
def test_a_fault_is_named_without_the_words_of_the_library(error: Exception, code: str) -> None:
    with pytest.raises(StorageError, match=f"s3://bucket/x: .*{code}") as named:
        ObjectStore(Failing(error), "s3").pipe_file("bucket/x")
    assert "planted" not in str(named.value)


def test_a_store_that_ignores_conditions_is_refused_before_any_work() -> None:
    class Careless:
        def pipe_file(self, *_: object, **__: object) -> None:
            pass

        rm_file = ls = pipe_file

    path = output_folder("memory://bucket/careless")
    path._fs_cached = ObjectStore(Careless(), "memory")  # type: ignore[attr-defined]
    with pytest.raises(StorageError, match="If-None-Match"):
        prepare_folder(path)
