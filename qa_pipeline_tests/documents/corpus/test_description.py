from pathlib import Path

import polars as pl
import pytest

from qa_pipeline.documents.reading import read_documents
from qa_pipeline.errors import CorpusError
from qa_pipeline_tests.documents.builders import SETTINGS, write_files

PAGE = "<h1>Page</h1><p>Some words about it.</p>"
CARD = "---\nlicense: {licence}\nlanguage:\n- sv\n---\n# Card\n\nWhat it holds.\n"
ROWS = '{"text": "One row."}\n{"text": "Another row."}\n'


def origins(folder: Path) -> dict[str, tuple[str | None, str | None]]:
    frame = read_documents("b", folder, SETTINGS)
    return {
        path: (uri, licence) for path, uri, licence in frame.select("path", "source_uri", "licence").rows()
    }


def test_its_line_wins_over_the_document_and_that_over_the_batch(
    tmp_path: Path,
) -> None:
    described = (
        "licence: of-the-batch\nsource_uri: https://batch.example\nbase_uri: https://www.example.org/docs/\n"
        "documents:\n  a.md: {source_uri: 'https://line.example'}\n"
    )
    own = "---\nsource: https://own.example\nlicense: of-its-own\n---\n"
    files = {"a.md": f"{own}Text A.", "b.md": f"{own}Text B.", "in/å c#1.html": PAGE, "d.xyz": "x"}
    write_files(tmp_path, {"batch.yaml": described, **files})
    assert origins(tmp_path) == {
        "a.md": ("https://line.example", "of-its-own"),
        "b.md": ("https://own.example", "of-its-own"),
        "d.xyz": ("https://www.example.org/docs/d.xyz", "of-the-batch"),
        "in/å c#1.html": ("https://www.example.org/docs/in/%C3%A5%20c%231.html", "of-the-batch"),
    }


def test_the_address_of_a_batch_stands_for_documents_without_one(tmp_path: Path) -> None:
    write_files(tmp_path, {"batch.yaml": "source_uri: https://batch.example\n", "a.md": "Text."})
    assert origins(tmp_path) == {"a.md": ("https://batch.example", None)}


def test_an_address_that_would_hold_personal_data_is_not_stored(tmp_path: Path) -> None:
    write_files(tmp_path, {"batch.yaml": "base_uri: https://example.org/docs\n", "811218-9876.md": "Text."})
    masking = SETTINGS.masking.model_copy(update={"action": "drop"})
    frame = read_documents("b", tmp_path, SETTINGS.model_copy(update={"masking": masking}))
    assert frame["source_uri"].to_list() == [None]


def test_no_origin_is_made_up_for_a_checkout_or_a_mirrored_site(tmp_path: Path) -> None:
    config = '[remote "origin"]\n\turl = https://github.com/o/r\n'
    write_files(tmp_path, {".git/config": config, ".git/HEAD": "a" * 40, "www.example.org/a.html": PAGE})
    assert origins(tmp_path) == {"www.example.org/a.html": (None, None)}


@pytest.mark.parametrize(
    "address",
    [
        "www.example.org",
        "https://",
        "https://h/a?token=x",
        "https://h/#a",
        "https://u:p@h/a",
        "https://h/a b",
        "''",
    ],
)
def test_a_base_address_that_nothing_can_be_appended_to_is_an_error(tmp_path: Path, address: str) -> None:
    write_files(tmp_path, {"a.md": "x", "batch.yaml": f"base_uri: {address!r}\n"})
    with pytest.raises(CorpusError, match=r"batch\.yaml: base_uri"):
        origins(tmp_path)


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


def test_the_licence_an_owner_states_wins_over_the_card(tmp_path: Path) -> None:
    files = {"README.md": CARD.format(licence="mit"), "rows.jsonl": ROWS, "batch.yaml": "licence: cc0-1.0\n"}
    write_files(tmp_path, {**files})
    assert origins(tmp_path)["rows.jsonl"] == (None, "cc0-1.0")


def test_a_kind_that_is_no_longer_read_says_what_to_state_in_its_place(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "x", "batch.yaml": "kind: git\n"})
    with pytest.raises(CorpusError, match=r"batch\.yaml: kind .*source_uri"):
        origins(tmp_path)
