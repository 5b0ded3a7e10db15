"""Batches from a command line: only those with work left run, and one that fails takes no other down."""

import json
import re
import subprocess
import sys
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from qa_pipeline.curation.decisions import content_hashes
from qa_pipeline.defs.launch import materialize_batches
from qa_pipeline.errors import (
    BudgetExhaustedError,
    KeyRejectedError,
    MissingReplyError,
    PermanentModelError,
    TransientModelError,
)
from qa_pipeline.pipeline.running import BLOCKED, BatchOutcome
from qa_pipeline.pipeline.stages import STAGES
from qa_pipeline.records import ProgressCallback
from qa_pipeline.review.decision_files import read_decision_file, take_decisions
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import table_bytes
from qa_pipeline.storage.tables import STORED
from qa_pipeline_tests.defs.project import GUIDE, Project, instance_at

ROOT = Path(__file__).parents[2]


def test_an_unchanged_batch_is_not_run_again_on_a_persistent_instance(tmp_path: Path) -> None:
    for expected in ("succeeded", "unchanged"):
        with instance_at(tmp_path / "dagster") as instance:
            project = Project(tmp_path, instance)
            project.write("b1")
            assert project.launch("b1") == {"b1": BatchOutcome("b1", expected)}
            assert instance.get_runs_count() == 1


def test_a_batch_of_which_nothing_was_read_stops_before_its_chunks_and_names_the_gate(
    project: Project,
) -> None:
    project.write("b2", "no text", "photo.png")
    found = project.launch("b2")["b2"]
    assert (found.outcome, found.error) == ("failed", BLOCKED)
    (gate,) = found.failed_gates
    assert gate.startswith("documents documents_read: ")
    assert gate.endswith("1 unsupported_format")
    assert not project.resources.layout.table("chunks", "b2").exists()


def test_only_the_batch_that_changed_runs(both_finished: Project) -> None:
    both_finished.write("b2", GUIDE.format(name="b2").replace("10 minutes", "20 minutes"))
    outcomes = {name: done.outcome for name, done in both_finished.launch("b1", "b2").items()}
    assert outcomes == {"b1": "unchanged", "b2": "succeeded"}


def test_a_gate_that_did_not_hold_is_reported_in_words(project: Project) -> None:
    outcome = project.with_settings(quality={"min_pass_rate": 1.01}).launch("b1")["b1"]
    assert (outcome.outcome, outcome.error) == ("failed", BLOCKED)
    assert len(outcome.failed_gates) == 1
    assert re.match(r"verdicts pass_rate: (\d) of \1", outcome.failed_gates[0])


def test_a_failed_batch_is_tried_again_and_paid_for_once(finished: Project) -> None:
    asked = len(finished.model.asked)
    strict = finished.with_settings(quality={"min_pass_rate": 1.01})
    assert strict.launch("b1")["b1"].outcome == "failed"
    assert finished.launch("b1")["b1"].outcome == "succeeded"
    assert len(finished.model.asked) == asked


@pytest.mark.parametrize(
    "kind", [PermanentModelError, KeyRejectedError, BudgetExhaustedError, MissingReplyError]
)
def test_what_no_later_call_can_mend_stops_everything_as_the_error_it_is(
    project: Project, kind: type[PermanentModelError]
) -> None:
    project.model.broken = kind("all calls are spent")
    with pytest.raises(kind):
        project.launch("b1")


def test_other_settings_count_for_the_command_line_and_not_for_the_night(finished: Project) -> None:
    other = finished.with_settings(judging={"accept_unjudged": True, "threshold": 0.9})
    assert finished.reason("b1") is None
    assert "canaries" in str(other.reason("b1"))
    assert other.reason("b1", compare_code=False) is None
    faster = finished.with_settings(llm={"workers": 50, "budget": {"max_calls": 1000}})
    assert faster.reason("b1") is None


