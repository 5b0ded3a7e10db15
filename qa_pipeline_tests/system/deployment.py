"""The services of deploy/compose.yaml as processes on loopback: the same commands, settings and checks."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from qa_pipeline.defs.assets import BATCH_ASSETS
from qa_pipeline_tests.defs.project import GUIDE
from qa_pipeline_tests.llm.postgres_server import Server
from qa_pipeline_tests.system.servers import Servers, accepts, free_port

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
NAMES = [asset.key.to_user_string() for asset in BATCH_ASSETS]
HASHED = "qa_pipeline_tests.system.hashed_location"
"""The shipped code location without the embedding model, whose import takes a run twelve seconds."""
BINARIES = Path(sys.executable).parent


class Deployment(Servers):
    """Everything below a folder but Postgres, which is the test's."""

    def __init__(
        self,
        folder: Path,
        postgres: Server,
        launcher: str = "",
        location: str = "qa_pipeline.definitions",
    ) -> None:
        super().__init__(folder)
        self.database = postgres.new_database()
        (folder / "logs").mkdir()
        parts = filter(None, ("dagster-production", launcher))
        instance = "".join((DEPLOY / f"{part}.yaml").read_text(encoding="utf-8") for part in parts)
        (self.home / "dagster.yaml").write_text(instance, encoding="utf-8")
        self.review_port = free_port()
        self._ports = {"code": self.code_port, "webserver": self.port, "review": self.review_port}
        self._here = {
            "/corpora": folder / "corpus",
            "/data": folder / "out",
            "/opt/qa-pipeline/workspace.yaml": DEPLOY / "workspace-grpc.yaml",
            "0.0.0.0": "127.0.0.1",
            "postgresql://dagster@postgres/dagster": self.database,
            "postgres": "127.0.0.1",
            "code": "127.0.0.1",
            "dagster": "qa",
            "qa_pipeline.definitions": location,
            "5432": postgres.port,
            "4000": self.code_port,
            "3000": self.port,
            "8787": self.review_port,
        }

    def write(self, batch: str) -> None:
        """Put a batch of one document into the corpus."""
        file = self.folder / "corpus" / batch / "guide.md"
        file.parent.mkdir(parents=True)
        file.write_text(GUIDE.format(name=batch), encoding="utf-8")

    def environment(self, **changes: str) -> dict[str, str]:
        """What compose.yaml gives every service, and what the image does."""
        written = COMPOSE["code"]["environment"]
        return {
            **os.environ,
            **{name: self._local(re.sub(r"\$\{.*?\}", "secret", value)) for name, value in written.items()},
            "QA_PIPELINE_REVIEW__URL": f"http://127.0.0.1:{self.review_port}",
            "PGDATABASE": self.database.rpartition("/")[2],
            "DAGSTER_HOME": str(self.home),
            "DAGSTER_LOGS": str(self.folder / "logs"),
            "PATH": f"{BINARIES}:{os.environ['PATH']}",
            **changes,
        }

    def _local(self, word: str) -> str:
        """A word of compose.yaml, an address or path in a container, as it is here."""
        if word in self._here:
            return str(self._here[word])
        in_folders = {place: here for place, here in self._here.items() if word.startswith(f"{place}/")}
        for place, here in in_folders.items():
            return word.replace(place, str(here), 1)
        return re.sub(r"127\.0\.0\.1:(\d+)", lambda port: f"127.0.0.1:{self._here[port[1]]}", word)

    def words(self, words: list[str]) -> list[str]:
        return [word if word == "dagster" else self._local(word) for word in words]

    @contextmanager
    def service(self, name: str, **changes: str) -> Iterator[subprocess.Popen[bytes]]:
        """A service, once its health check passes; at the end it and its children are gone."""
        with (
            (self.folder / f"{name}.log").open("ab") as log,
            subprocess.Popen(
                self.words(COMPOSE[name]["command"]),
                stdout=log,
                stderr=log,
                env=self.environment(**changes),
                start_new_session=True,
            ) as process,
        ):
            try:
                # a health check is a process of two seconds: none before there is somebody to ask
                if name in self._ports:
                    self.wait(lambda: accepts(self._ports[name]), f"{name} listens")
                self.wait(lambda: self.is_healthy(name), f"{name} is healthy")
                yield process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM)

    def is_healthy(self, name: str) -> bool:
        kind, *check = COMPOSE[name]["healthcheck"]["test"]
        assert kind == "CMD"
        return self.run(*self.words(check), check=False).returncode == 0

    def run(
        self, *command: object, check: bool = True, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A command in the environment of the services, or another."""
        words = [str(word) for word in command]
        environment = environment or self.environment()
        done = subprocess.run(words, check=False, env=environment, capture_output=True, text=True)
        assert not check or done.returncode == 0, done.stderr
        return done
