from pathlib import Path

import pytest

from qa_pipeline.documents.reading import read_documents
from qa_pipeline.errors import CorpusError
from qa_pipeline_tests.documents.builders import SETTINGS, write_files

PAGE = "<h1>Page</h1><p>Some words about it.</p>"


def origins(folder: Path) -> dict[str, tuple[str | None, str | None]]:
    frame = read_documents("b", folder, SETTINGS)
    return {
        path: (uri, licence) for path, uri, licence in frame.select("path", "source_uri", "licence").rows()
    }


def test_its_line_wins_over_the_document_and_that_over_the_batch(tmp_path: Path) -> None:
    described = (
        "licence: of-the-batch\nsource_uri: https://batch.example\nbase_uri: https://www.example.org/docs/\n"
        "documents:\n  a.md: {source_uri: 'https://line.example', licence: MIT}\n"
    )
    own = "---\nsource: https://own.example\nlicense: of-its-own\n---\n"
    files = {"a.md": f"{own}Text A.", "b.md": f"{own}Text B.", "in/å c#1.html": PAGE, "d.xyz": "x"}
    files["c.md"] = "---\nsource: 'javascript:alert(1)'\n---\nText C."
    write_files(tmp_path, {"batch.yaml": described, **files})
    assert origins(tmp_path) == {
        "a.md": ("https://line.example", "MIT"),
        "b.md": ("https://own.example", "of-its-own"),
        "c.md": ("https://www.example.org/docs/c.md", "of-the-batch"),
        "d.xyz": ("https://www.example.org/docs/d.xyz", "of-the-batch"),
        "in/å c#1.html": ("https://www.example.org/docs/in/%C3%A5%20c%231.html", "of-the-batch"),
    }


def test_an_address_that_would_hold_personal_data_is_not_stored(tmp_path: Path) -> None:
    write_files(tmp_path, {"batch.yaml": "base_uri: https://example.org/docs\n", "811218-9876.md": "Text."})
    masking = SETTINGS.masking.model_copy(update={"action": "drop"})
    frame = read_documents("b", tmp_path, SETTINGS.model_copy(update={"masking": masking}))
    assert frame["source_uri"].to_list() == [None]


@pytest.mark.parametrize(
    "address", ["www.example.org", "https://h/a?token=x", "https://u:p@h/a", "https://h/a b"]
)
def test_a_base_address_that_nothing_can_be_appended_to_is_an_error(tmp_path: Path, address: str) -> None:
    write_files(tmp_path, {"a.md": "x", "batch.yaml": f"base_uri: {address!r}\n"})
    with pytest.raises(CorpusError, match=r"batch\.yaml: base_uri"):
        origins(tmp_path)
