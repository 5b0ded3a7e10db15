"""The instance settings the project ships are valid and say what the documentation promises."""

from pathlib import Path

import dagster as dg
import pytest
import yaml

from qa_pipeline_tests.defs.project import DAGSTER_YAML, instance_at


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> dg.DagsterInstance:
    return instance_at(tmp_path_factory.mktemp("home"))


def test_nothing_is_sent_home_and_no_dialog_covers_the_page(instance: dg.DagsterInstance) -> None:
    assert not instance.telemetry_enabled
    assert not instance.nux_enabled


def test_the_same_batch_never_runs_twice_at_a_time(instance: dg.DagsterInstance) -> None:
    limits = instance.get_concurrency_config().run_queue_config
    assert limits is not None
    assert limits.max_concurrent_runs > 1
    assert limits.tag_concurrency_limits == [
        {"key": "dagster/partition", "value": {"applyLimitPerUniqueValue": True}, "limit": 1}
    ]


def test_runs_that_ask_a_model_are_limited_before_they_start(instance: dg.DagsterInstance) -> None:
    # Inside a run the limit would keep a processor busy, and a killed run would hold its slot.
    pools = instance.get_concurrency_config().pool_config
    assert pools.default_pool_limit == 2
    assert pools.pool_granularity is not None
    assert pools.pool_granularity.value == "run"


def test_runs_are_not_retried_on_their_own() -> None:
    settings = yaml.safe_load(Path(DAGSTER_YAML).read_text(encoding="utf-8"))
    assert settings["run_retries"] == {"enabled": False}
