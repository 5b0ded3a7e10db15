"""Runs as jobs of two Ray nodes that share Postgres and an object store, one of which dies in the middle."""

import os
import signal
import sys
from pathlib import Path

import pytest
import yaml

from qa_pipeline.settings.base import output_folder
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.llm.postgres_server import running_server
from qa_pipeline_tests.support.object_store import BUCKET, reach, seaweedfs
from qa_pipeline_tests.support.servers import ChatServer
from qa_pipeline_tests.system.deployment import HASHED, Deployment
from qa_pipeline_tests.system.kills import WORKERS, tables
from qa_pipeline_tests.system.ray_nodes import two_nodes

pytestmark = pytest.mark.slow


@pytest.mark.timeout(3600)
def test_runs_on_two_machines_make_the_tables_of_one_though_a_machine_dies_and_its_run_outlives_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").mkdir()
    with (
        ChatServer() as models,
        running_server() as postgres,
        seaweedfs(tmp_path / "store") as store,
    ):
        reach(monkeypatch, store)  # from each machine, and from here
        settings = {
            "llm": {"provider": "openai", "base_url": models.url, "model": "m", "workers": WORKERS},
            "quality": {"min_pass_rate": 0.0},
        }
        file = tmp_path / "qa_pipeline.yaml"
        file.write_text(yaml.safe_dump(settings))
        shared = {"QA_PIPELINE_SETTINGS": str(file), "OPENAI_API_KEY": str(models.key)}
        shared["QA_PIPELINE_OUT"] = f"s3://{BUCKET}/out"
        caches = [{"QA_PIPELINE_CACHE": str(tmp_path / place)} for place in ("here", "first", "second")]

        deployment = Deployment(tmp_path, postgres, "run-launcher-ray", HASHED)
        for batch in ("b1", "b2"):
            deployment.write(batch)
        one = tmp_path / "one"
        alone = deployment.environment(**shared | {"QA_PIPELINE_OUT": str(one)})
        del alone["QA_PIPELINE_LLM__STORE__URL"]
        deployment.run(sys.executable, "-m", HASHED, environment=alone)
        needed = models.stats.answered
        models.slow_down(5.0)  # no run ends before the other one begins

        instance = deployment.home / "dagster.yaml"
        shipped = instance.read_text(encoding="utf-8")
        with_own_caches = shipped.replace("        - QA_PIPELINE_CACHE\n", "")
        quicker = with_own_caches.replace("poll_interval_seconds: 30", "poll_interval_seconds: 2")
        assert len({shipped, with_own_caches, quicker}) == 3
        instance.write_text(quicker, encoding="utf-8")
        with two_nodes(tmp_path / "ray.log", (caches[1], caches[2])) as (address, first, second):
            shared |= {"RAY_JOBS_ADDRESS": address, **caches[0]}
            with (
                deployment.service("code", **shared),
                deployment.service("daemon", **shared),
                deployment.service("webserver", **shared),
            ):
                deployment.wait(lambda: bool(deployment.repositories()), "the code location is loaded")
                deployment.register("b1", "b2")
                for batch in ("b1", "b2"):
                    deployment.launch_batch(batch)
                out = output_folder(shared["QA_PIPELINE_OUT"])
                deployment.wait(
                    lambda: (
                        bool(first.workers() and second.workers())
                        and len(Layout(out).tables("embeddings")) == 2
                    ),
                    "each machine has a run that asks models",
                )
                orphan = second.workers()
                for process in orphan:
                    os.kill(process, signal.SIGSTOP)
                second.die(but=orphan)
                models.slow_down(0.1)  # the node that is left has to end its own run first
                deployment.wait(lambda: is_at_work_again(deployment.runs()), "the run starts anew")
                for process in orphan:
                    os.kill(process, signal.SIGCONT)
                # the orphan tells of its own run that it ended well, after that was taken for lost
                deployment.wait(lambda: are_made(deployment.runs()), "every batch is made")
                deployment.wait(lambda: not any(is_alive(process) for process in orphan), "the orphan ends")
        assert tables(out) == tables(one)
        # two processes that ask the same at once both pay: the orphan goes on beside the run that replaced it
        assert needed <= models.stats.answered - needed <= 2 * needed


def are_made(runs: dict[str, list[str]]) -> bool:
    """Whether the newest run of every batch ended well."""
    return {states[0] for states in runs.values()} == {"SUCCESS"}


def is_at_work_again(runs: dict[str, list[str]]) -> bool:
    """Whether a run that was lost has begun anew."""
    return any(states[0] in ("STARTED", "SUCCESS") and "FAILURE" in states for states in runs.values())


def is_alive(process: int) -> bool:
    """Whether it is at work; one that ended may wait for a parent to ask."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
