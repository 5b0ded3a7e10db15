from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.documents.parsing import ParseOutcome, ParseRequest, parse_in_process
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.errors import CorpusError
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import SETTINGS, pdf_bytes, write_files

Files = dict[str, str | bytes]
GUIDE = "# Guide\n\nThe server starts when it is told to.\n\n## Ports\n\nIt listens on port 80.\n"


def read(folder: Path, files: Files, settings: DocumentSettings = SETTINGS) -> pl.DataFrame:
    return read_documents("batch", write_files(folder, files), settings)


def rows(folder: Path, files: Files, settings: DocumentSettings = SETTINGS) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in read(folder, files, settings).to_dicts()}


def test_every_file_is_one_row_and_all_formats_are_read(tmp_path: Path) -> None:
    files: Files = {
        "a.md": GUIDE,
        "b.HTML": "<h1>Page</h1><p>Text about the page.</p>",
        "c.pdf": pdf_bytes("Printed text about it."),
        "d.txt": "Plain text, nothing more.",
        "sub/e.markdown": "Deeper text that lies in a folder of its own.",
    }
    frame = read(tmp_path, files)
    assert frame["path"].to_list() == sorted(files)
    assert frame["status"].to_list() == ["parsed"] * 5
    assert frame["format"].to_list() == ["markdown", "html", "pdf", "text", "markdown"]
    assert frame["language"].to_list() == ["en"] * 5
    assert frame["title"].to_list() == ["Guide", "Page", "c", "d", "e"]


@pytest.mark.parametrize(
    ("declared", "title"),
    [("", "Borg Quick Start"), ("Other", "Other")],
)
def test_a_title_is_declared_or_the_first_heading(tmp_path: Path, declared: str, title: str) -> None:
    content = f"---\ntitle: {declared}\n---\n# Borg Quick Start\n\nText."
    assert read(tmp_path, {"a.md": content})["title"].to_list() == [title]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.md", b"", "empty_file"),
        ("a.md", b"---\ntitle: only\n---\n", "no_text"),
        ("a.html", b"<div>" * 9000, "nested_too_deep"),
        ("a.pdf", b"no pdf at all", "damaged"),
        ("a.pdf", pdf_bytes(""), "no_text"),
        ("a.pdf", pdf_bytes("x", password="closed"), "encrypted"),
        ("a.md", b"word " * 100, "too_long"),
        ("a.md", b"word " * 10_000, "too_large"),
    ],
)
def test_every_bad_file_is_a_failed_row_with_its_reason(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    settings = DocumentSettings(max_bytes=49_000, max_characters=400)
    found = rows(tmp_path, {name: content, "good.md": "Good text."}, settings)
    assert (found[name]["status"], found[name]["reason"]) == ("failed", reason)
    assert found[name]["detail"]
    assert found[name]["text"] is None
    assert found["good.md"]["status"] == "parsed"


def test_an_unknown_format_is_skipped_and_says_what_is_supported(tmp_path: Path) -> None:
    found = rows(tmp_path, {"a.xyz": "text", "README": "text"})
    assert {row["status"] for row in found.values()} == {"skipped"}
    assert {row["reason"] for row in found.values()} == {"unsupported_format"}
    assert ".md" in found["a.xyz"]["detail"]


def test_equal_bytes_are_read_once_and_the_second_names_the_first(tmp_path: Path) -> None:
    found = rows(tmp_path, {"a.md": GUIDE, "copy.md": GUIDE, "z/copy.txt": GUIDE})
    assert [row["status"] for row in found.values()] == ["parsed", "duplicate", "duplicate"]
    assert "a.md" in found["copy.md"]["detail"]
    assert len({row["document_id"] for row in found.values()}) == 3


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a: 1\nlicence: [", "line 2"),
        ("license: CC0", "license: .*licence"),
        ("licence: !!python/object/apply:os.getcwd []", ""),
        (b"\xff\xfe\0", ""),
    ],
)
def test_a_description_that_cannot_be_used_stops_with_its_name(
    tmp_path: Path, content: str | bytes, told: str
) -> None:
    with pytest.raises(CorpusError, match=rf"batch\.yaml.*{told}"):
        read(tmp_path, {"batch.yaml": content, "a.md": "x"})


@pytest.mark.parametrize("there", ["nothing", "file"])
def test_a_batch_folder_that_is_missing_is_an_error_not_an_empty_batch(tmp_path: Path, there: str) -> None:
    if there == "file":
        (tmp_path / there).write_text("x")
    with pytest.raises(CorpusError, match=there):
        read_documents("batch", tmp_path / there, SETTINGS)


def test_what_an_earlier_run_parsed_of_the_same_bytes_is_taken_over(tmp_path: Path) -> None:
    folder = write_files(tmp_path, {"a.md": "# Anna\n\nText.", "b.md": "Other."})
    before = read_documents("b", folder, SETTINGS)
    (folder / "a.md").rename(folder / "c.md")
    (folder / "b.md").write_text("Changed.")
    asked: list[str] = []

    def parse(requests: Iterable[ParseRequest], settings: DocumentSettings) -> Iterator[ParseOutcome]:
        for request in requests:
            asked.append(request.source.path)
            yield from parse_in_process([request], settings)

    after = read_documents("b", folder, SETTINGS, parse, before)
    assert asked == ["b.md"]
    assert after.equals(read_documents("b", folder, SETTINGS))
    same = before.filter(pl.col("path") == "a.md"), after.filter(pl.col("path") == "c.md")
    assert same[0]["document_id"].to_list() == same[1]["document_id"].to_list()
