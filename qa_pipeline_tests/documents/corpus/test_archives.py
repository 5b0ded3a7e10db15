import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.corpus.archives import open_archive
from qa_pipeline.documents.limits import ReaderLimits
from qa_pipeline_tests.documents.builders import refusal
from qa_pipeline_tests.documents.formats.office.builders import zip_bytes

NAMES = st.text("abc/.\\ åé:", min_size=1, max_size=12)


@given(st.dictionaries(st.text("abcd", min_size=1, max_size=6), st.binary(max_size=200), max_size=5))
def test_what_was_put_in_comes_out(files: dict[str, bytes]) -> None:
    archive = open_archive(zip_bytes(files))
    assert {member.name: archive.read(member.name) for member in archive.members} == files
    assert [member.size for member in archive.members] == [len(content) for content in files.values()]


@given(NAMES)
def test_a_readable_member_has_a_path_that_stays_inside(name: str) -> None:
    for member in open_archive(zip_bytes({name: b"x"})).members:
        parts = member.path.split("/")
        if member.failure is None:
            assert parts
            assert not {"", ".", ".."} & set(parts)
            assert "\\" not in member.path


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


@pytest.mark.parametrize("name", ["../up.txt", "a/../../up.txt", "/etc/up", "C:\\up.txt", "..\\up.txt"])
def test_a_name_that_leads_out_of_the_container_is_not_read(name: str) -> None:
    archive = open_archive(zip_bytes({name: b"x", "in.txt": b"y"}))
    outside, inside = archive.members
    assert outside.failure is not None
    assert outside.failure.reason == "outside_corpus"
    assert archive.read(inside.name) == b"y"
    assert refusal(lambda: archive.read(outside.path)) == "outside_corpus"


def test_names_are_found_in_any_case_and_with_either_slash() -> None:
    archive = open_archive(zip_bytes({"Word\\Document.xml": b"x"}))
    assert archive.read("word/document.xml") == b"x"
    assert archive.find("word/other.xml") is None


def test_folders_are_no_members_and_a_missing_one_is_damage() -> None:
    archive = open_archive(zip_bytes({"folder/": b"", "folder/a": b"1"}))
    assert [member.path for member in archive.members] == ["folder/a"]
    assert refusal(lambda: archive.read("folder/b")) == "damaged"


def test_more_members_than_allowed_are_a_bomb() -> None:
    content = zip_bytes({str(number): b"" for number in range(11)})
    few = ReaderLimits(archive_members=10)
    assert refusal(lambda: open_archive(content, few)) == "archive_bomb"
    assert len(open_archive(content, ReaderLimits(archive_members=11)).members) == 11


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


@pytest.mark.parametrize(
    "content",
    [b"", b"PK\x03\x04", b"plain text", zip_bytes({"a": b"x" * 99})[:-30]],
    ids=["empty", "mark only", "text", "cut off"],
)
def test_what_is_no_whole_container_is_damaged(content: bytes) -> None:
    assert refusal(lambda: open_archive(content)) == "damaged"


def test_a_stream_yields_pieces_and_tells_of_damage_on_the_way() -> None:
    content = bytearray(zip_bytes({"a": b"0123456789"}, zipfile.ZIP_STORED))
    with open_archive(bytes(content)).open("a") as stream:
        assert [stream.read(4) for _ in range(4)] == [b"0123", b"4567", b"89", b""]
    content[content.find(b"0123")] = ord("9")
    assert refusal(lambda: open_archive(bytes(content)).read("a")) == "damaged"
