from pathlib import Path

import pytest

from qa_pipeline.corpus.corpora import open_folder
from qa_pipeline.corpus.origins import read_mirror
from qa_pipeline.documents.reading import read_documents
from qa_pipeline_tests.documents.builders import SETTINGS, write_files

PAGE = "<h1>Page</h1><p>Words about {name}.</p>"


def pages(folder: Path, *names: str) -> Path:
    return write_files(folder, {name: PAGE.format(name=name) for name in names})


def addresses(folder: Path) -> dict[str, str | None]:
    found = open_folder(folder).list()
    mirror = read_mirror(folder.name, found)
    return {file.path: mirror.source_uri_of(file) if mirror else None for file in found}


@pytest.mark.parametrize(
    ("file", "address"),
    [
        ("index.html", "https://www.example.org/"),
        ("a/index.htm", "https://www.example.org/a/"),
        ("a/b.html", "https://www.example.org/a/b.html"),
        ("a/myindex.html", "https://www.example.org/a/myindex.html"),
        ("å b.html", "https://www.example.org/%C3%A5%20b.html"),
        ("a%20b.html", "https://www.example.org/a%20b.html"),
        ("100%.html", "https://www.example.org/100%25.html"),
        ("a#b.html", "https://www.example.org/a%23b.html"),
        ("page?id=3&x=å", "https://www.example.org/page?id=3&x=%C3%A5"),
        ("manual.pdf", "https://www.example.org/manual.pdf"),
        ("page?id=3.html", None),
        ("page.php.html", None),
        ("page@id=3.html", None),
    ],
)
def test_the_address_of_a_file_is_read_from_its_place(tmp_path: Path, file: str, address: str | None) -> None:
    pages(tmp_path, f"www.example.org/{file}", "www.example.org/one.html")
    assert addresses(tmp_path)[f"www.example.org/{file}"] == address


def test_a_batch_may_be_the_folder_of_a_host_itself_or_hold_several(tmp_path: Path) -> None:
    pages(tmp_path / "docs.example.org", "a/index.html")
    assert addresses(tmp_path / "docs.example.org") == {"a/index.html": "https://docs.example.org/a/"}
    pages(tmp_path / "many", "a.example.org/x.html", "b.example.org/x.html", "hts-log.txt", "notes/y.html")
    assert addresses(tmp_path / "many") == {
        "a.example.org/x.html": "https://a.example.org/x.html",
        "b.example.org/x.html": "https://b.example.org/x.html",
        "hts-log.txt": None,
        "notes/y.html": None,
    }


@pytest.mark.parametrize(
    "name", ["notes", "v1.2", "node.js", "old.html", "Www.Example.Org", "a..org", "-a.org"]
)
def test_folders_of_other_names_are_no_hosts(tmp_path: Path, name: str) -> None:
    pages(tmp_path, f"{name}/a.html")
    assert list(addresses(tmp_path).values()) == [None]


def test_a_folder_named_like_a_host_that_holds_something_else_is_none(tmp_path: Path) -> None:
    write_files(tmp_path, {"my.project/a.md": "x", "my.project/b.md": "x", "my.project/c.html": "x"})
    assert set(addresses(tmp_path).values()) == {None}


def test_a_page_that_names_its_own_address_is_believed_first(tmp_path: Path) -> None:
    own = '<link rel="canonical" href="https://example.org/own"><h1>A</h1><p>Words of its own.</p>'
    write_files(tmp_path, {"www.example.org/a.html": own})
    pages(tmp_path, "www.example.org/b.html")
    frame = read_documents("b", tmp_path, SETTINGS)
    assert frame["source_uri"].to_list()[1] == "https://www.example.org/b.html"
    assert frame["source_uri"].to_list()[0] in ("https://example.org/own", "https://www.example.org/a.html")
