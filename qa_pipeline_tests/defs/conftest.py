"""Projects to start from: a batch not yet run, and copies of batches that were run once."""

from pathlib import Path

import pytest

from qa_pipeline_tests.defs.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with one batch, b1."""
    made = Project(tmp_path)
    made.write("b1")
    return made


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("finished"))
    made.write("b1")
    assert made.launch("b1")["b1"].outcome == "succeeded"
    return made


@pytest.fixture
def finished(finished_once: Project, tmp_path: Path) -> Project:
    """A project whose one batch, b1, is up to date: a copy, to be changed at will."""
    return finished_once.copy(tmp_path)
