"""The deployment of deploy/compose.yaml on loopback: Postgres, code server, daemon, webserver, review, proxy.

Processes, commands, settings and health checks are those of the file; addresses and folders differ, and
vectors are hashed.
"""

import json
import os
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
from playwright.sync_api import Browser

from qa_pipeline_tests.defs.project import GUIDE, Project
from qa_pipeline_tests.llm.postgres_server import Server, running_server
from qa_pipeline_tests.system.browser import person
from qa_pipeline_tests.system.dagster_pages import (
    execute_from_failure,
    expect_failed_check,
    expect_steps,
)
from qa_pipeline_tests.system.deployment import DEPLOY, HASHED, NAMES, Deployment
from qa_pipeline_tests.system.servers import ENDED, accepts, free_port

pytestmark = pytest.mark.slow

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin") or "nginx"
"""Debian installs it where the search path of a user does not lead."""
SETTINGS = {
    "QA_PIPELINE_JUDGING__ACCEPT_UNJUDGED": "true",
    "QA_PIPELINE_GENERATION__QUESTIONS_PER_CHUNK": "3",
}
"""What a project of the tests sets too."""
WRONG = {
    "question": "How long must one wait?",
    "answer": "To drain the tank, open the lower valve and wait 5 hours.",
    "citations": ["guide.md"],
}


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with running_server() as server:
        yield server


class Services(Deployment):
    """A deployment at work, whose services can start anew under other settings."""

    def __init__(self, folder: Path, postgres: Server) -> None:
        super().__init__(folder, postgres, location=HASHED)
        self._stacks: dict[str, ExitStack] = {}

    def start(self, name: str, **changes: str) -> None:
        """Start a service, or start it anew."""
        self.stop(name)
        self._stacks[name] = ExitStack()
        self._stacks[name].enter_context(self.service(name, **SETTINGS, **changes))

    def stop(self, name: str) -> None:
        if name in self._stacks:
            self._stacks.pop(name).close()


