"""What is wrong with keys, models, caps, prices and stores, by way of the command line and a server."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK, STOPPED
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Workspace, new_workspace
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.fake_server.responses import Asked
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.support.servers import GeminiServer

LONG = "# Long\n\n" + "The valve of the boiler is opened by hand. " * 40
PREFIX = "QA_PIPELINE_"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made = new_workspace(tmp_path, monkeypatch)
    made.write({"boilers/guide.md": GUIDE})
    monkeypatch.setenv("GEMINI_API_KEY", LOOPBACK_KEY)
    monkeypatch.setenv("OPENAI_API_KEY", LOOPBACK_KEY)
    monkeypatch.setenv(f"{PREFIX}LLM__MAX_TRIES", "1")
    return made


@contextmanager
def served(monkeypatch: pytest.MonkeyPatch, plan: ServerPlan | None = None) -> Iterator[GeminiServer]:
    """A sensible server, which the settings name."""
    with GeminiServer(plan=plan) as server:
        monkeypatch.setenv(f"{PREFIX}LLM__BASE_URL", server.url)
        yield server


def _tokens(asked: Asked) -> int:
    """As the server counts them."""
    return math.ceil(len(asked.system) / 4) + math.ceil(len(asked.prompt) / 4)


def _fields(asked: Asked) -> dict[str, object]:
    fields: dict[str, object] = asked.config["responseJsonSchema"]["properties"]
    return fields


def run(workspace: Workspace, *options: str) -> Ran:
    return workspace.run("--provider", "gemini", *(options or ("--max-calls", "100")))


@pytest.mark.slow
def test_a_model_nobody_knows_stops_the_run_and_is_named(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(monkeypatch, ServerPlan(models={"gemini-x": 1000})):
        ran = run(workspace)
    assert ran.code == STOPPED
    assert "gemini-3-flash-preview" in ran.stderr
    assert "llm.model" in ran.stderr


@pytest.mark.slow
def test_a_prompt_that_is_too_long_is_a_row_that_names_its_chunk_and_others_go_on(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write({"boilers/long.md": LONG})
    with served(monkeypatch) as server:
        assert run(workspace).code in (OK, FAILED)
        lengths = [_tokens(asked) for asked in server.asked if "questions" in _fields(asked)]
    shorter = Workspace(workspace.corpus, workspace.out.parent / "shorter")
    with served(monkeypatch, ServerPlan(input_limit=max(lengths) - 1)):
        ran = run(shorter)
    assert ran.code in (OK, FAILED), ran.stderr
    questions = shorter.table("questions", "boilers")
    failed = questions.filter(questions["reason"] == "context_too_long").to_dicts()
    assert failed
    for row in failed:
        assert row["target_chunk_ids"][0] in row["detail"]
    assert questions.filter(questions["status"] == "kept").height


@pytest.mark.slow
def test_a_cap_on_tokens_stops_the_run_before_it_is_passed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{PREFIX}LLM__MAX_OUTPUT_TOKENS", "1000")
    monkeypatch.setenv(f"{PREFIX}LLM__BUDGET__MAX_TOKENS", "12000")
    with served(monkeypatch):
        stopped = run(workspace)
        assert stopped.code == STOPPED
        assert "max_tokens" in stopped.stderr
        calls = workspace.table("llm_calls", "boilers")
        assert 0 < calls.select("input_tokens", "output_tokens").sum_horizontal().sum() <= 12_000
        monkeypatch.setenv(f"{PREFIX}LLM__BUDGET__MAX_TOKENS", "10000000")
        assert run(workspace).code == OK


def test_a_cap_on_cost_where_the_price_is_not_known_asks_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(monkeypatch) as server:
        ran = run(workspace, "--max-cost", "1")
    assert (ran.code, server.stats.asked) == (BAD_INPUT, 0)
    assert "max_tokens" in ran.stderr


@pytest.mark.slow
def test_two_runs_of_different_settings_on_one_store_take_no_reply_of_each_other(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(monkeypatch) as server:
        assert run(workspace).code == OK
        first = server.stats.asked
        monkeypatch.setenv(f"{PREFIX}LLM__THINKING_LEVEL", "low")
        assert run(workspace).code == OK
        assert server.stats.asked == 2 * first
        monkeypatch.delenv(f"{PREFIX}LLM__THINKING_LEVEL")
        assert run(workspace).code == OK
        assert server.stats.asked == 2 * first
