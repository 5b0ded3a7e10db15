"""The main job gives the same bytes on a real object store as on a disk, and its faults are named."""

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import botocore.auth
import polars as pl
import pytest

from qa_pipeline import load_release
from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline.pipeline.stages import split_and_score
from qa_pipeline.settings.base import output_folder
from qa_pipeline.storage.files import delete
from qa_pipeline_tests.end_to_end import Ran, invoke, new_workspace
from qa_pipeline_tests.support.object_store import BUCKET, Proxy, reach, seaweedfs

pytestmark = pytest.mark.slow

CORPORA = Path(__file__).parents[2] / "data" / "corpora"
SMALL = "vattenverk-sv"
STEADY = f"s3://{BUCKET}/steady"
PORT_OF_NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with seaweedfs(tmp_path_factory.mktemp("store")) as url:
        yield url


@pytest.fixture(autouse=True)
def owner(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own(server, tmp_path, monkeypatch)


def own(server: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Let this process be a machine without replies and models that may do all on the store."""
    new_workspace(folder / "unused", patch)
    patch.setenv("QA_PIPELINE_CACHE", str(folder / "cache"))
    reach(patch, server)


def contents(out: Path) -> dict[str, bytes]:
    """All files of an output folder but its locks and caches, by path."""
    files = (path for path in out.rglob("*") if path.is_file())
    named = ((str(path.relative_to(out)), path) for path in files)
    return {
        name: path.read_bytes()
        for name, path in named
        if ".lock" not in name and not name.startswith("cache/")
    }


def main_job(corpora: Path, out: str, folder: Path) -> dict[str, bytes]:
    """Run, release, verify, decide, run and release again, forget; return what is there then."""

    def ask(*arguments: str | Path) -> Ran:
        made = invoke(*arguments)
        assert made.code == OK, f"{arguments}\n{made.stdout}\n{made.stderr}"
        return made

    folder.mkdir()
    run = ("run", corpora, "--out", out)
    ask(*run, "--accept-unjudged")
    ask(*run, "--accept-unjudged")
    ask("release", "--out", out)
    ask("verify", f"{out}/releases")
    ask(*run, "--require-judge", "--batch", SMALL)
    ask("decide", "--template", folder / "review.csv", "--out", out)
    waiting = pl.read_csv(folder / "review.csv", infer_schema=False)
    place = pl.int_range(pl.len())
    filled = waiting.with_columns(
        decision=pl.when(place == 0).then(pl.lit("rejected")).otherwise(pl.lit("accepted")),
        who=pl.lit("test"),
        decided_at=pl.lit("2026-01-01T00:00:00Z"),
    )
    filled.write_csv(folder / "decided.csv")
    ask("decide", folder / "decided.csv", "--out", out)
    ask(*run, "--require-judge", "--batch", SMALL)
    ask("status", "--out", out)
    ask("release", "--out", out, "--push", folder / "pushed")
    assert load_release(f"{out}/releases", "train").collect().height > 0
    ask("audit", f"{out}/releases", folder / "audit.jsonl", "--rows", "3")
    ask("forget", "felanmalan.txt", "--out", out, "--yes")
    ask("verify", f"{out}/releases")
    ask("release", "--out", out)
    made = contents(output_folder(out)) | {
        f"pushed/{name}": content for name, content in contents(folder / "pushed").items()
    }
    return {name: content for name, content in made.items() if not name.startswith("withdrawn/")}


@pytest.mark.timeout(1800)
def test_the_main_job_gives_the_bytes_it_gives_on_a_disk(tmp_path: Path) -> None:
    corpora = tmp_path / "corpora"
    for batch in (SMALL, "bibliothek-de"):
        shutil.copytree(CORPORA / batch, corpora / batch)
    far = main_job(corpora, f"s3://{BUCKET}/main", tmp_path / "far")
    near = main_job(corpora, str(tmp_path / "out"), tmp_path / "near")
    assert far.keys() == near.keys()
    assert [name for name in near if near[name] != far[name]] == []
    assert {name.split("/")[0] for name in far} >= {"tables", "exports", "releases", "decisions", "pushed"}


def run_small(out: str) -> Ran:
    return invoke("run", CORPORA, "--batch", SMALL, "--out", out, "--accept-unjudged")


@pytest.fixture(scope="module")
def undisturbed(server: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run makes on a store without faults, which stays there at STEADY."""
    with pytest.MonkeyPatch.context() as patch:
        own(server, tmp_path_factory.mktemp("undisturbed"), patch)
        assert run_small(STEADY).code == OK
        return contents(output_folder(STEADY))


def test_a_store_that_answers_503_and_slowly_gives_the_same_tables(
    server: str, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Proxy(server, refuses=0.15, delays=0.05) as proxy:
        reach(monkeypatch, proxy.url)
        assert run_small(f"s3://{BUCKET}/shaky").code == OK
        assert proxy.refused > 10
    reach(monkeypatch, server)
    assert contents(output_folder(f"s3://{BUCKET}/shaky")) == undisturbed


@pytest.mark.parametrize(
    ("key", "bucket", "why"),
    [
        ("no-list", BUCKET, "list"),
        ("reader", BUCKET, "write"),
        ("nobody", BUCKET, "credentials"),
        ("owner", "no-such-bucket", "bucket"),
    ],
)
def test_what_is_not_allowed_is_named_before_any_work(
    server: str, monkeypatch: pytest.MonkeyPatch, key: str, bucket: str, why: str
) -> None:
    reach(monkeypatch, server, key)
    ran = run_small(f"s3://{bucket}/refused")
    assert ran.code == BAD_INPUT
    assert why in ran.stderr
    assert "planted" not in ran.stderr
    reach(monkeypatch, server)
    assert contents(output_folder(f"s3://{BUCKET}/refused")) == {}


def test_credentials_that_expire_in_the_middle_are_named_and_the_next_run_ends_the_work(
    server: str, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def expire(*arguments: Any, **frames: Any) -> Any:
        proxy.refuses = 1.0
        return split_and_score(*arguments, **frames)

    with Proxy(server) as proxy, monkeypatch.context() as patched:
        proxy.refusal = 400, "ExpiredToken"
        reach(patched, proxy.url)
        patched.setattr("qa_pipeline.pipeline.stages.split_and_score", expire)
        ran = run_small(f"s3://{BUCKET}/expired")
    assert ran.code == BAD_INPUT
    assert "credentials" in ran.stderr
    reach(monkeypatch, server)
    expired = output_folder(f"s3://{BUCKET}/expired")
    assert {"documents", "pairs"} <= {path.name for path in (expired / "tables").iterdir()}
    assert not (expired / "tables" / "claims").exists()
    assert run_small(str(expired)).code == OK
    assert contents(expired) == undisturbed


@pytest.mark.parametrize("hours", [-1, 48])
def test_a_clock_that_is_wrong_is_named_before_any_work(
    server: str, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    now = botocore.auth.get_current_datetime
    wrong = lambda *options: now(*options) + timedelta(hours=hours)  # noqa: E731
    monkeypatch.setattr(botocore.auth, "get_current_datetime", wrong)
    ran = run_small(f"s3://{BUCKET}/late")
    assert ran.code == BAD_INPUT
    assert "clock" in ran.stderr


def test_an_address_where_no_store_answers_is_named_after_some_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    reach(monkeypatch, PORT_OF_NOBODY)
    ran = run_small(f"s3://{BUCKET}/nowhere")
    assert (ran.code, f"s3://{BUCKET}/nowhere" in ran.stderr) == (BAD_INPUT, True)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.usefixtures("undisturbed")
def test_a_release_that_is_killed_is_whole_or_not_there(seed: int) -> None:
    releases = output_folder(STEADY) / "releases"
    delete(releases)
    with subprocess.Popen(
        [sys.executable, "-c", "from qa_pipeline.cli import start; start()", "release", "--out", STEADY],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wanted = random.Random(seed).randint(1, 10)  # files of 14
        deadline = time.monotonic() + 300
        while process.poll() is None and time.monotonic() < deadline:
            if len([*releases.rglob("*.*")]) >= wanted:
                break
        process.kill()
    is_out = any(releases.glob("*/manifest.json"))  # the pointer is written after it
    assert invoke("verify", f"{STEADY}/releases").code == (OK if is_out else BAD_INPUT)
    assert invoke("release", "--out", STEADY).code == OK
    assert invoke("verify", f"{STEADY}/releases").code == OK
    numbers = {name.split("/")[0] for name in contents(releases)} - {"latest.json"}
    assert all((releases / number / "manifest.json").is_file() for number in numbers)
