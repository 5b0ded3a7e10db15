"""A run that is killed, finds no room or has a twin leaves whole files, and the next run ends the same."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import FAILED, OK
from qa_pipeline_tests.defs.project import instance_at
from qa_pipeline_tests.end_to_end import GUIDE, Workspace, new_workspace

pytestmark = pytest.mark.slow

PROCESS = """
import os, resource, signal, sys
from qa_pipeline.storage import files as storage
from qa_pipeline.models import encoder as embedding_model
from qa_pipeline.cli.app import app
from qa_pipeline_tests.fakes import HashEmbedder

embedding_model.load_embedder = lambda settings: HashEmbedder()
corpus, out, mishap, number = *sys.argv[1:4], int(sys.argv[4])
write, writes = storage._write_synced, []

def write_half_and_die(file, content):
    writes.append(file)
    if len(writes) == number:
        file.write(content[: len(content) // 2])
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    write(file, content)

if mishap == "killed":
    storage._write_synced = write_half_and_die
def write_without_room(file, content):
    # not before: workers, which have files to unpack as they start, would get the limit as well
    resource.setrlimit(resource.RLIMIT_FSIZE, (number, number))
    write(file, content)

if mishap == "no room":
    storage._write_synced = write_without_room
app(["run", corpus, "--out", out, "--accept-unjudged", *sys.argv[5:]])
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made = new_workspace(tmp_path, monkeypatch)
    made.write({"boilers/guide.md": GUIDE, "pumps/guide.md": GUIDE.replace("boiler", "pump")})
    return made


@pytest.fixture
def undisturbed(workspace: Workspace, tmp_path: Path) -> dict[str, str]:
    """What a run leaves that nothing happens to."""
    calm = Workspace(workspace.corpus, tmp_path / "undisturbed")
    assert calm.run().code == OK
    return calm.contents()


def start(
    workspace: Workspace, mishap: str = "none", number: int = 0, options: Sequence[str] = ()
) -> "subprocess.Popen[str]":
    corpus, out = str(workspace.corpus), str(workspace.out)
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS, corpus, out, mishap, str(number), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ),
    )


def whole_tables(workspace: Workspace) -> int:
    """Read every table that is there; a torn one would raise."""
    return sum(1 for path in workspace.out.rglob("*.parquet") if pl.read_parquet(path) is not None)


@pytest.mark.parametrize("write", [1, 13])
def test_after_a_kill_in_the_middle_of_a_write_the_next_run_ends_as_if_nothing_had_happened(
    workspace: Workspace, undisturbed: dict[str, str], write: int
) -> None:
    killed = start(workspace, "killed", write)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert whole_tables(workspace) < write
    assert workspace.run().code == OK
    assert workspace.contents() == undisturbed


def test_a_disk_without_room_is_named_and_what_stood_before_stays(
    workspace: Workspace, undisturbed: dict[str, str]
) -> None:
    assert workspace.run().code == OK
    workspace.write(
        {"boilers/long.md": "\n\n".join(f"Valve {n} is number {n * 7} of all." for n in range(9000))}
    )
    full = start(workspace, "no room", 100_000)
    told, _ = full.communicate()
    assert full.returncode == FAILED, told
    assert "boilers failed" in told
    assert str(workspace.out) in told
    assert "pumps failed" not in told
    assert workspace.contents("pumps").items() <= undisturbed.items()
    assert whole_tables(workspace) == len([name for name in undisturbed if name.endswith(".parquet")])
    (workspace.corpus / "boilers" / "long.md").unlink()
    assert workspace.run().code == OK
    assert workspace.contents() == undisturbed


@pytest.mark.parametrize("options", [(), ("--dagster",)])
def test_two_runs_over_the_same_batches_at_once_end_as_one(
    workspace: Workspace,
    undisturbed: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    with instance_at(tmp_path / "dagster"):
        twins = [start(workspace), start(workspace, options=options)]
        for twin in twins:
            told, _ = twin.communicate()
            assert twin.returncode == OK, told
    assert workspace.contents() == undisturbed
