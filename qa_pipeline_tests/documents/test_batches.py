import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.batches import (
    batch_fingerprint,
    check_batch_name,
    find_batches,
    list_batches,
)
from qa_pipeline.errors import CorpusError
from qa_pipeline_tests.documents.builders import write_files


def test_batches_are_the_visible_folders_sorted(tmp_path: Path) -> None:
    write_files(tmp_path, {"b/x.md": "", "a/x.md": "", ".git/x": "", "loose.md": ""})
    assert list_batches(tmp_path) == ["a", "b"]


def test_a_folder_that_can_be_no_batch_takes_no_other_down_and_loose_files_are_named(tmp_path: Path) -> None:
    names = ("good/x.md", "a, b/x.md", "x\n\u202e/x.md", "loose.md", ".hid/x")
    write_files(tmp_path, dict.fromkeys(names, ""))
    (tmp_path / os.fsdecode(b"caf\xe9")).mkdir()
    found = find_batches(tmp_path)
    assert found.names == ("good",)
    assert list(found.refused) == ["a, b", "caf\\xe9", "x\\u000a\\u202e"]
    assert all("rename the folder" in problem and problem.isprintable() for problem in found.refused.values())
    assert found.loose == ("loose.md",)


@pytest.mark.parametrize("prepared", ["missing", "empty", "file"])
def test_a_corpus_without_batches_is_an_error_that_says_what_to_do(tmp_path: Path, prepared: str) -> None:
    corpus = tmp_path / prepared
    if prepared == "empty":
        corpus.mkdir()
    if prepared == "file":
        corpus.write_text("x")
    with pytest.raises(CorpusError, match=r"name a folder|put documents"):
        list_batches(corpus)


@pytest.mark.parametrize("name", ["handbok 2024", "lagar-sv", "Größe", "a.b", "100%", "q&a"])
def test_ordinary_names_are_batch_names(name: str) -> None:
    check_batch_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        ".hidden",
        " a",
        "a ",
        "a\nb",
        "a\0",
        "a\u202eb",
        "a,b",
        "a...b",
        "c:",
        "x" * 201,
        "a\udcff",
        "fo\u0308",
    ],
)
def test_names_that_are_no_plain_folder_are_refused(name: str) -> None:
    with pytest.raises(CorpusError):
        check_batch_name(name)


@given(st.text(max_size=30))
def test_an_accepted_name_stays_inside_its_parent_folder(name: str) -> None:
    try:
        check_batch_name(name)
    except CorpusError:
        return
    assert (Path("/corpus") / name).resolve().parent == Path("/corpus")


def test_the_fingerprint_changes_with_names_contents_and_pairs_and_with_nothing_else(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.md": "x", "sub/b.md": "y"}
    base = batch_fingerprint(write_files(tmp_path / "1", files))
    assert batch_fingerprint(write_files(tmp_path / "2", dict(reversed(files.items())))) == base
    assert batch_fingerprint(write_files(tmp_path / "3", files | {".hidden": "z"})) == base
    changed: list[dict[str, str | bytes]] = [
        files | {"a.md": "X"},
        {"c.md": "x", "sub/b.md": "y"},
        files | {"pairs.jsonl": ""},
        {"a.md": "x"},
    ]
    prints = [
        batch_fingerprint(write_files(tmp_path / f"c{number}", variant))
        for number, variant in enumerate(changed)
    ]
    assert len({base, *prints}) == 5


def test_a_missing_batch_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="does not exist"):
        batch_fingerprint(tmp_path / "gone")
