"""Replies in batch jobs under Dagster: no run waits, none is started for nothing, and all ends as at once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy as sa

from qa_pipeline.defs.base import PARTITIONS_NAME
from qa_pipeline.defs.schedules import JOB_TAG, PENDING_TAG
from qa_pipeline.llm.store.schema import PROVIDER_JOBS
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.running import run_batches
from qa_pipeline_tests.defs.project import Project
from qa_pipeline_tests.defs.test_automation import Automation
from qa_pipeline_tests.defs.test_schedules import tonight
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.support.servers import GeminiServer


class Batched(Project):
    """A project whose model is Gemini's, at a loopback server."""

    def __init__(
        self,
        folder: Path,
        server: GeminiServer,
        instance: dg.DagsterInstance | None = None,
        **llm: Any,
    ) -> None:
        settings = {"provider": "gemini", "base_url": server.url, "delivery": "batch"}
        budget = {"budget": {"max_calls": 500}}
        super().__init__(folder, instance, llm=settings | budget | llm, generation={"questions_per_chunk": 1})
        self.server = server
        self.cursor: str | None = None

    @property
    def resources(self) -> Resources:
        return Resources(self.settings, embedder=HashEmbedder())

    @property
    def sensor(self) -> dg.SensorDefinition:
        return self.definitions.resolve_sensor_def("provider_jobs")

    def look(self) -> list[dg.RunRequest]:
        """One tick of the sensor; what it asks for."""
        # the reference is what requests for partitions are checked against, as in a daemon
        with dg.build_sensor_context(
            instance=self.instance,
            instance_ref=self.reference,
            cursor=self.cursor,
            resources={"resources": self.resources},
            repository_def=self.definitions.get_repository_def(),
        ) as context:
            tick = self.sensor.evaluate_tick(context)
        self.cursor = tick.cursor or self.cursor
        return list(tick.run_requests or [])


@pytest.fixture
def server() -> Iterator[GeminiServer]:
    with GeminiServer(plan=ServerPlan(batch_polls=0)) as started:
        yield started


@pytest.fixture
def batched(tmp_path: Path, server: GeminiServer, monkeypatch: pytest.MonkeyPatch) -> Batched:
    monkeypatch.setenv("GEMINI_API_KEY", LOOPBACK_KEY)
    made = Batched(tmp_path, server)
    made.write("b1")
    made.report("b1")
    return made


def made(result: dg.ExecuteInProcessResult) -> set[str]:
    events = result.get_asset_materialization_events()
    return {event.asset_key.to_user_string() for event in events if event.asset_key is not None}


@pytest.mark.parametrize("due", [0, 1, 2, 500])
def test_one_tick_asks_for_one_run_of_each_batch_whose_replies_have_come(batched: Batched, due: int) -> None:
    names = [f"d{number:03}" for number in range(due)]
    batched.instance.add_dynamic_partitions(PARTITIONS_NAME, names)
    ended = {"asked_model": "m", "role": "answer", "run": "r", "state": "collected", "requests": 1}
    rows = [
        {**ended, "job_key": f"job-{name}", "batch": name, "created_at": 1.0, "ended_at": 2.0}
        for name in names
    ]
    book = batched.resources.models.jobs
    if rows:
        book.database.transact(lambda connection: connection.execute(sa.insert(PROVIDER_JOBS), rows))
    asked = batched.look()
    assert sorted(str(one.partition_key) for one in asked) == names
    keys = {one.run_key for one in asked}
    assert len(keys) == due
    assert {one.run_key for one in batched.look()} == keys  # which Dagster starts once


def test_an_asset_whose_replies_are_awaited_yields_nothing_and_the_run_succeeds(batched: Batched) -> None:
    result = batched.build("b1")
    assert result.success
    assert made(result) == {
        "documents",
        "chunks",
        "embeddings",
        "index",
        "links",
        "contradictions",
        "decisions",
    }
    checked = {evaluation.asset_key.to_user_string() for evaluation in result.get_asset_check_evaluations()}
    assert checked == made(result) - {"index"}  # what was not made is not checked
    run = batched.instance.get_run_by_id(result.run_id)
    assert run is not None
    assert run.tags[PENDING_TAG] == "questions"
    (observed,) = batched.instance.fetch_observations(dg.AssetKey("questions"), limit=5).records
    event = observed.asset_observation
    assert event is not None
    assert event.partition == "b1"
    assert event.metadata["open requests"].value == 3


