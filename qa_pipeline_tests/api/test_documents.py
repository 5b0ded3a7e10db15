"""Documents read and cut through the Python API."""

from pathlib import Path

import pytest

from qa_pipeline.api.documents import chunk, read_document
from qa_pipeline.errors import InputError


def test_a_document_is_read_with_its_sections_and_cut_below_them(tmp_path: Path) -> None:
    path = tmp_path / "fees.md"
    path.write_text(
        "# Fees\n\nThe late fee is 20 euros a day.\n\n## Adults\n\nAdults pay it at the desk.\n", "utf-8"
    )
    document = read_document(path)
    assert (document.path, document.title, document.language) == ("fees.md", "Fees", "en")
    assert [section["heading_path"] for section in document.sections] == [["Fees"], ["Fees", "Adults"]]
    chunks = chunk(document)
    assert chunks["section_path"].to_list() == [["Fees"], ["Fees", "Adults"]]
    for text, start, end in chunks.select("text", "char_start", "char_end").iter_rows():
        assert document.text[start:end] == text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.md", b"", "the file holds nothing"),
        ("broken.pdf", b"%PDF-1.7 nothing", "broken.pdf"),
        ("unknown.xyz", b"text", "format is not supported"),
        (".hidden", b"text", "begins with a dot"),
    ],
)
def test_what_is_no_document_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_document(tmp_path / name)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.md is no file"):
        read_document(tmp_path / "nowhere.md")
