"""What a person changes for one run is checked like a settings file, recorded, and taken back by no night."""

from typing import Any

import dagster as dg
import polars as pl
import pytest

from qa_pipeline.defs.assets import build_assets
from qa_pipeline.defs.base import pool_of
from qa_pipeline.defs.launch_settings import CHANGEABLE, SETTINGS_TAG, launch_fields
from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.tree import load_settings, with_changes
from qa_pipeline_tests.defs.project import Project

FEWER = {"generation": {"max_questions": 1}}


def build(project: Project, config: dict[str, Any]) -> dg.ExecuteInProcessResult:
    """Run the job of a batch, as the launchpad does."""
    return project.definitions.resolve_job_def("build_batch").execute_in_process(
        instance=project.instance,
        partition_key="b1",
        run_config={"ops": {"batch": {"config": config}}},
        raise_on_error=False,
    )


def build_many(project: Project, config: dict[str, Any]) -> dg.ExecuteInProcessResult:
    return project.definitions.resolve_job_def("build_batches").execute_in_process(
        instance=project.instance,
        run_config={"ops": {"batches": {"config": config}}},
        raise_on_error=False,
    )


def error_of(result: dg.ExecuteInProcessResult) -> str:
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    error = failure.step_failure_data.error
    assert error is not None
    return error.message


def kept_questions(project: Project) -> int:
    return project.table("questions", "b1").filter(pl.col("status") == "kept").height


def run_tags(project: Project) -> list[dict[str, str]]:
    return [dict(run.tags) for run in project.instance.get_runs()]


def test_the_launchpad_shows_every_setting_with_its_value_and_its_description() -> None:
    settings = load_settings(llm={"provider": "gemini", "budget": {"max_calls": 500}})
    (step,) = build_assets(settings)
    schema = step.op.config_schema.config_type
    assert schema is not None
    shown = {}
    for path in CHANGEABLE:
        field: Any = dg.Field(launch_fields(settings))
        for name in path.split("."):
            field = field.config_type.fields[name]
        assert field.description
        shown[path] = field.default_value
    assert shown["llm.model"] == "gemini-3-flash-preview"
    assert shown["llm.budget.max_calls"] == 500
    assert shown["generation.max_questions"] is None


def test_the_values_that_the_launchpad_shows_change_nothing(finished: Project) -> None:
    assert build(finished, {"generation": {"max_questions": None}}).success
    assert finished.reason("b1") is None
    assert not any(SETTINGS_TAG in tags for tags in run_tags(finished))


def test_a_run_with_other_settings_is_shown_as_such_and_no_night_takes_it_back(project: Project) -> None:
    project.report("b1")
    assert build(project, FEWER).success
    assert kept_questions(project) == 1
    assert run_tags(project)[0][SETTINGS_TAG] == "generation.max_questions=1"
    assert project.reason("b1") == "questions was made with other settings, prompts or code"
    assert project.reason("b1", compare_code=False) is None
    assert project.work_tonight().due == {}
    as_if = project.with_settings(generation={"questions_per_chunk": 3, "max_questions": 1})
    assert as_if.reason("b1") is None


def test_a_command_that_compares_settings_makes_such_a_batch_by_the_settings_again(project: Project) -> None:
    project.report("b1")
    assert build(project, FEWER).success
    assert project.launch("b1")["b1"].outcome == "succeeded"
    assert kept_questions(project) > 1
    assert project.reason("b1") is None


def test_many_batches_are_built_with_other_settings_once(finished: Project) -> None:
    assert build_many(finished, {"batches": ["b1"], **FEWER}).success
    tagged = [tags for tags in run_tags(finished) if SETTINGS_TAG in tags]
    assert [tags.get("dagster/partition") for tags in tagged] == ["b1", None]
    runs = finished.instance.get_runs_count()
    assert build_many(finished, {"batches": ["b1"], **FEWER}).success
    assert finished.instance.get_runs_count() == runs + 1  # the batch is as this run wants it
    assert finished.reason("b1") == "questions was made with other settings, prompts or code"


@pytest.mark.parametrize("build_any", [build, build_many])
def test_a_value_that_no_setting_may_have_ends_the_run_with_the_message_of_the_settings(
    finished: Project, build_any: Any
) -> None:
    before = finished.contents()
    message = error_of(build_any(finished, {"generation": {"max_questions": 0}}))
    assert "setting generation.max_questions: Input should be greater than 0" in message
    assert finished.contents() == before


def test_without_a_language_model_there_is_none_to_choose() -> None:
    assert set(launch_fields(load_settings())) == {"generation"}


def test_a_run_of_a_paid_model_keeps_some_cap() -> None:
    settings = load_settings(llm={"provider": "gemini", "budget": {"max_calls": 5}})
    with pytest.raises(SettingsError, match="may cost money and no cap on a run is set"):
        with_changes(settings, {"llm.budget.max_calls": None})


def test_steps_that_ask_different_models_are_in_different_pools() -> None:
    capped = {"budget": {"max_calls": 5}}
    settings = [
        {"provider": "gemini", **capped},
        {"provider": "openai", "model": "org/model:7b q4", **capped},
        {"provider": "none", "judge": {"provider": "gemini", "model": "judge"}, **capped},
        {"provider": "extractive"},
    ]
    assert [pool_of(load_settings(llm=llm)) for llm in settings] == [
        "llm-gemini-gemini-3-flash-preview",
        "llm-openai-org-model-7b-q4",
        "llm-gemini-judge",
        "llm-extractive",
    ]
