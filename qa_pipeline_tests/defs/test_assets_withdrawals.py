"""Materialized by whom ever, what consumers read equals the ledger of a batch whose checks pass."""

import shutil
from pathlib import Path

import dagster as dg
import pytest

from qa_pipeline.curation.withdrawals import withdrawn_batches
from qa_pipeline.defs.base import PARTITIONS_NAME
from qa_pipeline.defs.corpus import corpus_sensor
from qa_pipeline_tests.curation.withdrawal_corpus import published
from qa_pipeline_tests.defs.project import GUIDE, Project
from qa_pipeline_tests.defs.test_corpus import Ticker
from qa_pipeline_tests.defs.test_schedules import requested


def reasons(project: Project) -> dict[str, str]:
    return {batch: stone.reason for batch, stone in withdrawn_batches(project.resources.layout).items()}


def tick(project: Project) -> None:
    context = dg.build_sensor_context(
        instance=project.instance, resources={"resources": project.resources}, definitions=project.definitions
    )
    corpus_sensor(context)


@pytest.mark.parametrize("changed", [True, False])
def test_a_check_that_fails_in_a_later_run_withdraws_what_was_published(
    both_finished: Project, changed: bool
) -> None:
    strict = both_finished.with_settings(quality={"min_pass_rate": 1.01})
    if changed:
        both_finished.write("b1", GUIDE.format(name="b7"))
    assert strict.launch("b1")["b1"].outcome == "failed"
    assert set(published(both_finished.resources.layout)) == {"b2"}
    assert reasons(both_finished) == {"b1": "gate_failed"}
    assert both_finished.launch("b1")["b1"].outcome == "succeeded"
    assert set(published(both_finished.resources.layout)) == {"b1", "b2"}
    assert reasons(both_finished) == {}


def test_a_check_that_fails_leaves_the_files_of_the_ledger_to_reviewers(project: Project) -> None:
    project.with_settings(quality={"min_pass_rate": 1.01}).launch("b1")
    exports = {path.parent.name for path in (project.settings.out / "exports").glob("*/b1.jsonl")}
    assert exports == {"passed", "rejected", "needs_review", "failed", "known_answers"}


def test_a_batch_whose_check_failed_rests_until_something_changes(project: Project) -> None:
    strict = project.with_settings(quality={"min_pass_rate": 1.01})
    strict.launch("b1")
    assert requested(strict) == {}
    assert list(requested(project)) == ["b1"]  # another limit
    project.launch("b1")
    assert requested(project) == {}
    asked = len(project.model.asked)
    strict.launch("b1")  # the same ledger under a stricter limit
    assert requested(strict) == {}
    assert len(project.model.asked) == asked


def test_a_batch_that_is_gone_is_withdrawn_and_publishes_again_when_it_is_back(
    both_finished: Project, tmp_path: Path
) -> None:
    folder = Path(both_finished.settings.corpus) / "b1"
    shutil.move(folder, tmp_path / "aside")
    tick(both_finished)
    assert set(published(both_finished.resources.layout)) == {"b2"}
    assert reasons(both_finished) == {"b1": "batch_gone"}
    shutil.move(tmp_path / "aside", folder)
    asked = len(both_finished.model.asked)
    assert list(requested(both_finished)) == ["b1"]
    assert both_finished.launch("b1")["b1"].outcome == "succeeded"
    assert set(published(both_finished.resources.layout)) == {"b1", "b2"}
    assert (reasons(both_finished), requested(both_finished)) == ({}, {})
    assert len(both_finished.model.asked) == asked


def test_a_partition_without_a_folder_fails_with_what_is_missing(project: Project) -> None:
    project.report("b1")
    project.instance.add_dynamic_partitions(PARTITIONS_NAME, ["nobody"])
    ran = project.build("nobody")
    failures = [event.step_failure_data for event in ran.get_step_failure_events()]
    (message,) = (data.error.to_string() for data in failures if data.error)
    assert "corpus/nobody" in message
    assert not list(project.settings.out.rglob("nobody*"))


def test_the_sensor_reports_a_batch_that_is_back_with_the_content_it_had(
    finished: Project, tmp_path: Path
) -> None:
    ticks = Ticker(Path(finished.settings.corpus))
    ticks.instance, ticks.resources = finished.instance, finished.resources
    ticks.tick(), ticks.tick()  # its files were copied
    assert ticks.reported() == []
    folder = Path(finished.settings.corpus) / "b1"
    shutil.move(folder, tmp_path / "aside")
    finished.write("b2")
    ticks.tick()
    shutil.move(tmp_path / "aside", folder)
    found = [name for _ in range(4) for name in ticks.reported() if name == "b1"]
    assert found == ["b1"]


def test_a_corpus_that_cannot_be_reached_withdraws_nothing(finished: Project, tmp_path: Path) -> None:
    shutil.move(finished.settings.corpus, tmp_path / "aside")
    tick(finished)
    assert set(published(finished.resources.layout)) == {"b1"}
