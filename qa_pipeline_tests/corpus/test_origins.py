from pathlib import Path

import polars as pl
import pytest

from qa_pipeline.documents.reading import read_documents
from qa_pipeline.errors import CorpusError
from qa_pipeline_tests.corpus.test_git_checkouts import COMMIT, checkout
from qa_pipeline_tests.documents.builders import SETTINGS, write_files

PAGE = "<h1>Page</h1><p>Some words about it.</p>"
CARD = "---\nlicense: {licence}\nlanguage:\n- sv\n---\n# Card\n\nWhat it holds.\n"
ROWS = '{"text": "One row."}\n{"text": "Another row."}\n'


def origins(folder: Path) -> dict[str, tuple[str | None, str | None]]:
    frame = read_documents("b", folder, SETTINGS)
    return {
        path: (uri, licence) for path, uri, licence in frame.select("path", "source_uri", "licence").rows()
    }


def test_its_line_wins_over_the_document_that_over_its_place_and_that_over_the_batch(tmp_path: Path) -> None:
    described = (
        "licence: of-the-batch\nsource_uri: https://batch.example\n"
        "documents:\n  www.example.org/a.md: {source_uri: 'https://line.example'}\n"
    )
    own = "---\nsource: https://own.example\nlicense: of-its-own\n---\n"
    write_files(
        tmp_path,
        {
            "batch.yaml": described,
            "www.example.org/a.md": f"{own}Text A.",
            "www.example.org/b.md": f"{own}Text B.",
            "www.example.org/c.html": PAGE,
            "www.example.org/d.html": PAGE.replace("words", "letters"),
            "e.md": "Text E.",
        },
    )
    assert origins(tmp_path) == {
        "e.md": ("https://batch.example", "of-the-batch"),
        "www.example.org/a.md": ("https://line.example", "of-its-own"),
        "www.example.org/b.md": ("https://own.example", "of-its-own"),
        "www.example.org/c.html": ("https://www.example.org/c.html", "of-the-batch"),
        "www.example.org/d.html": ("https://www.example.org/d.html", "of-the-batch"),
    }


def test_the_rows_of_a_dataset_are_documents_under_the_licence_of_its_card(tmp_path: Path) -> None:
    write_files(tmp_path, {"README.md": CARD.format(licence="cc-by-4.0"), "data/train.jsonl": ROWS})
    pl.DataFrame({"title": ["T"], "text": ["In columns."]}).write_parquet(tmp_path / "data" / "test.parquet")
    frame = read_documents("b", tmp_path, SETTINGS)
    assert frame.select("path", "status", "licence").rows() == [
        ("README.md", "parsed", "cc-by-4.0"),
        ("data/test.parquet", "parsed", "cc-by-4.0"),
        ("data/train.jsonl", "parsed", "cc-by-4.0"),
    ]
    assert "In columns." in frame["text"][1]


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        (CARD.format(licence="[mit]"), "mit"),
        (CARD.format(licence="other\nlicense_name: house-1"), "house-1"),
        (CARD.format(licence="[mit, cc0-1.0]"), None),
        (CARD.format(licence="{a: b}"), None),
        (CARD.format(licence='"mit\\e[31m"'), "mit[31m"),
        ("---\nlicense: [\n---\n# Card", None),
        ("---\n- a\n---\n# Card", None),
        ("---\nlicense: 2024-13-45\n---\n# Card", None),
        ("# Card\n\nlicense: mit", None),
    ],
)
def test_a_card_is_believed_where_it_names_one_licence(
    tmp_path: Path, card: str, licence: str | None
) -> None:
    write_files(tmp_path, {"README.md": card, "data/rows.jsonl": ROWS})
    assert origins(tmp_path)["data/rows.jsonl"] == (None, licence)


def test_a_readme_without_data_beside_it_is_no_card(tmp_path: Path) -> None:
    write_files(tmp_path, {"README.md": CARD.format(licence="mit"), "guide.md": "Text."})
    assert origins(tmp_path)["guide.md"] == (None, None)


def test_a_checkout_of_a_dataset_has_pages_and_a_licence(tmp_path: Path) -> None:
    card = CARD.format(licence="mit")
    checkout(tmp_path, "https://github.com/o/r", **{"README.md": card, "data__rows.jsonl": ROWS})
    assert origins(tmp_path)["docs/a b.md"] == (f"https://github.com/o/r/blob/{COMMIT}/docs/a%20b.md", "mit")


def test_the_owner_says_what_a_batch_is_where_its_files_mislead(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"www.example.org/a.html": PAGE, "README.md": CARD.format(licence="mit")}
    write_files(tmp_path, {**files, "rows.jsonl": ROWS, "batch.yaml": "kind: folder\n"})
    assert origins(tmp_path)["www.example.org/a.html"] == origins(tmp_path)["rows.jsonl"] == (None, None)
    write_files(tmp_path, {"batch.yaml": "kind: website\n"})
    assert origins(tmp_path)["www.example.org/a.html"] == ("https://www.example.org/a.html", None)
    write_files(tmp_path, {"batch.yaml": "kind: dataset\n"})
    assert origins(tmp_path)["www.example.org/a.html"] == (None, "mit")


@pytest.mark.parametrize(
    ("kind", "told"), [("git", r"\.git"), ("website", "host"), ("dataset", r"README\.md")]
)
def test_a_kind_of_which_the_batch_bears_no_mark_is_an_error(tmp_path: Path, kind: str, told: str) -> None:
    write_files(tmp_path, {"a.md": "x", "batch.yaml": f"kind: {kind}\n"})
    with pytest.raises(CorpusError, match=told):
        origins(tmp_path)


def test_an_unknown_kind_is_an_error_that_names_the_known_ones(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "x", "batch.yaml": "kind: mirror\n"})
    with pytest.raises(CorpusError, match="'folder', 'git', 'website' or 'dataset'"):
        origins(tmp_path)
