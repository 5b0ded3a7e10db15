"""A hosted model end to end, over the real client and a loopback server: good days and bad ones."""

import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import FAILED, OK, STOPPED
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Workspace, new_workspace
from qa_pipeline_tests.fake_server.gemini import fails, says
from qa_pipeline_tests.fake_server.responses import Asked, ServerResponse
from qa_pipeline_tests.support.replies import blocks_prompt, html_page
from qa_pipeline_tests.support.sensible import FACTS, Play, Sensible, role_of


@pytest.fixture
def model(hosted_model: Sensible) -> Sensible:
    return hosted_model


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Sensible) -> Workspace:
    """A batch, boilers, that was not yet run."""
    made = new_workspace(tmp_path, monkeypatch)
    made.write({"boilers/guide.md": GUIDE})
    return made


def run(workspace: Workspace, *options: str) -> Ran:
    return workspace.run("--provider", "gemini", "--max-calls", "50", *options)


def stubborn(role: str, play: ServerResponse) -> Play:
    """Play this at the first request of a role, and whenever it is asked again."""
    first: list[str] = []

    def instead(asked: Asked) -> ServerResponse | None:
        if role_of(asked) != role:
            return None
        first[:] = first or [asked.prompt]
        return play if asked.prompt.startswith(first[0]) else None

    return instead


def scores(workspace: Workspace) -> list[dict[str, Any]]:
    return workspace.table("verdicts", "boilers").select("verdict", "reason", "composite").to_dicts()


def test_pairs_are_written_verified_judged_and_accepted_with_their_composite_score(
    hosted_workspace: Workspace,
) -> None:
    roles = hosted_workspace.table("llm_calls", "boilers")["role"]
    assert Counter(roles) == {"questions": 2, "answer": 2, "split": 1, "verify": 1, "judge": 2}
    composite = 0.3 * 1 + 0.2 * 0.9 + 0.3 * 1.0 + 0.2 * 0.8
    accepted = {"verdict": "accepted", "reason": "passed", "composite": pytest.approx(composite)}
    assert scores(hosted_workspace) == [accepted] * 2
    decided = hosted_workspace.table("claim_verdicts", "boilers").select("verdict", "decided_by").rows()
    assert decided == [("supported", "quotation"), ("supported", "llm")]
    assert hosted_workspace.table("training_examples", "boilers").height == 2


def test_a_second_run_asks_nothing_and_changes_no_byte(hosted_workspace: Workspace, model: Sensible) -> None:
    before = hosted_workspace.contents()
    assert run(hosted_workspace, "--force", "--max-calls", "0").code == OK
    assert (hosted_workspace.contents(), model.calls.total()) == (before, 0)


