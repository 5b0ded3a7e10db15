import os
import socket
import tempfile
from functools import partial
from pathlib import Path

import pytest

from qa_pipeline.documents.corpus.corpora import FolderCorpus, open_folder
from qa_pipeline.documents.corpus.files import read_bytes
from qa_pipeline.errors import CorpusError
from qa_pipeline_tests.documents.builders import refusal, write_files


def reasons(folder: Path) -> dict[str, str | None]:
    found = open_folder(folder).list()
    return {file.path: file.failure.reason if file.failure else None for file in found}


def corpus(folder: Path) -> FolderCorpus:
    return FolderCorpus(str(folder))


def test_hidden_entries_are_left_out(tmp_path: Path) -> None:
    names = ("a.md", ".hidden", ".git/b.md", "batch.yaml", "in/pairs.jsonl")
    write_files(tmp_path, dict.fromkeys(names, "x"))
    assert list(reasons(tmp_path)) == ["a.md", "batch.yaml", "in/pairs.jsonl"]


@pytest.mark.parametrize(
    "name", ["a b.md", "100%.md", "åäö ß.md", "😀.md", "$(x);'.md", "~.md", "x" * 252 + ".md"]
)
def test_odd_names_are_read_like_any_other(tmp_path: Path, name: str) -> None:
    write_files(tmp_path, {name: "content"})
    (found,) = open_folder(tmp_path).list()
    assert (found.path, found.size, read_bytes(found, 99)) == (name, 7, b"content")


def test_names_that_are_not_utf8_or_hide_something_are_escaped(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_bytes(b"x")
    write_files(tmp_path, {"a\n\u202eb.md": "x"})
    assert list(reasons(tmp_path)) == ["a\\u000a\\u202eb.md", "caf\\xe9.md"]
    for found in open_folder(tmp_path).list():
        assert read_bytes(found, 9) == b"x"


def test_links_are_followed_inside_the_batch_and_reported_where_they_leave_it(tmp_path: Path) -> None:
    batch = write_files(tmp_path / "batch", {"real.md": "x", "sub/b.md": "y"})
    (tmp_path / "batch2").mkdir()
    (tmp_path / "secret.md").write_text("secret")
    (batch / "inside.md").symlink_to("real.md")
    (batch / "outside.md").symlink_to(tmp_path / "secret.md")
    (batch / "sibling").symlink_to(tmp_path / "batch2")
    (batch / "escape").symlink_to(tmp_path)
    (batch / "folder").symlink_to("sub")
    (batch / "broken.md").symlink_to("gone.md")
    (batch / "loop.md").symlink_to("loop.md")
    assert reasons(batch) == {
        "broken.md": "unreadable",
        "escape": "outside_corpus",
        "folder": "linked_folder",
        "inside.md": None,
        "loop.md": "unreadable",
        "outside.md": "outside_corpus",
        "real.md": None,
        "sibling": "outside_corpus",
        "sub/b.md": None,
    }


def test_pipes_and_sockets_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    monkeypatch.chdir(tmp_path)  # the name of a socket has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock.md")
        assert reasons(tmp_path) == {"pipe.md": "not_a_file", "sock.md": "not_a_file"}


def test_whatever_takes_the_place_of_a_file_after_listing_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    batch = write_files(tmp_path / "b", dict.fromkeys(["a.md", "b.md", "c.md", "d.md", "e.md"], "x"))
    (batch / "link.md").symlink_to("a.md")
    gone, grown, pipe, linked, folder, link = open_folder(batch).list()
    (batch / "a.md").unlink()
    (batch / "b.md").write_bytes(b"x" * 100)
    (batch / "c.md").unlink()
    os.mkfifo(batch / "c.md")
    (batch / "d.md").unlink()
    (batch / "d.md").symlink_to(tmp_path / "secret.md")
    (batch / "e.md").unlink()
    (batch / "e.md").mkdir()
    (batch / "link.md").unlink()
    (batch / "link.md").symlink_to(tmp_path / "secret.md")
    expected = ["unreadable", "too_large", "not_a_file", "outside_corpus", "unreadable", "outside_corpus"]
    files = [gone, grown, pipe, linked, folder, link]
    assert [refusal(partial(read_bytes, file, 50)) for file in files] == expected


@pytest.mark.parametrize("written", ["x" * 200, "y" * 100, ""])
def test_a_file_that_is_written_to_while_it_is_read_is_no_document(tmp_path: Path, written: str) -> None:
    write_files(tmp_path, {"a.md": "x" * 100})
    os.utime(tmp_path / "a.md", ns=(1, 1))
    (found,) = open_folder(tmp_path).list()

    def read() -> None:
        with found.open() as file:
            file.read(10)
            (tmp_path / "a.md").write_text(written)

    assert refusal(read) == "unreadable"


def reads_everything() -> bool:
    """Whether rights do not bind this process, as they do not bind the superuser."""
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).chmod(0)
        return os.access(file.name, os.R_OK)


