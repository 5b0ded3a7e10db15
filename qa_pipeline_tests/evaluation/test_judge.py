import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.cli.common import PENDING
from qa_pipeline.errors import (
    InputError,
    KeyRejectedError,
    PendingReplyError,
    RepliesPendingError,
    UnreadableReplyError,
)
from qa_pipeline.evaluation.judge import compare_responses, score_answers
from qa_pipeline.evaluation.judge_figures import Document, paired_figures, rated_figures
from qa_pipeline.evaluation.judged_datasets import read_judged
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.records import JudgeReply, PairwiseReply
from qa_pipeline.resources import Resources
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import JudgingSettings
from qa_pipeline_tests.end_to_end import invoke
from qa_pipeline_tests.evaluation.labelled_files import Row, write_lines
from qa_pipeline_tests.support.scripted import ScriptedModel, ScriptedReply

LLM = LLMSettings(seed=7)


def rated_row(number: int, **changes: Any) -> Row:
    """The better the answer, the more often it says so; people rate it by that."""
    good = number % 3
    return {
        "id": f"r{number}",
        "dataset": "ratings",
        "language": "en",
        "passage": "The pump was built in Lund.",
        "question": f"Where was pump {number} built" + "?" * (number % 2 + 1),
        "answer": "In Lund. " * (good + 1),
        "group_id": f"g{number // 3}",
        "answer_consistency": float(good + 1),
        "fluency": 3.0,
        **changes,
    }


def paired_row(number: int, **changes: Any) -> Row:
    """Response a is better in two of three, and longer in every second."""
    long, short = "It was built in Lund, a town in Sweden.", "Lund."
    first, second = (long, short) if number % 2 else (short, long)
    return {
        "id": f"p{number}",
        "dataset": "choices",
        "language": "sv",
        "prompt": f"Where was pump {number} built?",
        "response_a": f"{first} [good]" if number % 3 else first,
        "response_b": second if number % 3 else f"{second} [good]",
        "preferred": "a" if number % 3 else "b",
        **changes,
    }


def scored(play: Any, rows: list[Row], folder: Path, repeats: int = 1) -> Document:
    rated, _, _ = read_judged([write_lines(folder / "ratings.jsonl", rows)])
    said = score_answers(rated, ScriptedModel(play), JudgingSettings(), LLM, repeats)
    (found,) = rated_figures(rated, said, resamples=50)
    return found


def compared(play: Any, rows: list[Row], folder: Path, repeats: int = 1) -> Document:
    _, paired, _ = read_judged([write_lines(folder / "choices.jsonl", rows)])
    said = compare_responses(paired, ScriptedModel(play), JudgingSettings(), LLM, repeats)
    (found,) = paired_figures(paired, said, resamples=50)
    return found


def scores(value: float) -> JudgeReply:
    return JudgeReply(reasoning="So.", relevance=value, correctness=value, completeness=value)


def by_sense(request: Request[Any]) -> ScriptedReply:
    return scores((request.answer or "").count("Lund") / 3)


def chooses(preferred: str) -> PairwiseReply:
    return PairwiseReply.model_validate({"reasoning": "So.", "preferred": preferred})


def by_mark(request: Request[Any]) -> ScriptedReply:
    return chooses("first" if request.prompt.index("[good]") < request.prompt.index("<second-") else "second")


def test_a_judge_that_sees_what_people_see_agrees_with_them(tmp_path: Path) -> None:
    found = scored(by_sense, [rated_row(n) for n in range(30)], tmp_path)
    by_name = {(one["score"], one["rating"]): one for one in found["agreements"]}
    assert by_name["overall", "answer_consistency"]["spearman"]["value"] == pytest.approx(1.0)
    assert by_name["correctness", "answer_consistency"]["kendall"]["value"] == pytest.approx(1.0)
    assert by_name["overall", "fluency"]["spearman"]["value"] is None
    assert set(by_name) == {
        (score, rating)
        for score in ("relevance", "correctness", "completeness", "overall")
        for rating in ("fluency", "answer_consistency")
    }
    assert found["asked"]["failed"] == {}
    assert (found["repeats"]["repeats"], found["repeats"]["identical"]) == (1, None)