@pytest.fixture(scope="module")
def deployment(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """A deployment at work. Each test has batches of its own."""
    deployed = Services(tmp_path_factory.mktemp("deployment"), postgres)
    names = ("code", "daemon", "webserver")
    for name in names:
        deployed.start(name)
    yield deployed
    for name in reversed(names):
        deployed.stop(name)


@pytest.fixture
def project(deployment: Deployment) -> Project:
    """The folders of the deployment."""
    return Project(deployment.folder, dg.DagsterInstance.ephemeral())


@pytest.mark.timeout(3600)
def test_a_backfill_makes_what_it_can_and_survives_a_purge_and_a_backup(
    deployment: Services, project: Project, postgres: Server, tmp_path: Path
) -> None:
    batches = ("good", "bad")
    for batch in batches:
        project.write(batch)
    project.write("bad", "this is no pair", file="pairs.parquet")
    deployment.register(*batches)
    backfill = deployment.backfill(NAMES, list(batches))
    deployment.wait(lambda: deployment.backfill_status(backfill) in ENDED, "the backfill ends")
    # a step that fails is no reason to start anew
    made = {"good": ["SUCCESS"], "bad": ["FAILURE"]}
    assert runs_of(deployment, *batches) == made
    assert deployment.stale("good") == {}

    backup, saved = tmp_path / "backup.dump", run_ids(deployment, deployment.environment()["PGDATABASE"])
    deployment.run("pg_dump", "--format=custom", f"--file={backup}")
    restored = postgres.new_database().rpartition("/")[2]
    deployment.run("pg_restore", "--no-owner", f"--dbname={restored}", backup)
    assert run_ids(deployment, restored) == saved


@pytest.mark.timeout(3600)
def test_from_a_new_folder_over_a_failed_check_and_an_edit_to_a_release(
    browser: Browser, deployment: Services, project: Project
) -> None:
    project.write("u1")
    deployment.wait(lambda: bool(deployment.repositories()), "the code location is loaded")
    deployment.start_sensor("corpus_sensor")
    deployment.wait(lambda: have_ended(deployment, "u1"), "the sensor requests a run of the folder")
    project.write("u2", GUIDE.format(name="u2").replace("boiler", "tank").replace("10 minutes", "4 hours"))
    project.write("u2", "\n".join(json.dumps({**WRONG, "id": str(n)}) for n in range(30)), "pairs.jsonl")
    deployment.wait(lambda: have_ended(deployment, "u2"), "and of the next one, whose answers are wrong")
    assert runs_of(deployment, "u1", "u2") == {"u1": ["SUCCESS"], "u2": ["FAILURE"]}
    assert deployment.steps_of(deployment.run_of("u1")) == {*NAMES}
    pairs = project.table("pairs", "u1")
    with person(browser, deployment.address) as page:
        expect_steps(page, deployment, deployment.run_of("u1"), len(NAMES))
        expect_failed_check(page, deployment, "u2", "pass_rate")

        deployment.start("code", QA_PIPELINE_QUALITY__MIN_PASS_RATE="0")
        execute_from_failure(page, deployment, deployment.run_of("u2"))
    deployment.wait(lambda: deployment.runs()["u2"] == ["SUCCESS", "FAILURE"], "the failed run goes on")
    assert deployment.steps_of(deployment.run_of("u2")) == {"verdicts", "training_examples", "llm_calls"}
    release = deployment.launch("publish_release", {})
    deployment.wait(lambda: deployment.status_of(release) == "SUCCESS", "a release is published")

    project.write("u1", GUIDE.format(name="u1").replace("36 litres", "40 litres"))
    deployment.wait(lambda: deployment.runs()["u1"] == ["SUCCESS", "SUCCESS"], "the edited batch runs again")
    assert len(deployment.runs()["u2"]) == 2
    assert deployment.stale("u1") == {}
    release = deployment.launch("publish_release", {})
    deployment.wait(lambda: deployment.status_of(release) == "SUCCESS", "another release is published")
    releases = project.settings.out / "releases"
    before, after = (
        {*pl.read_parquet(releases / number / "data" / "*.parquet")["pair_id"]} for number in ("1", "2")
    )
    dependent = resting_on(pairs, "36 litres") | resting_on(project.table("pairs", "u1"), "40 litres")
    assert before - after
    assert after - before
    assert before ^ after <= dependent


def test_the_proxy_asks_for_a_name_and_a_password(deployment: Deployment) -> None:
    with proxy(deployment) as ask:
        assert (ask(None), ask("anna:wrong"), ask("anna:right")) == (401, 401, 200)


@pytest.mark.timeout(600)
def test_the_review_app_is_served(deployment: Deployment) -> None:
    with deployment.service("review"):
        assert deployment.is_healthy("review")
    assert not deployment.is_healthy("review")


def runs_of(deployment: Deployment, *batches: str) -> dict[str, list[str]]:
    """States of the runs of some batches, newest first."""
    runs = deployment.runs()
    return {batch: runs.get(batch, []) for batch in batches}


def have_ended(deployment: Deployment, *batches: str) -> bool:
    """Whether each batch has a run, and none that is at work."""
    return all(
        states and set(states) <= {"SUCCESS", "FAILURE"} for states in runs_of(deployment, *batches).values()
    )


def run_ids(deployment: Deployment, database: str) -> str:
    """The runs that a database has."""
    query = "--command=SELECT run_id FROM runs ORDER BY 1"
    return deployment.run("psql", f"--dbname={database}", "--tuples-only", query).stdout


def resting_on(pairs: pl.DataFrame, words: str) -> set[str]:
    """Return the pairs that use the chunk of an answer with these words."""
    used = pairs.explode("used_chunk_ids")
    chunks = used.filter(pl.col("answer").str.contains(words, literal=True))["used_chunk_ids"].unique()
    return set(used.filter(pl.col("used_chunk_ids").is_in(chunks.to_list()))["pair_id"])


@contextmanager
def proxy(deployment: Deployment) -> Iterator[Callable[[str | None], int]]:
    """The proxy of deploy/nginx.conf before the webserver, and what it answers to a name and password."""
    folder, port = deployment.folder / "proxy", free_port()
    (folder / "secrets").mkdir(parents=True)
    key, certificate = folder / "secrets" / "server.key", folder / "secrets" / "server.crt"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate]
    deployment.run(*new, *subject)
    password = deployment.run("openssl", "passwd", "-apr1", "right").stdout
    (folder / "secrets" / "users.htpasswd").write_text(f"anna:{password}")
    written = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    here = written.replace("listen 443", f"listen 127.0.0.1:{port}")
    here = here.replace("webserver:3000", f"127.0.0.1:{deployment.port}")
    (folder / "nginx.conf").write_text(f"user root;\n{here}" if os.geteuid() == 0 else here)
    trusted = ssl.create_default_context(cafile=str(certificate))

    def ask(user: str | None) -> int:
        signed_in = {"Authorization": f"Basic {b64encode(user.encode()).decode()}"} if user else {}
        request = urllib.request.Request(f"https://127.0.0.1:{port}/server_info", headers=signed_in)
        try:
            with urllib.request.urlopen(request, context=trusted) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refusal:
            return refusal.code

    options = ("-c", str(folder / "nginx.conf"), "-p", str(folder), "-e", "error.log")
    main = f"daemon off; pid {folder}/nginx.pid;"
    with subprocess.Popen([NGINX, *options, "-g", main]) as process:
        deployment.wait(lambda: accepts(port), "the proxy listens")
        yield ask
        process.terminate()
