"""Edits are verified and decisions applied by the local steps, whichever command made the output folder."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient

from qa_pipeline.models import encoder
from qa_pipeline.pipeline import running
from qa_pipeline.review import decisions
from qa_pipeline.review.decisions import Applying, LocalSteps
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.defs.project import Project
from qa_pipeline_tests.end_to_end import Workspace
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.review.test_server import first_pair, hidden
from qa_pipeline_tests.review.test_server_bad_input import decide


def applied(steps: LocalSteps, batch: str) -> Applying:
    """Apply the decisions about a batch, and wait for the end of it."""
    applying = steps.apply(batch)
    deadline = time.monotonic() + 30
    while not applying.is_done and time.monotonic() < deadline:
        time.sleep(0.02)
    return applying


def test_decisions_are_applied_to_the_tables_of_dagster_as_its_own_run_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sign_in: Callable[[Path], TestClient]
) -> None:
    monkeypatch.setattr(encoder, "load_embedder", lambda *_: HashEmbedder())
    project = Project(tmp_path)
    project.write("b1")
    project.report("b1")
    assert project.build("b1").success
    link = first_pair(sign_in(project.settings.out))
    assert decide(sign_in(project.settings.out), link, "nobody asks so") == 303
    assert "decisions" in (project.reason("b1") or "")
    steps = LocalSteps(StoredTables(Layout(project.settings.out)))
    assert applied(steps, "b1") == Applying("b1", "training_examples", is_done=True)
    decided = project.table("verdicts", "b1").filter(pl.col("pair_id") == link.rpartition("/")[2])
    assert decided["reason"].to_list() == ["person_rejected"]
    before = project.contents()
    assert project.build("b1").success
    assert project.contents() == before


def test_an_edit_that_is_verified_while_decisions_are_applied_says_so_and_loses_nothing(
    client: TestClient, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "_PATIENCE_SECONDS", 0.0)
    at_work, go_on = threading.Event(), threading.Event()
    run_stages = running._run_stages

    def wait(*arguments: object) -> object:
        at_work.set()
        go_on.wait(30)
        return run_stages(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "_run_stages", wait)
    link = first_pair(client)
    page = client.get(link).text
    form = {name: hidden(page, name) for name in ("form_token", "content_sha256", "seen")}
    client.post("/decisions/b/apply", data=form)
    assert at_work.wait(30)
    client.post("/decisions/b/apply", data=form)  # a second click waits for nothing
    edit = {**form, "decision": "edited", "edited_answer": "The valve opens at 3 bar."}
    assert "The valve opens at 3 bar." in client.post(f"{link}/decision", data=edit).text
    go_on.set()
    deadline = time.monotonic() + 30
    while "refresh" in client.get("/decisions").headers and time.monotonic() < deadline:
        time.sleep(0.02)
    assert hidden(client.post(f"{link}/decision", data=edit).text, "checked")
