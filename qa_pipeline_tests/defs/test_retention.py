"""Old runs go once their batch was built whole again; those that made what is there now stay."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from qa_pipeline.defs.retention import purge
from qa_pipeline_tests.defs.project import Project, instance_at

pytestmark = pytest.mark.slow
BATCHES = ("b1", "b2")


def later() -> datetime:
    return datetime.now(UTC) + timedelta(days=1)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Two batches, each run twice, on an instance of files."""
    folder = tmp_path_factory.mktemp("project")
    with instance_at(folder) as instance:
        project = Project(folder, instance)
        for batch in BATCHES:
            project.write(batch)
        project.launch(*BATCHES)
        project.launch(*BATCHES, force=True)
        yield project


def test_runs_of_the_last_days_stay_as_they_are(project: Project) -> None:
    runs = project.instance.get_run_ids()
    assert purge(project.instance, datetime.now(UTC) - timedelta(days=1)) == 0
    assert project.instance.get_run_ids() == runs


def test_old_runs_go_but_for_those_that_made_what_is_there(project: Project) -> None:
    assert purge(project.instance, later()) == 2
    assert {run.tags["dagster/partition"] for run in project.instance.get_runs()} == set(BATCHES)
    assert purge(project.instance, later()) == 0


def test_a_run_of_one_asset_replaces_no_whole_run(project: Project) -> None:
    project.build("b1", "chunks")
    assert purge(project.instance, later()) == 0
    project.launch("b1", force=True)
    assert purge(project.instance, later()) == 2


def test_a_run_in_progress_stays(project: Project) -> None:
    going = project.instance.create_run_for_job(
        project.definitions.resolve_job_def("build_batch"), status=dg.DagsterRunStatus.STARTED
    )
    purge(project.instance, later())
    assert project.instance.get_run_by_id(going.run_id) is not None


def test_the_job_deletes_runs_of_more_than_its_days(project: Project) -> None:
    project.launch(*BATCHES, force=True)
    before = runs_by_batch(project)
    job = project.definitions.resolve_job_def("purge_runs")
    for days, runs_left in ((1.0, before), (-1.0, {"b1": 1, "b2": 1})):
        config = {"ops": {"purge_old_runs": {"config": {"days": days}}}}
        assert job.execute_in_process(run_config=config, instance=project.instance).success
        assert runs_by_batch(project) == runs_left


def runs_by_batch(project: Project) -> Counter[str]:
    ended = project.instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.SUCCESS]))
    return Counter(run.tags["dagster/partition"] for run in ended if "dagster/partition" in run.tags)
