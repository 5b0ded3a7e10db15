"""A real Postgres for the tests, started under a user who is not root and stopped at will.

What belongs here: finding, making, starting and stopping one. What does not: what is asked of it.
"""

import os
import pwd
import shutil
import socket
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import pytest

NewPlace = Callable[[], Path | str]
"""Makes the place of an empty store."""
_PLACES = "/usr/lib/postgresql/*/bin/pg_ctl"


def _binaries() -> Path | None:
    found = sorted(Path("/").glob(_PLACES[1:]), key=lambda path: path.parts[-3])
    on_path = shutil.which("pg_ctl")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


class Server:
    """One cluster in a folder of its own, on a port of its own of 127.0.0.1."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        # not below the test's folder, which the other user may not enter
        self._folder = Path(mkdtemp(prefix="qa-postgres-"))
        self._folder.chmod(0o755)
        self._data = self._folder / "data"
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(self._folder, self._user)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._run(
            "initdb", "-D", self._data, "--no-sync", "-A", "trust", "-U", "qa", "-E", "UTF8", "--locale=C"
        )

    def new_database(self) -> str:
        """The address of a new database."""
        name = f"qa_{uuid.uuid4().hex}"
        self.sql(f'CREATE DATABASE "{name}"')
        return f"postgresql://qa@127.0.0.1:{self.port}/{name}"

    def sql(self, statement: str) -> None:
        """Run a statement as the owner."""
        self._run("psql", "-h", "127.0.0.1", "-p", self.port, "-U", "qa", "-d", "postgres", "-qc", statement)

    def start(self) -> None:
        """Return when it can be asked."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        log = self._folder / "log"
        self._run("pg_ctl", "-D", self._data, "-l", log, "-o", options, "-w", "start")

    def stop(self, mode: str = "fast") -> None:
        """Cut every connection off, as a restart for maintenance does; `immediate` as a crash does."""
        self._run("pg_ctl", "-D", self._data, "-m", mode, "-w", "stop")

    def remove(self) -> None:
        """Stop it for good."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop", check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object, check: bool = True) -> None:
        user = {"user": self._user, "group": self._user, "extra_groups": []} if self._user else {}
        done = subprocess.run(
            [self._binaries / program, *map(str, arguments)],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            **user,  # type: ignore[call-overload]
        )
        if check and done.returncode:
            raise AssertionError(f"{program}: {done.stderr.decode()}")


@contextmanager
def running_server() -> Iterator[Server]:
    """A server of the test's own; the test is skipped where none is installed."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("no Postgres server is installed here (Debian: apt-get install postgresql)")
    if os.geteuid() == 0 and not _has_user("postgres"):
        pytest.skip("Postgres does not run as root, and there is no user postgres")
    server = Server(binaries)
    try:
        server.start()
        yield server
    finally:
        server.remove()


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
