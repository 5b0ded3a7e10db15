import json
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline.records import DraftTriple, TriplesReply
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Workspace, invoke, new_workspace
from qa_pipeline_tests.fake_server.gemini import says
from qa_pipeline_tests.fake_server.responses import Asked, ServerResponse
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.support.servers import GeminiServer

DEVICE = "A residual-current device is a switch that cuts the power when current leaks to earth."


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made = new_workspace(tmp_path, monkeypatch)
    made.write({"boilers/guide.md": GUIDE})
    assert made.run().code == OK
    return made


def reply(asked: Asked) -> ServerResponse:
    drafts = [("residual-current device", "is", "a switch"), ("residual-current device", "costs", "9 euros")]
    is_shown = DEVICE in asked.prompt
    triples = [
        DraftTriple(quote=DEVICE, subject=subject, predicate=predicate, object=value)
        for subject, predicate, value in drafts
        if is_shown
    ]
    return says(TriplesReply(triples=triples))


def written(workspace: Workspace, to: Path) -> tuple[Ran, list[dict[str, Any]]]:
    ran = invoke("triples", "--out", workspace.out, "--to", to, "--provider", "gemini", "--max-calls", "9")
    assert ran.code == OK, ran.stderr
    return ran, [json.loads(line) for line in to.read_text("utf-8").splitlines()]


def test_triples_of_a_run_are_written_with_their_proof_and_paid_once(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = workspace.contents("boilers")
    text = workspace.table("documents", "boilers")["text"][0]
    with GeminiServer(reply) as server:
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", server.url)
        monkeypatch.setenv("GEMINI_API_KEY", LOOPBACK_KEY)
        ran, rows = written(workspace, tmp_path / "triples.jsonl")
        calls = len(server.asked)
        assert written(workspace, tmp_path / "again.jsonl")[1] == rows
        assert len(server.asked) == calls
    accepted, rejected = rows
    assert text[accepted["start"] : accepted["end"]] == accepted["quote"] == DEVICE
    assert (rejected["status"], rejected["reason"]) == ("rejected", "object_not_in_quote")
    assert "2 rows of" in ran.stdout
    assert workspace.contents("boilers") == tables


def test_without_a_model_or_a_run_nothing_is_written(workspace: Workspace, tmp_path: Path) -> None:
    to = tmp_path / "triples.jsonl"
    offline = invoke("triples", "--out", workspace.out, "--to", to)
    assert (offline.code, "triples need a model" in offline.stderr) == (BAD_INPUT, True)
    empty = invoke("triples", "--out", tmp_path / "nothing", "--to", to)
    assert (empty.code, "holds no such chunks" in empty.stderr) == (BAD_INPUT, True)
    assert not to.exists()
