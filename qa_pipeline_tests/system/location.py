"""The code location of the system tests: rules that generate, hashed vectors, nobody who judges."""

import os
from pathlib import Path

import dagster as dg

from qa_pipeline_tests.defs.project import Project

defs = Project(Path(os.environ["SYSTEM_TEST_FOLDER"]), dg.DagsterInstance.ephemeral()).definitions
for sensor in defs.sensors or ():
    sensor._min_interval = 5  # of its 30 seconds the tests would wait out most
