"""The page about the Python API: what it shows is what comes out."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_every_example_of_the_page_gives_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    results = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)
    assert results.attempted > 10
    assert results.failed == 0