@pytest.fixture
def checked(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The same batch with canaries."""
    monkeypatch.setenv("QA_PIPELINE_CANARIES__ENABLED", "true")
    return workspace


def verdicts_of_canaries(workspace: Workspace) -> Counter[tuple[str, str]]:
    judged = workspace.table("canaries", "boilers").filter(asks="judge")
    return Counter(judged.select("expected", "verdict").rows())


def test_a_judge_that_gives_the_same_scores_to_all_judges_nothing(
    checked: Workspace, model: Sensible
) -> None:
    ran = run(checked)
    assert (ran.code, "boilers waiting: 2 " in ran.stdout) == (OK, True), ran.stderr
    assert verdicts_of_canaries(checked) == {("rejected", "accepted"): 5, ("accepted", "accepted"): 2}
    assert model.calls["judge"] == 2 + 5  # the good ones are the pairs themselves
    rows = checked.table("verdicts", "boilers").select("verdict", "reason").rows()
    assert rows == [("needs_review", "judge_not_trusted")] * 2
    assert checked.table("training_examples", "boilers").height == 0
    assert set(checked.table("assessments", "boilers")["pair_id"]) == {
        *checked.table("pairs", "boilers")["pair_id"]
    }


def test_no_reply_to_a_canary_is_no_pass(checked: Workspace, model: Sensible) -> None:
    answers = [paraphrase or sentence for sentence, paraphrase in FACTS.values()]

    def instead(asked: Asked) -> ServerResponse | None:
        question, answer = re.findall(r"<(?:question|answer)-\w+>\n(.*?)\n</", asked.prompt, re.DOTALL)[-2:]
        is_pair = question in FACTS and answer == answers[list(FACTS).index(question)]
        return None if is_pair else says('{"relevance": 1.0}')

    model.instead = lambda asked: instead(asked) if role_of(asked) == "judge" else None
    assert run(checked).code == OK
    assert verdicts_of_canaries(checked) == {("rejected", "failed"): 5, ("accepted", "accepted"): 2}
    assert {row["reason"] for row in scores(checked)} == {"passed"}


def test_a_verifier_without_a_usable_reply_is_not_tested_on_canaries(
    checked: Workspace, model: Sensible
) -> None:
    model.instead = lambda asked: says("{") if role_of(asked) == "verify" else None

    assert run(checked).code == OK

    assert model.calls["verify"] == 2  # the claims of the pairs, and once more
    reasons = checked.table("claim_verdicts", "boilers")["llm_decision"].drop_nulls()
    assert set(reasons) == {"not_json"}


def ask_failures_again(workspace: Workspace) -> None:
    """What a person does who wants replies that could not be used to be asked for again."""
    layout = Layout(workspace.out)
    with closing(sqlite3.connect(layout.replies)) as store, store:
        store.execute("DELETE FROM replies WHERE outcome <> 'replied'")
    shutil.rmtree(layout.finished("boilers").parent, ignore_errors=True)  # as run --force does


@pytest.mark.parametrize(
    ("role", "play", "table", "reason"),
    [
        ("questions", says("Sure! Here you go: {"), "questions", "not_json"),
        ("answer", says('{"coverage": "fu', finish="MAX_TOKENS"), "pairs", "truncated"),
        ("verify", blocks_prompt(), "claim_verdicts", "blocked_safety"),
        ("judge", says('{"relevance": 1.5, "[red]x": 1}'), "assessments", "schema_breach"),
    ],
)
def test_a_reply_that_cannot_be_used_is_a_row_with_its_reason_and_is_paid_for_once(
    workspace: Workspace, model: Sensible, role: str, play: ServerResponse, table: str, reason: str
) -> None:
    model.instead = stubborn(role, play)
    ran = run(workspace)
    assert ran.code == OK
    assert "[red]x" not in ran.stdout
    key = "target_chunk_ids" if table == "questions" else "reason"  # a reply of several questions is one
    stopped = workspace.table(table, "boilers").filter(pl.col("reason") == reason)
    assert stopped[key].n_unique() == 1
    assert [row["verdict"] for row in scores(workspace)].count("accepted") == 1
    asked, before = model.calls.total(), workspace.contents()
    assert run(workspace).code == OK
    assert (model.calls.total(), workspace.contents()) == (asked, before)


@pytest.mark.slow
def test_a_model_that_could_not_be_reached_is_asked_again_in_the_next_run(
    workspace: Workspace, model: Sensible
) -> None:
    model.instead = stubborn("judge", html_page())
    assert run(workspace).code == OK
    assert workspace.table("assessments", "boilers")["reason"].to_list().count("model_unavailable") == 1
    model.instead = lambda asked: None
    assert run(workspace).code == OK
    assert [row["verdict"] for row in scores(workspace)] == ["accepted"] * 2


@pytest.mark.slow
def test_a_server_that_stays_away_stops_the_run_and_its_rows_stay_to_be_done(
    workspace: Workspace, model: Sensible, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QA_PIPELINE_LLM__WAIT_MINUTES", "0")
    model.instead = lambda asked: fails(503, "Loading model") if role_of(asked) == "judge" else None
    stopped = run(workspace)
    assert stopped.code == STOPPED
    assert "Loading model" in stopped.stderr
    assert not (workspace.out / "tables" / "assessments").exists()
    paid = model.calls.copy()
    model.instead = lambda asked: None
    assert run(workspace).code == OK
    assert model.calls - paid == Counter(judge=2)
    assert [row["verdict"] for row in scores(workspace)] == ["accepted"] * 2


def test_a_model_that_answers_nothing_fails_the_batch_and_a_later_run_finds_its_way(
    workspace: Workspace, model: Sensible
) -> None:
    model.instead = lambda asked: says('{"a": 1}')
    ran = run(workspace)
    assert (ran.code, "2 of 2" in ran.stdout) == (FAILED, True)
    assert not (workspace.out / "tables" / "training_examples").exists()
    model.instead = lambda asked: None
    ask_failures_again(workspace)
    assert run(workspace).code == OK
    assert [row["verdict"] for row in scores(workspace)] == ["accepted"] * 2


@pytest.mark.parametrize("key", [None, "s3cret"])
def test_a_missing_or_wrong_key_stops_the_run_before_anything_is_asked_and_is_not_shown(
    workspace: Workspace, model: Sensible, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    monkeypatch.delenv("GEMINI_API_KEY")
    if key:
        monkeypatch.setenv("GEMINI_API_KEY", key)
    ran = run(workspace)
    assert ran.code == STOPPED
    assert "GEMINI_API_KEY" in ran.stderr
    assert "s3cret" not in ran.stdout + ran.stderr
    assert model.calls.total() == 0


def test_the_cap_stops_the_run_and_the_next_one_goes_on_from_there(
    workspace: Workspace, model: Sensible
) -> None:
    stopped = run(workspace, "--max-calls", "3")
    assert stopped.code == STOPPED
    assert "QA_PIPELINE_LLM__BUDGET__MAX_CALLS" in stopped.stderr
    assert run(workspace).code == OK
    assert dict(model.calls) == {"questions": 2, "answer": 2, "split": 1, "verify": 1, "judge": 2}
