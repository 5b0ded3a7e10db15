"""A batch through the real assets: what lies in the files, what the UI is told, and what a gate stops."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from qa_pipeline.curation.batch_gates import GATES
from qa_pipeline.curation.withdrawals import withdrawn_batches
from qa_pipeline.pipeline.fingerprint import SETTINGS
from qa_pipeline.storage.files import locked
from qa_pipeline.storage.tables import STORED
from qa_pipeline_tests.curation.withdrawal_corpus import published
from qa_pipeline_tests.defs.project import GUIDE, Project

ASSETS = {*SETTINGS} - {"gates", "release", "production_quality"}
STRICT = {"quality": {"min_pass_rate": 1.01}}


@dataclass(frozen=True)
class FirstRun:
    """A project whose batch has been built, and the result. Tests may read it and build it again, no more."""

    project: Project
    result: dg.ExecuteInProcessResult


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> FirstRun:
    """Build a batch once for all tests that change nothing."""
    project = Project(tmp_path_factory.mktemp("first_run"))
    project.write("b1")
    result = project.build("b1")
    assert result.success
    return FirstRun(project, result)


def materializations(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetMaterialization]:
    events = result.get_asset_materialization_events()
    found = [event.materialization for event in events]
    return {materialization.asset_key.to_user_string(): materialization for materialization in found}


def failed_checks(result: dg.ExecuteInProcessResult) -> set[str]:
    return {found.check_name for found in result.get_asset_check_evaluations() if not found.passed}


def test_a_batch_ends_in_tables_a_consumer_can_scan_without_dagster(first_run: FirstRun) -> None:
    project = first_run.project
    examples = pl.read_parquet(project.settings.out / "tables" / "training_examples" / "*.parquet")
    assert examples.height > 0
    text = project.table("documents", "b1")["text"].item()
    proofs = examples["evidence"].explode().to_list()
    assert all(text[proof["start"] : proof["end"]] == proof["quote"] for proof in proofs)
    passed = (project.settings.out / "exports" / "passed" / "b1.jsonl").read_text().splitlines()
    assert {json.loads(line)["pair_id"] for line in passed} == set(examples["pair_id"])
    assert all(project.resources.layout.table(name, "b1").is_file() for name in STORED)


def test_a_run_has_a_step_for_each_asset_that_checks_it_too(first_run: FirstRun) -> None:
    kinds = Counter(event.event_type_value for event in first_run.result.all_events)
    assert set(materializations(first_run.result)) == ASSETS
    assert kinds["STEP_START"] == kinds["ASSET_MATERIALIZATION"] == len(ASSETS)
    evaluations = first_run.result.get_asset_check_evaluations()
    assert len(evaluations) == len(GATES)
    assert {evaluation.partition for evaluation in evaluations} == {"b1"}


def test_the_ui_is_told_of_rows_verdicts_canaries_and_files(first_run: FirstRun) -> None:
    told = {name: event.metadata for name, event in materializations(first_run.result).items()}
    assert all("dagster/partition_row_count" in told[name] for name in ASSETS - {"index"})
    accepted = told["verdicts"]["accepted"].value
    assert told["training_examples"]["dagster/partition_row_count"].value == accepted
    assert "path" in told["pairs"]
    assert told["canaries"]["canaries by kind"].value


def test_a_second_run_asks_no_model_changes_no_byte_and_gives_every_asset_the_same_data_version(
    first_run: FirstRun,
) -> None:
    project = first_run.project
    before, asked = project.contents(), len(project.model.asked)
    runs = first_run.result, project.build("b1")
    assert runs[1].success
    assert project.contents() == before
    assert len(project.model.asked) == asked > 0
    versions = [
        {name: (event.tags or {})["dagster/data_version"] for name, event in materializations(run).items()}
        for run in runs
    ]
    assert versions[0] == versions[1]


def test_a_failing_gate_stops_the_batch_before_its_training_examples(project: Project) -> None:
    strict = project.with_settings(**STRICT)
    result = strict.build("b1")
    assert not result.success
    assert failed_checks(result) == {"pass_rate"}
    assert strict.resources.layout.table("verdicts", "b1").is_file()
    exports = {path.parent.name for path in (strict.settings.out / "exports").glob("*/b1.jsonl")}
    assert exports == {"passed", "rejected", "needs_review", "failed", "known_answers"}
    assert not strict.build("b1", "training_examples").success  # a run that walks around the gate
    assert not (strict.settings.out / "tables" / "training_examples").exists()
    assert project.build("b1").success
    assert set(published(project.resources.layout)) == {"b1"}


@pytest.mark.parametrize("changed", [True, False])
def test_a_gate_that_fails_in_a_later_run_withdraws_what_was_published(
    finished: Project, changed: bool
) -> None:
    finished.write("b2")
    finished.launch("b2")
    layout = finished.resources.layout
    if changed:
        finished.write("b1", GUIDE.format(name="b7"))
    assert not finished.with_settings(**STRICT).build("b1").success
    assert set(published(layout)) == {"b2"}
    assert [stone.reason for stone in withdrawn_batches(layout).values()] == ["gate_failed"]
    assert finished.build("b1").success
    assert set(published(layout)) == {"b1", "b2"}
    assert withdrawn_batches(layout) == {}


def test_warnings_do_not_stop_a_batch(project: Project) -> None:
    result = project.with_settings(judging={"accept_unjudged": False}).build("b1")
    assert result.success
    assert failed_checks(result) == {"pass_rate"}


def test_an_error_stops_at_its_asset_and_is_not_retried(project: Project) -> None:
    project.write("b1", "this is no pair", file="pairs.parquet")
    (failure,) = [event for event in project.build("b1").all_events if event.is_step_failure]
    assert failure.step_key == "pairs"
    assert failure.step_failure_data.user_failure_data is not None
    error = failure.step_failure_data.error
    assert error is not None
    assert "pairs.parquet" in error.to_string()


def test_a_partition_without_a_folder_fails_with_what_is_missing(project: Project) -> None:
    (failure,) = project.build("nobody").get_step_failure_events()
    error = failure.step_failure_data.error
    assert error is not None
    assert "corpus/nobody" in error.to_string()
    assert not [path for path in project.settings.out.rglob("nobody*") if path.is_file()]


def test_a_second_run_of_a_batch_waits_for_the_first(finished: Project) -> None:
    with ThreadPoolExecutor() as threads:
        with locked(finished.resources.layout.batch_lock("b1")):
            second = threads.submit(finished.build, "b1")
            with pytest.raises(TimeoutError):
                second.result(timeout=5)
        assert second.result().success


def test_assets_that_may_ask_a_model_share_a_pool(project: Project) -> None:
    definitions = project.definitions
    pools = {name: definitions.get_assets_def(name).op.pool for name in ASSETS}
    asking = {"questions", "pairs", "claims", "claim_verdicts", "canaries", "assessments"}
    assert {name for name, pool in pools.items() if pool == "llm"} == asking


def test_no_private_module_of_dagster_is_used() -> None:
    package = Path(__file__).parents[2] / "qa_pipeline"
    private = ["dagster._", "instance._", "__ASSET_JOB", "event_log_storage", "run_storage"]
    found = [
        f"{file.name}: {word}"
        for file in package.rglob("*.py")
        for word in private
        if word in file.read_text("utf-8")
    ]
    assert found == []
