"""The release as an asset: what it publishes and shows, and when it fails."""

from typing import Any

import dagster as dg
import polars as pl

from qa_pipeline.curation.withdrawals import note_gate
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.defs.project import GUIDE, Project


def publish(project: Project) -> dg.ExecuteInProcessResult:
    job = project.definitions.resolve_job_def("publish_release")
    return job.execute_in_process(instance=project.instance, raise_on_error=False)


def told(result: dg.ExecuteInProcessResult) -> dg.AssetMaterialization:
    (event,) = result.asset_materializations_for_node("release")
    return event


def failed_checks(result: dg.ExecuteInProcessResult) -> dict[str, tuple[str, str]]:
    found = [one for one in result.get_asset_check_evaluations() if not one.passed]
    return {one.check_name: (one.severity.value, str(one.description)) for one in found}


def names_of(counts: dg.MetadataValue[Any]) -> set[str]:
    assert isinstance(counts.value, dict)
    return set(counts.value)


def test_all_batches_are_published_and_the_ui_is_told_of_rows_splits_batches_and_card(
    finished: Project,
) -> None:
    finished.write("b2", GUIDE.format(name="b2").replace("boiler", "tank").replace("10 minutes", "4 hours"))
    finished.launch("b2")
    result = publish(finished)
    assert result.success
    assert failed_checks(result) == {}
    metadata = told(result).metadata
    files = finished.settings.out / "releases" / "1" / "data" / "*.parquet"
    assert metadata["version"].value == "1"
    assert metadata["folder"].value == str(finished.settings.out / "releases" / "1")
    assert metadata["dagster/row_count"].value == pl.read_parquet(files).height > 0
    assert names_of(metadata["rows by split"]) >= {"train"}
    assert names_of(metadata["rows by batch"]) == {"b1", "b2"}


def test_a_batch_whose_gates_fail_is_named_and_takes_no_other_down(
    finished: Project,
) -> None:
    finished.write("b2")
    finished.launch("b2")
    note_gate(Layout(finished.settings.out), "b2", "proof", "a quote is gone")
    result = publish(finished)
    assert result.success
    assert names_of(told(result).metadata["batches left out"]) == {"b2"}


def test_nothing_to_release_fails_with_the_reason_and_is_not_retried(project: Project) -> None:
    result = publish(project)
    assert not result.success
    failure = result.failure_data_for_node("release")
    assert failure is not None
    assert failure.user_failure_data is not None
    assert not list((project.settings.out / "releases").glob("[0-9]*"))


def test_a_release_whose_files_were_changed_fails_its_blocking_check(finished: Project) -> None:
    publish(finished)
    card = finished.settings.out / "releases" / "1" / "README.md"
    card.write_text(card.read_text().replace("Known limits", "Known merits"))  # of the same length
    result = publish(finished)  # nothing has changed since, so that the damaged one stays
    severity, problem = failed_checks(result)["release_verifies"]
    assert severity == "ERROR"
    assert "README.md" in problem
