"""The code location holds exactly what is listed here, loads fast, and answers to one name."""

import subprocess
import sys
import tomllib
from pathlib import Path

import dagster as dg
import pytest
import yaml

from qa_pipeline.defs.location import build_definitions
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.tables import STORED
from qa_pipeline_tests.fakes import HashEmbedder

ROOT = Path(__file__).parents[1]

ASSETS = {
    "corpus",
    "documents",
    "chunks",
    "embeddings",
    "index",
    "questions",
    "pairs",
    "claims",
    "claim_verdicts",
    "assessments",
    "verdicts",
    "training_examples",
    "llm_calls",
    "canaries",
    "release",
}
OVER_ALL_BATCHES = {"release"}

BLOCKING = {
    "verdicts:canary_recall",
    "verdicts:canary_accepts",
    "documents:documents_read",
    "questions:generation",
    "verdicts:conservation",
    "verdicts:proof",
    "verdicts:fabricated_citations",
    "verdicts:pass_rate",
    "training_examples:training_rows",
    "release:release_verifies",
}

WARNING = {
    "verdicts:warns_canary_alarms",
    "verdicts:warns_verifier_canaries",
    "questions:warns_failed_questions_share",
    "verdicts:warns_citation_accuracy",
    "verdicts:warns_needs_review_share",
    "verdicts:warns_failed_share",
    "verdicts:warns_judge_canaries",
}

HEAVY = {
    "torch",
    "sentence_transformers",
    "faiss",
    "bm25s",
    "google.genai",
    "scipy",
    "pypdfium2",
    "selectolax",
}


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    folder = tmp_path_factory.mktemp("project")
    settings = Settings(corpus=folder / "corpus", out=folder / "out")
    return build_definitions(settings, resources=Resources(settings, embedder=HashEmbedder()))


@pytest.fixture(scope="module")
def specs(definitions: dg.Definitions) -> dict[str, dg.AssetSpec]:
    return {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}


def test_the_assets_are_the_listed_ones(specs: dict[str, dg.AssetSpec]) -> None:
    assert set(specs) == ASSETS


def test_every_asset_is_partitioned_by_batch_or_over_all_of_them_described_and_owned(
    specs: dict[str, dg.AssetSpec],
) -> None:
    for name, spec in specs.items():
        batches = dg.DynamicPartitionsDefinition(name="document_batches")
        assert spec.partitions_def == (None if name in OVER_ALL_BATCHES else batches), name
        assert spec.description, name
        assert spec.group_name not in (None, "default"), name
        assert spec.kinds, name
        assert name == "corpus" or (spec.owners and spec.code_version), name


def test_every_table_shows_its_columns_before_it_is_first_made(specs: dict[str, dg.AssetSpec]) -> None:
    for name, table in STORED.items():
        if name not in specs:
            continue  # stored beside the table of an asset
        schema = specs[name].metadata["dagster/column_schema"]
        assert [column.name for column in schema.columns] == list(table.schema)


def test_the_checks_are_the_listed_ones_and_only_warnings_do_not_block(definitions: dg.Definitions) -> None:
    graph = definitions.resolve_asset_graph()
    specs = [graph.get_check_spec(key) for key in graph.asset_check_keys]
    names = {f"{spec.asset_key.to_user_string()}:{spec.name}": spec.blocking for spec in specs}
    assert {name for name, blocking in names.items() if blocking} == BLOCKING
    assert {name for name, blocking in names.items() if not blocking} == WARNING


def test_jobs_sensors_and_schedules_are_the_listed_ones(definitions: dg.Definitions) -> None:
    repository = definitions.get_repository_def()
    jobs = {job for job in repository.job_names if not job.startswith("__")}
    assert jobs == {"build_batch", "publish_release", "purge_runs"}
    sensors = {sensor.name: sensor.default_status for sensor in repository.sensor_defs}
    assert sensors == {
        "corpus_sensor": dg.DefaultSensorStatus.STOPPED,
    }
    schedules = {schedule.name: schedule.default_status for schedule in repository.schedule_defs}
    assert schedules == dict.fromkeys(
        ("nightly", "nightly_release", "weekly_purge"), dg.DefaultScheduleStatus.STOPPED
    )


def test_one_job_builds_everything_of_a_batch(definitions: dg.Definitions) -> None:
    job = definitions.resolve_job_def("build_batch")
    keys = {key.to_user_string() for key in job.asset_layer.selected_asset_keys}
    assert keys == ASSETS - {"corpus"} - OVER_ALL_BATCHES


@pytest.mark.slow
def test_loading_imports_nothing_heavy_and_no_key() -> None:
    script = (
        "import sys; from qa_pipeline.definitions import defs; loaded = defs(); "
        f"print([name for name in {sorted(HEAVY)!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=ROOT,
        env={"PATH": "", "QA_PIPELINE_LLM__PROVIDER": "gemini", "QA_PIPELINE_LLM__BUDGET__MAX_CALLS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def test_a_wrong_setting_is_one_clear_message(monkeypatch: pytest.MonkeyPatch) -> None:
    from qa_pipeline.definitions import defs

    monkeypatch.setenv("QA_PIPELINE_LLM__WORKERS", "many")
    with pytest.raises(dg.DagsterInvalidDefinitionError, match=r"llm\.workers"):
        defs()


def test_workspace_and_project_file_name_the_same_code() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["dg"]["project"]
    workspace = yaml.safe_load((ROOT / "workspace.yaml").read_text(encoding="utf-8"))
    (location,) = workspace["load_from"]
    assert location["python_module"] == {
        "module_name": f"{project['root_module']}.definitions",
        "location_name": project["code_location_name"],
    }
