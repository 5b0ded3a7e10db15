"""The code location describes all it holds, starts nothing by itself, loads fast, and has one name."""

import subprocess
import sys
import tomllib
from pathlib import Path

import dagster as dg
import pytest
import yaml

from qa_pipeline.definitions import build_definitions
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.tables import STORED
from qa_pipeline_tests.fakes import HashEmbedder

ROOT = Path(__file__).parents[1]

OVER_ALL_BATCHES = {"release"}
HEAVY = (
    "torch", "sentence_transformers", "faiss", "bm25s", "google.genai", "scipy", "pypdfium2", "selectolax",
)  # fmt: skip


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    folder = tmp_path_factory.mktemp("project")
    settings = Settings(corpus=folder / "corpus", out=folder / "out")
    return build_definitions(settings, resources=Resources(settings, embedder=HashEmbedder()))


@pytest.fixture(scope="module")
def specs(definitions: dg.Definitions) -> dict[str, dg.AssetSpec]:
    return {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}


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


def test_all_assets_of_a_batch_share_a_process_whoever_launches_the_job(definitions: dg.Definitions) -> None:
    assert definitions.resolve_job_def("build_batch").executor_def.name == "in_process"


def test_all_checks_block_but_those_that_are_called_warnings(definitions: dg.Definitions) -> None:
    graph = definitions.resolve_asset_graph()
    specs = [graph.get_check_spec(key) for key in graph.asset_check_keys]
    assert {spec.blocking for spec in specs} == {True, False}
    assert all(spec.blocking != spec.name.startswith("warns_") for spec in specs)


def test_no_sensor_and_no_schedule_is_on_before_somebody_turns_it_on(definitions: dg.Definitions) -> None:
    repository = definitions.get_repository_def()
    sensors, schedules = repository.sensor_defs, repository.schedule_defs
    assert {sensor.default_status for sensor in sensors} == {dg.DefaultSensorStatus.STOPPED}
    assert {schedule.default_status for schedule in schedules} == {dg.DefaultScheduleStatus.STOPPED}


def test_one_job_builds_everything_of_a_batch(
    definitions: dg.Definitions, specs: dict[str, dg.AssetSpec]
) -> None:
    job = definitions.resolve_job_def("build_batch")
    keys = {key.to_user_string() for key in job.asset_layer.selected_asset_keys}
    assert keys == specs.keys() - {"corpus"} - OVER_ALL_BATCHES


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
