"""At night exactly the batches with work left run."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from qa_pipeline.defs import schedules, staleness
from qa_pipeline_tests.defs.project import GUIDE, Project

TONIGHT = datetime(2026, 11, 22, 2, tzinfo=UTC)


def tick(project: Project, moment: datetime = TONIGHT) -> Any:
    return project.tick("nightly", moment)


def requested(project: Project, moment: datetime = TONIGHT) -> dict[str, str]:
    """The run key of each batch that one tick requests."""
    requests = tick(project, moment).run_requests or []
    return {str(request.partition_key): str(request.run_key) for request in requests}


def start(project: Project, moment: datetime = TONIGHT) -> list[str]:
    """Start the runs that a tick requests, and fail them, as a daemon does that is then killed."""
    job = project.definitions.resolve_job_def("build_batch")
    requests = tick(project, moment).run_requests or []
    for request in requests:
        tags = {**request.tags, "dagster/partition": request.partition_key}
        project.instance.create_run_for_job(job, tags=tags, status=dg.DagsterRunStatus.FAILURE)
    return [request.partition_key for request in requests]


@pytest.mark.slow
def test_the_night_runs_new_changed_and_unfinished_batches_and_no_others(finished: Project) -> None:
    finished.write("b2")
    finished.report("b2")
    assert list(requested(finished)) == ["b2"]
    finished.launch("b2")
    assert requested(finished) == {}
    finished.write("b2", GUIDE.format(name="b2").replace("10 minutes", "20 minutes"))
    finished.report("b2")
    assert list(requested(finished)) == ["b2"]
    strict = finished.with_settings(quality={"min_pass_rate": 1.01})
    assert not strict.build("b2").success
    assert requested(strict) == {}
    assert "b2 (pass_rate" in str(tick(strict).skip_message)
    assert list(requested(finished)) == ["b2"]


def test_other_settings_are_no_reason_to_run_the_whole_corpus_at_night(finished: Project) -> None:
    assert requested(finished.with_settings(judging={"accept_unjudged": True, "threshold": 0.9})) == {}


def test_a_request_is_of_one_batch_and_says_why(project: Project) -> None:
    schedule = project.definitions.resolve_schedule_def("nightly")
    assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED
    assert tick(project).run_requests in (None, [])
    project.report("b1")
    (request,) = tick(project).run_requests
    assert request.partition_key == "b1"
    assert request.tags["qa_pipeline/reason"].startswith("documents ")
    assert request.tags["dagster/priority"] == "-10"


def test_ticks_request_each_due_batch_once_and_so_many_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedules, "MOST_REQUESTS", 2)
    project = Project(tmp_path)
    names = [f"b{number:03}" for number in range(5)]
    for name in names:
        project.write(name, "The valve is made of brass.")
    project.report(*names)
    ticks = [start(project, TONIGHT + timedelta(minutes=5 * number)) for number in range(4)]
    assert max(len(asked) for asked in ticks) <= 2
    assert sorted(name for asked in ticks for name in asked) == names


def test_a_batch_that_failed_is_requested_again_the_next_night_and_only_once_a_night(tmp_path: Path) -> None:
    # Dagster skips a run key that it has seen, so a key that stayed the same would never run again.
    project = Project(tmp_path)
    project.write("b1")
    project.write("b1", "this is no pair", file="pairs.parquet")
    project.report("b1")
    assert requested(project) == requested(project)
    assert start(project) == ["b1"]
    assert start(project, TONIGHT + timedelta(minutes=5)) == []
    assert requested(project, TONIGHT + timedelta(days=1)).keys() == {"b1"}


def test_a_batch_whose_run_has_not_ended_or_whose_folder_is_gone_is_not_requested(project: Project) -> None:
    for name in ("b2", "b3"):
        project.write(name)
    project.report("b1", "b2", "b3")
    project.instance.create_run_for_job(
        project.definitions.resolve_job_def("build_batch"),
        tags={"dagster/partition": "b1"},
        status=dg.DagsterRunStatus.STARTED,
    )
    assert requested(project).keys() == {"b2", "b3"}


@pytest.mark.slow
def test_a_night_whose_ticks_have_no_time_comes_to_every_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedules, "TICK_SECONDS", -1.0)
    monkeypatch.setattr(staleness, "_BATCHES_A_LOOK", 1)
    project = Project(tmp_path)
    names = ["b1", "b2", "b3"]
    for name in names:
        project.write(name)
    project.report(*names)
    ticks = [requested(project, TONIGHT + timedelta(minutes=5 * number)) for number in range(0, 36, 6)]
    assert {name for asked in ticks for name in asked} == {*names}