def test_a_batch_whose_model_gave_no_question_stops_there_and_is_work_left(project: Project) -> None:
    project.model.broken = TransientModelError("the server is down")
    outcome = project.launch("b1")["b1"]
    assert (outcome.outcome, outcome.error) == ("failed", BLOCKED)
    assert "questions" in str(project.reason("b1"))


def test_rows_that_wait_for_an_unreachable_model_are_work_left(project: Project) -> None:
    project.model.broken = TransientModelError("the server is down")
    project.model.broken_roles, project.model.broken_calls = ("answer",), 1
    project.launch("b1")
    assert project.reason("b1")
    project.model.broken = None
    assert project.launch("b1")["b1"].outcome == "succeeded"
    assert project.reason("b1") is None
    assert project.table("training_examples", "b1").height > 0


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("questions", "reason"),
        ("pairs", "reason"),
        ("claims", "split_reason"),
        ("claim_verdicts", "reason"),
        ("canaries", "reason"),
        ("assessments", "reason"),
    ],
)
def test_rows_of_every_step_that_asks_a_model_are_work_left_while_it_could_not_be_reached(
    finished: Project, table: str, column: str
) -> None:
    assert finished.reason("b1") is None
    rows = finished.table(table, "b1")
    unreached = rows.with_columns(pl.lit(TransientModelError.reason).alias(column))
    finished.resources.layout.table(table, "b1").write_bytes(table_bytes(unreached, STORED[table]))
    assert str(finished.reason("b1")).startswith(f"{rows.height} rows of {table} ")


def test_every_stage_is_reported_as_it_starts_and_with_its_progress(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[tuple[str, str]] = []
    progress: set[str] = set()

    def watch(batch: str, stage: str) -> ProgressCallback:
        heard.append((batch, stage))
        return lambda done, total: progress.add(stage)

    materialize_batches(project.settings, ["b1"], project.instance, watch, resources=project.resources)
    assert heard == [("b1", stage) for stage in STAGES]
    assert {"documents", "questions", "claims"} <= progress
    assert "dagster" not in capfd.readouterr().err


KILLED = """
import sys, time
from pathlib import Path
from qa_pipeline_tests.defs.project import CountingRules, Project, instance_at

class Stuck(CountingRules):
    async def complete(self, request):
        print("asked", flush=True)
        time.sleep(60)

project = Project(Path(sys.argv[1]), instance_at(Path(sys.argv[1]) / "dagster"))
project.model = Stuck()
project.launch("b1")
"""


@pytest.mark.slow
def test_a_killed_run_is_marked_as_failed_and_its_batch_completed_by_the_next(tmp_path: Path) -> None:
    with instance_at(tmp_path / "dagster") as instance:
        project = Project(tmp_path, instance)
        project.write("b1")
        command = [sys.executable, "-c", KILLED, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == "asked\n"
            running.kill()
        assert project.launch("b1")["b1"].outcome == "succeeded"
        states = [run.status for run in instance.get_runs()]
        assert states == [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]


def test_a_decision_is_work_left_and_reaches_the_verdicts_without_a_model(finished: Project) -> None:
    asked = len(finished.model.asked)
    pair = finished.table("training_examples", "b1").row(0, named=True)
    content = content_hashes(finished.table("pairs", "b1"), finished.table("claims", "b1"))
    file = finished.folder / "decisions.jsonl"
    row = {"pair_id": pair["pair_id"], "content_sha256": content[pair["pair_id"]], "who": "anna"}
    file.write_text(json.dumps({**row, "decision": "rejected"}))
    take_decisions(Layout(finished.settings.out), read_decision_file(file))
    assert "decisions" in str(finished.reason("b1", compare_code=False))

    assert finished.launch("b1")["b1"].outcome == "succeeded"

    verdicts = finished.table("verdicts", "b1").filter(pl.col("pair_id") == pair["pair_id"])
    assert verdicts.select("verdict", "decided_by").rows() == [("rejected", "person")]
    assert pair["pair_id"] not in finished.table("training_examples", "b1")["pair_id"]
    assert len(finished.model.asked) == asked
    assert finished.launch("b1") == {"b1": BatchOutcome("b1", "unchanged")}