def test_a_judge_that_pays_for_length_is_found_out(tmp_path: Path) -> None:
    def by_length(request: Request[Any]) -> ScriptedReply:
        return scores(min(1.0, len(request.question or "") / 40))

    found = scored(by_length, [rated_row(n) for n in range(60)], tmp_path)
    of_question = next(one for one in found["verbosity"] if one["length"] == "question")
    assert of_question["judge"]["value"] == pytest.approx(1.0)
    assert of_question["beyond"]["value"] == pytest.approx(1.0)
    assert of_question["people"]["value"] is not None
    assert abs(of_question["people"]["value"]) < 0.3


def test_replies_that_fail_are_counted_and_the_others_are_measured(tmp_path: Path) -> None:
    def sometimes(request: Request[Any]) -> ScriptedReply:
        blocked = zlib.crc32((request.question or "").encode()) % 4 == 0
        return UnreadableReplyError("blocked_safety", "no") if blocked else by_sense(request)

    found = scored(sometimes, [rated_row(n) for n in range(40)], tmp_path)
    failed = found["asked"]["failed"]["blocked_safety"]
    assert 0 < failed < 40
    assert {one["items"] for one in found["agreements"]} == {40 - failed}


def test_repeats_are_asked_with_other_seeds_and_their_spread_is_reported(tmp_path: Path) -> None:
    def moody(request: Request[Any]) -> ScriptedReply:
        assert request.seed is not None
        return scores(0.5 + 0.1 * (request.seed - LLM.seed))

    found = scored(moody, [rated_row(n) for n in range(6)], tmp_path, repeats=3)
    assert found["repeats"]["identical"] == 0.0
    assert found["repeats"]["deviation"] == pytest.approx(0.1)
    steady = scored(by_sense, [rated_row(n) for n in range(6)], tmp_path, repeats=3)
    assert (steady["repeats"]["identical"], steady["repeats"]["items"]) == (1.0, 6)


def test_an_unbiased_judge_keeps_its_choice_when_places_change(tmp_path: Path) -> None:
    found = compared(by_mark, [paired_row(n) for n in range(30)], tmp_path)
    assert found["agreement"]["value"] == found["agreement_decided"]["value"] == 1.0
    assert found["inconsistent"]["value"] == 0.0
    assert found["first_share"]["value"] == 0.5
    assert found["kendall"]["value"] == pytest.approx(1.0)
    assert found["longer_beyond"]["value"] == pytest.approx(0.0)


def test_a_judge_that_takes_the_first_is_found_out(tmp_path: Path) -> None:
    found = compared(lambda _: chooses("first"), [paired_row(n) for n in range(30)], tmp_path)
    assert found["first_share"]["value"] == 1.0
    assert found["inconsistent"]["value"] == 1.0
    assert found["agreement"]["value"] == 0.5
    assert found["kendall"]["value"] is None


def test_a_judge_that_takes_the_longer_is_found_out(tmp_path: Path) -> None:
    def longer(request: Request[Any]) -> ScriptedReply:
        first, second = (request.prompt.index(f"<{place}-") for place in ("first", "second"))
        end = request.prompt.index("</second-")
        return chooses("first" if second - first > end - second + 18 else "second")

    found = compared(longer, [paired_row(n) for n in range(30)], tmp_path)
    assert found["longer_judge"]["value"] == 1.0
    assert found["longer_people"]["value"] is not None
    assert found["longer_beyond"]["value"] == pytest.approx(1 - found["longer_people"]["value"])


