"""At night exactly the batches with work left run."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from qa_pipeline.defs import schedules, staleness
from qa_pipeline_tests.defs.project import GUIDE, Project


def tonight(project: Project) -> list[str]:
    return list(project.work_tonight().due)


def test_the_night_runs_new_changed_and_unfinished_batches_and_no_others(finished: Project) -> None:
    finished.write("b2")
    assert tonight(finished) == ["b2"]
    finished.launch("b2")
    assert tonight(finished) == []
    finished.write("b2", GUIDE.format(name="b2").replace("10 minutes", "20 minutes"))
    assert tonight(finished) == ["b2"]
    strict = finished.with_settings(quality={"min_pass_rate": 1.0})
    assert not strict.build("b2").success
    assert tonight(strict) == []
    assert "b2 (pass_rate: " in strict.work_tonight().blocked_message()
    assert tonight(finished) == ["b2"]
    strict.write("b2", GUIDE.format(name="b2").replace("10 minutes", "30 minutes"))
    assert tonight(strict) == ["b2"]
    finished.launch("b2")
    assert tonight(finished) == []


def test_other_settings_are_no_reason_to_run_the_whole_corpus_at_night(finished: Project) -> None:
    assert tonight(finished.with_settings(judging={"accept_unjudged": True, "threshold": 0.9})) == []


def test_the_schedule_asks_for_a_run_a_batch_or_tells_why_it_asks_for_none(tmp_path: Path) -> None:
    project = Project(tmp_path)
    schedule = project.definitions.resolve_schedule_def("nightly")
    assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED
    assert "corpus" in str(tick(project).skip_message)
    project.write("b1")
    (request,) = tick(project).run_requests or []
    assert request.partition_key == "b1"
    assert request.tags["qa_pipeline/reason"] == "documents has not been made yet"


TONIGHT = datetime(2026, 11, 22, 2, tzinfo=UTC)


def tick(project: Project, night: datetime = TONIGHT) -> Any:
    return project.tick("nightly", night)


def requested(project: Project, night: datetime = TONIGHT) -> dict[str, str]:
    """The run key of each batch that one tick requests."""
    requests = tick(project, night).run_requests or []
    keys = {str(request.partition_key): str(request.run_key) for request in requests}
    assert len(keys) == len(requests)
    return keys


def start(project: Project, most: int) -> list[str]:
    """Start and fail the first runs that a tick requests, as a daemon does that is then killed."""
    requests = (tick(project).run_requests or [])[:most]
    job = project.definitions.resolve_job_def("build_batch")
    for request in requests:
        tags = {**request.tags, "dagster/partition": str(request.partition_key)}
        project.instance.create_run_for_job(job, tags=tags, status=dg.DagsterRunStatus.FAILURE)
    return [str(request.partition_key) for request in requests]


@pytest.mark.parametrize(
    ("due", "most"), [(0, 2), (1, 2), (2, 2), (5, 2), pytest.param(500, 200, marks=pytest.mark.slow)]
)
def test_ticks_request_each_due_batch_once_and_so_many_at_a_time(tmp_path: Path, due: int, most: int) -> None:
    (tmp_path / "corpus").mkdir()
    project = Project(tmp_path, automation={"max_requests": most, "max_examined": most * 3 // 2})
    names = [f"b{number:03}" for number in range(due)]
    for name in names:
        project.write(name, "The valve is made of brass.")
    ticks = [start(project, most=500) for _ in range(-(-due // most) + 1)]
    assert max(len(asked) for asked in ticks) <= most
    assert [name for asked in ticks for name in asked] == names


def test_a_tick_that_dies_midway_loses_no_batch_and_batches_that_fail_starve_none(tmp_path: Path) -> None:
    project = Project(tmp_path, automation={"max_requests": 2})
    for name in ("b1", "b2", "b3", "b4"):
        project.write(name)
    assert list(requested(project)) == ["b1", "b2"]
    assert start(project, most=1) == ["b1"]
    assert list(requested(project)) == ["b2", "b3"]
    # the next night goes on where this one ended, although b1 is due again
    assert list(requested(project, TONIGHT + timedelta(days=1))) == ["b2", "b3"]


def test_a_batch_that_failed_is_requested_again_the_next_night_and_only_once_a_night(tmp_path: Path) -> None:
    # Dagster skips a run key that it has seen, so a key that stayed the same would never run again.
    project = Project(tmp_path)
    project.write("b1")
    project.write("b2")
    assert requested(project) == requested(project)
    project.write("b1", "this is no pair", file="pairs.parquet")
    outcomes = project.launch("b1", "b2")
    assert {name: done.outcome for name, done in outcomes.items()} == {"b1": "failed", "b2": "succeeded"}
    again = requested(project, TONIGHT + timedelta(days=1))
    assert set(again) == {"b1"}
    assert again["b1"] != requested(project)["b1"]


def test_a_batch_whose_run_has_not_ended_is_not_requested_beside_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("b1")
    project.write("b2")
    project.instance.create_run_for_job(
        project.definitions.resolve_job_def("build_batch"),
        tags={"dagster/partition": "b1"},
        status=dg.DagsterRunStatus.STARTED,
    )
    assert set(requested(project)) == {"b2"}


def test_a_night_whose_ticks_have_no_time_still_requests_each_batch_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedules, "TICK_SECONDS", -1.0)
    monkeypatch.setattr(staleness, "_BATCHES_A_LOOK", 1)
    project = Project(tmp_path)
    for name in ("b1", "b2"):
        project.write(name)
    assert [start(project, most=5) for _ in range(3)] == [["b1"], ["b2"], []]