rights_bind = pytest.mark.skipif(reads_everything(), reason="the superuser reads everything")


@rights_bind
def test_what_may_not_be_read_is_reported(tmp_path: Path) -> None:
    write_files(tmp_path, {"closed.md": "x", "folder/a.md": "x"})
    (tmp_path / "closed.md").chmod(0)
    (tmp_path / "folder").chmod(0)
    try:
        found = {entry.path: entry for entry in open_folder(tmp_path).list()}
        assert found["folder"].failure is not None
        assert refusal(lambda: read_bytes(found["closed.md"], 9)) == "unreadable"
    finally:
        (tmp_path / "folder").chmod(0o700)


def test_one_file_is_found_by_its_path_with_the_same_care(tmp_path: Path) -> None:
    batch = write_files(tmp_path / "b", {".git/HEAD": "x", "a.md": "y", "folder/b.md": "z"})
    write_files(tmp_path, {"secret/key": "secret", "secret.yaml": "licence: x"})
    (batch / "away").symlink_to(tmp_path / "secret")
    (batch / "batch.yaml").symlink_to(tmp_path / "secret.yaml")
    files = open_folder(batch)
    for path in ("none.md", ".git/HEAD", "away/key", "../secret.yaml", "folder"):
        assert files.find(path) is None
    found = files.find("batch.yaml")
    assert found is not None
    assert found.failure is not None
    assert found.failure.reason == "outside_corpus"


def test_what_can_be_no_batch_takes_no_other_down_and_loose_files_are_named(tmp_path: Path) -> None:
    names = ("good/x.md", "a, b/x.md", "x\n\u202e/x.md", "loose.md", ".hid/x")
    write_files(tmp_path, dict.fromkeys(names, ""))
    (tmp_path / os.fsdecode(b"caf\xe9")).mkdir()
    found = corpus(tmp_path).find_batches()
    assert found.names == ("good",)
    assert list(found.refused) == ["a, b", "caf\\xe9", "x\\u000a\\u202e"]
    assert all(problem.isprintable() for problem in found.refused.values())
    assert found.loose == ("loose.md",)


def test_a_batch_that_is_a_link_is_read_inside_the_corpus_and_refused_outside(tmp_path: Path) -> None:
    place = write_files(tmp_path / "corpus", {"real/a.md": "x"})
    write_files(tmp_path, {"elsewhere/secret.md": "secret"})
    (place / "inside").symlink_to("real")
    (place / "outside").symlink_to(tmp_path / "elsewhere")
    found = corpus(place).find_batches()
    assert found.names == ("inside", "real")
    assert list(found.refused) == ["outside"]
    assert [file.path for file in corpus(place).batch("inside").list()] == ["a.md"]
    with pytest.raises(CorpusError, match="outside"):
        corpus(place).batch("outside")


@pytest.mark.parametrize("prepared", ["missing", "empty", "file"])
def test_a_corpus_without_batches_is_an_error(tmp_path: Path, prepared: str) -> None:
    place = tmp_path / prepared
    if prepared == "empty":
        place.mkdir()
    if prepared == "file":
        place.write_text("x")
    with pytest.raises(CorpusError, match=prepared):
        corpus(place).find_batches()


def test_the_fingerprint_of_a_listing_changes_with_names_sizes_and_times_without_reading(
    tmp_path: Path,
) -> None:
    write_files(tmp_path, {"a/x.md": "x", "b/x.md": "x"})
    place = corpus(tmp_path)

    def fingerprints() -> dict[str, str | None]:
        return place.listing_fingerprints(["a", "b", "gone"])

    before = fingerprints()
    assert before == fingerprints()
    assert before["gone"] is None
    write_files(tmp_path, {"a/y.md": ""})
    os.mkfifo(tmp_path / "b" / ".hidden")
    after = fingerprints()
    assert [name for name in before if before[name] != after[name]] == ["a"]
