"""The command against the loopback server: real HTTP, replies made from the requests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK, STOPPED
from qa_pipeline.records import AnswerReply
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Workspace, invoke, new_workspace
from qa_pipeline_tests.fake_server import chat, gemini
from qa_pipeline_tests.fake_server.replies import sensible_text
from qa_pipeline_tests.fake_server.responses import Asked, ServerResponse
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.fake_server.service import Dialect
from qa_pipeline_tests.support.servers import ChatServer, GeminiServer

VALIDATED = (
    "--compare", "generation.enable_reference_validation=true",
    "--compare", "generation.validation_strategy=embedding",
    "--compare", "generation.validation_similarity=1",
)  # fmt: skip
GEMINI = ("--provider", "gemini", "--max-calls", "200")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made = new_workspace(tmp_path, monkeypatch)
    made.write({"boilers/guide.md": GUIDE, "pumps/guide.md": GUIDE.replace("boiler", "pump")})
    monkeypatch.setenv("GEMINI_API_KEY", LOOPBACK_KEY)
    monkeypatch.setenv("OPENAI_API_KEY", LOOPBACK_KEY)
    return made


@pytest.fixture
def server(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[GeminiServer]:
    with GeminiServer() as served:
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", served.url)
        yield served


def measure(workspace: Workspace, *options: str) -> Ran:
    return invoke("eval", "generation", workspace.corpus, "--out", workspace.out, *options)


def figures(ran: Ran) -> dict[str, Any]:
    assert ran.code == OK, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def share(found: dict[str, Any], what: str) -> dict[str, Any]:
    return next(one for one in found["shares"] if one["what"] == what)


def test_the_figures_are_those_of_the_tables(workspace: Workspace, server: GeminiServer) -> None:
    found = figures(measure(workspace, *GEMINI, "--set", "verification.round_trip=true", "--json"))
    assert set(found["batches"]) == {"boilers", "pumps"}
    verdicts = pl.concat([workspace.table("verdicts", one) for one in found["batches"]])
    accepted = share(found["all"], "accepted")
    assert (accepted["count"], accepted["of"]) == ((verdicts["verdict"] == "accepted").sum(), verdicts.height)
    assert accepted["count"] > 0
    assert found["all"]["cost"]["calls"] == server.stats.answered > 0
    trips = pl.concat([workspace.table("round_trips", one) for one in found["batches"]])
    assert share(found["all"], "solver_agrees")["of"] == trips["agrees"].count()
    assert share(found["all"], "memorised")["of"] == trips["memorised"].count() > 0
    for what in ("accepted", "quotes_exact", "sections_covered", "questions_kept"):
        parts = [share(one, what) for one in found["batches"].values()]
        whole = share(found["all"], what)
        assert [sum(one[name] for one in parts) for name in ("count", "of")] == [whole["count"], whole["of"]]


def test_changed_settings_are_held_against_the_same_questions_which_are_not_paid_for_again(
    workspace: Workspace, server: GeminiServer
) -> None:
    found = figures(measure(workspace, *GEMINI, *VALIDATED, "--json"))
    compared = found["compared"]
    assert compared["questions"]["both"] == share(found["all"], "questions_written")["count"] > 0
    assert (compared["questions"]["without_only"], compared["questions"]["changed_only"]) == (0, 0)
    refused = compared["all"]["guard"]
    assert {(one["guarded_by"], one["guard_passed"]) for one in refused} == {("validation", False)}
    assert compared["accepted"]["without_only"] == share(found["all"], "accepted")["count"]
    assert compared["mcnemar_p"] == pytest.approx(2 * 0.5 ** compared["accepted"]["without_only"])
    asked = server.stats.answered
    assert server.stats.repeats == 0
    assert compared["all"]["cost"] is None  # all refused: no answer is drafted, none is judged
    again = measure(workspace, *GEMINI, *VALIDATED, "--json")
    assert (figures(again), server.stats.answered) == (found, asked)


def test_what_a_changed_run_asks_is_counted_as_its_own(workspace: Workspace, server: GeminiServer) -> None:
    found = figures(measure(workspace, *GEMINI, "--compare", "judging.temperature=0.5", "--json"))
    alone, changed = found["all"]["cost"], found["compared"]["all"]["cost"]
    assert alone["calls"] + changed["calls"] == server.stats.answered
    assert [one["stage"] for one in changed["stages"]] == ["judge", "all"]


@pytest.mark.parametrize("provider", ["gemini", "openai"])
def test_repeats_are_sent_with_other_seeds_and_their_spread_is_told(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    dialect: Dialect = gemini if provider == "gemini" else chat
    kind = GeminiServer if provider == "gemini" else ChatServer

    def reply(asked: Asked) -> ServerResponse:
        schema = asked.schema or {}
        if asked.config["seed"] == 8 and "coverage" in schema["properties"]:
            refused = AnswerReply(coverage="none", answer="Not here.", used_chunks=[], citations=[])
            return dialect.reply(asked, refused.model_dump_json())
        return dialect.reply(asked, sensible_text(asked))

    with kind(reply) as server:
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", server.url)
        options = ("--provider", provider, "--model", "m", "--max-calls", "200", "--set", "llm.seed=7")
        alone = ("--set", "generation.answers=from_passages")
        found = figures(measure(workspace, *options, *alone, "--repeat", "3", "--json"))
        assert {one.config["seed"] for one in server.asked} == {7, 8, 9}
    repeats = found["repeats"]
    accepted = next(one for one in repeats["shares"] if one["what"] == "accepted")
    assert (accepted["known"], accepted["least"]) == (3, 0)
    assert accepted["most"] == share(found["all"], "accepted")["share"] > 0
    assert accepted["deviation"] > 0
    assert repeats["questions"]["in_all"] == repeats["questions"]["in_any"] > 0
    assert repeats["questions"]["same_outcome"] < 1


def test_the_cap_on_calls_holds_for_all_runs_together_and_a_higher_one_goes_on(
    workspace: Workspace, server: GeminiServer
) -> None:
    figures(measure(workspace, *GEMINI, "--json"))
    first = server.stats.answered
    fresh = Workspace(workspace.corpus, workspace.out.with_name("fresh"))
    capped = ("--provider", "gemini", "--max-calls", str(first + 2), "--repeat", "2", "--json")
    stopped = measure(fresh, *capped)
    assert (stopped.code, server.stats.answered) == (STOPPED, 2 * first + 2)
    assert "llm.budget.max_calls" in stopped.stderr
    found = figures(measure(fresh, *GEMINI, "--repeat", "2", "--json"))
    assert found["repeats"]["runs"] == 2
    assert server.stats.answered == 3 * first


def test_a_person_sees_the_same_figures(workspace: Workspace) -> None:
    ran = measure(workspace, *VALIDATED, "--repeat", "2")
    assert ran.code == OK, ran.stderr
    for words in (
        "Questions by type, asked for and delivered", "Shares over all batches", "Shares by batch",
        "Shares over 2 runs", "Questions that ended otherwise", "exact McNemar test",
    ):  # fmt: skip
        assert words in ran.stdout


def test_a_batch_without_its_tables_is_named_and_the_others_are_measured(workspace: Workspace) -> None:
    figures(measure(workspace, "--json"))
    (workspace.out / "tables" / "questions" / "pumps.parquet").write_bytes(b"no table")
    ran = measure(workspace, "--repeat", "2", "--json")
    found = json.loads(ran.stdout)
    assert (ran.code, set(found["batches"]), set(found["incomplete"])) == (FAILED, {"boilers"}, {"pumps"})
    assert "pumps.parquet" in found["incomplete"]["pumps"]


def test_a_corpus_that_gives_no_question_has_unknown_shares(workspace: Workspace) -> None:
    workspace.write({"empty/none.md": ""})
    ran = measure(workspace, "--batch", "empty", "--repeat", "2", "--compare", "retrieval.top_k=2")
    assert ran.code == OK, ran.stderr
    assert "no question was accepted by one alone" in ran.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--compare", "generation.require_round_trip=true"), "changes nothing"),
        (("--compare", "generation.guards=1"), "generation.guards"),
        (("--compare", "nonsense"), "PATH=VALUE"),
        (("--batch", "nowhere"), "no batch 'nowhere'"),
        (("--provider", "gemini"), "cap"),
    ],
)
def test_what_cannot_be_measured_is_said_before_anything_runs(
    workspace: Workspace, options: tuple[str, ...], said: str
) -> None:
    ran = measure(workspace, *options)
    assert (ran.code, said in ran.stderr, workspace.out.exists()) == (BAD_INPUT, True, False), ran.stderr
