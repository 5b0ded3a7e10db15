"""The code location of the benchmark of the UI: rules that generate, hashed vectors, nobody who judges."""

import os
from pathlib import Path

import dagster as dg

from qa_pipeline_tests.defs.project import Project

defs = Project(Path(os.environ["SYSTEM_TEST_FOLDER"]), dg.DagsterInstance.ephemeral()).definitions
