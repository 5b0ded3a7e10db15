"""A whole run against the sensible server: its replies carry it from documents to training examples."""

from pathlib import Path

import pytest

from qa_pipeline.cli import OK
from qa_pipeline.llm.fake_server.server import LOOPBACK_KEY, GeminiServer
from qa_pipeline_tests.road import GUIDE, walk


def test_a_run_accepts_the_pairs_that_the_server_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with GeminiServer() as server:
        monkeypatch.setenv("GEMINI_API_KEY", LOOPBACK_KEY)
        road = walk(tmp_path, monkeypatch, [("LLM__BASE_URL", server.url)])
        road.write({"boilers/guide.md": GUIDE})
        ran = road.run("--provider", "gemini", "--max-calls", "50")
    assert ran.code == OK, ran.stderr
    verdicts = road.table("verdicts", "boilers")["verdict"].to_list()
    assert verdicts.count("accepted") == len(verdicts) >= 2
