"""The night goes on with what is missing or failed, once, and with nothing that a gate blocks."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from qa_pipeline.defs.automation import nightly
from qa_pipeline.defs.steps import PARTITIONS_NAME
from qa_pipeline_tests.defs.project import Project, instance_at


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Project]:
    """A project with one batch, b1, whose instance is on files, as schedules need it."""
    with instance_at(tmp_path / "dagster") as instance:
        project = Project(tmp_path, instance)
        project.write("b1")
        yield project


def requested(project: Project) -> set[str | None]:
    """Batches that the night requests."""
    project.instance.add_dynamic_partitions(PARTITIONS_NAME, ["b1", "b2", "b3"])
    context = dg.build_schedule_context(
        instance=project.instance,
        scheduled_execution_time=datetime(2026, 3, 1, 2, tzinfo=UTC),
        resources={"resources": project.resources},
    )
    requests: Any = nightly(context)
    if isinstance(requests, dg.SkipReason):
        return set()
    assert all("2026-03-01" in request.run_key for request in requests)
    return {request.partition_key for request in requests}


def test_the_night_requests_what_is_missing_or_failed_and_nothing_else(stored: Project) -> None:
    stored.write("b2")
    assert stored.build("b1").success
    assert not stored.build("b3").success  # it has no folder
    assert requested(stored) == {"b2", "b3"}
    assert stored.build("b2").success
    assert requested(stored) == {"b3"}


def test_a_blocked_batch_waits_until_its_input_changes(stored: Project) -> None:
    stored.with_settings(quality={"min_pass_rate": 1.01}).build("b1")
    assert "b1" not in requested(stored)
