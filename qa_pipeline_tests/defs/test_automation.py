"""No batch is bought twice: what the automation requests, tick by tick, on a real instance."""

from pathlib import Path
from typing import Any, cast

import dagster as dg
import pytest

from qa_pipeline.defs import automation as defs_automation
from qa_pipeline.defs.base import PARTITIONS_NAME
from qa_pipeline.pipeline.running import BatchOutcome
from qa_pipeline_tests.defs.project import GUIDE, Project

EDITED = GUIDE.replace("10 minutes", "20 minutes")


class Automation:
    """Ticks the sensor as the daemon does: keeps the cursor, and starts no run key twice."""

    def __init__(self, project: Project, cursor: str | None = None) -> None:
        self.project = project
        definitions = project.definitions
        self.sensor = definitions.resolve_sensor_def("automation_sensor")
        self.repository = definitions.get_repository_def()
        self.cursor = cursor
        self.started: set[str] = set()

    def tick(self) -> list[str]:
        """The batches of which a run starts."""
        found = self.evaluate()
        self.cursor = found.cursor
        new = {str(one.run_key): str(one.partition_key) for one in found.run_requests or []}
        assert len(new) == len(found.run_requests or [])
        starts = [batch for key, batch in new.items() if key not in self.started]
        self.started |= set(new)
        return starts

    def message(self) -> str | None:
        """Why a tick would start nothing."""
        return cast("str | None", self.evaluate().skip_message)

    def evaluate(self) -> Any:
        # the reference is what requests for partitions are checked against, as in a daemon
        with dg.build_sensor_context(
            instance=self.project.instance,
            instance_ref=self.project.reference,
            cursor=self.cursor,
            resources={"resources": self.project.resources},
            repository_def=self.repository,
        ) as context:
            return self.sensor.evaluate_tick(context)

    def rests(self) -> bool:
        return [self.tick() for _ in range(3)] == [[], [], []]


@pytest.fixture(scope="module")
def built(both_finished_once: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with two batches that are up to date; every test uses batches of its own beside them."""
    return both_finished_once.copy(tmp_path_factory.mktemp("project"))


@pytest.fixture
def automation(built: Project) -> Automation:
    """The automation, turned on when all was up to date."""
    made = Automation(built)
    made.tick()
    assert made.rests()
    return made


@pytest.fixture
def empty(tmp_path: Path) -> Project:
    (tmp_path / "corpus").mkdir()
    return Project(tmp_path)


def test_a_new_batch_and_a_changed_one_are_requested_once_and_then_rest(empty: Project) -> None:
    automation = Automation(empty)
    assert automation.tick() == []
    empty.write("b1")
    empty.report("b1")
    assert automation.tick() == ["b1"]
    assert automation.rests()
    assert empty.build("b1").success
    assert automation.rests()
    empty.write("b1", EDITED.format(name="b1"))
    empty.report("b1")
    assert automation.tick() == ["b1"]
    assert empty.build("b1").success
    assert automation.rests()


def test_turning_the_automation_on_requests_batches_registered_or_edited_before_it_once(
    built: Project,
) -> None:
    built.write("b3")
    built.write("b2", EDITED.format(name="b2"))
    built.report("b1", "b2", "b3")
    automation = Automation(built)
    assert automation.tick() == ["b2", "b3"]
    assert automation.rests()
    built.write("b2")  # as it was when it was last run
    built.report("b2")
    assert automation.rests()
    assert set(Automation(built).tick()) == {"b3"}


def test_however_many_batches_are_due_each_is_requested_once(
    empty: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    most, project = 2, empty
    monkeypatch.setattr(defs_automation, "MOST_REQUESTS", most)
    names = [f"b{number:03}" for number in range(5)]
    for name in names:
        project.write(name, "The valve is made of brass.")
    project.report(*names)
    automation = Automation(project)
    ticks = [automation.tick() for _ in range(3)]
    assert [batch for tick in ticks for batch in tick] == names
    assert max(len(tick) for tick in ticks) <= most
    assert automation.rests()


def test_a_registered_batch_is_not_requested_before_its_content_is_reported(automation: Automation) -> None:
    automation.project.instance.add_dynamic_partitions(PARTITIONS_NAME, ["b5"])
    assert automation.rests()


def test_a_batch_is_requested_only_once_it_is_registered(automation: Automation) -> None:
    project = automation.project
    project.write("b7")
    project.report("b7")
    project.instance.delete_dynamic_partition(PARTITIONS_NAME, "b7")
    assert automation.tick() == []
    project.instance.add_dynamic_partitions(PARTITIONS_NAME, ["b7"])
    assert automation.tick() == ["b7"]


def test_a_batch_run_from_the_command_line_is_not_requested_again(automation: Automation) -> None:
    automation.project.write("b6")
    assert automation.project.launch("b6") == {"b6": BatchOutcome("b6", "succeeded")}
    assert automation.rests()


def test_other_settings_request_nothing_by_themselves(automation: Automation) -> None:
    other = automation.project.with_settings(judging={"threshold": 0.9, "accept_unjudged": True})
    assert Automation(other, automation.cursor).rests()
    assert "b1" not in Automation(other).tick()


def test_a_batch_that_failed_is_not_requested_again_before_its_files_change(empty: Project) -> None:
    automation = Automation(empty)
    empty.write("b1")
    empty.report("b1")
    assert automation.tick() == ["b1"]
    empty.model.broken = RuntimeError("a fault of the program")
    assert not empty.build("b1").success
    empty.model.broken = None
    assert automation.rests()
    empty.write("b1", EDITED.format(name="b1"))
    empty.report("b1")
    assert automation.tick() == ["b1"]


def test_a_batch_whose_run_is_in_progress_is_requested_only_if_that_run_leaves_work(empty: Project) -> None:
    for batch in ("b1", "b2"):
        empty.write(batch)
    empty.report("b1", "b2")
    automation = Automation(empty)
    during: list[list[str]] = []
    empty.model.when_first_asked = lambda: during.append(automation.tick())
    assert empty.build("b1").success
    assert during == [["b2"]]
    assert automation.rests()
    empty.write("b1", EDITED.format(name="b1"))
    empty.report("b1")
    empty.model.asked.clear()
    empty.model.broken = RuntimeError("a fault of the program")
    assert not empty.build("b1").success
    assert during == [["b2"], []]
    assert automation.tick() == ["b1"]
    assert automation.rests()
