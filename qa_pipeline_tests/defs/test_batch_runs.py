"""Which batches are spoken for, what is requested for the others, and runs whose process is gone."""

import os
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from qa_pipeline.defs.base import PARTITIONS_NAME
from qa_pipeline.defs.batch_runs import (
    BUILT_BY_TAG,
    HOST_TAG,
    MOST_LISTED,
    NIGHT_TAG,
    PROCESS_TAG,
    batches_of_night,
    fail_orphaned_runs,
    has_run_since,
    run_requests,
    running_batches,
)

WAITING, STARTED = dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTED
FAILED, ENDED = dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS


@pytest.fixture
def instance(tmp_path: Path) -> dg.DagsterInstance:
    return dg.DagsterInstance.ephemeral(tempdir=str(tmp_path))


def add_run(
    instance: dg.DagsterInstance, status: dg.DagsterRunStatus, job: str = "build_batch", **more: Any
) -> str:
    """Record a run; its id."""
    run = dg.DagsterRun(job, status=status, **more)
    instance.add_run(run)
    return run.run_id


def listing(*batches: str) -> dict[str, Any]:
    return {"ops": {"batches": {"config": {"batches": list(batches)}}}}


def of(batch: str, **tags: str) -> dict[str, str]:
    return {"dagster/partition": batch, **tags}


def test_a_batch_is_running_while_a_run_of_its_own_or_one_that_lists_it_has_not_ended(
    instance: dg.DagsterInstance,
) -> None:
    add_run(instance, STARTED, tags=of("b1"))
    add_run(instance, ENDED, tags=of("b2"))
    add_run(instance, WAITING, "build_batches", run_config=listing("b3", "b4"))
    add_run(instance, FAILED, "build_batches", run_config=listing("b5"))
    add_run(instance, STARTED, "publish_release")
    assert running_batches(instance) == {"b1", "b3", "b4"}


@pytest.mark.parametrize("config", [{}, {"ops": {}}, listing()])
def test_a_run_that_builds_all_batches_keeps_all_of_them_busy(
    instance: dg.DagsterInstance, config: dict[str, Any]
) -> None:
    instance.add_dynamic_partitions(PARTITIONS_NAME, ["b1", "b2"])
    add_run(instance, STARTED, "build_batches", run_config=config)
    assert running_batches(instance) == {"b1", "b2"}


def test_a_night_is_done_with_a_batch_once_a_run_of_it_has_begun_or_none_ever_could(
    instance: dg.DagsterInstance,
) -> None:
    tonight = {NIGHT_TAG: "2026-11-22"}
    for listed in range(MOST_LISTED):
        batches = ["killed", "late"] if listed == 0 else ["killed"]
        add_run(instance, FAILED, "build_batches", run_config=listing("begun", *batches), tags=tonight)
    add_run(instance, FAILED, tags=of("begun", **tonight))
    add_run(instance, FAILED, tags=of("alone", **tonight))
    add_run(instance, FAILED, tags=of("yesterday", **{NIGHT_TAG: "2026-11-21"}))
    assert batches_of_night(instance, "2026-11-22") == {"begun", "alone", "killed"}


def test_another_run_of_a_batch_counts_while_it_goes_on_and_when_it_is_new(
    instance: dg.DagsterInstance,
) -> None:
    long_ago, soon = (datetime.now(UTC) + timedelta(days=days) for days in (-1, 1))
    add_run(instance, ENDED, tags=of("b1"))
    add_run(instance, WAITING, tags=of("b2"))
    assert has_run_since(instance, "b1", long_ago)
    assert not has_run_since(instance, "b1", soon)
    assert has_run_since(instance, "b2", soon)
    assert not has_run_since(instance, "b3", long_ago)


@pytest.mark.parametrize(
    ("due", "each", "sizes"),
    [(0, 10, []), (1, 10, [1]), (2, 10, [2]), (11, 10, [5, 6]), (20, 10, [10, 10]), (500, 100, [100] * 5)],
)
def test_runs_are_as_few_as_may_be_and_of_about_the_same_number_of_batches(
    due: int, each: int, sizes: list[int]
) -> None:
    names = [f"b{number:03}" for number in range(due)]
    requests = run_requests(dict.fromkeys(names, "new"), each, str)
    lists = [request.run_config["ops"]["batches"]["config"]["batches"] for request in requests]
    assert [len(listed) for listed in lists] == sizes
    assert [name for listed in lists for name in listed] == names
    assert len({request.run_key for request in requests}) == len(requests)


def test_the_key_of_a_run_changes_with_any_of_its_batches_or_their_keys() -> None:
    def key(reasons: dict[str, str], suffix: str = "") -> str | None:
        (request,) = run_requests(reasons, 10, lambda batch: f"{batch} {suffix}")
        return request.run_key

    assert key({"b1": "new", "b2": "new"}) == key({"b1": "changed", "b2": "new"})
    assert len({key({"b1": "new"}), key({"b1": "new", "b2": "new"}), key({"b1": "new"}, "later")}) == 3


def statuses(instance: dg.DagsterInstance) -> dict[str, dg.DagsterRunStatus]:
    return {run.run_id: run.status for run in instance.get_runs()}


def test_a_run_whose_process_is_gone_fails_and_with_it_the_run_that_built_its_batch(
    instance: dg.DagsterInstance,
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    here = {HOST_TAG: socket.gethostname(), PROCESS_TAG: str(process.pid)}
    builder = add_run(instance, STARTED, "build_batches", run_config=listing("b1", "b2"))
    of_builder = add_run(instance, STARTED, tags=of("b1", **here, **{BUILT_BY_TAG: builder}))
    typed = add_run(instance, STARTED, tags=of("b3", **here))
    elsewhere = add_run(instance, STARTED, tags=of("b4", **(here | {HOST_TAG: "another machine"})))
    fail_orphaned_runs(instance)
    failed = dict.fromkeys((builder, of_builder, typed), FAILED)
    assert statuses(instance) == {**failed, elsewhere: STARTED}


def test_a_run_of_a_batch_fails_when_the_run_that_built_it_has_ended_on_whichever_machine(
    instance: dg.DagsterInstance,
) -> None:
    gone, alive = add_run(instance, FAILED, "build_batches"), add_run(instance, STARTED, "build_batches")
    there = {HOST_TAG: "another machine", PROCESS_TAG: "1"}
    orphan = add_run(instance, STARTED, tags=of("b1", **there, **{BUILT_BY_TAG: gone}))
    child = add_run(instance, STARTED, tags=of("b2", **there, **{BUILT_BY_TAG: alive}))
    fail_orphaned_runs(instance)
    assert statuses(instance) == {gone: FAILED, alive: STARTED, orphan: FAILED, child: STARTED}


def test_runs_of_living_processes_are_left_alone(instance: dg.DagsterInstance) -> None:
    tags = of("b1", **{HOST_TAG: socket.gethostname(), PROCESS_TAG: str(os.getpid())})
    run = add_run(instance, STARTED, tags=tags)
    fail_orphaned_runs(instance)
    assert statuses(instance) == {run: STARTED}
