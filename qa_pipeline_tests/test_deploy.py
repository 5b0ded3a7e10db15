"""The instance settings the project ships are valid and say what the documentation promises."""

from pathlib import Path

import dagster as dg
import pytest

from qa_pipeline.errors import PermanentModelError
from qa_pipeline_tests.defs.project import Project, instance_at


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> dg.DagsterInstance:
    return instance_at(tmp_path_factory.mktemp("home"))


def test_nothing_is_sent_home_and_no_dialog_covers_the_page(instance: dg.DagsterInstance) -> None:
    assert not instance.telemetry_enabled
    assert not instance.nux_enabled


def test_the_same_batch_never_runs_twice_at_a_time(instance: dg.DagsterInstance) -> None:
    limits = instance.get_concurrency_config().run_queue_config
    assert limits is not None
    assert limits.max_concurrent_runs > 1
    assert limits.tag_concurrency_limits == [
        {"key": "dagster/partition", "value": {"applyLimitPerUniqueValue": True}, "limit": 1}
    ]


def test_runs_that_ask_a_model_are_limited_before_they_start(instance: dg.DagsterInstance) -> None:
    # Inside a run the limit would keep a processor busy, and a killed run would hold its slot.
    pools = instance.get_concurrency_config().pool_config
    assert pools.default_pool_limit == 2
    assert pools.pool_granularity is not None
    assert pools.pool_granularity.value == "run"


@pytest.mark.slow
def test_a_run_that_a_gate_a_model_or_an_exception_ended_is_not_retried(tmp_path: Path) -> None:
    project = Project(tmp_path, instance_at(tmp_path / "home"))
    for batch in ("gate1", "model1", "exception1"):
        project.write(batch)
    project.write("exception1", "this is no pair", file="pairs.parquet")
    strict = project.with_settings(quality={"min_pass_rate": 1.01})
    strict.build("gate1")
    project.build("exception1")
    project.model.broken = PermanentModelError("the key is refused")
    project.build("model1")
    runs = {run.tags["dagster/partition"]: run for run in project.instance.get_runs()}
    assert {run.status for run in runs.values()} == {dg.DagsterRunStatus.FAILURE}
    assert {batch: run.tags.get("dagster/will_retry") for batch, run in runs.items()} == {
        "gate1": "false",
        "model1": "false",
        "exception1": "false",
    }


@pytest.mark.slow
def test_a_run_whose_worker_is_gone_is_retried_and_one_of_the_command_line_is_not(tmp_path: Path) -> None:
    project = Project(tmp_path, instance_at(tmp_path / "home"))
    job = project.definitions.resolve_job_def("build_batch")
    launched = project.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    tags = {"dagster/max_retries": "0"}
    typed = project.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED, tags=tags)
    for run in (launched, typed):
        project.instance.report_run_failed(run, "Run execution process unexpectedly exited with code -9.")
    retried = {run.run_id: run.tags.get("dagster/will_retry") for run in project.instance.get_runs()}
    assert retried == {launched.run_id: "true", typed.run_id: "false"}
