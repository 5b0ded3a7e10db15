"""The commands over a small corpus, and models under test behind real HTTP."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.evaluation.abilities.suites import COUNTERFACTUAL, NOISE, REJECTION, build_suite
from qa_pipeline.prompts.loading import refusal
from qa_pipeline.records import AnswerReply
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Workspace, invoke, new_workspace
from qa_pipeline_tests.evaluation.boilers import boiler_source
from qa_pipeline_tests.fake_server import chat
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.fake_server.responses import Asked, ServerResponse
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.support.servers import ChatServer

Figure = tuple[str, str, str]
MODELS: dict[str, Callable[[Asked], ServerResponse]] = {
    "refuses all": lambda _: chat.says(
        AnswerReply(coverage="none", answer=refusal("en"), used_chunks=[], citations=[])
    ),
    "streams garbage": lambda _: chat.says("\x00 {{{ <answer> 7 7 7"),
    "fails": lambda _: chat.fails(400, "scripted fault"),
    "never ends": lambda _: ServerResponse(200, b"{} ", drip_seconds=60),
}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("OPENAI_API_KEY", LOOPBACK_KEY)
    return new_workspace(tmp_path, monkeypatch)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.jsonl"
    path.write_bytes(build_suite([boiler_source()], 2).lines())
    return path


def measure(suite: Path, out: Path, *options: str | Path) -> Ran:
    figures = suite.with_name("figures.json")
    return invoke("eval", "abilities", "run", suite, "--to", figures, "--out", out, *options)


def measured(suite: Path) -> tuple[dict[str, Any], dict[Figure, float | None]]:
    document = json.loads(suite.with_name("figures.json").read_text(encoding="utf-8"))
    values = {
        (one["ability"], one["difficulty"], one["figure"]): one["value"]
        for one in document["figures"]
        if one["language"] == "all"
    }
    return document, values


def against(
    suite: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, model: str
) -> tuple[Ran, ChatServer]:
    with ChatServer(MODELS[model], plan=ServerPlan()) as server:
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", server.url)
        changes = ("llm.max_tries=1", "llm.timeout_seconds=0.5", "llm.workers=30")
        sets = [part for change in changes for part in ("--set", change)]
        ran = measure(
            suite, workspace.out, "--provider", "openai", "--model", "m", "--max-calls", "500", *sets
        )
        return ran, server


def test_a_suite_of_a_batch_is_built_and_the_offline_rules_are_measured_on_it(workspace: Workspace) -> None:
    devices = ("boiler", "pump", "valve", "meter", "burner", "heater")
    for place, device in enumerate(devices):
        page = GUIDE.replace("Kestrel 4", f"{device.title()} {place}").replace("boiler", device)
        page = page.replace("10", str(17 + place)).replace("residual-current device", f"{device} breaker")
        workspace.write({f"devices/{device}.md": page})
    assert workspace.run().code == OK
    suite = workspace.out.parent / "suite.jsonl"
    built = invoke("eval", "abilities", "build", workspace.out, "--to", suite, "--json")
    assert built.code == OK, built.stderr
    assert json.loads(built.stdout)["rows"] == len(suite.read_text(encoding="utf-8").splitlines())
    first = suite.read_bytes()
    assert invoke("eval", "abilities", "build", workspace.out, "--to", suite).code == OK
    assert suite.read_bytes() == first
    ran = measure(suite, workspace.out)
    assert ran.code == OK, ran.stderr
    document, _ = measured(suite)
    assert document["answered"] == document["rows_of_suite"] == len(document["rows"])
    assert "Abilities, language en" in ran.stdout


def test_a_model_that_refuses_all_is_measured_over_http_and_asked_once(
    suite: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran, server = against(suite, workspace, monkeypatch, "refuses all")
    assert ran.code == OK, ran.stderr
    document, values = measured(suite)
    assert values[REJECTION, "converted", "rejection"] == 1.0
    assert {value for (ability, _, figure), value in values.items() if figure == "accuracy"} == {0.0}
    assert document["answered_by"].startswith("openai/m")
    asked = len(server.asked)
    with ChatServer(MODELS["fails"]) as unused:
        sets = ("--set", f"llm.base_url={server.url}")
        monkeypatch.delenv("QA_PIPELINE_LLM__BASE_URL")
        again = measure(
            suite, workspace.out, "--provider", "openai", "--model", "m", "--max-calls", "0", *sets
        )
        assert (again.code, len(unused.asked), asked) == (OK, 0, document["rows_of_suite"])
    assert measured(suite)[1] == values


@pytest.mark.parametrize(
    ("model", "reason"),
    [("streams garbage", "not_json"), ("fails", "model_refused"), ("never ends", "model_unavailable")],
)
def test_a_model_that_answers_nothing_gives_a_reason_for_each_row_and_a_code(
    suite: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, model: str, reason: str
) -> None:
    ran, _ = against(suite, workspace, monkeypatch, model)
    assert ran.code == FAILED
    document, values = measured(suite)
    assert document["errors"] == {reason: document["rows_of_suite"]}
    assert set(values.values()) == {None}
    assert f"{document['rows_of_suite']} rows without an answer: {reason}" in ran.stdout


def test_answers_of_any_system_can_be_measured(suite: Path, workspace: Workspace) -> None:
    rows = [json.loads(line) for line in suite.read_text(encoding="utf-8").splitlines()]
    answered = [{**row, "answer": row["contexts"][0]["text"]} for row in rows]
    suite.write_text("\n".join(map(json.dumps, answered)), encoding="utf-8")
    ran = measure(suite, workspace.out, "--answer", "given", "--json")
    assert ran.code == OK, ran.stderr
    _, values = measured(suite)
    assert values[COUNTERFACTUAL, "beside", "fooled"] == 1.0
    assert values[NOISE, "0.0", "accuracy"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("build", "OUT", "--to", "s.jsonl"), "has no training examples; run qa-pipeline run"),
        (("run", "no.jsonl", "--to", "f.json"), "cannot be read"),
        (("run", "SUITE", "--to", "f.json", "--answer", "corpus:b"), "contexts of its own"),
        (("run", "SUITE", "--to", "f.json", "--answer", "own:f"), "not from 'own:f'"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    suite: Path, workspace: Workspace, arguments: tuple[str, ...], told: str
) -> None:
    places = {"OUT": str(workspace.out), "SUITE": str(suite)}
    ran = invoke("eval", "abilities", *(places.get(one, one) for one in arguments))
    assert ran.code == BAD_INPUT
    assert told in ran.stderr
