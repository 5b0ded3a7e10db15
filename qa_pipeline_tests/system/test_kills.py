"""What a deployment promises holds when its parts are killed in the middle."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from qa_pipeline_tests.llm.postgres_server import Server, running_server
from qa_pipeline_tests.system.kills import KINDS, run_under_kills

pytestmark = pytest.mark.slow


@pytest.fixture
def postgres() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.mark.timeout(3600)
def test_a_deployment_whose_parts_are_killed_makes_the_tables_of_an_undisturbed_one(
    tmp_path: Path, postgres: Server
) -> None:
    outcome = run_under_kills(tmp_path, postgres, ("b1", "b2"), seed=1)
    assert outcome.problems == {}
    assert outcome.hit.keys() == KINDS.keys()
    assert outcome.retried > 0
    assert outcome.reads > 40
