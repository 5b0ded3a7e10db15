"""Whole runs from the command line on corpora that are no plain folders of files."""

from pathlib import Path

import fsspec
import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline_tests.end_to_end import GUIDE, Workspace, invoke, new_workspace

LINES = '{"question": "How long?", "answer": "Wait 10 minutes.", "citations": ["guide.md"]}'


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    return new_workspace(tmp_path, monkeypatch)


@pytest.mark.slow
def test_a_place_that_fsspec_opens_gives_the_tables_a_folder_would_give(
    workspace: Workspace, tmp_path: Path
) -> None:
    store = fsspec.filesystem("memory")
    for name, content in {"guide.md": GUIDE, "pairs.jsonl": LINES}.items():
        workspace.write({f"b/{name}": content})
        store.pipe_file(f"/places/corpus/b/{name}", content.encode())
    store.pipe_file("/places/corpus/loose.md", b"x")
    assert workspace.run().code == OK
    far = Workspace(tmp_path, tmp_path / "far-out")
    ran = invoke("run", "memory://places/corpus/", "--out", far.out, "--accept-unjudged")
    assert ran.code == OK
    assert "loose.md" in ran.stderr
    assert far.contents() == workspace.contents()
    (tmp_path / "mine.jsonl").write_text(LINES)
    checked = tmp_path / "checked"
    ran = invoke(
        "validate", tmp_path / "mine.jsonl", "--corpus", "memory://places/corpus/b", "--out", checked
    )
    assert ran.code in (OK, FAILED)
    assert pl.read_parquet(checked / "tables" / "verdicts" / "b.parquet").height == 1


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("nowhere://x", "nowhere://"),
        ("s3://key:planted@bucket/x", "password"),
        ("memory://none", "memory://none"),
    ],
)
def test_a_location_that_cannot_be_used_is_reported_before_anything_is_written(
    location: str, told: str, tmp_path: Path
) -> None:
    ran = invoke("run", location, "--out", tmp_path / "out")
    assert ran.code == BAD_INPUT
    assert told in ran.stderr
    assert "planted" not in ran.stderr
    assert not (tmp_path / "out").exists()
