"""Files appear whole or not at all; equal frames give equal bytes; a foreign file is named as such."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import StorageError, TableError
from qa_pipeline.storage import files as storage
from qa_pipeline.storage.files import locked, write_bytes
from qa_pipeline.storage.parquet import frame_hash, read_table, table_bytes, write_table
from qa_pipeline.storage.tables import ASSESSMENTS, CHUNKS
from qa_pipeline_tests.curation.rows import chunk, chunks

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
CHUNK_ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "batch": TEXT,
            "document_id": TEXT,
            "position": st.integers(0, 2**31 - 1),
            "char_start": st.integers(0, 2**40),
            "char_end": st.integers(0, 2**40),
            "title": TEXT,
            "section_path": st.lists(TEXT, max_size=3),
            "section_start": st.integers(0, 999),
            "section_end": st.integers(0, 999),
            "page_first": st.none() | st.integers(1, 99),
            "page_last": st.none() | st.integers(1, 99),
            "tokens": st.integers(0, 999),
            "language": st.sampled_from(["en", "sv", "de"]),
            # never null: polars makes another type of the column when it reverses nulls alone
            "doubts": st.lists(st.just({"kind": "table", "start": 0, "end": 1}), max_size=2),
            "text": TEXT,
        }
    ),
    max_size=12,
)


def chunk_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return CHUNKS.frame([{"chunk_id": f"c{place}", **row} for place, row in enumerate(rows)])


SAMPLE = chunks(chunk("c"))


@given(rows=CHUNK_ROWS, cut=st.integers(0, 12))
def test_bytes_and_hash_depend_on_content_and_not_on_how_the_frame_was_built(
    rows: list[dict[str, Any]], cut: int
) -> None:
    whole = chunk_frame(rows)
    pieces = pl.concat([whole[:cut], whole[cut:]], rechunk=False)
    window = pl.concat([whole.reverse(), whole])[whole.height :]
    assert table_bytes(whole, CHUNKS) == table_bytes(pieces, CHUNKS) == table_bytes(window, CHUNKS)
    assert frame_hash(whole) == frame_hash(pieces) == frame_hash(window)


@given(rows=CHUNK_ROWS)
def test_a_table_reads_back_as_it_was_written(
    rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("tables") / "chunks.parquet"
    write_table(path, chunk_frame(rows), CHUNKS)
    assert read_table(path, CHUNKS).equals(chunk_frame(rows))


def test_a_frame_that_breaks_its_schema_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="chunk_id"):
        write_table(tmp_path / "t.parquet", SAMPLE.drop("chunk_id"), CHUNKS)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_table_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "chunks.parquet"
    write_table(path, ASSESSMENTS.empty(), ASSESSMENTS)
    with pytest.raises(TableError, match=r"chunks\.parquet .*assessments"):
        read_table(path, CHUNKS)


def test_a_failed_sync_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, os.strerror(28))

    path = tmp_path / "file"
    write_bytes(path, b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left on device"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


KILLED = """
import os, signal, sys
from pathlib import Path
from qa_pipeline.storage import files
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
files.write_bytes(Path(sys.argv[1]), b"half")
"""


@pytest.mark.slow
def test_what_a_killed_writer_left_is_gone_after_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"old and longer")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], check=False, cwd=Path(storage.__file__).parents[2]
    )
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old and longer"
    (draft,) = set(tmp_path.iterdir()) - {path}
    assert draft.read_bytes() == b"half"
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_locked_folder_lets_in_only_those_who_share_it(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    refused = pytest.raises(StorageError, match=str(folder))
    with locked(folder, shared=True), locked(folder, shared=True), refused, locked(folder):
        pytest.fail("two hold the folder, and one of them alone")
    with locked(folder), refused, locked(folder, shared=True):
        pytest.fail("somebody shares a folder that is locked")
    with locked(folder), pytest.raises(BlockingIOError), locked(tmp_path):
        raise BlockingIOError  # of the work inside, which is no lock
    assert [file.name for file in folder.iterdir()] == [".lock"]
