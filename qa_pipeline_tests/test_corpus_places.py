"""Whole runs from the command line on corpora that are no plain folders of files."""

import zipfile
from pathlib import Path

import fsspec
import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline_tests.documents.corpus.archives import zip_bytes
from qa_pipeline_tests.end_to_end import GUIDE, Workspace, invoke, new_workspace

LINES = '{"question": "How long?", "answer": "Wait 10 minutes.", "citations": ["guide.md"]}'


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    return new_workspace(tmp_path, monkeypatch)


def test_an_archive_gives_the_tables_its_files_would_give_in_a_folder(
    workspace: Workspace, tmp_path: Path
) -> None:
    files = {"guide.md": GUIDE.encode(), "pairs.jsonl": LINES.encode()}
    workspace.write({f"b/{name}": content for name, content in files.items()})
    assert workspace.run().code == OK
    packed = Workspace(tmp_path / "packed", tmp_path / "packed-out")
    packed.write({"b.zip": zip_bytes(files)})
    ran = invoke("run", packed.corpus, "--out", packed.out, "--accept-unjudged")
    assert ran.code == OK
    assert packed.contents() == workspace.contents()
    assert "imported" in packed.table("pairs", "b")["origin"].to_list()


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
    assert "loose.md in memory://places/corpus" in ran.stderr
    assert far.contents() == workspace.contents()
    (tmp_path / "mine.jsonl").write_text(LINES)
    checked = tmp_path / "checked"
    ran = invoke(
        "validate", tmp_path / "mine.jsonl", "--corpus", "memory://places/corpus/b", "--out", checked
    )
    assert ran.code in (OK, FAILED)
    assert pl.read_parquet(checked / "tables" / "verdicts" / "b.parquet").height == 1


def test_damaged_archives_and_bombs_fail_alone(workspace: Workspace) -> None:
    bomb = zip_bytes({f"{number}.md": b"x" * 20_000_000 for number in range(4)})
    workspace.write({"good/guide.md": GUIDE, "bad.zip": b"no archive", "bomb.zip": bomb})
    ran = workspace.run()
    assert ran.code == FAILED
    assert "bad failed: bad.zip cannot be read: damaged" in ran.stdout
    assert "bomb failed: bomb.zip cannot be read: archive_bomb" in ran.stdout
    assert "good succeeded" in ran.stdout


def test_a_batch_that_is_a_link_out_of_the_corpus_fails_alone_and_is_not_read(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("# Secret\n\nThe safe opens with 4711.\n")
    workspace.write({"good/guide.md": GUIDE})
    (workspace.corpus / "linked").symlink_to(tmp_path / "outside")
    ran = workspace.run()
    assert ran.code == FAILED
    assert "linked failed: linked is a link that leads out of the corpus" in ran.stdout
    assert not any(b"4711" in path.read_bytes() for path in workspace.out.rglob("*") if path.is_file())
    assert workspace.run("--batch", "linked").code == BAD_INPUT


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("nowhere://x", "setting corpus: nowhere:// is no known kind of place"),
        ("s3://key:planted@bucket/x", "password or token"),
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


def test_members_of_an_archive_that_may_not_be_read_are_rows(workspace: Workspace) -> None:
    workspace.corpus.mkdir()
    with zipfile.ZipFile(workspace.corpus / "b.zip", "w") as archive:
        archive.writestr("../up.md", "x")
        archive.writestr("guide.md", GUIDE)
    assert workspace.run().code == OK
    assert workspace.reasons("documents", "b", "path") == {"../up.md": "outside_corpus", "guide.md": None}
