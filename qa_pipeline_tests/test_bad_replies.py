"""A hosted model end to end, over the real client and a loopback server: good days and bad ones."""

import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK, STOPPED
from qa_pipeline.records import (
    AnswerReply,
    ClaimReply,
    DraftCitation,
    DraftQuestion,
    QuestionsReply,
    VerifyReply,
)
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Workspace, new_workspace
from qa_pipeline_tests.fake_server.gemini import fails, rejects_key, says
from qa_pipeline_tests.fake_server.responses import Asked, ServerResponse
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.support.replies import blocks_prompt, html_page
from qa_pipeline_tests.support.servers import GeminiServer
from qa_pipeline_tests.verdict_replies import claims_in, scored_reply

FACTS = {
    "How is the boiler drained?": ("To drain the boiler, open the lower valve and wait 10 minutes.", None),
    "What is a residual-current device?": (
        "A residual-current device is a switch that cuts the power when current leaks to earth.",
        "Such a device is a switch that stops the electricity when current escapes into the ground.",
    ),
}
"""Questions, the sentence of the guide that answers each, and the answer where it is put in other words."""
ROLES = {"questions": "questions", "coverage": "answer", "verdicts": "verify", "relevance": "judge"}
Play = Callable[[Asked], ServerResponse | None]


def role_of(asked: Asked) -> str:
    properties = asked.config["responseJsonSchema"]["properties"]
    return next(role for name, role in ROLES.items() if name in properties)


class Sensible:
    """Reads the prompts and answers them well, unless `instead` has something else to say."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.instead: Play = lambda asked: None

    def __call__(self, asked: Asked) -> ServerResponse:
        role = role_of(asked)
        self.calls[role] += 1
        return self.instead(asked) or getattr(self, role)(asked.prompt)

    def questions(self, prompt: str) -> ServerResponse:
        fitting = [question for question, (sentence, _) in FACTS.items() if sentence in prompt]
        drafts = [DraftQuestion(question=question, question_type="fact_single") for question in fitting]
        return says(QuestionsReply(questions=drafts))

    def answer(self, prompt: str) -> ServerResponse:
        sentence, paraphrase = next(fact for question, fact in FACTS.items() if question in prompt)
        passages = re.findall(r"<passage-(\d+)-\w+>(.*?)</passage-", prompt, re.DOTALL)
        number = next(int(number) for number, text in passages if sentence in text)
        cited = [DraftCitation(passage=number, quote=sentence)]
        text = paraphrase or sentence
        return says(AnswerReply(coverage="full", answer=text, used_chunks=[number], citations=cited))

    def verify(self, prompt: str) -> ServerResponse:
        shown = [text.strip() for text in re.findall(r"<passage-\d+-\w+>(.*?)</passage-", prompt, re.DOTALL)]
        quotes = [text.rpartition("\n\n")[2] for text in shown]
        answers = {paraphrase or sentence for sentence, paraphrase in FACTS.values()}
        return says(
            VerifyReply(
                verdicts=[
                    ClaimReply(
                        claim=number,
                        reasoning="It says the same in other words.",
                        quotes=quotes,
                        decision="accept" if claim in answers else "reject",
                    )
                    for number, claim in claims_in(prompt)
                ]
            )
        )

    def judge(self, prompt: str) -> ServerResponse:
        return says(scored_reply(0.9, correctness=1.0, completeness=0.8))


@pytest.fixture
def model() -> Sensible:
    return Sensible()


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Sensible) -> Iterator[Workspace]:
    """A boilers batch, and a server at the other end of the line."""
    with GeminiServer(model) as server:
        monkeypatch.setenv("GEMINI_API_KEY", LOOPBACK_KEY)
        settings = [("LLM__BASE_URL", server.url), ("LLM__MAX_TRIES", "1"), ("LLM__WORKERS", "1")]
        settings.append(("CANARIES__ENABLED", "false"))  # the judge gives the same scores to all
        settings.append(("GENERATION__ANSWERS", "from_passages"))  # so that bad answers have calls too
        workspace = new_workspace(tmp_path, monkeypatch, settings)
        workspace.write({"boilers/guide.md": GUIDE})
        yield workspace


def run(workspace: Workspace, *options: str) -> Ran:
    return workspace.run("--provider", "gemini", "--max-calls", "50", *options)


def once(role: str, play: ServerResponse) -> Play:
    """Play this at the first request of a role and nothing special after it."""
    left = [play]
    return lambda asked: left.pop() if left and role_of(asked) == role else None


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
    workspace: Workspace, model: Sensible
) -> None:
    ran = run(workspace)
    assert ran.code == OK, ran.stderr
    assert dict(model.calls) == {"questions": 2, "answer": 2, "verify": 1, "judge": 2}
    composite = 0.3 * 1 + 0.2 * 0.9 + 0.3 * 1.0 + 0.2 * 0.8
    accepted = {"verdict": "accepted", "reason": "passed", "composite": pytest.approx(composite)}
    assert scores(workspace) == [accepted] * 2
    decided = workspace.table("claim_verdicts", "boilers").select("verdict", "decided_by").rows()
    assert decided == [("supported", "alignment"), ("supported", "llm")]
    assert workspace.table("training_examples", "boilers").height == 2


def test_a_second_run_asks_nothing_and_changes_no_byte(workspace: Workspace, model: Sensible) -> None:
    run(workspace)
    before, asked = workspace.contents(), model.calls.total()
    assert run(workspace).code == OK
    assert (workspace.contents(), model.calls.total()) == (before, asked)


@pytest.fixture
def checked(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The same batch with canaries."""
    monkeypatch.setenv("QA_PIPELINE_CANARIES__ENABLED", "true")
    return workspace


