from pathlib import Path

import dagster as dg
import pytest

from qa_pipeline_tests.defs.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with one batch, on an instance that lives as long as the test."""
    made = Project(tmp_path, dg.DagsterInstance.ephemeral())
    made.write("b1")
    return made
