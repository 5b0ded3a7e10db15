"""The worked examples of the documentation run, and do what they say."""

import importlib.util
import math
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from qa_pipeline.publishing.manifest import read_manifest
from qa_pipeline_tests.defs.project import GUIDE, Project
from qa_pipeline_tests.end_to_end import Workspace

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
MOST_LINES = 145


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short_and_imports_what_users_may_import(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert "qa_pipeline.load_release(" in text
    assert "from qa_pipeline" not in text


def largest_held_out(releases: Path) -> str:
    splits = read_manifest(releases / "1").splits
    return max(splits.keys() - {"train"}, key=lambda name: splits[name])


@pytest.mark.slow
def test_the_training_loop_lowers_the_loss_of_rows_it_has_not_seen(published: Workspace) -> None:
    releases = published.out / "releases"
    before, after = example("train").train(releases, largest_held_out(releases), epochs=2)
    assert 0 < after < before < math.inf


class Consumer:
    """The downstream location beside the real one, as one daemon sees both."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.module = example("downstream")
        self.module.RELEASES = project.settings.out / "releases"
        self._cursor: Any = None

    @property
    def definitions(self) -> dg.Definitions:
        own = dg.Definitions(assets=[self.module.training_mix])
        return dg.Definitions.merge(self.project.definitions, own)

    def publish(self) -> dg.ExecuteInProcessResult:
        job = self.project.definitions.resolve_job_def("publish_release")
        return job.execute_in_process(instance=self.project.instance, raise_on_error=False)

    def requested(self) -> int:
        """How many runs one tick of the daemon asks for; they are run."""
        ticked = dg.evaluate_automation_conditions(
            self.definitions,
            self.project.instance,
            dg.AssetSelection.assets("training_mix"),
            cursor=self._cursor,
        )
        self._cursor = ticked.cursor
        for _ in range(ticked.total_requested):
            assets = [self.module.release, self.module.training_mix]
            dg.materialize(assets, instance=self.project.instance)
        return int(ticked.total_requested)


@pytest.mark.slow
def test_a_downstream_location_runs_once_for_each_new_release_and_never_for_an_unchanged_one(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    project.write("b1")
    consumer = Consumer(project)
    assert consumer.requested() == 0
    project.launch("b1")
    consumer.publish()
    assert [consumer.requested(), consumer.requested()] == [1, 0]
    consumer.publish()
    assert [consumer.requested(), consumer.requested()] == [0, 0]
    project.write("b1", GUIDE.format(name="b1").replace("10 minutes", "20 minutes"))
    project.launch("b1")
    assert consumer.requested() == 0
    consumer.publish()
    assert [consumer.requested(), consumer.requested()] == [1, 0]
    event = project.instance.get_latest_materialization_event(dg.AssetKey("training_mix"))
    assert event is not None
    assert event.asset_materialization is not None
    rows = read_manifest(project.settings.out / "releases" / "2").splits["train"]
    assert event.asset_materialization.metadata["dagster/row_count"].value == rows


def test_the_downstream_location_loads_by_itself_and_starts_nothing_unasked() -> None:
    definitions = example("downstream").defs
    dg.Definitions.validate_loadable(definitions)
    (sensor,) = definitions.get_repository_def().sensor_defs
    assert sensor.default_status == dg.DefaultSensorStatus.STOPPED