def verdicts_of_canaries(workspace: Workspace) -> Counter[tuple[str, str]]:
    judged = workspace.table("canaries", "boilers").filter(asks="judge")
    return Counter(judged.select("expected", "verdict").rows())


def test_a_judge_that_gives_the_same_scores_to_all_judges_nothing(checked: Workspace) -> None:
    ran = run(checked)
    assert ran.code == OK, ran.stderr
    assert "boilers waiting: 2 verified pairs wait for a judge" in ran.stdout
    canaries = verdicts_of_canaries(checked)
    assert canaries == {("rejected", "accepted"): 4, ("accepted", "accepted"): 2}
    rows = checked.table("verdicts", "boilers").select("verdict", "reason").rows()
    assert rows == [("needs_review", "judge_not_trusted")] * 2
    assert checked.table("training_examples", "boilers").height == 0


def test_canaries_are_no_pairs_and_another_run_pays_nothing_for_them(
    checked: Workspace, model: Sensible
) -> None:
    run(checked)
    assert model.calls["judge"] == 2 + 4  # the good ones are the pairs themselves
    canaries = checked.table("canaries", "boilers")
    pairs = set(checked.table("pairs", "boilers")["pair_id"])
    assert set(checked.table("verdicts", "boilers")["pair_id"]) == pairs
    assert set(checked.table("assessments", "boilers")["pair_id"]) == pairs
    assert not pairs & set(canaries["canary_id"])
    before, asked = checked.contents(), model.calls.total()
    assert run(checked).code == OK
    assert (checked.contents(), model.calls.total()) == (before, asked)


def test_no_reply_to_a_canary_is_no_pass(checked: Workspace, model: Sensible) -> None:
    answers = [paraphrase or sentence for sentence, paraphrase in FACTS.values()]

    def instead(asked: Asked) -> ServerResponse | None:
        question, answer = re.findall(r"<(?:question|answer)-\w+>\n(.*?)\n</", asked.prompt, re.DOTALL)[-2:]
        is_pair = question in FACTS and answer == answers[list(FACTS).index(question)]
        return None if is_pair else says('{"relevance": 1.0}')

    model.instead = lambda asked: instead(asked) if role_of(asked) == "judge" else None
    assert run(checked).code == OK
    assert verdicts_of_canaries(checked) == {("rejected", "failed"): 4, ("accepted", "accepted"): 2}
    assert {row["reason"] for row in scores(checked)} == {"passed"}


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
    model.instead = lambda asked: None
    ask_failures_again(workspace)
    assert run(workspace).code == OK
    assert [row["verdict"] for row in scores(workspace)] == ["accepted"] * 2
    assert model.calls.total() - asked <= 4  # the failed call, and what rests on its reply


def test_a_reply_that_says_something_with_coverage_none_is_checked_as_an_answer(
    workspace: Workspace, model: Sensible
) -> None:
    answer = "Napoleon painted Jupiter purple in 1832."
    statement = AnswerReply(coverage="none", answer=answer, used_chunks=[], citations=[])
    model.instead = stubborn("answer", says(statement))
    assert run(workspace).code == OK
    pairs = workspace.table("pairs", "boilers").filter(pl.col("answer") == answer)
    (row,) = pairs.join(workspace.table("verdicts", "boilers"), on="pair_id").to_dicts()
    assert (row["coverage"], row["verdict"]) == ("partial", "rejected")
    assert answer not in workspace.table("training_examples", "boilers")["answer"].to_list()


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
    assert ran.code == FAILED
    assert "generation: the questions of 2 of 2" in ran.stdout
    assert not (workspace.out / "tables" / "training_examples").exists()
    model.instead = lambda asked: None
    ask_failures_again(workspace)
    assert run(workspace).code == OK
    assert [row["verdict"] for row in scores(workspace)] == ["accepted"] * 2


@pytest.mark.parametrize(("key", "told"), [(None, "no key is set"), ("s3cret", "rejects the key")])
def test_a_missing_or_wrong_key_stops_the_run_before_anything_is_asked_and_is_not_shown(
    workspace: Workspace, model: Sensible, monkeypatch: pytest.MonkeyPatch, key: str | None, told: str
) -> None:
    monkeypatch.delenv("GEMINI_API_KEY")
    if key:
        monkeypatch.setenv("GEMINI_API_KEY", key)
    ran = run(workspace)
    assert ran.code == STOPPED
    assert told in ran.stderr
    assert "GEMINI_API_KEY" in ran.stderr
    assert "s3cret" not in ran.stdout + ran.stderr
    assert model.calls.total() == 0


def test_a_key_revoked_in_the_middle_stops_the_run_and_what_was_paid_for_is_kept(
    workspace: Workspace, model: Sensible
) -> None:
    model.instead = once("judge", rejects_key())
    assert run(workspace).code == STOPPED
    paid = model.calls.copy()
    assert run(workspace).code == OK
    assert model.calls - paid == Counter(judge=2)
    assert [row["verdict"] for row in scores(workspace)] == ["accepted"] * 2


def test_the_cap_stops_the_run_and_the_next_one_goes_on_from_there(
    workspace: Workspace, model: Sensible
) -> None:
    stopped = run(workspace, "--max-calls", "3")
    assert stopped.code == STOPPED
    assert "higher QA_PIPELINE_LLM__BUDGET__MAX_CALLS" in stopped.stderr
    assert run(workspace).code == OK
    assert dict(model.calls) == {"questions": 2, "answer": 2, "verify": 1, "judge": 2}


def test_no_cap_no_call_where_calls_may_cost_money(
    workspace: Workspace, model: Sensible, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QA_PIPELINE_LLM__BASE_URL")
    ran = workspace.run("--provider", "gemini")
    assert (ran.code, model.calls.total()) == (BAD_INPUT, 0)
    assert "--max-calls" in ran.stderr
