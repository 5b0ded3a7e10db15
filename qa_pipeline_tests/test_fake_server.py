"""A whole run against the sensible server: its replies carry it from documents to training examples."""

import json
from pathlib import Path

import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import OK
from qa_pipeline_tests.end_to_end import GUIDE, new_workspace
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.support.servers import GeminiServer


def test_a_run_accepts_the_pairs_that_the_server_made_and_says_that_they_are_fake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with GeminiServer() as server:
        monkeypatch.setenv("GEMINI_API_KEY", LOOPBACK_KEY)
        workspace = new_workspace(tmp_path, monkeypatch, [("LLM__BASE_URL", server.url)])
        workspace.write({"boilers/guide.md": GUIDE.replace(HOLDS, "")})  # the judge wants whole passages
        ran = workspace.run("--provider", "gemini", "--max-calls", "50")
        before = workspace.contents("boilers")
        assert workspace.run("--provider", "gemini", "--max-calls", "0").code == OK
        assert workspace.contents("boilers") == before
    assert ran.code == OK, ran.stderr
    verdicts = workspace.table("verdicts", "boilers")["verdict"].to_list()
    assert verdicts.count("accepted") == len(verdicts) >= 2
    makers = (("questions", "model"), ("pairs", "generator"), ("assessments", "judge"))
    named = [name for table, column in makers for name in workspace.table(table, "boilers")[column]]
    provenance = workspace.table("training_examples", "boilers")["provenance"].struct
    named += [name for field in ("generator", "judge") for name in provenance.field(field)]
    assert all(name is not None and name.startswith("fake-gemini/") for name in named)


HOLDS = "The Kestrel 4 is a boiler that holds 36 litres of water.\n"
PAIRS = {
    "question": "What is known of the boiler?",
    "answer": "The lower valve drains the boiler; the switch cuts the power.",
    "citations": ["guide.md"],
}


def test_answers_are_cut_by_the_model_paid_once_and_counted_under_their_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [("VERIFICATION__SPLIT_CLAIMS", "model")]
    with GeminiServer() as server:
        monkeypatch.setenv("GEMINI_API_KEY", LOOPBACK_KEY)
        workspace = new_workspace(tmp_path, monkeypatch, [("LLM__BASE_URL", server.url), *settings])
        workspace.write({"boilers/guide.md": GUIDE, "boilers/pairs.jsonl": json.dumps(PAIRS)})
        assert workspace.run("--provider", "gemini", "--max-calls", "50").code == OK
        calls = workspace.table("llm_calls", "boilers").filter(pl.col("role") == "split")
        claims = workspace.table("claims", "boilers")
        assert calls.height == calls["request_key"].n_unique() == claims["pair_id"].n_unique()
        assert set(claims["split_by"]) == {"model"}
        cut = claims.filter(pl.col("text").str.starts_with("the switch"))
        assert cut["text"].to_list() == ["the switch cuts the power."]
        before = workspace.contents("boilers")
        assert workspace.run("--provider", "gemini", "--max-calls", "0").code == OK
        assert workspace.contents("boilers") == before
