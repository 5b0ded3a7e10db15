"""The server as a process of its own."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT
from qa_pipeline_tests.end_to_end import GUIDE, invoke, new_workspace

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "qa_pipeline_tests.fake_server"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_is_serves_counts_and_ends_at_a_signal(tmp_path: Path, number: int) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("requests_per_minute: 0.1\nburst: 2\n")
    started = [*COMMAND, "--plan", str(plan)]
    with subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        shown = dict(process.stdout.readline().split() for _ in range(3))
        assert shown["openai"] == f"{shown['url']}/v1"
        body = json.dumps({"contents": [{"parts": [{"text": "hej"}]}]}).encode()
        request = Request(
            f"{shown['url']}/v1/models/m:generateContent", body, {"x-goog-api-key": shown["key"]}
        )
        for _ in range(2):
            with urlopen(request) as response:
                assert "candidates" in json.load(response)
        with urlopen(f"{shown['url']}/stats") as response:
            stats = json.load(response)
        process.send_signal(number)
        _, complaints = process.communicate()
    assert (process.returncode, complaints) == (0, "")
    assert (stats["asked"], stats["granted"], stats["repeats"]) == (2, 2, 1)


def test_it_ends_at_a_signal_while_somebody_waits_for_a_reply(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("latency: 600")
    with subprocess.Popen([*COMMAND, "--plan", str(plan)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        shown = dict(process.stdout.readline().split() for _ in range(3))
        port = int(shown["url"].rpartition(":")[2])
        body = b'{"contents": [{"parts": [{"text": "hej"}]}]}'
        head = f"POST /v1/models/m:generateContent HTTP/1.1\r\nHost: x\r\nx-goog-api-key: {shown['key']}\r\n"
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            while not in_flight(shown["url"]):
                pass
            process.terminate()
            process.communicate()
    assert process.returncode == 0


def in_flight(url: str) -> int:
    with urlopen(f"{url}/stats") as response:
        return int(json.load(response)["in_flight"])


def test_a_plan_that_is_none_is_refused(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("faults: {fire: 1}")
    ran = subprocess.run([*COMMAND, "--plan", str(plan)], capture_output=True, text=True, check=False)
    assert ran.returncode == BAD_INPUT
    assert "plan.yaml" in ran.stderr


def test_a_run_against_it_may_be_capped_in_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = new_workspace(tmp_path, monkeypatch)
    workspace.write({"boilers/guide.md": GUIDE})
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        shown = dict(process.stdout.readline().split() for _ in range(3))
        monkeypatch.setenv("GEMINI_API_KEY", shown["key"])
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", shown["url"])
        prices = tmp_path / "prices.yaml"
        prices.write_text(
            "currency: USD\nproviders: {gemini: {gemini-3-flash-preview: {input: 0.5, output: 3}}}\n"
        )
        options = ("--provider", "gemini", "--max-cost", "5", "--set", f"llm.budget.prices={prices}")
        ran = invoke("run", workspace.corpus, "--out", workspace.out, *options)
        process.terminate()
    assert ran.code == 0, ran.stderr + ran.stdout
    assert (workspace.table("llm_calls", "boilers")["cost"] > 0).all()
    assert "unjudged" not in workspace.table("verdicts", "boilers")["reason"].to_list()
