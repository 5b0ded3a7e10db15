"""At night exactly the batches with work left run."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from qa_pipeline.defs import base, schedules, staleness
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
    project = Project(tmp_path, automation={"batches_per_run": 1})
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
    keys = {batch: str(request.run_key) for request in requests for batch in batches_in(request)}
    assert sum(len(batches_in(request)) for request in requests) == len(keys)
    return keys


def batches_in(request: dg.RunRequest) -> list[str]:
    """The batches that a run is to build."""
    if request.partition_key is not None:
        return [request.partition_key]
    batches: list[str] = request.run_config["ops"]["batches"]["config"]["batches"]
    return batches


def start(project: Project, most: int = 500, begun: int = 500) -> list[str]:
    """Start and fail the first runs that a tick requests, as a daemon does that is then killed.

    Of those that list batches, runs of the first `begun` are begun.
    """
    requests = (tick(project).run_requests or [])[:most]
    one, many = (project.definitions.resolve_job_def(name) for name in ("build_batch", "build_batches"))
    failed = dg.DagsterRunStatus.FAILURE
    for request in requests:
        batches = batches_in(request)
        if request.partition_key is None:
            project.instance.create_run_for_job(
                many, run_config=request.run_config, tags=request.tags, status=failed
            )
            batches = batches[:begun]
        for batch in batches:
            tags = {**request.tags, "dagster/partition": batch}
            project.instance.create_run_for_job(one, tags=tags, status=failed)
    return [batch for request in requests for batch in batches_in(request)]


@pytest.mark.parametrize(
    ("due", "most", "each"),
    [
        *((due, 2, each) for due in (0, 1, 2, 5) for each in (1, 2)),
        (20, 8, 1),
        (20, 1, 8),
    ],
)
def test_ticks_request_each_due_batch_once_and_so_many_at_a_time(
    tmp_path: Path, due: int, most: int, each: int
) -> None:
    (tmp_path / "corpus").mkdir()
    settings = {"max_requests": most, "batches_per_run": each, "max_examined": most * each * 3 // 2}
    project = Project(tmp_path, automation=settings)
    names = [f"b{number:03}" for number in range(due)]
    for name in names:
        project.write(name, "The valve is made of brass.")
    ticks = [start(project) for _ in range(-(-due // (most * each)) + 1)]
    assert max(len(asked) for asked in ticks) <= most * each
    assert [name for asked in ticks for name in asked] == names


def test_a_run_is_asked_for_several_batches_and_no_more_of_them_than_needed(tmp_path: Path) -> None:
    project = Project(tmp_path, automation={"batches_per_run": 3})
    for name in ("b1", "b2", "b3", "b4"):
        project.write(name)
    requests = tick(project).run_requests
    assert [batches_in(request) for request in requests] == [["b1", "b2"], ["b3", "b4"]]
    reasons = [request.tags["qa_pipeline/reason"] for request in requests]
    assert reasons[0] == "b1, b2: documents has not been made yet"
    assert {request.tags["dagster/priority"] for request in requests} == {"-10"}


def test_batches_whose_turn_did_not_come_before_the_process_was_killed_are_requested_by_the_next_tick(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    names = ["b1", "b2", "b3"]
    for name in names:
        project.write(name)
    assert start(project, begun=1) == names
    assert start(project, begun=0) == ["b2", "b3"]
    assert start(project, begun=0) == ["b2", "b3"]
    # two processes were killed before they began any: enough for a night
    assert start(project) == []
    assert set(requested(project, TONIGHT + timedelta(days=1))) == {*names}


def test_batches_that_wait_for_their_turn_in_a_run_are_not_requested_beside_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for name in ("b1", "b2", "b3"):
        project.write(name)
    project.instance.create_run_for_job(
        project.definitions.resolve_job_def("build_batches"),
        run_config={"ops": {"batches": {"config": {"batches": ["b1", "b2"]}}}},
        status=dg.DagsterRunStatus.NOT_STARTED,
    )
    assert set(requested(project)) == {"b3"}


def test_a_tick_that_dies_midway_loses_no_batch_and_batches_that_fail_starve_none(tmp_path: Path) -> None:
    project = Project(tmp_path, automation={"max_requests": 2, "batches_per_run": 1})
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


def test_a_night_whose_ticks_have_no_time_comes_to_the_batches_after_those_that_are_up_to_date(
    finished: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished.write("b2")
    finished.launch("b2")
    assert finished.work_tonight().unexamined == set()
    finished.resources.layout.table("claims", "b2").unlink()
    monkeypatch.setattr(schedules, "TICK_SECONDS", -1.0)
    monkeypatch.setattr(base, "BATCHES_A_QUERY", 1)
    works = [finished.work_tonight() for _ in range(2)]
    assert [(list(work.due), work.unexamined) for work in works] == [([], {"b2"}), (["b2"], {"b1"})]
