"""Two Ray nodes on 127.0.0.2 and 127.0.0.3, as two machines would be, and the death of one."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from qa_pipeline_tests.system.servers import LIMIT, free_port

HEAD, SECOND = "127.0.0.2", "127.0.0.3"
RUN_WORKER = "dagster api execute_run"
STANDS = b"This command will now block forever"
TRIES = 10
"""Ray (2.60) gives a node 30 seconds to start: too few on a busy machine, and no setting says more."""
_RAY = str(Path(sys.executable).with_name("ray"))


class Node:
    """One machine of the cluster: `ray start` and all that it started."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def workers(self) -> list[int]:
        """Processes of runs on this node, with their own children."""
        below = _descendants(self._process.pid)
        runs = [process for process, command in below.items() if RUN_WORKER in command]
        return [*runs, *(child for run in runs for child in _descendants(run) if child not in runs)]

    def die(self, *, but: Iterable[int] = ()) -> None:
        """Kill all of it but some processes, which are then nobody's: children before their parents."""
        doomed = [process for process in _descendants(self._process.pid) if process not in set(but)]
        for process in [*reversed(doomed), self._process.pid]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _descendants(parent: int) -> dict[int, str]:
    """Processes below one, each after its parent, with their commands."""
    listing = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], check=True, capture_output=True, text=True)
    rows = [line.split(maxsplit=2) for line in listing.stdout.splitlines()]
    found: dict[int, str] = {}
    parents = {parent}
    while parents:
        children = {int(row[0]): row[-1] for row in rows if int(row[1]) in parents}
        found |= children
        parents = set(children)
    return found


@contextmanager
def two_nodes(
    log: Path, environments: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
) -> Iterator[tuple[str, Node, Node]]:
    """The address of the cluster's jobs, and its nodes, each with one processor to give.

    What is in an environment is so on that machine alone.
    """
    place = tempfile.mkdtemp(prefix="ray-")  # sockets in it have no room for a longer path
    gcs, jobs = free_port(), free_port()
    head = ["--head", f"--port={gcs}", f"--dashboard-host={HEAD}", f"--dashboard-port={jobs}"]
    head += [f"--ray-client-server-port={free_port()}", f"--temp-dir={place}"]
    try:
        with _node(log, environments[0], HEAD, *head) as first:
            address = f"http://{HEAD}:{jobs}"
            _wait_for(address)
            with _node(log, environments[1], SECOND, f"--address={HEAD}:{gcs}") as second:
                yield address, first, second
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _node(log: Path, environment: Mapping[str, str], address: str, *options: str) -> Iterator[Node]:
    common = ["--num-cpus=1", "--object-store-memory=80000000", "--disable-usage-stats", "--block"]
    ports = [f"--dashboard-agent-listen-port={free_port()}", f"--node-ip-address={address}"]
    command = [_RAY, "start", *options, *common, *ports]
    with log.open("ab") as output:
        tries = (
            subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, **environment})
            for _ in range(TRIES)
        )
        process = next(process for process in tries if _stands(process, log))
    node = Node(process)
    try:
        yield node
    finally:
        node.die()
        process.wait()


def _stands(process: subprocess.Popen[bytes], log: Path) -> bool:
    """Whether a node that starts comes to its end of it; one that gives up says why in the log."""
    before = log.read_bytes().count(STANDS)
    while process.poll() is None:
        if log.read_bytes().count(STANDS) > before:
            return True
        time.sleep(0.5)
    return False


def _wait_for(address: str) -> None:
    end = time.monotonic() + LIMIT
    while True:
        try:
            urllib.request.urlopen(f"{address}/api/version").close()
        except OSError:
            assert time.monotonic() < end, "the head of the cluster does not answer"
            time.sleep(0.5)
        else:
            return
