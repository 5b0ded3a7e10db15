import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.decoding import unpack
from qa_pipeline.documents.formats.registry import format_of
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import refusal, write_files

TEXT = b"# Boilers\n\nThe boiler is cleaned once a year, before the winter.\n"


def zstandard(content: bytes) -> bytes:
    output = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(output, "zstd") as file:
        file.write(content)
    packed: bytes = output.getvalue().to_pybytes()
    return packed


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard,
}
KINDS = pytest.mark.parametrize("kind", PACKERS)


@KINDS
@given(content=st.binary(min_size=1, max_size=500))
def test_what_was_packed_comes_out(kind: str, content: bytes) -> None:
    content = b"x" + content + b"x"
    assert unpack(PACKERS[kind](content), kind, 1000) == content
    assert unpack(PACKERS[kind](content) * 2, kind, 2000) == content * 2


@KINDS
@given(junk=st.binary(max_size=200))
def test_any_bytes_are_unpacked_or_refused(kind: str, junk: bytes) -> None:
    assert refusal(lambda: unpack(junk, kind, 1000)) in ("damaged", "empty_file", "too_large")


@KINDS
def test_bombs_large_damaged_empty_and_doubled_files_are_refused(kind: str) -> None:
    pack = PACKERS[kind]
    refused = {
        "archive_bomb": [pack(b"x" * 20_000_000), pack(pack(TEXT)), pack(gzip.compress(TEXT))],
        "too_large": [pack(TEXT * 20)],
        "damaged": [pack(TEXT)[:-6], b"junk" + pack(TEXT)],
        "empty_file": [pack(b""), pack(b" \n")],
    }
    for reason, contents in refused.items():
        for content in contents:
            limit = 100_000_000 if reason == "archive_bomb" else 1000
            with pytest.raises(DocumentFailure) as failure:
                unpack(content, kind, limit)
            assert failure.value.reason == reason


def test_a_format_is_known_by_the_suffix_below_that_of_the_compression() -> None:
    assert format_of("a.md.gz") is None
    assert format_of("a.md.GZ", compressed=True) == "markdown.gz"
    assert format_of("dir.md/a.gz", compressed=True) is None
    assert format_of("a.md.gz.bz2", compressed=True) is None
    assert format_of("a.md", compressed=True) == "markdown"


@KINDS
def test_compressed_files_are_read_where_the_setting_says_so(kind: str, tmp_path: Path) -> None:
    folder = write_files(tmp_path, {f"a.md{kind}": PACKERS[kind](TEXT), f"b.md{kind}": b"no such thing"})
    on, off = (read_documents("b", folder, DocumentSettings(compressed=flag)) for flag in (True, False))
    assert on["status"].to_list() == ["parsed", "failed"]
    assert on["reason"].to_list() == [None, "damaged"]
    assert on["format"].to_list() == [f"markdown{kind}"] * 2
    assert on["title"][0] == "Boilers"
    assert off["status"].to_list() == ["skipped"] * 2
    assert "documents.compressed" in off["detail"][0]
