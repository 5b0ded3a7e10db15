from pathlib import Path

from qa_pipeline.documents.reading import read_documents
from qa_pipeline_tests.documents.builders import SETTINGS, write_files

PAGE = "<h1>Page</h1><p>Some words about it.</p>"


def origins(folder: Path) -> dict[str, tuple[str | None, str | None]]:
    frame = read_documents("b", folder, SETTINGS)
    return {
        path: (uri, licence) for path, uri, licence in frame.select("path", "source_uri", "licence").rows()
    }


def test_its_line_wins_over_the_document_and_that_over_the_batch(tmp_path: Path) -> None:
    described = (
        "licence: of-the-batch\nsource_uri: https://batch.example\n"
        "documents:\n  a.md: {source_uri: 'https://line.example', licence: MIT}\n"
    )
    own = "---\nsource: https://own.example\nlicense: of-its-own\n---\n"
    files = {"a.md": f"{own}Text A.", "b.md": f"{own}Text B.", "in/å c#1.html": PAGE, "d.xyz": "x"}
    files["c.md"] = "---\nsource: 'javascript:alert(1)'\n---\nText C."
    write_files(tmp_path, {"batch.yaml": described, **files})
    assert origins(tmp_path) == {
        "a.md": ("https://line.example", "MIT"),
        "b.md": ("https://own.example", "of-its-own"),
        "c.md": ("https://batch.example", "of-the-batch"),
        "d.xyz": ("https://batch.example", "of-the-batch"),
        "in/å c#1.html": ("https://batch.example", "of-the-batch"),
    }
