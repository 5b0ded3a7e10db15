"""The deployment of deploy/compose.yaml on loopback: Postgres, code server, daemon, webserver, review, proxy.

Processes, commands, settings and health checks are those of the file; addresses and folders differ, and
vectors are hashed.
"""

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

from qa_pipeline.publishing.differences import compare_releases
from qa_pipeline.publishing.release import publish_release
from qa_pipeline_tests.defs.project import GUIDE, Project
from qa_pipeline_tests.llm.postgres_server import Server, running_server
from qa_pipeline_tests.system.browser import person
from qa_pipeline_tests.system.dagster_pages import (
    expect_passed_checks,
    expect_stale,
    materialize,
)
from qa_pipeline_tests.system.deployment import DEPLOY, HASHED, NAMES, Deployment
from qa_pipeline_tests.system.servers import ENDED, accepts, free_port

pytestmark = pytest.mark.slow

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin") or "nginx"
"""Debian installs it where the search path of a user does not lead."""
SETTINGS = {
    "QA_PIPELINE_JUDGING__ACCEPT_UNJUDGED": "true",
    "QA_PIPELINE_GENERATION__QUESTIONS_PER_CHUNK": "3",
    "QA_PIPELINE_QUALITY__MIN_PASS_RATE": "0",
}
"""What a project of the tests sets too."""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture(scope="module")
def deployment(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment at work. Each test has batches of its own."""
    deployed = Deployment(tmp_path_factory.mktemp("deployment"), postgres, location=HASHED)
    with ExitStack() as ended:
        for name in ("code", "daemon", "webserver"):
            ended.enter_context(deployed.service(name, **SETTINGS))
        yield deployed


@pytest.fixture
def project(deployment: Deployment) -> Project:
    """The folders of the deployment."""
    return Project(deployment.folder, dg.DagsterInstance.ephemeral())


@pytest.mark.timeout(3600)
def test_from_a_new_folder_over_its_checks_to_an_edit_that_changes_only_the_pairs_that_rest_on_it(
    browser: Browser, deployment: Deployment, project: Project
) -> None:
    project.write("u1")
    project.write("u2", GUIDE.format(name="u2").replace("boiler", "tank").replace("10 minutes", "4 hours"))
    deployment.wait(
        lambda: {"u1", "u2"} <= deployment.reported(),
        "ticks register the folders, and report their content once it has settled",
    )
    with person(browser, deployment.address) as page:
        for batch in ("u1", "u2"):
            materialize(page, deployment, batch)
        deployment.wait(lambda: have_ended(deployment, "u1", "u2"), "both runs end")
        assert runs_of(deployment, "u1", "u2") == {"u1": ["SUCCESS"], "u2": ["SUCCESS"]}
        expect_passed_checks(page, deployment)
        pairs = project.table("pairs", "u1")
        before = publish_release(project.resources).folder

        project.write("u1", GUIDE.format(name="u1").replace("36 litres", "40 litres"))
        deployment.wait(lambda: bool(deployment.stale("u1")), "the edited batch is stale")
        assert deployment.stale("u2") == {}
        expect_stale(page, deployment, "u1")

        materialize(page, deployment, "u1")
        deployment.wait(
            lambda: deployment.runs()["u1"] == ["SUCCESS", "SUCCESS"], "the edited batch runs again"
        )
        assert deployment.runs()["u2"] == ["SUCCESS"]
        assert deployment.stale("u1") == {}

    changed = compare_releases(before, publish_release(project.resources).folder)
    dependent = resting_on(pairs, "36 litres") | resting_on(project.table("pairs", "u1"), "40 litres")
    assert set(changed["change"]) == {"came", "went"}
    assert set(changed["pair_id"]) <= dependent
    assert set(pairs["pair_id"]) - dependent <= set(project.table("pairs", "u1")["pair_id"])


@pytest.mark.timeout(3600)
def test_from_a_backfill_over_an_edited_file_that_the_automation_picks_up_to_a_backup_and_a_purge(
    deployment: Deployment, project: Project, postgres: Server, tmp_path: Path
) -> None:
    batches = ("good", "bad")
    for batch in batches:
        project.write(batch)
    project.write("bad", "this is no pair", file="pairs.parquet")
    deployment.wait(lambda: set(batches) <= deployment.registered(), "the sensor registers batches")
    backfill = deployment.backfill(NAMES, list(batches))
    deployment.wait(lambda: deployment.backfill_status(backfill) in ENDED, "the backfill ends")
    # a step that fails is no reason to start anew
    made = {"good": ["SUCCESS"], "bad": ["FAILURE"]}
    assert runs_of(deployment, *batches) == made
    assert deployment.stale("good") == {}

    project.write("good", GUIDE.format(name="good").replace("10 minutes", "20 minutes"))
    deployment.wait(lambda: bool(deployment.stale("good")), "the edited batch is shown as stale")
    because = [("corpus", "good", "has a new data version")]
    assert deployment.stale("good") == dict.fromkeys(("documents", "decisions", "pairs"), because)

    deployment.start_sensor("automation_sensor")
    deployment.wait(lambda: len(deployment.runs()["good"]) > 1, "the automation runs the edited batch")
    deployment.wait(lambda: have_ended(deployment, *batches), "all runs end")
    runs = deployment.runs()
    assert runs["good"] == ["SUCCESS", "SUCCESS"]
    assert deployment.stale("good") == {}
    assert set(runs["bad"]) == {"FAILURE"}
    assert len(runs["bad"]) <= 2

    backup, saved = tmp_path / "backup.dump", run_ids(deployment, deployment.environment()["PGDATABASE"])
    deployment.run("pg_dump", "--format=custom", f"--file={backup}")
    purge = deployment.launch("purge_runs", {"ops": {"purge_old_runs": {"config": {"days": 0}}}})
    deployment.wait(lambda: deployment.status_of(purge) == "SUCCESS", "old runs are deleted")
    assert runs_of(deployment, *batches) == made  # those that made the tables

    restored = postgres.new_database().rpartition("/")[2]
    deployment.run("pg_restore", "--no-owner", f"--dbname={restored}", backup)
    assert run_ids(deployment, restored) == saved


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
