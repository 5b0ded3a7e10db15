"""No batch is bought twice: what the automation requests, tick by tick, on a real instance."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from qa_pipeline.defs.assets import ASSETS
from qa_pipeline.defs.partitions import PARTITIONS_NAME
from qa_pipeline_tests.defs.project import GUIDE, Project

# Dagster's own test function builds a selection with a parameter that is in beta.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `include_sources`")

NAMES = {asset.key.to_user_string() for asset in ASSETS}


class Automation:
    """Ticks the condition as the daemon does, and can run what it asks for."""

    def __init__(self, project: Project, cursor: Any = None) -> None:
        self.project = project
        self.cursor = cursor or self.evaluate(None).cursor

    def evaluate(self, cursor: Any) -> dg.EvaluateAutomationConditionsResult:
        return dg.evaluate_automation_conditions(
            defs=self.project.definitions, instance=self.project.instance, cursor=cursor
        )

    def tick(self) -> dict[str, set[str]]:
        """The batches requested, each with the assets requested of it."""
        result = self.evaluate(self.cursor)
        self.cursor = result.cursor
        requested: dict[str, set[str]] = {}
        for name in NAMES:
            for batch in result.get_requested_partitions(dg.AssetKey(name)):
                requested.setdefault(str(batch), set()).add(name)
        return requested

    def run(self, requested: dict[str, set[str]]) -> None:
        for batch, names in requested.items():
            assert self.project.build(batch, *names).success


@pytest.fixture(scope="module")
def automation(tmp_path_factory: pytest.TempPathFactory) -> Automation:
    """Three batches, built because the automation asked for them; every test leaves it at rest again."""
    project = Project(tmp_path_factory.mktemp("project"), dg.DagsterInstance.ephemeral())
    made = Automation(project)
    for batch in ("b1", "b2", "b3"):
        project.write(batch)
    project.report("b1", "b2", "b3")
    made.run(made.tick())
    assert made.tick() == {}
    return made


def test_a_new_batch_is_requested_whole_in_one_tick_and_the_others_not_at_all(automation: Automation) -> None:
    automation.project.write("b4")
    automation.project.report("b1", "b2", "b3", "b4")
    requested = automation.tick()
    assert requested == {"b4": NAMES}
    automation.run(requested)
    assert automation.tick() == {}


def test_a_changed_file_requests_its_own_batch_once(automation: Automation) -> None:
    automation.project.write("b2", GUIDE.format(name="b2") + "\n## Last\n\nThe valve is made of brass.\n")
    automation.project.report("b1", "b2", "b3")
    requested = automation.tick()
    assert requested == {"b2": NAMES}
    assert automation.tick() == {}
    automation.run(requested)
    assert automation.tick() == {}


def test_without_a_change_nothing_is_requested_however_often_it_is_looked(automation: Automation) -> None:
    for _ in range(3):
        automation.project.report("b1", "b2", "b3")
        assert automation.tick() == {}


def test_a_registered_batch_is_not_requested_before_its_content_is_reported(automation: Automation) -> None:
    automation.project.instance.add_dynamic_partitions(PARTITIONS_NAME, ["b5"])
    assert automation.tick() == {}


def test_making_a_table_again_with_equal_content_requests_nothing(automation: Automation) -> None:
    assert automation.project.build("b1", "documents", "chunks").success
    assert automation.tick() == {}


def test_a_batch_run_from_the_command_line_is_not_requested_again(automation: Automation) -> None:
    automation.project.write("b6")
    assert automation.project.launch("b6")["b6"].outcome == "succeeded"
    assert automation.tick() == {}


def test_other_settings_request_nothing_by_themselves(automation: Automation) -> None:
    other = automation.project.with_settings(judging={"threshold": 0.9, "accept_unjudged": True})
    assert Automation(other, automation.cursor).tick() == {}


def test_behind_a_gate_that_did_not_hold_nothing_is_requested(tmp_path: Path) -> None:
    project = Project(tmp_path, dg.DagsterInstance.ephemeral(), quality={"min_pass_rate": 1.0})
    project.write("b1")
    automation = Automation(project)
    project.report("b1")
    assert automation.tick() == {"b1": NAMES}
    assert not project.build("b1").success
    assert automation.tick() == {}
    assert automation.tick() == {}


def test_a_failing_batch_is_not_requested_again_and_again(automation: Automation) -> None:
    project = automation.project
    project.model.broken = RuntimeError("a fault of the program")
    project.write("b2", GUIDE.format(name="b2").replace("10 minutes", "20 minutes"))
    project.report("b2")
    assert set(automation.tick()) == {"b2"}
    assert not project.build("b2").success
    project.model.broken = None
    assert automation.tick() == {}
    assert automation.tick() == {}
