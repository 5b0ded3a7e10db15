"""The deployment of deploy/compose.yaml on loopback: Postgres, code server, daemon, webserver, review, proxy.

Processes, commands, settings and health checks are those of the file; addresses and folders differ.
"""

import os
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from qa_pipeline_tests.llm.postgres_server import Server, running_server
from qa_pipeline_tests.system.deployment import COMPOSE, DEPLOY, NAMES, Deployment
from qa_pipeline_tests.system.servers import accepts, free_port

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.mark.timeout(3600)
def test_a_deployment_runs_batches_outlives_its_code_server_forgets_old_runs_and_is_restored(
    tmp_path: Path, postgres: Server
) -> None:
    deployment = Deployment(tmp_path, postgres)
    for batch in ("b1", "b2"):
        deployment.write(batch)
    (tmp_path / "corpus" / "b1" / "pairs.parquet").write_text("this is no pair")
    with ExitStack() as ended, deployment.service("code") as code:
        ended.enter_context(deployment.service("daemon"))
        ended.enter_context(deployment.service("webserver"))
        with proxy(deployment) as ask:
            assert (ask(None), ask("anna:wrong"), ask("anna:right")) == (401, 401, 200)
        deployment.wait(lambda: deployment.registered() == {"b1", "b2"}, "the sensor registers batches")

        # a step that fails is no reason to start anew, a code server that was killed is
        deployment.backfill(NAMES, ["b1"])
        deployment.wait(lambda: deployment.runs().get("b1") == ["FAILURE"], "a file that is no Parquet fails")
        deployment.backfill(NAMES, ["b2"])
        deployment.wait(lambda: deployment.runs().get("b2") == ["STARTED"], "a run starts")
        os.killpg(code.pid, signal.SIGKILL)
        code.wait()
        assert not deployment.is_healthy("code")
        ended.enter_context(deployment.service("code"))
        deployment.wait(lambda: deployment.runs()["b2"] == ["SUCCESS", "FAILURE"], "the run starts anew")
        assert deployment.runs()["b1"] == ["FAILURE"]
        assert [file.name for file in (tmp_path / "out" / "exports" / "passed").iterdir()] == ["b2.jsonl"]

        backup = tmp_path / "backup.dump"
        deployment.run("pg_dump", "--format=custom", f"--file={backup}")
        purge = deployment.launch("purge_runs", {"ops": {"purge_old_runs": {"config": {"days": 0}}}})
        deployment.wait(lambda: deployment.status_of(purge) == "SUCCESS", "old runs are deleted")
        assert deployment.runs() == {"b1": ["FAILURE"], "b2": ["SUCCESS"]}  # those that made the tables

    restored = postgres.new_database().rpartition("/")[2]
    deployment.run("pg_restore", "--no-owner", f"--dbname={restored}", backup)
    count = "--command=SELECT count(*) FROM runs"
    assert deployment.run("psql", f"--dbname={restored}", "--tuples-only", count).stdout.split() == ["3"]


@pytest.mark.timeout(600)
def test_the_review_app_serves_people_with_a_token(tmp_path: Path, postgres: Server) -> None:
    deployment = Deployment(tmp_path, postgres)
    command = deployment.words(COMPOSE["review"]["command"])
    (tmp_path / "out").mkdir()
    assert "anna signs in" in deployment.run(*command, "--new-user", "anna").stdout
    with deployment.service("review"):
        assert deployment.is_healthy("review")


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
    with subprocess.Popen(["nginx", *options, "-g", main]) as process:
        deployment.wait(lambda: accepts(port), "the proxy listens")
        yield ask
        process.terminate()
