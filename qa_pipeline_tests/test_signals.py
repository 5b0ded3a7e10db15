"""A run that is told to end says what is kept, leaves nothing running behind, and goes on when run again."""

import os
import pty
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import dagster as dg
import pytest

from qa_pipeline.cli.exit_codes import OK
from qa_pipeline_tests.defs.project import instance_at
from qa_pipeline_tests.end_to_end import GUIDE, Workspace, new_workspace
from qa_pipeline_tests.support.processes import children_of

pytestmark = pytest.mark.slow

LIMIT = 120
ENDS = [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
KEPT = "Finished work is kept; run the command again to continue."

PROCESS = """
import fcntl, os, signal, sys, termios, threading
from qa_pipeline.cli.app import app
from qa_pipeline.models import encoder as embedding_model
from qa_pipeline_tests.fakes import HashEmbedder

how = sys.argv[1]
for name in {"SIGINT", "SIGHUP", "SIGTERM"} - {os.environ.get("LEFT_AS_IT_IS")}:
    # a suite that runs in the background may ignore them
    handler = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
    signal.signal(getattr(signal, name), handler)

class Waiting(HashEmbedder):
    def encode(self, texts):
        while how != "at once":
            try:  # the signal may come before the line is written whole
                print("ready", file=sys.stderr, flush=True)
                threading.Event().wait()
            except BaseException:
                if how == "politely":
                    raise
        return super().encode(texts)

if sys.stdin.isatty():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
embedding_model.load_embedder = lambda settings: Waiting()
app(sys.argv[2:])
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made = new_workspace(tmp_path, monkeypatch)
    made.write({"boilers/guide.md": GUIDE, "pumps/guide.md": GUIDE.replace("boiler", "pump")})
    return made


@contextmanager
def started(
    workspace: Workspace,
    *options: str,
    how: str = "politely",
    before: tuple[str, ...] = (),
    tty: int | None = None,
    left_as_it_is: str = "",
) -> Iterator["subprocess.Popen[bytes]"]:
    """A run in a process of its own; `how` it waits at its first embedding, and takes an interrupt there."""
    command = [
        *before,
        sys.executable,
        "-c",
        PROCESS,
        how,
        "run",
        str(workspace.corpus),
        "--out",
        str(workspace.out),
    ]
    process = subprocess.Popen(
        [*command, *options],
        stdin=tty if tty is not None else subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=tty if tty is not None else subprocess.PIPE,
        env={**os.environ, "LEFT_AS_IT_IS": left_as_it_is},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(process: "subprocess.Popen[bytes]", line: str) -> None:
    assert process.stderr is not None
    for said in process.stderr:
        if said.decode().strip().startswith(line):
            return
    pytest.fail(f"the run ended before it said {line!r}")


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, str]:
    _, said = process.communicate(timeout=LIMIT)
    return process.returncode, said.decode()


def test_what_was_finished_is_kept_and_the_same_command_goes_on(workspace: Workspace, tmp_path: Path) -> None:
    calm = Workspace(workspace.corpus, tmp_path / "undisturbed")
    assert calm.run().code == OK
    for number, code in ENDS:
        with started(workspace) as process:
            wait_for(process, "ready")
            process.send_signal(number)
            found, said = ended(process)
        assert found == code
        assert (said.count(KEPT), said.count(number.name), "Traceback" in said) == (1, 1, False)
        assert workspace.table("chunks", "boilers").height > 0
    assert workspace.run().code == OK
    assert workspace.contents() == calm.contents()


def test_what_never_takes_a_signal_ends_all_the_same(workspace: Workspace) -> None:
    with started(workspace, how="stubbornly") as process:
        wait_for(process, "ready")
        process.send_signal(signal.SIGHUP)
        assert ended(process)[0] == 129


def test_no_worker_outlives_the_run_not_even_one_that_stands_still(workspace: Workspace) -> None:
    with started(workspace) as process:
        wait_for(process, "ready")
        (worker,) = children_of(process.pid)
        ending = os.pidfd_open(worker)
        os.kill(worker, signal.SIGSTOP)
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 143
        assert select.select([ending], [], [], LIMIT)[0], "the worker is still there"
        os.close(ending)


@pytest.mark.parametrize(("number", "code"), ENDS[:2])
def test_a_run_ends_while_calls_of_a_model_are_in_flight(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.settimeout(LIMIT)
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", f"http://127.0.0.1:{server.getsockname()[1]}/v1")
        with started(
            workspace, "--provider", "openai", "--model", "tiny", "--max-calls", "9", how="at once"
        ) as process:
            call, _ = server.accept()
            call.settimeout(LIMIT)
            assert call.recv(1)
            process.send_signal(number)
            found, said = ended(process)
            call.close()
    assert (found, said.count(KEPT)) == (code, 1)


def test_a_run_ends_while_it_waits_to_write_into_a_store(workspace: Workspace) -> None:
    vectors = workspace.out / "cache" / "vectors.sqlite"
    vectors.parent.mkdir(parents=True)
    with closing(sqlite3.connect(vectors, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with started(workspace, how="at once") as process:
            wait_for(process, "boilers")
            time.sleep(3)
            process.send_signal(signal.SIGTERM)
            found, said = ended(process)
    assert (found, said.count(KEPT)) == (143, 1)
    vectors.unlink()
    assert workspace.run().code == OK


def test_a_signal_that_the_caller_ignores_ends_nothing(workspace: Workspace) -> None:
    ignoring = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")
    with started(workspace, before=ignoring, left_as_it_is="SIGHUP") as process:
        wait_for(process, "ready")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 143


def test_a_run_ends_with_its_terminal(workspace: Workspace) -> None:
    master, slave = pty.openpty()
    with started(workspace, tty=slave) as process:
        os.close(slave)
        seen = b""
        while b"ready" not in seen:
            seen += os.read(master, 1000)
        os.close(master)
        assert process.wait(timeout=LIMIT) == 129


def test_a_run_in_dagster_ends_there_too(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    with instance_at(tmp_path / "dagster") as instance:
        with started(workspace, "--batch", "pumps", "--dagster") as process:
            wait_for(process, "ready")
            process.send_signal(signal.SIGTERM)
            found, said = ended(process)
        assert (found, said.count(KEPT)) == (143, 1)
        assert [run.status for run in instance.get_runs()] == [dg.DagsterRunStatus.FAILURE]
        assert workspace.run("--batch", "pumps", "--dagster").code == OK
        assert instance.get_runs()[0].status == dg.DagsterRunStatus.SUCCESS


def test_ctrl_c_while_a_command_is_being_loaded_ends_it_without_a_traceback() -> None:
    script = (
        "import builtins, os, signal, sys; from qa_pipeline.cli import start; real = builtins.__import__\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def loading(name, *rest):\n"
        "    if name == 'qa_pipeline.cli.app': os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = loading; start()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True, timeout=LIMIT
    )
    assert (ran.returncode, ran.stderr) == (130, "")
