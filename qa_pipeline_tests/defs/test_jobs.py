"""At night exactly the batches with work left run."""

from pathlib import Path

import dagster as dg

from qa_pipeline.defs.assets import build_assets
from qa_pipeline.defs.currency import steps_of
from qa_pipeline.defs.jobs import work_tonight
from qa_pipeline_tests.defs.project import GUIDE, Project, instance_at


def tonight(project: Project) -> list[str]:
    steps = steps_of(build_assets(project.settings))
    return list(work_tonight(project.instance, project.parts, steps))


def test_the_night_runs_new_changed_and_unfinished_batches_and_no_others(project: Project) -> None:
    project.write("b2")
    project.launch("b1")
    assert tonight(project) == ["b2"]
    project.launch("b2")
    assert tonight(project) == []
    project.write("b2", GUIDE.format(name="b2").replace("10 minutes", "20 minutes"))
    assert tonight(project) == ["b2"]
    assert not project.with_settings(quality={"min_pass_rate": 1.0}).build("b2").success
    assert tonight(project) == ["b2"]
    project.launch("b2")
    assert tonight(project) == []


def test_other_settings_are_no_reason_to_run_the_whole_corpus_at_night(project: Project) -> None:
    project.launch("b1")
    assert tonight(project.with_settings(judging={"accept_unjudged": True, "threshold": 0.9})) == []


def test_the_schedule_asks_for_a_run_a_batch_or_tells_why_it_asks_for_none(tmp_path: Path) -> None:
    with instance_at(tmp_path / "dagster") as instance:
        project = Project(tmp_path, instance)
        schedule = project.definitions.resolve_schedule_def("nightly")
        assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED
        with dg.build_schedule_context(
            instance=instance,
            resources={"parts": project.parts},
            repository_def=project.definitions.get_repository_def(),
        ) as context:
            assert "corpus" in str(schedule.evaluate_tick(context).skip_message)
            project.write("b1")
            (request,) = schedule.evaluate_tick(context).run_requests or []
        assert request.partition_key == "b1"
        assert request.tags["qa_pipeline/reason"] == "documents is missing"
