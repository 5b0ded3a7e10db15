"""A batch through the real stages: what lies in the files, what the UI is told, and what a gate stops."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from functools import wraps
from typing import cast

import dagster as dg
import polars as pl
import pytest

from qa_pipeline.curation.gates.gate import Gate, law
from qa_pipeline.curation.gates.gates import GATES
from qa_pipeline.defs.assets import build_assets
from qa_pipeline.defs.base import latest_record
from qa_pipeline.defs.checks import BLOCKED_TAG, NOT_CHECKED, WHEN_BLOCKED
from qa_pipeline.llm.store.database import Database
from qa_pipeline.pipeline.stages import STAGES, Stage, StageRun
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.tables import STORED
from qa_pipeline_tests.calls import call, note
from qa_pipeline_tests.defs.project import OnlyGenerates, Project
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import scored_reply


@dataclass(frozen=True)
class FirstRun:
    """A project whose batch has been built, and the result. Tests may read it and build it again, no more."""

    project: Project
    result: dg.ExecuteInProcessResult


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> FirstRun:
    """Build a batch once for all tests that change nothing."""
    project = Project(tmp_path_factory.mktemp("first_run"), dg.DagsterInstance.ephemeral())
    project.write("b1")
    project.report("b1")
    result = project.build("b1")
    assert result.success
    return FirstRun(project, result)


def materializations(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetMaterialization]:
    events = result.get_asset_materialization_events()
    found = [event.materialization for event in events]
    return {materialization.asset_key.to_user_string(): materialization for materialization in found}


def test_a_batch_ends_in_tables_a_consumer_can_scan_without_dagster(first_run: FirstRun) -> None:
    project = first_run.project
    examples = pl.read_parquet(project.settings.out / "tables" / "training_examples" / "*.parquet")
    assert examples.height > 0
    text = project.table("documents", "b1")["text"].item()
    proofs = examples["evidence"].explode().to_list()
    assert all(text[proof["start"] : proof["end"]] == proof["quote"] for proof in proofs)
    passed = (project.settings.out / "exports" / "passed" / "b1.jsonl").read_text().splitlines()
    assert {json.loads(line)["pair_id"] for line in passed} == set(examples["pair_id"])


def test_the_ui_is_told_of_rows_reasons_yield_and_files(first_run: FirstRun) -> None:
    told = {name: event.metadata for name, event in materializations(first_run.result).items()}
    assert all("dagster/partition_row_count" in told[name] for name in STORED)
    assert (
        told["verdicts"]["verdict: accepted"].value
        == told["training_examples"]["dagster/partition_row_count"].value
    )
    assert "path" in told["pairs"]
    assert "| `training_examples` | `example` |" in str(told["training_examples"]["yield"].value)
    assert told["verdicts"]["lines: passed"].value == told["verdicts"]["verdict: accepted"].value
    assert told["exports"]["lines: chat_closed_book"].value == told["verdicts"]["verdict: accepted"].value
    assert "| `rejected` | `edited` |" in str(told["canaries"]["canaries by kind"].value)
    assert told["canaries"]["verifier recall"].value is not None


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
    assert len(versions[0]) == len(STAGES) + 1


def test_a_failing_gate_stops_the_batch_before_its_training_examples(project: Project) -> None:
    strict = project.with_settings(quality={"min_pass_rate": 1.01})
    strict.report("b1")
    result = strict.build("b1")
    assert not result.success
    assert (strict.settings.out / "tables" / "verdicts" / "b1.parquet").is_file()
    assert not (strict.settings.out / "tables" / "training_examples").exists()
    assert not list((strict.settings.out / "exports").glob("chat_*"))
    failed = [found for found in result.get_asset_check_evaluations() if not found.passed]
    unchecked = [found for found in failed if NOT_CHECKED in found.metadata]
    failed = [found for found in failed if found not in unchecked]
    assert [(found.check_name, found.blocking) for found in failed] == [("pass_rate", True)]
    assert {(found.asset_key.path[-1], found.severity.value) for found in unchecked} == {
        ("training_examples", "WARN"),
    }
    assert "pass_rate" in str(unchecked[0].description)
    assert failed[0].metadata["threshold"].value == "1.01"
    assert failed[0].metadata["what now"].value == WHEN_BLOCKED
    assert strict.instance.get_runs()[0].tags[BLOCKED_TAG] == "verdicts: pass_rate"


def test_a_judge_that_passes_wrong_pairs_is_a_warning_and_its_pairs_wait(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = ScriptedModel(lambda request: scored_reply(1.0))
    monkeypatch.setattr(OnlyGenerates, "reviewer", lambda _, role: judge if role == "judge" else None)
    project.report("b1")
    result = project.build("b1")
    assert result.success
    assert set(project.table("verdicts", "b1")["reason"]) == {"judge_not_trusted"}
    assert project.table("training_examples", "b1").height == 0
    failed = {found.check_name: found for found in result.get_asset_check_evaluations() if not found.passed}
    assert not any(
        found.blocking and found.severity == dg.AssetCheckSeverity.ERROR for found in failed.values()
    )
    assert "warns_judge_canaries" in failed
    told = materializations(result)["canaries"].metadata
    assert "| `rejected` | `other_answer` |" in str(told["canaries by kind"].value)


def test_a_run_that_walks_around_a_failed_gate_publishes_nothing_until_it_passes(project: Project) -> None:
    # No document says 45 hours, so the first pair is not accepted.
    pairs = [
        {
            "question": "How long must one wait?",
            "answer": "One must wait 45 hours.",
            "citations": ["guide.md"],
        },
        {
            "question": "What is a residual-current device?",
            "answer": "A residual-current device is a switch that cuts the power.",
            "citations": ["guide.md"],
        },
    ]
    project.write("b1", "\n".join(json.dumps(pair) for pair in pairs), file="pairs.jsonl")
    strict = project.with_settings(quality={"min_pass_rate": 1.01})
    strict.report("b1")
    assert not strict.build("b1").success
    around = strict.build("b1", "training_examples")
    assert not around.success
    assert not (strict.settings.out / "tables" / "training_examples").exists()
    assert project.build("b1").success
    verdicts = project.table("verdicts", "b1").select("pair_id", "verdict")
    examples = project.table("training_examples", "b1").join(verdicts, on="pair_id", how="left")
    assert set(verdicts["verdict"]) > {"accepted"}
    assert examples["verdict"].unique().to_list() == ["accepted"]


def test_warnings_do_not_stop_a_batch(project: Project) -> None:
    unjudged = project.with_settings(judging={"accept_unjudged": False})
    unjudged.report("b1")
    result = unjudged.build("b1")
    warned = {found.check_name for found in result.get_asset_check_evaluations() if not found.passed}
    # Nothing was accepted or rejected, so the pass rate cannot hold either.
    assert warned == {"warns_needs_review_share", "pass_rate"}


def test_the_step_that_may_ask_a_model_is_in_its_pool() -> None:
    (step,) = build_assets(load_settings())
    assert step.op.pool == "llm-extractive"


def test_a_run_is_one_step_that_records_each_asset_and_check_once(first_run: FirstRun) -> None:
    kinds = Counter(event.event_type_value for event in first_run.result.all_events)
    assert (kinds["STEP_START"], kinds["LOADED_INPUT"], kinds["HANDLED_OUTPUT"]) == (1, 0, 0)
    assert kinds["STEP_OUTPUT"] == 0
    assert kinds["ASSET_MATERIALIZATION"] == len(STAGES) + 1
    assert kinds["ASSET_CHECK_EVALUATION"] == len(GATES)
    batches = {evaluation.partition for evaluation in first_run.result.get_asset_check_evaluations()}
    assert batches == {"b1"}
    logs = first_run.project.instance.all_logs(first_run.result.run_id)
    assert [entry.message for entry in logs if entry.dagster_event is None] == []


def test_a_check_points_at_the_materialization_of_its_batch_that_it_checked(first_run: FirstRun) -> None:
    for evaluation in first_run.project.build("b1").get_asset_check_evaluations():
        checked = evaluation.target_materialization_data
        record = latest_record(first_run.project.instance, evaluation.asset_key, "b1")
        assert checked is not None
        assert record is not None
        assert (checked.run_id, checked.timestamp) == (record.run_id, record.timestamp)


def test_an_asset_is_made_from_the_versions_of_its_own_batch_whatever_other_runs_make_meanwhile(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = STAGES["links"]

    def meanwhile(run: StageRun) -> pl.DataFrame:
        other = {"dagster/data_version": "of another batch"}
        event = dg.AssetMaterialization("chunks", partition="b2", tags=other)
        project.instance.report_runless_asset_event(event)
        return cast("pl.DataFrame", links.run(run))

    monkeypatch.setitem(cast("dict[str, Stage]", STAGES), "links", replace(links, run=meanwhile))
    project.report("b1", "b2")
    assert project.build("b1").success
    assert project.reason("b1") is None


def test_a_check_run_alone_makes_nothing_and_withdraws_the_batch_that_fails_it(finished: Project) -> None:
    strict = finished.with_settings(quality={"min_pass_rate": 1.01})
    key = dg.AssetCheckKey(dg.AssetKey("verdicts"), "pass_rate")
    jobs = [dg.define_asset_job("one_check", selection=dg.AssetSelection.checks(key))]
    job = dg.Definitions.merge(strict.definitions, dg.Definitions(jobs=jobs)).resolve_job_def("one_check")
    tags = {"dagster/partition": "b1"}  # as the UI launches it
    result = job.execute_in_process(instance=strict.instance, tags=tags, raise_on_error=False)
    assert not result.success
    assert [found.check_name for found in result.get_asset_check_evaluations()] == ["pass_rate"]
    assert materializations(result) == {}
    assert not strict.resources.layout.table("training_examples", "b1").exists()


def test_a_gate_of_canaries_stops_the_training_examples_and_leaves_the_ledger(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    recall = next(gate for gate in GATES if gate.name == "canary_recall")

    @wraps(recall.function)
    def missed(**frames: pl.DataFrame) -> Gate:
        return law("canary_recall", 1, {"canaries accepted": 1}, "")

    monkeypatch.setitem(recall.__dict__, "function", missed)
    project.report("b1")
    result = project.build("b1")
    assert not result.success
    missing = {*STAGES, "exports"} - set(materializations(result))
    assert missing == {"coverage", "training_examples", "exports"}


def test_an_error_names_the_asset_at_which_it_arose(project: Project) -> None:
    project.write("b1", "this is no pair", file="pairs.parquet")
    project.report("b1")
    result = project.build("b1")
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    error = failure.step_failure_data.error
    assert error is not None
    assert error.cause is not None
    assert "\nin pairs" in error.cause.message
    evaluations = result.get_asset_check_evaluations()
    assert len(evaluations) == len(GATES)  # or Dagster shows those that are missing as failed
    unchecked = [found for found in evaluations if NOT_CHECKED in found.metadata]
    assert {found.severity.value for found in unchecked} == {"WARN"}
    assert {found.asset_key.path[-1] for found in unchecked} >= {"verdicts", "training_examples"}


def test_the_ui_is_told_what_models_cost_by_stage_and_for_each_accepted_pair(finished: Project) -> None:
    store = Database(finished.settings.out / "cache" / "replies.sqlite")
    note(store, call(1, batch="b1"), call(2, batch="b1", cost=None, currency=None))
    told = {name: event.metadata for name, event in materializations(finished.build("b1")).items()}
    assert told["llm_calls"]["dagster/partition_row_count"].value == 2
    assert told["llm_calls"]["cost"].value == 0.001
    assert told["llm_calls"]["currency"].value == "USD"
    assert told["llm_calls"]["calls without cost"].value == 1
    assert "| `answer` | `2` |" in str(told["llm_calls"]["cost by stage"].value)
    accepted = finished.table("training_examples", "b1").height
    each = told["verdicts"]["cost per accepted pair"].value
    assert each == pytest.approx(0.001 / accepted, abs=1e-8)  # shown with eight digits
