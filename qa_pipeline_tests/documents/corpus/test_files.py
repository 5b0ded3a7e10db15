import io
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.corpus.files import (
    BatchFiles,
    DocumentFailure,
    FoundFile,
    Opener,
    documents_among,
    read_bytes,
)


class Drops(io.BytesIO):
    """A stream that gives less than it is asked for."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(3 if size is None or size < 0 else min(size, 3))


def opener(content: bytes) -> Opener:
    @contextmanager
    def opened() -> Iterator[io.BytesIO]:
        yield Drops(content)

    return opened


@contextmanager
def never() -> Iterator[io.BytesIO]:
    raise DocumentFailure("unreadable", "it is gone")
    yield Drops(b"")


def found(path: str, content: bytes) -> FoundFile:
    return FoundFile(path, path.encode(), len(content), opener(content))


@given(st.binary(max_size=40), st.integers(0, 40))
def test_a_file_is_read_whole_or_refused_as_too_large(content: bytes, limit: int) -> None:
    for size in (0, len(content)):  # what the listing said may no longer be so
        file = FoundFile("a", b"a", size, opener(content))
        if len(content) <= limit:
            assert read_bytes(file, limit) == content
        else:
            with pytest.raises(DocumentFailure, match=r"too_large.*some\.limit"):
                read_bytes(file, limit, "some.limit")


def fingerprint(files: list[FoundFile]) -> str:
    return BatchFiles("b", lambda: files).fingerprint()


def test_the_hash_covers_names_contents_and_why_a_file_cannot_be_read() -> None:
    variants = [
        [found("a", b"x"), found("b", b"y")],
        [found("a", b"x"), found("c", b"y")],
        [found("a", b"xb"), found("", b"y")],
        [found("a", b"x"), FoundFile("b", b"b", 1, never)],
        [found("a", b"x"), FoundFile("b", b"b", 1, never, DocumentFailure("not_a_file", ""))],
        [found("a", b"x")],
        [],
    ]
    assert len(set(map(fingerprint, variants))) == len(variants)
    assert fingerprint(variants[0]) == fingerprint([found("a", b"x"), found("b", b"y")])


def test_pairs_and_description_are_no_documents_and_only_on_the_top_level() -> None:
    names = ["a.md", "pairs.jsonl", "pairs.parquet", "batch.yaml", "in/pairs.jsonl"]
    kept = documents_among(found(name, b"x") for name in names)
    assert sorted(file.path for file in kept) == ["a.md", "in/pairs.jsonl"]
