import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.corpus.files import LIMITS
from qa_pipeline.documents.formats.office.package import Archive
from qa_pipeline_tests.documents.builders import refusal
from qa_pipeline_tests.documents.formats.office.archives import flagged, renamed, zip_bytes


@given(st.dictionaries(st.text("abcd", min_size=1, max_size=6), st.binary(max_size=200), max_size=5))
def test_what_was_put_in_comes_out(files: dict[str, bytes]) -> None:
    archive = Archive(zip_bytes(files))
    assert {name: archive.read(name) for name in files} == files


REASONS = {None, "damaged", "archive_bomb", "encrypted", "unsupported_format", "outside_corpus", "not_a_file"}


@given(st.data())
def test_any_damage_is_a_failure_with_a_reason_and_never_another_error(data: st.DataObject) -> None:
    content = bytearray(zip_bytes({"a.xml": b"<a>text</a>" * 20, "b/c.txt": b"more"}))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    assert {refusal(lambda: read_all(bytes(content))), refusal(lambda: read_all(cut))} <= REASONS


def read_all(content: bytes) -> list[bytes]:
    archive = Archive(content)
    return [archive.read(name) for name in ("a.xml", "b/c.txt") if archive.find(name)]


def test_names_are_found_in_any_case_and_with_either_slash() -> None:
    archive = Archive(zip_bytes({"Word\\Document.xml": b"x"}))
    assert archive.read("word/document.xml") == b"x"
    assert archive.find("word/other.xml") is None


def test_members_are_counted_without_trusting_the_end_record(monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytearray(zip_bytes({str(number): b"" for number in range(11)}))
    end = content.rfind(b"PK\x05\x06")
    struct.pack_into("<HH", content, end + 8, 1, 1)
    monkeypatch.setattr(LIMITS, "archive_members", 10)
    assert refusal(lambda: Archive(bytes(content))) == "archive_bomb"


def test_more_content_than_allowed_is_a_bomb_before_any_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    content = zip_bytes({"a": b"0" * 600, "b": b"0" * 600})
    monkeypatch.setattr(LIMITS, "decompressed_bytes", 1199)
    assert refusal(lambda: Archive(content)) == "archive_bomb"
    monkeypatch.setattr(LIMITS, "decompressed_bytes", 1200)
    assert Archive(content).read("b") == b"0" * 600


def test_a_member_larger_than_it_says_is_not_read_beyond() -> None:
    content = bytearray(zip_bytes({"a": b"0" * 100_000}))
    entry = content.rfind(b"PK\x01\x02")
    struct.pack_into("<L", content, entry + 24, 10)
    archive = Archive(bytes(content))
    assert refusal(lambda: archive.read("a")) == "damaged"


def test_encrypted_and_oddly_packed_members_are_failures() -> None:
    encrypted = Archive(flagged(zip_bytes({"a.md": b"x"}), 0x1))
    assert refusal(lambda: encrypted.read("a.md")) == "encrypted"
    packed = Archive(zip_bytes({"a.md": b"x" * 99}, zipfile.ZIP_BZIP2))
    assert refusal(lambda: packed.read("a.md")) == "unsupported_format"


@pytest.mark.parametrize(("stored", "path"), [("å.md".encode(), "å.md"), (b"\x86.md_", "å.md_")])
def test_names_without_a_mark_are_utf8_or_of_the_old_code_page(stored: bytes, path: str) -> None:
    assert Archive(renamed(zip_bytes({"12.md": b"x"}), stored)).read(path) == b"x"