def test_ties_are_choices_of_their_own(tmp_path: Path) -> None:
    rows = [paired_row(n, preferred="tie" if n % 2 else "a") for n in range(10)]
    found = compared(lambda _: chooses("tie"), rows, tmp_path)
    assert found["agreement"]["value"] == 0.5
    assert found["agreement_decided"]["value"] is None
    assert found["first_share"]["value"] is None


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (rated_row(50, answer_consistency=None, fluency=None), "missing_field"),
        (rated_row(50, fluency="high"), "wrong_type"),
        (rated_row(50, fluency=float("nan")), "wrong_type"),
        (rated_row(50, group_id=None), "missing_field"),
        (rated_row(50, answer="\ud800"), "broken_text"),
        (rated_row(50, question=" "), "empty_field"),
        (rated_row(1), "duplicate_id"),
        ("{", "broken_line"),
    ],
)
def test_a_rating_that_cannot_be_used_is_counted(row: Any, reason: str, tmp_path: Path) -> None:
    rated, _, left_out = read_judged([write_lines(tmp_path / "ratings.jsonl", [rated_row(1), row])])
    assert rated.height == 1
    assert left_out["reason"].to_list() == [reason]


def test_a_choice_that_is_none_is_counted_and_a_file_of_such_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "choices.jsonl", [paired_row(1), paired_row(2, preferred="both")])
    _, paired, left_out = read_judged([path])
    assert (paired.height, left_out["reason"].to_list()) == (1, ["wrong_type"])
    assert paired["group_id"].to_list() == paired["prompt"].to_list()
    with pytest.raises(InputError, match="row 1: preferred is missing; it should hold which one"):
        read_judged([write_lines(tmp_path / "none.jsonl", [{**paired_row(1), "preferred": None}])])


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    folder = tmp_path / "judge"
    folder.mkdir()
    write_lines(folder / "ratings.jsonl", [rated_row(n) for n in range(12)])
    write_lines(folder / "choices.jsonl", [paired_row(n) for n in range(12)])
    return folder


class Waiting:
    """A judge that delivers in batch jobs, and has delivered nothing yet."""

    name = "waiting"

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        raise PendingReplyError("awaited")

    async def submit(self) -> None:
        raise RepliesPendingError("12 replies are awaited", requests=12)


def by_role(request: Request[Any]) -> ScriptedReply:
    return by_sense(request) if request.reply_model is JudgeReply else by_mark(request)


def test_the_command_measures_the_judge_of_the_settings(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Resources, "reviewer", lambda *_: ScriptedModel(by_role))
    options = ("--out", tmp_path / "out", "--resamples", "20", "--repeats", "2")
    ran = invoke("eval", "judge", "--data", bench, *map(str, options), "--json")
    assert ran.code == 0
    told = json.loads(ran.stdout)
    assert (told["judge"], told["repeats"], told["left_out"]) == ("scripted", 2, [])
    assert told["paired"][0]["agreement"]["value"] == 1.0
    assert told["rated"][0]["asked"]["replies"] == 24
    ran = invoke("eval", "judge", "--data", bench, *map(str, options))
    for word in ("ratings: Kendall's tau-b", "answer_consistency", "choice changes with the order", "100.0%"):
        assert word in ran.stdout
    assert max(len(line.rstrip()) for line in ran.stdout.splitlines()) <= 110


def test_without_a_judge_the_setting_to_set_is_named(bench: Path, tmp_path: Path) -> None:
    ran = invoke("eval", "judge", "--data", bench, "--out", tmp_path / "out")
    assert (ran.code, "QA_PIPELINE_LLM__JUDGE__PROVIDER" in ran.stderr) == (2, True)


def test_replies_that_are_awaited_end_the_command_with_a_code_of_their_own(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Resources, "reviewer", lambda *_: Waiting())
    ran = invoke("eval", "judge", "--data", bench, "--out", tmp_path / "out")
    assert (ran.code, "12 replies are awaited" in ran.stderr) == (PENDING, True)


def test_a_judge_that_refuses_all_stops_the_command(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = ScriptedModel(lambda _: KeyRejectedError("the key is wrong"))
    monkeypatch.setattr(Resources, "reviewer", lambda *_: refusing)
    ran = invoke("eval", "judge", "--data", bench, "--out", tmp_path / "out")
    assert (ran.code, "the key is wrong" in ran.stderr) == (3, True)
