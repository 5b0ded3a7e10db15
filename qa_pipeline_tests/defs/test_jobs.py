"""The night goes on with what is missing or failed, once, and with nothing that a gate blocks."""

from datetime import UTC, datetime

from qa_pipeline.defs.base import PARTITIONS_NAME
from qa_pipeline_tests.defs.project import Project

NIGHT = datetime(2026, 3, 1, 2, tzinfo=UTC)


def requested(project: Project, time: datetime = NIGHT) -> dict[str, str | None]:
    """Run keys by batch."""
    project.instance.add_dynamic_partitions(PARTITIONS_NAME, ["b1", "b2", "b3"])
    requests = project.tick("nightly", time).run_requests or []
    return {str(request.partition_key): request.run_key for request in requests}


def test_the_night_requests_what_is_missing_or_failed_and_nothing_else(project: Project) -> None:
    project.write("b2")
    assert project.build("b1").success
    assert not project.build("b3").success  # it has no folder
    assert set(requested(project)) == {"b2", "b3"}
    assert project.build("b2").success
    assert set(requested(project)) == {"b3"}


def test_a_blocked_batch_waits_until_its_input_changes(project: Project) -> None:
    project.with_settings(quality={"min_pass_rate": 1.01}).build("b1")
    assert "b1" not in requested(project)
