"""A webserver, a daemon and run workers as they are deployed, on loopback with a SQLite instance."""

from pathlib import Path

import dagster as dg
import pytest

from qa_pipeline.pipeline.stages import STAGES
from qa_pipeline_tests.defs.project import GUIDE, Project
from qa_pipeline_tests.system.servers import Servers

pytestmark = pytest.mark.slow

NAMES = [*STAGES, "exports"]
ENDED = {"COMPLETED", "COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED"}


@pytest.mark.timeout(3600)
def test_from_a_backfill_over_a_restart_of_the_daemon_to_an_edited_file_that_the_automation_picks_up(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path, dg.DagsterInstance.ephemeral())
    for batch in ("b1", "b2", "bad"):
        project.write(batch)
    project.write("bad", "this is no pair", file="pairs.parquet")
    servers = Servers(tmp_path)
    with servers.webserver():
        with servers.daemon():
            servers.wait(lambda: servers.registered() == {"b1", "b2", "bad"}, "the sensor registers batches")
            backfill = servers.backfill(NAMES, ["b1", "b2", "bad"])
            servers.wait(
                lambda: any("STARTED" in states for states in servers.runs().values()), "a run starts"
            )
        with servers.daemon():
            servers.wait(lambda: servers.backfill_status(backfill) in ENDED, "the backfill ends")
            assert servers.runs() == {"b1": ["SUCCESS"], "b2": ["SUCCESS"], "bad": ["FAILURE"]}
            assert servers.stale("b1") == servers.stale("b2") == {}

            project.write("b2", GUIDE.format(name="b2").replace("10 minutes", "20 minutes"))
            servers.wait(lambda: bool(servers.stale("b2")), "the edited batch is shown as stale")
            because = [("corpus", "b2", "has a new data version")]
            after_corpus = ("documents", "decisions", "pairs")
            assert servers.stale("b2") == dict.fromkeys(after_corpus, because)
            assert servers.stale("b1") == {}

            servers.start_sensor("automation_sensor")
            servers.wait(lambda: not servers.stale("b2"), "the automation runs the edited batch")
            servers.wait(lambda: ended(servers.runs()), "all runs end")
            runs = servers.runs()
            assert (runs["b1"], runs["b2"]) == (["SUCCESS"], ["SUCCESS", "SUCCESS"])
            assert set(runs["bad"]) == {"FAILURE"}
            assert len(runs["bad"]) <= 2


def ended(runs: dict[str, list[str]]) -> bool:
    return all(state in {"SUCCESS", "FAILURE"} for states in runs.values() for state in states)
