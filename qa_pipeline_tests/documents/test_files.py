import os
import socket
import unicodedata
from pathlib import Path

import pytest

from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.files import list_files, read_bytes, stored_path
from qa_pipeline_tests.documents.builders import write_files


def reasons(folder: Path) -> dict[str, str | None]:
    return {found.path: found.failure.reason if found.failure else None for found in list_files(folder)}


def test_hidden_entries_the_pairs_file_and_the_description_are_no_documents(tmp_path: Path) -> None:
    names = ("a.md", ".hidden", ".git/b.md", "pairs.jsonl", "pairs.parquet", "batch.yaml", "in/pairs.jsonl")
    write_files(tmp_path, dict.fromkeys(names, "x"))
    assert list(reasons(tmp_path)) == ["a.md", "in/pairs.jsonl"]


@pytest.mark.parametrize(
    "name", ["a b.md", "100%.md", "a#1.md", "åäö ß.md", "😀.md", "-rf.md", "$(x);'.md", "~.md"]
)
def test_odd_names_are_read_like_any_other(tmp_path: Path, name: str) -> None:
    write_files(tmp_path, {name: "content"})
    (found,) = list_files(tmp_path)
    assert (found.path, read_bytes(found, 99)) == (name, b"content")


def test_decomposed_names_are_stored_composed(tmp_path: Path) -> None:
    write_files(tmp_path, {unicodedata.normalize("NFD", "Förändring.md"): "x"})
    assert list(reasons(tmp_path)) == ["Förändring.md"]


def test_names_that_are_not_utf8_or_hide_something_are_escaped(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_bytes(b"x")
    write_files(tmp_path, {"a\n\u202eb.md": "x"})
    assert list(reasons(tmp_path)) == ["a\\u000a\\u202eb.md", "caf\\xe9.md"]
    for found in list_files(tmp_path):
        assert read_bytes(found, 9) == b"x"


def test_links_are_followed_inside_the_batch_and_reported_where_they_leave_it(tmp_path: Path) -> None:
    batch = write_files(tmp_path / "batch", {"real.md": "x", "sub/b.md": "y"})
    (tmp_path / "secret.md").write_text("secret")
    (batch / "inside.md").symlink_to("real.md")
    (batch / "outside.md").symlink_to(tmp_path / "secret.md")
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
        "sub/b.md": None,
    }


def test_a_batch_that_is_itself_a_link_is_read(tmp_path: Path) -> None:
    write_files(tmp_path / "real", {"a.md": "x"})
    (tmp_path / "batch").symlink_to("real")
    assert reasons(tmp_path / "batch") == {"a.md": None}


def test_pipes_and_sockets_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    monkeypatch.chdir(tmp_path)  # the name of a socket has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock.md")
        assert reasons(tmp_path) == {"pipe.md": "not_a_file", "sock.md": "not_a_file"}


def test_a_file_that_vanishes_or_grows_between_listing_and_reading_is_a_failure(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "x", "b.md": "x"})
    gone, grown = list_files(tmp_path)
    gone.location.unlink()
    grown.location.write_bytes(b"x" * 100)
    for found, reason in ((gone, "unreadable"), (grown, "too_large")):
        with pytest.raises(DocumentFailure) as refused:
            read_bytes(found, 50)
        assert refused.value.reason == reason


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads everything")
def test_what_may_not_be_read_is_reported(tmp_path: Path) -> None:
    write_files(tmp_path, {"closed.md": "x", "folder/a.md": "x"})
    (tmp_path / "closed.md").chmod(0)
    (tmp_path / "folder").chmod(0)
    try:
        found = {entry.path: entry for entry in list_files(tmp_path)}
        assert found["folder"].failure is not None
        with pytest.raises(DocumentFailure, match="unreadable"):
            read_bytes(found["closed.md"], 9)
    finally:
        (tmp_path / "folder").chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads everything")
def test_a_folder_that_may_be_listed_and_not_entered_gives_a_row_for_each_file(tmp_path: Path) -> None:
    write_files(tmp_path, {"folder/a.md": "x", "good.md": "x"})
    (tmp_path / "folder").chmod(0o444)
    try:
        assert reasons(tmp_path) == {"folder/a.md": "unreadable", "good.md": None}
    finally:
        (tmp_path / "folder").chmod(0o700)


def test_stored_paths_never_hold_what_a_terminal_obeys() -> None:
    assert stored_path(b"a\x1b[31m\x07.md") == "a\\u001b[31m\\u0007.md"
