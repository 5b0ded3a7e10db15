import hashlib
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.corpus.corpora import batch_fingerprint, open_folder
from qa_pipeline.corpus.origins import Checkout, DamagedIndex, read_checkout, tracked_sizes
from qa_pipeline.documents.reading import read_documents
from qa_pipeline_tests.documents.builders import SETTINGS, write_files

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONFIG = """[core]
\tbare = false
[remote "origin"]
\turl = {url}
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
"""
SIZES = st.dictionaries(
    st.binary(min_size=1, max_size=30).map(lambda name: name.replace(b"\0", b"x")),
    st.integers(0, 2**32 - 1),
    max_size=6,
)


def index_bytes(sizes: dict[bytes, int], version: int = 2, hash_length: int = 20) -> bytes:
    """An index as git writes it, sizes and names apart all zeros."""
    content = struct.pack(">4sLL", b"DIRC", version, len(sizes))
    previous = b""
    for name, size in sorted(sizes.items()):
        entry = bytes(36) + struct.pack(">L", size) + bytes(hash_length)
        entry += struct.pack(">H", 0x4000 if version == 3 else 0) + (b"\0\0" if version == 3 else b"")
        if version == 4:
            kept = len(previous) if name.startswith(previous) else 0
            entry += _packed(len(previous) - kept) + name[kept:] + b"\0"
        else:
            entry += name
            entry += bytes(8 - len(entry) % 8)
        content += entry
        previous = name
    return content + hashlib.sha1(content).digest()


def _packed(number: int) -> bytes:
    digits = [number & 0x7F]
    while number := number >> 7:
        number -= 1
        digits.insert(0, 0x80 | number & 0x7F)
    return bytes(digits)


def checkout(folder: Path, url: str, **files: str | bytes) -> Path:
    """A folder as a clone leaves it, with one file that is tracked."""
    defaults: dict[str, str | bytes] = {
        "docs/a b.md": "# Guide\n",
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/refs/heads/main": f"{COMMIT}\n",
        ".git/config": CONFIG.format(url=url),
        ".git/index": index_bytes({b"docs/a b.md": 8}),
    }
    return write_files(folder, defaults | {name.replace("__", "/"): text for name, text in files.items()})


def read(folder: Path) -> Checkout | None:
    return read_checkout(open_folder(folder))


def address(folder: Path) -> str | None:
    found = read(folder)
    (file,) = open_folder(folder).list()
    return found.source_uri_of(file) if found else None


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("hash_length", [20, 32])
@given(sizes=SIZES)
def test_the_index_gives_back_what_was_written(
    version: int, hash_length: int, sizes: dict[bytes, int]
) -> None:
    assert tracked_sizes(index_bytes(sizes, version, hash_length), hash_length) == sizes


@given(st.binary(max_size=200), SIZES, st.integers(0, 300))
def test_any_bytes_are_an_index_or_refused(junk: bytes, sizes: dict[bytes, int], place: int) -> None:
    for content in (junk, index_bytes(sizes)[:place] + junk, index_bytes(sizes, 4)[:place] + junk):
        try:
            tracked_sizes(content)
        except DamagedIndex:
            continue


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://github.com/o/r.git", "https://github.com/o/r/blob/{c}/docs/a%20b.md"),
        ("https://user:planted@github.com/o/r", "https://github.com/o/r/blob/{c}/docs/a%20b.md"),
        ("git@github.com:o/r.git", "https://github.com/o/r/blob/{c}/docs/a%20b.md"),
        ("ssh://git@gitlab.com:22/g/s/r.git/", "https://gitlab.com/g/s/r/-/blob/{c}/docs/a%20b.md"),
        ("https://gitlab.example.org/g/r", "https://gitlab.example.org/g/r/-/blob/{c}/docs/a%20b.md"),
        ("https://codeberg.org/o/r", "https://codeberg.org/o/r/src/commit/{c}/docs/a%20b.md"),
        ("https://bitbucket.org/o/r.git", "https://bitbucket.org/o/r/src/{c}/docs/a%20b.md"),
        (
            "https://huggingface.co/datasets/o/r",
            "https://huggingface.co/datasets/o/r/blob/{c}/docs/a%20b.md",
        ),
        ("https://example.org/o/r.git", None),
        ("/home/someone/r.git", None),
        ("file:///home/someone/r.git", None),
        ("https://github.com/r.git", None),
        ("https://github.com/../r", None),
        ("https://github.com/o/r\\nx?y", None),
        ("javascript:alert(1)//github.com/o/r", None),
        ("", None),
    ],
)
def test_a_file_of_the_commit_has_its_page_on_the_host_it_was_cloned_from(
    tmp_path: Path, url: str, page: str | None
) -> None:
    found = address(checkout(tmp_path, url))
    assert found == (page.format(c=COMMIT) if page else None)


@pytest.mark.parametrize(
    ("changed", "known"),
    [
        ({".git__HEAD": f"{COMMIT}\n"}, True),
        (
            {
                ".git__refs__heads__main": "",
                ".git__packed-refs": f"# x\n{COMMIT} refs/heads/main\n^{COMMIT}\n",
            },
            True,
        ),
        ({".git__refs__heads__main": ""}, False),
        ({".git__HEAD": "ref: refs/heads/../../../config"}, False),
        ({".git__HEAD": "ref: refs/heads/.invalid"}, False),
        ({".git__HEAD": b"\xff\xfe"}, False),
        ({".git__config": "[remote"}, False),
        ({".git__config": '[remote "other"]\nurl = https://github.com/o/r'}, False),
        ({".git__index": b"damaged"}, False),
        ({".git__index": index_bytes({b"docs/other.md": 8})}, False),
        ({".git__index": index_bytes({b"docs/a b.md": 9})}, False),
    ],
)
def test_only_what_git_wrote_down_of_a_file_is_said(
    tmp_path: Path, changed: dict[str, str | bytes], known: bool
) -> None:
    assert (address(checkout(tmp_path, "https://github.com/o/r", **changed)) is not None) == known


def test_a_folder_without_git_is_no_checkout_and_git_elsewhere_is_not_followed(tmp_path: Path) -> None:
    plain = write_files(tmp_path / "plain", {"a.md": "x"})
    assert read(plain) is None
    checkout(tmp_path / "real", "https://github.com/o/r")
    tree = write_files(tmp_path / "tree", {"a.md": "x", ".git": "gitdir: ../real/.git\n"})
    linked = write_files(tmp_path / "linked", {"a.md": "x"})
    (linked / ".git").symlink_to(tmp_path / "real" / ".git")
    assert read(tree) is None
    assert read(linked) is None


def test_documents_of_a_checkout_name_their_page_and_the_hidden_folder_is_none(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "https://github.com/o/r", **{"new.md": "# Not committed\n"})
    frame = read_documents("b", open_folder(folder), SETTINGS)
    assert frame.select("path", "source_uri").rows() == [
        ("docs/a b.md", f"https://github.com/o/r/blob/{COMMIT}/docs/a%20b.md"),
        ("new.md", None),
    ]


def test_another_commit_is_another_fingerprint_although_no_document_changed(tmp_path: Path) -> None:
    def seen() -> str:
        return batch_fingerprint(open_folder(tmp_path))

    checkout(tmp_path, "https://github.com/o/r")
    before = seen()
    write_files(tmp_path, {".git/refs/heads/main": COMMIT[::-1]})
    assert seen() != before
    write_files(tmp_path, {".git/refs/heads/main": COMMIT, ".git/FETCH_HEAD": "x"})
    assert seen() == before