def test_the_sensor_fetches_and_asks_for_one_run_until_all_is_made_and_the_automation_for_none(
    batched: Batched,
) -> None:
    automation = Automation(batched)
    assert automation.tick() == ["b1"]
    result = batched.build("b1")
    assert automation.rests()
    later = Automation(batched)
    assert later.rests()
    rounds = 0
    while "exports" not in made(result):
        (request,) = batched.look()
        assert (request.partition_key, request.tags[JOB_TAG] in str(request.run_key)) == ("b1", True)
        assert [again.run_key for again in batched.look()] == [request.run_key]
        result = batched.build("b1")
        assert result.success
        rounds += 1
    assert rounds >= 2
    assert batched.table("training_examples", "b1").height > 0
    assert batched.server.stats.asked == 0
    assert {request.run_key for request in batched.look()} <= {request.run_key}
    assert later.rests()


def test_a_second_batch_waits_and_goes_on_by_itself(batched: Batched) -> None:
    batched.write("b2")
    batched.report("b2")
    batched.build("b1")
    assert {request.partition_key for request in batched.look()} == {"b1"}
    batched.build("b2")
    assert {request.partition_key for request in batched.look()} == {"b1", "b2"}


def test_a_batch_that_was_run_without_dagster_is_fetched_and_left_to_whoever_runs_it(
    batched: Batched,
) -> None:
    batched.write("unknown")
    assert run_batches(batched.resources, ["unknown"])[0].outcome == "pending"
    assert batched.look() == []
    assert [job.state for job in batched.resources.models.jobs.jobs()] == ["collected"]


def test_while_a_job_has_not_ended_no_run_is_asked_for_by_day_or_night(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", LOOPBACK_KEY)
    with GeminiServer(plan=ServerPlan(batch_polls=3)) as server:
        batched = Batched(tmp_path, server)
        batched.write("b1")
        assert tonight(batched) == ["b1"]
        batched.build("b1")
        assert (batched.look(), tonight(batched)) == ([], [])
        assert (batched.look(), batched.look()) == ([], [])
        assert len(batched.look()) == 1
        assert tonight(batched) == ["b1"]


def tables(project: Batched) -> dict[str, str]:
    """All files but the account of calls, which tells times and prices."""
    out = str(project.settings.out)
    files = project.contents().items()
    return {name.removeprefix(out): digest for name, digest in files if "llm_calls" not in name}


def test_the_command_line_says_what_is_pending_until_all_files_are_those_of_replies_asked_for_at_once(
    batched: Batched, tmp_path: Path
) -> None:
    outcomes = [batched.launch("b1")["b1"]]
    while outcomes[-1].outcome == "pending" and len(outcomes) < 9:
        assert "replies awaited" in str(outcomes[-1].error)
        outcomes.append(batched.launch("b1")["b1"])
    assert (outcomes[-1].outcome, len(outcomes) >= 3) == ("succeeded", True)
    assert batched.launch("b1")["b1"].outcome == "unchanged"
    now = Batched(tmp_path / "now", batched.server, delivery="now")
    now.write("b1")
    assert now.launch("b1")["b1"].outcome == "succeeded"
    assert tables(batched) == tables(now)


def test_an_unreachable_provider_or_a_refused_key_leaves_the_sensor_alive(
    batched: Batched, monkeypatch: pytest.MonkeyPatch
) -> None:
    batched.build("b1")
    monkeypatch.setenv("GEMINI_API_KEY", "another")
    assert batched.look() == []
    monkeypatch.setenv("GEMINI_API_KEY", LOOPBACK_KEY)
    assert len(batched.look()) == 1


def test_the_sensor_runs_from_the_start_only_where_replies_come_in_jobs(batched: Batched) -> None:
    assert batched.sensor.default_status == dg.DefaultSensorStatus.RUNNING
    now = Batched(batched.folder, batched.server, batched.instance, delivery="now")
    assert now.sensor.default_status == dg.DefaultSensorStatus.STOPPED
    assert now.look() == []
