"""Archives, opened by themselves and as batches."""

import gc
import io
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.corpus.archives import open_archive
from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.documents.corpus.files import ReaderLimits, Stream, read_bytes
from qa_pipeline.documents.corpus.places import BatchFiles, archive_batch
from qa_pipeline.errors import CorpusError
from qa_pipeline_tests.documents.builders import refusal, write_files
from qa_pipeline_tests.documents.corpus.archives import flagged, linked_zip, renamed, zip_bytes


@given(st.dictionaries(st.text("abcd", min_size=1, max_size=6), st.binary(max_size=200), max_size=5))
def test_what_was_put_in_comes_out(files: dict[str, bytes]) -> None:
    archive = open_archive(zip_bytes(files))
    assert {member.name: archive.read(member.name) for member in archive.members} == files
    assert [member.size for member in archive.members] == [len(content) for content in files.values()]


REASONS = {None, "damaged", "archive_bomb", "encrypted", "unsupported_format", "outside_corpus", "not_a_file"}


@given(st.data())
def test_any_damage_is_a_failure_with_a_reason_and_never_another_error(data: st.DataObject) -> None:
    content = bytearray(zip_bytes({"a.xml": b"<a>text</a>" * 20, "b/c.txt": b"more"}))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    assert {refusal(lambda: read_all(bytes(content))), refusal(lambda: read_all(cut))} <= REASONS


def read_all(content: bytes) -> list[bytes]:
    archive = open_archive(content)
    return [archive.read(member.name) for member in archive.members]


def test_names_are_found_in_any_case_and_with_either_slash() -> None:
    archive = open_archive(zip_bytes({"Word\\Document.xml": b"x"}))
    assert archive.read("word/document.xml") == b"x"
    assert archive.find("word/other.xml") is None


def test_members_are_counted_without_trusting_the_end_record() -> None:
    content = bytearray(zip_bytes({str(number): b"" for number in range(11)}))
    end = content.rfind(b"PK\x05\x06")
    struct.pack_into("<HH", content, end + 8, 1, 1)
    few = ReaderLimits(archive_members=10)
    assert refusal(lambda: open_archive(bytes(content), few)) == "archive_bomb"


def test_more_content_than_allowed_is_a_bomb_before_any_is_read() -> None:
    content = zip_bytes({"a": b"0" * 600, "b": b"0" * 600})
    assert refusal(lambda: open_archive(content, ReaderLimits(decompressed_bytes=1199))) == "archive_bomb"
    assert open_archive(content, ReaderLimits(decompressed_bytes=1200)).read("b") == b"0" * 600


def test_content_that_grows_too_much_is_a_bomb_only_when_there_is_much_of_it() -> None:
    assert refusal(lambda: open_archive(zip_bytes({"a": bytes(60_000_000)}))) == "archive_bomb"
    assert len(open_archive(zip_bytes({"a": bytes(1_000_000)})).read("a")) == 1_000_000


def test_a_member_larger_than_it_says_is_not_read_beyond() -> None:
    content = bytearray(zip_bytes({"a": b"0" * 100_000}))
    entry = content.rfind(b"PK\x01\x02")
    struct.pack_into("<L", content, entry + 24, 10)
    archive = open_archive(bytes(content))
    assert archive.members[0].size == 10
    assert refusal(lambda: archive.read("a")) == "damaged"


def batch(content: bytes) -> BatchFiles:
    @contextmanager
    def opened() -> Iterator[Stream]:
        with io.BytesIO(content) as file:
            yield file

    return archive_batch("b.zip", opened)


def contents(content: bytes) -> dict[str, bytes | str | None]:
    """What each member holds, or why it cannot be had."""
    return {
        file.path: refusal(partial(read_bytes, file, 10_000)) or read_bytes(file, 10_000)
        for file in batch(content).list()
    }


def test_names_lead_nowhere_and_hidden_members_are_left_out() -> None:
    names = [
        "../../up.md",
        "/abs.md",
        "C:\\win.md",
        "a/../b.md",
        "ok\\deep.md",
        "./dot.md",
        ".git/x",
        "a/.h",
        "d/",
    ]
    found = contents(zip_bytes(dict.fromkeys([*names, "__MACOSX/._a.md", "good.md"], b"x")))
    assert found == {
        "../../up.md": "outside_corpus",
        "/abs.md": "outside_corpus",
        "C:\\win.md": "outside_corpus",
        "a/../b.md": "outside_corpus",
        "dot.md": b"x",
        "good.md": b"x",
        "ok/deep.md": b"x",
    }


def test_links_encrypted_and_oddly_packed_members_are_failures() -> None:
    assert contents(linked_zip("link.md", "/etc/hosts", {"a.md": b"x"})) == {
        "a.md": b"x",
        "link.md": "not_a_file",
    }
    assert contents(flagged(zip_bytes({"a.md": b"x"}), 0x1)) == {"a.md": "encrypted"}
    assert contents(zip_bytes({"a.md": b"x" * 99}, zipfile.ZIP_BZIP2)) == {"a.md": "unsupported_format"}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_two_members_of_one_name_is_refused() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for text in ("first", "second"):
            archive.writestr("a.md", text)
    with pytest.raises(CorpusError, match=r"two members named a\.md"):
        batch(content.getvalue()).list()


@pytest.mark.parametrize(
    ("stored", "path"), [("å.md".encode(), "å.md"), (b"\x86.md_", "å.md_"), (b"\xe9.md_", "Θ.md_")]
)
def test_names_without_a_mark_are_utf8_or_of_the_old_code_page(stored: bytes, path: str) -> None:
    content = renamed(zip_bytes({"12.md": b"x"}), stored)
    assert list(contents(content)) == [path]


def test_bombs_are_refused_before_anything_is_unpacked() -> None:
    bomb = zip_bytes({f"{n}.md": b"x" * 6_000_000 for n in range(10)})
    with pytest.raises(CorpusError, match="archive_bomb"):
        batch(bomb).list()
    lying = bytearray(zip_bytes({"a.md": b"x" * 1000}))
    struct.pack_into("<L", lying, lying.index(b"PK\x05\x06") + 12, 0xFFFFFF00)
    with pytest.raises(CorpusError, match="damaged"):
        batch(bytes(lying)).list()


def test_what_is_no_archive_or_cut_off_fails_the_batch_by_name() -> None:
    for content in (b"", b"no archive", zip_bytes({"a.md": b"x" * 500})[:-30]):
        with pytest.raises(CorpusError, match=r"b\.zip .*damaged"):
            batch(content).list()


def test_the_archive_stays_open_for_its_files_and_is_closed_with_them(tmp_path: Path) -> None:
    write_files(tmp_path, {"b.zip": zip_bytes({"a.md": b"text"})})
    (file,) = open_corpus(tmp_path).batch("b").list()
    gc.collect()
    assert read_bytes(file, 99) == b"text"
    del file
    gc.collect()  # a file left open is a warning, and warnings are errors
