"""Whole runs whose replies come in batch jobs: run, wait, run again, and the same tables in the end."""

import hashlib
import json
from pathlib import Path

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK, PENDING, STOPPED
from qa_pipeline_tests.end_to_end import GUIDE, Workspace, invoke, new_workspace
from qa_pipeline_tests.fake_server.gemini import says
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.fake_server.replies import sensible_text
from qa_pipeline_tests.fake_server.responses import Asked, Script, ServerResponse
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.support.replies import stops
from qa_pipeline_tests.support.servers import GeminiServer

PAID = ("--provider", "gemini", "--max-calls", "200")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("GEMINI_API_KEY", LOOPBACK_KEY)
    made = new_workspace(tmp_path, monkeypatch, [("LLM__DELIVERY", "batch")])
    made.write({"boilers/guide.md": GUIDE, "pumps/guide.md": GUIDE.replace("boiler", "pump")})
    return made


def run_to_the_end(workspace: Workspace, most: int = 12) -> list[int]:
    """Exit codes of runs until none is pending."""
    codes: list[int] = []
    while len(codes) < most:
        codes.append(workspace.run(*PAID).code)
        if codes[-1] != PENDING:
            return codes
    raise AssertionError(f"still pending after {most} runs")


def test_a_run_goes_on_each_time_its_replies_have_come(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with GeminiServer(plan=ServerPlan(batch_polls=0)) as server:
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", server.url)
        codes = run_to_the_end(workspace)
    # questions, answers, then a verifier or judge
    assert codes[-1] == OK
    assert len(codes) >= 3
    assert server.stats.asked == 0
    assert workspace.table("verdicts", "boilers")["verdict"].to_list().count("accepted") >= 2


def test_what_is_awaited_is_reported_on_the_screen_in_json_and_by_its_own_code(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with GeminiServer(plan=ServerPlan(batch_polls=99)) as server:
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", server.url)
        ran = workspace.run(*PAID)
        assert ran.code == PENDING
        assert "boilers pending: " in ran.stdout
        assert "replies awaited from batch jobs" in ran.stdout
        again = workspace.run(*PAID, "--json")
        outcomes = json.loads(again.stdout)["outcomes"]
        assert [outcome["outcome"] for outcome in outcomes] == ["pending", "pending"]
        listed = invoke("jobs", "--out", workspace.out)
        assert listed.code == OK
        assert listed.stdout.count("submitted") == 2
        found = json.loads(invoke("jobs", "--out", workspace.out, "--json").stdout)["jobs"]
        assert [(job["batch"], job["role"], job["state"]) for job in found] == [
            ("boilers", "questions", "submitted"),
            ("pumps", "questions", "submitted"),
        ]


def faulty(asked: Asked) -> ServerResponse:
    """Good and bad replies, which depend on nothing but what is asked."""
    draw = hashlib.sha256(asked.prompt.encode()).digest()[0] % 8
    good = says(sensible_text(asked))
    bad = [says("no JSON at all"), stops("SAFETY"), says('{"half', finish="MAX_TOKENS"), says("{}")]
    return bad[draw] if draw < len(bad) else good


def tables(workspace: Workspace) -> dict[str, str]:
    """All files but the account of calls and the tombstones, which have times."""
    timed = ("llm_calls", "tombstone")
    return {
        name: digest for name, digest in workspace.contents().items() if not any(one in name for one in timed)
    }


@pytest.mark.parametrize("play", [None, faulty])
def test_both_ways_of_delivery_give_the_same_bytes(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, play: Script | None
) -> None:
    workspace.write({f"boilers/{n}.md": GUIDE.replace("10 minutes", f"{n} minutes") for n in range(20, 26)})
    now = Workspace(workspace.corpus, tmp_path / "now")
    with GeminiServer(play, plan=ServerPlan(batch_polls=0)) as server:
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", server.url)
        code = run_to_the_end(workspace)[-1]
        monkeypatch.setenv("QA_PIPELINE_LLM__DELIVERY", "now")
        assert now.run(*PAID).code == code
    assert tables(workspace) == tables(now)
    reasons = workspace.table("questions", "boilers")["reason"].drop_nulls().to_list()
    assert bool(set(reasons) & {"blocked_safety", "truncated", "not_json", "schema_breach"}) == (
        play is faulty
    )
    assert len(workspace.contents()) > 20


def test_jobs_are_collected_without_a_run(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QA_PIPELINE_LLM__BUDGET__MAX_CALLS", "100")
    with GeminiServer(plan=ServerPlan(batch_polls=0)) as server:
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", server.url)
        workspace.run(*PAID)
        monkeypatch.setenv("QA_PIPELINE_LLM__PROVIDER", "gemini")
        listed = invoke("jobs", "--out", workspace.out, "--collect")
        assert (listed.code, listed.stdout.count("collected")) == (OK, 2)


def test_without_any_job_the_list_says_so(workspace: Workspace) -> None:
    assert "No batch job" in invoke("jobs", "--out", workspace.out).stdout


def test_a_key_that_is_refused_stops_the_run(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with GeminiServer() as server:
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", server.url)
        monkeypatch.setenv("GEMINI_API_KEY", "another-key")
        ran = workspace.run(*PAID)
    assert (ran.code, "rejects the key" in ran.stderr) == (STOPPED, True)
    assert "another-key" not in ran.stderr + ran.stdout
    assert json.loads(invoke("jobs", "--out", workspace.out, "--json").stdout)["jobs"] == []


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("VERIFIER__PROVIDER", "openai", "works with provider gemini only"),
        ("VERTEX_PROJECT", "p", "Vertex AI"),
    ],
)
def test_what_has_no_batch_jobs_is_refused_before_the_run(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(f"QA_PIPELINE_LLM__{name}", value)
    ran = workspace.run(*PAID)
    assert (ran.code, told in ran.stderr) == (BAD_INPUT, True)


def test_existing_pairs_are_checked_in_rounds_as_well(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = workspace.corpus.parent / "pairs.jsonl"
    row = {
        "question": "How long do you wait to drain the boiler?",
        "answer": "To drain the boiler, open the lower valve and wait 10 minutes.",
        "citations": ["guide.md"],
    }
    pairs.write_text(json.dumps(row) + "\n")
    codes: list[int] = []
    with GeminiServer(plan=ServerPlan(batch_polls=0)) as server:
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", server.url)
        while not codes or codes[-1] == PENDING:
            ran = invoke(
                "validate", pairs, "--corpus", workspace.corpus / "boilers", "--out", workspace.out, *PAID
            )
            codes.append(ran.code)
    assert (codes[0], codes[-1]) == (PENDING, OK)
    assert server.stats.asked == 0
    assert workspace.table("assessments", "boilers")["status"].to_list() == ["judged"]
