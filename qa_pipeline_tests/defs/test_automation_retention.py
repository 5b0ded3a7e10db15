"""Old runs go once their batch was built whole again; those that made what is there now stay."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import dagster as dg
import pytest

from qa_pipeline.defs import automation
from qa_pipeline_tests.defs.project import Project, instance_at

pytestmark = pytest.mark.slow
BATCHES = ("b1", "b2")


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


def purge(project: Project, days: float) -> Counter[str]:
    """Delete runs older than some days; a negative number is in the future. The runs that stay, by batch."""
    job = project.definitions.resolve_job_def("purge_runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(automation, "RETENTION", timedelta(days=days))
        assert job.execute_in_process(instance=project.instance).success
    runs = [run for run in project.instance.get_runs() if run.job_name == "build_batch"]
    return Counter(run.tags.get("dagster/partition", "") for run in runs)


def test_runs_of_the_last_days_stay_and_old_ones_go_but_for_those_that_made_what_is_there(
    project: Project,
) -> None:
    assert purge(project, 1.0) == {"b1": 2, "b2": 2}
    assert purge(project, -1.0) == purge(project, -1.0) == {"b1": 1, "b2": 1}


def test_a_run_of_one_asset_replaces_no_whole_run(project: Project) -> None:
    project.build("b1", "chunks")
    assert purge(project, -1.0)["b1"] == 2
    project.launch("b1", force=True)
    assert purge(project, -1.0)["b1"] == 1


def test_a_run_in_progress_stays(project: Project) -> None:
    job = project.definitions.resolve_job_def("build_batch")
    project.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert purge(project, -1.0)[""] == 1
