import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.documents.corpus.files import read_bytes
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.errors import CorpusError
from qa_pipeline_tests.documents.builders import SETTINGS, refusal, write_files

GUIDE = b"# Guide\n\nThe server starts when it is told to.\n"
FILES = {
    "b1/batch.yaml": b"licence: CC0-1.0\n",
    "b1/guide.md": GUIDE,
    "b1/sub/\xc3\xa5 100%.md".encode("latin-1").decode(): b"Another text.",
    "b1/.git/HEAD": b"hidden",
    "b1/empty.md": b"",
    "b2/in.md": b"Other text.",
    "loose.md": b"x",
    "bad, name/x.md": b"x",
}


class Store:
    """A place that fsspec opens, with the corpus in it."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.files, self.root = fsspec.core.url_to_fs(location)

    def put(self, name: str, content: bytes) -> None:
        self.files.pipe_file(f"{self.root}/{name}", content)

    def remove(self, name: str) -> None:
        self.files.rm_file(f"{self.root}/{name}")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    from moto.moto_server.threaded_moto_server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["memory", "s3"])
def store(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    bucket = hashlib.sha256(str(tmp_path).encode()).hexdigest()[:20]
    if request.param == "s3":
        monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("s3_server"))
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "planted-key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        # a client that another test made without credentials would serve this one, too
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        fsspec.filesystem("s3").mkdir(bucket)
    place = Store(f"{request.param}://{bucket}/corpus")
    for name, content in FILES.items():
        place.put(name, content)
    yield place
    place.files.rm(place.root, recursive=True)


def test_folders_are_batches(store: Store) -> None:
    found = open_corpus(store.location).find_batches()
    assert found.names == ("b1", "b2")
    assert list(found.refused) == ["bad, name"]
    assert found.loose == ("loose.md",)


def test_documents_are_read_as_from_a_folder(store: Store, tmp_path: Path) -> None:
    write_files(tmp_path, {name: content for name, content in FILES.items() if name.startswith("b1/")})
    remote = read_documents("b1", open_corpus(store.location).batch("b1"), SETTINGS)
    assert remote.equals(read_documents("b1", tmp_path / "b1", SETTINGS))
    assert remote["path"].to_list() == ["empty.md", "guide.md", "sub/å 100%.md"]


def test_both_fingerprints_change_with_the_content_and_with_nothing_else(store: Store) -> None:
    def seen() -> tuple[str, str, dict[str, str | None]]:
        place = open_corpus(store.location)
        prints = [place.batch(name).fingerprint() for name in ("b1", "b2")]
        return prints[0], prints[1], place.listing_fingerprints(["b1", "b2", "gone"])

    before = seen()
    assert before == seen()
    assert before[2]["gone"] is None
    store.put("b1/guide.md", GUIDE + b"More.")
    changed = seen()
    assert changed[0] != before[0]
    assert changed[1] == before[1]
    assert changed[2]["b1"] != before[2]["b1"]
    assert changed[2]["b2"] == before[2]["b2"]
    store.put("b1/guide.md", GUIDE)
    assert seen()[:2] == before[:2]


def test_a_file_that_is_gone_or_grown_since_it_was_listed_is_a_failure(store: Store) -> None:
    found = {file.path: file for file in open_corpus(store.location).batch("b1").list()}
    store.remove("b1/guide.md")
    store.put("b1/sub/å 100%.md", b"x" * 5000)
    assert refusal(lambda: read_bytes(found["guide.md"], 100)) == "unreadable"
    assert refusal(lambda: read_bytes(found["sub/å 100%.md"], 100)) in ("too_large", "unreadable")


@pytest.mark.parametrize("trouble", ["no server", "no credentials"])
def test_trouble_with_a_store_is_reported_without_its_words_or_credentials(
    trouble: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keys = {"AWS_ACCESS_KEY_ID": "planted-key", "AWS_SECRET_ACCESS_KEY": "planted-secret"}
    for name in ("AWS_PROFILE", *keys):
        monkeypatch.delenv(name, raising=False)
    environ = {
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"), "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_EC2_METADATA_DISABLED": "true", "AWS_DEFAULT_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "1",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    }  # fmt: skip
    for name, value in (environ | (keys if trouble == "no server" else {})).items():
        monkeypatch.setenv(name, value)
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    with pytest.raises(CorpusError) as told:
        open_corpus("s3://bucket/corpus").find_batches()
    assert "s3://bucket/corpus" in str(told.value)
    assert "planted" not in str(told.value)
    assert "127.0.0.1" not in str(told.value)
