"""The command from files to a report, with hashed words in place of the heavy model."""

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline_tests.end_to_end import Ran, Workspace, invoke, new_workspace
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.support.servers import ChatServer

SAYS = "The Kestrel heats water. It was built in 1998."


def row(number: int, **values: Any) -> dict[str, Any]:
    return {
        "id": f"r{number}",
        "query": "When was it built?",
        "answer": SAYS,
        "contexts": [{"text": SAYS, "document": f"{number}.md"}],
        "category": "ab"[number % 2],
        **values,
    }


ROWS = [row(number, answer=SAYS if number % 3 else f"It fell over. {SAYS}") for number in range(6)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    new_workspace(tmp_path, monkeypatch)
    return tmp_path


def written(folder: Path, *rows: dict[str, Any], name: str = "set.jsonl") -> Path:
    path = folder / name
    path.write_text("\n".join(json.dumps(one) for one in rows), encoding="utf-8")
    return path


def run(folder: Path, *options: str | Path) -> Ran:
    return invoke("eval", "run", "--out", folder / "report", "--data", folder / "data", *options)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_a_data_set_becomes_a_report(folder: Path) -> None:
    ran = run(folder, written(folder, *ROWS), "--metric", "faithfulness", "--metric", "hallucination")
    assert ran.code == OK, ran.stderr
    assert "report.html" in ran.stdout
    found = json.loads((folder / "report" / "report.json").read_text())
    assert (found["dataset"], found["total_queries"], list(found["metrics"])) == (
        "set", 6, ["faithfulness", "hallucination"],
    )  # fmt: skip
    assert found["metrics"]["faithfulness"]["mean"] < 1
    assert found["settings"]["undecided"] == "similarity"
    assert found["settings"]["verifier"] is None
    rows = pl.read_parquet(folder / "report" / "rows.parquet")
    assert rows["id"].to_list() == [one["id"] for one in ROWS]


def test_equal_input_gives_equal_bytes_wherever_it_lies(folder: Path) -> None:
    for name in "xy":
        (folder / name).mkdir()
        assert run(folder / name, written(folder / name, *ROWS)).code == OK
    assert contents(folder / "x" / "report") == contents(folder / "y" / "report")
    text = b"".join(path.read_bytes() for path in (folder / "x" / "report").glob("report.*"))
    assert str(folder).encode() not in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--metric", "truth"], "truth"),
        (["--scorer", "model"], "--scorer model"),
        (["--set", "out=x"], "out"),
        (["--set", "verification.nothing=1"], "verification.nothing"),
    ],
)
def test_what_cannot_be_used_ends_before_anything_is_written(
    folder: Path, options: list[str], said: str
) -> None:
    ran = run(folder, written(folder, *ROWS), *options)
    assert ran.code == BAD_INPUT
    assert said in ran.stderr
    assert not (folder / "report").exists()


def test_a_release_proves_itself_though_a_split_has_no_rows(
    folder: Path, finished_workspace: Workspace
) -> None:
    assert invoke("release", "--out", finished_workspace.out).code == OK
    ran = run(folder, finished_workspace.out / "releases" / "1", "--json")
    assert ran.code == OK, ran.stderr
    found = json.loads(ran.stdout)
    assert found["total_queries"] == finished_workspace.table("training_examples", "b").height
    assert found["metrics"]["faithfulness"]["mean"] == 1


@pytest.fixture
def hosted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("OPENAI_API_KEY", LOOPBACK_KEY)
    settings = ("llm.provider=openai", "llm.model=m")
    return ["--scorer", "model", *(part for one in settings for part in ("--set", one))]


def test_a_model_decides_what_no_rule_does_and_is_paid_once(
    folder: Path, hosted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = written(
        folder, *(row(number, answer=f"A Kestrel of kind {number} makes water hot.") for number in range(3))
    )
    with ChatServer() as server:
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", server.url)
        ran = run(folder, data, *hosted, "--max-calls", "50", "--json")
        assert ran.code == OK, ran.stderr
        asked = server.stats.answered
        assert asked > 0
        assert run(folder, data, *hosted, "--max-calls", "50", "--replace").code == OK
        assert server.stats.answered == asked
    found = json.loads(ran.stdout)
    assert "m" in found["settings"]["verifier"]
    assert found["metrics"]["faithfulness"]["decided_by"].keys() & {"llm", "m", found["settings"]["verifier"]}


def test_the_model_cuts_answers_on_request_and_the_rules_still_decide(
    folder: Path, hosted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = written(folder, row(0, answer="The Kestrel heats water; it was built in 1998."))
    options = (
        *hosted[2:],
        "--set",
        "verification.split_claims=model",
        "--metric",
        "faithfulness",
        "--max-calls",
        "50",
    )
    with ChatServer() as server:
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", server.url)
        ran = run(folder, data, *options, "--json")
        assert ran.code == OK, ran.stderr
        assert server.stats.answered == 1
    settings = json.loads(ran.stdout)["settings"]
    assert (settings["split_claims"], settings["verifier"]) == ("model", None)
    assert "m" in settings["splitter"]
    told = pl.read_parquet(folder / "report" / "statements.parquet")
    answer = "The Kestrel heats water; it was built in 1998."
    assert told.height == 2
    spans = told.select("start", "end").rows()
    assert all(answer[start:end].strip() for start, end in spans)
    assert "llm" not in told["decided_by"].to_list()
