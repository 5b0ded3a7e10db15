"""Decisions wait for the next run, whichever command starts it."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
from starlette.testclient import TestClient

from qa_pipeline_tests.defs.project import Project
from qa_pipeline_tests.review.test_server import first_pair
from qa_pipeline_tests.review.test_server_bad_input import decide


def test_a_run_takes_the_decisions_in_and_the_next_one_changes_nothing(
    tmp_path: Path, sign_in: Callable[[Path], TestClient]
) -> None:
    project = Project(tmp_path)
    project.write("b1")
    assert project.launch("b1")["b1"].outcome == "succeeded"
    link = first_pair(sign_in(project.settings.out))
    assert decide(sign_in(project.settings.out), link, "nobody asks so") == 303
    asked = len(project.model.asked)
    assert project.launch("b1")["b1"].outcome == "succeeded"
    assert len(project.model.asked) == asked
    decided = project.table("verdicts", "b1").filter(pl.col("pair_id") == link.rpartition("/")[2])
    assert decided["reason"].to_list() == ["person_rejected"]
    assert project.launch("b1")["b1"].outcome == "unchanged"
