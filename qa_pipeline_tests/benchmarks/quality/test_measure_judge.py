import zlib
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.errors import KeyRejectedError, UnreadableReplyError
from qa_pipeline.llm.base import Request
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import JudgingSettings
from qa_pipeline_tests.benchmarks.conftest import RunMain
from qa_pipeline_tests.benchmarks.quality.measure_judge import Document, main, rated_figures, score_answers
from qa_pipeline_tests.benchmarks.quality.rated_answers import read_rated
from qa_pipeline_tests.evaluation.labelled_files import Row, write_lines
from qa_pipeline_tests.support.scripted import ScriptedModel, ScriptedReply
from qa_pipeline_tests.verdict_replies import scored_reply

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


def scored(play: Any, rows: list[Row], folder: Path, repeats: int = 1) -> Document:
    rated, _, _ = read_rated([write_lines(folder / "ratings.jsonl", rows)])
    said = score_answers(rated, ScriptedModel(play), JudgingSettings(), LLM, repeats)
    (found,) = rated_figures(rated, said, resamples=50)
    return found


def by_sense(request: Request[Any]) -> ScriptedReply:
    return scored_reply((request.answer or "").count("Lund") / 3)


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
        return scored_reply(min(1.0, len(request.question or "") / 40))

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
        return scored_reply(0.5 + 0.1 * (request.seed - LLM.seed))

    found = scored(moody, [rated_row(n) for n in range(6)], tmp_path, repeats=3)
    assert found["repeats"]["identical"] == 0.0
    assert found["repeats"]["deviation"] == pytest.approx(0.1)
    steady = scored(by_sense, [rated_row(n) for n in range(6)], tmp_path, repeats=3)
    assert (steady["repeats"]["identical"], steady["repeats"]["items"]) == (1.0, 6)


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
    rated, _, left_out = read_rated([write_lines(tmp_path / "ratings.jsonl", [rated_row(1), row])])
    assert rated.height == 1
    assert left_out["reason"].to_list() == [reason]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "ratings.jsonl", [rated_row(n) for n in range(12)])


def test_the_judge_of_the_settings_is_measured(
    bench: Path, tmp_path: Path, run_main: RunMain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Resources, "reviewer", lambda *_: ScriptedModel(by_sense))
    figures = run_main(main, bench, "--out", tmp_path / "out", "--resamples", "20", "--repeats", "2")
    assert (figures["judge"], figures["left_out"]) == ("scripted", [])
    (ratings,) = figures["sets"]
    assert ratings["asked"]["replies"] == 24
    assert {"score", "rating", "items", "spearman", "kendall"} == set(ratings["agreements"][0])


def test_without_a_judge_the_setting_to_set_is_named(bench: Path, tmp_path: Path, run_main: RunMain) -> None:
    with pytest.raises(SystemExit, match="QA_PIPELINE_LLM__JUDGE__PROVIDER"):
        run_main(main, bench, "--out", tmp_path / "out")


def test_a_judge_that_refuses_all_ends_the_run_with_its_reason(
    bench: Path, tmp_path: Path, run_main: RunMain, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = ScriptedModel(lambda _: KeyRejectedError("the key is wrong"))
    monkeypatch.setattr(Resources, "reviewer", lambda *_: refusing)
    with pytest.raises(SystemExit, match="the key is wrong"):
        run_main(main, bench, "--out", tmp_path / "out")
