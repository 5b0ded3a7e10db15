"""Models whose abilities are known, each a function of a row."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.abilities.outcomes import ability_figures, judge_answers, read_suite
from qa_pipeline.evaluation.abilities.suites import (
    ABILITIES,
    COUNTERFACTUAL,
    INTEGRATION,
    NOISE,
    RATIOS,
    REJECTION,
    build_suite,
)
from qa_pipeline.evaluation.running import evaluation_settings
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.prompts.loading import refusal
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.evaluation.boilers import boiler_source
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import deciding

Row = dict[str, Any]
Model = Callable[[Row], str | None]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    path = tmp_path_factory.mktemp("suite") / "suite.jsonl"
    path.write_bytes(build_suite([boiler_source()], 6).lines())
    return read_suite(path).items


@pytest.fixture(scope="module")
def resources(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    found = evaluation_settings(Settings(out=tmp_path_factory.mktemp("out")))
    return Resources(found, embedder=HashEmbedder())


def answered(suite: pl.DataFrame, model: Model) -> pl.DataFrame:
    said = [model(row) for row in suite.iter_rows(named=True)]
    return suite.with_columns(answer=pl.Series(said, dtype=pl.String))


def values(
    suite: pl.DataFrame, resources: Resources, model: Model
) -> dict[tuple[str, str, str], float | None]:
    figures = ability_figures(judge_answers(answered(suite, model), resources))
    return {
        (one["ability"], one["difficulty"], one["figure"]): one["value"]
        for one in figures
        if one["language"] == "all"
    }


def refuses(row: Row) -> str:
    return refusal(row["language"])


def copies_what_holds_the_truth(row: Row) -> str:
    claims = [one["claim"] for one in row["true_claims"] or []]
    held = [one["text"] for one in row["contexts"] if any(claim in one["text"] for claim in claims)]
    return "\n".join(held) or refuses(row)


def copies_the_first(row: Row) -> str:
    return str(row["contexts"][0]["text"])


def test_a_model_that_copies_the_relevant_passages_is_right_at_every_ratio(
    suite: pl.DataFrame, resources: Resources
) -> None:
    found = values(suite, resources, copies_what_holds_the_truth)
    assert [found[NOISE, str(ratio), "accuracy"] for ratio in RATIOS] == [1.0] * 5
    assert found[REJECTION, "converted", "rejection"] == 1.0
    assert found[INTEGRATION, "joined", "accuracy"] == found[INTEGRATION, "joined", "coverage"] == 1.0


def test_a_model_that_refuses_all_rejects_all_and_is_right_of_nothing_else(
    suite: pl.DataFrame, resources: Resources
) -> None:
    found = values(suite, resources, refuses)
    assert found.pop((REJECTION, "converted", "rejection")) == 1.0
    assert {value for (*_, figure), value in found.items() if figure == "refused"} == {1.0}
    rest = {value for (*_, figure), value in found.items() if figure != "refused"}
    assert rest == {0.0, None}  # nothing noticed could be corrected


def test_a_model_that_copies_the_first_context_is_fooled_by_every_counterfactual(
    suite: pl.DataFrame, resources: Resources
) -> None:
    found = values(suite, resources, copies_the_first)
    for difficulty in ("alone", "beside"):
        assert found[COUNTERFACTUAL, difficulty, "fooled"] == 1.0
        assert found[COUNTERFACTUAL, difficulty, "detection"] == 0.0
        assert found[COUNTERFACTUAL, difficulty, "accuracy"] == 0.0
    assert found[REJECTION, "converted", "rejection"] == 0.0


def test_a_model_that_says_what_errs_and_what_is_true_notices_and_corrects(
    suite: pl.DataFrame, resources: Resources
) -> None:
    def corrects(row: Row) -> str:
        planted = row["planted"] or {"true": "", "false": ""}
        return f"{planted['true']} That the first document says otherwise is wrong: {planted['false']}"

    found = values(suite, resources, corrects)
    for figure, value in (("detection", 1.0), ("correction", 1.0), ("accuracy", 1.0), ("fooled", 0.0)):
        assert found[COUNTERFACTUAL, "beside", figure] == value


def test_a_model_that_says_what_each_of_two_sources_states_notices_and_does_not_correct(
    suite: pl.DataFrame, resources: Resources
) -> None:
    def tells_both(row: Row) -> str:
        planted = row["planted"] or {"true": "", "false": ""}
        return f"One passage: {planted['false']} Another passage: {planted['true']}"

    found = values(suite, resources, tells_both)
    assert found[COUNTERFACTUAL, "beside", "detection"] == 1.0
    assert found[COUNTERFACTUAL, "beside", "correction"] == 0.0


def test_garbage_is_right_of_nothing_and_no_error(suite: pl.DataFrame, resources: Resources) -> None:
    found = values(suite, resources, lambda _: "\x00 ]]> <b>zxq</b> \u202e 1e999 ###")
    assert set(found.values()) == {0.0, None}


def test_rows_without_an_answer_are_counted_apart_and_in_no_share(
    suite: pl.DataFrame, resources: Resources
) -> None:
    places = iter(range(suite.height))

    def answers_every_other(row: Row) -> str | None:
        return copies_what_holds_the_truth(row) if next(places) % 2 else None

    outcomes = judge_answers(answered(suite, answers_every_other), resources)
    figures = ability_figures(outcomes)
    for one in figures:
        if one["figure"] == "accuracy" and one["ability"] == NOISE:
            assert one["value"] in (1.0, None)
            assert one["rows"] + one["errors"] == 6
    assert sum(one["errors"] for one in figures if one["figure"] == "rejection") > 0
    none = ability_figures(judge_answers(answered(suite, lambda _: None), resources))
    assert {(one["value"], one["rows"]) for one in none} == {(None, 0)}


@given(st.randoms(use_true_random=False))
def test_figures_do_not_depend_on_the_order_of_rows_and_lie_within_their_intervals(
    suite: pl.DataFrame, resources: Resources, random: Any
) -> None:
    outcomes = judge_answers(answered(suite, copies_the_first), resources)
    shuffled = outcomes.sample(fraction=1.0, shuffle=True, seed=random.randrange(1000))
    figures, again = ability_figures(outcomes), ability_figures(shuffled)
    assert [one["value"] for one in figures] == [pytest.approx(one["value"]) for one in again]
    for one in figures:
        if one["value"] is not None:
            assert 0 <= one["low"] <= one["value"] <= one["high"] <= 1


SAID = {
    "It holds 340.": True,
    "In the tank of the Kestrel boiler there are 340 litres of water.": True,
    "The Kestrel boiler does not hold 340 litres of clean water in its tank.": False,
    "The Kestrel boiler holds 341 litres of clean water in its tank.": False,
    "It stands in the cellar.": False,
}


def test_an_answer_in_other_words_counts_and_one_that_denies_the_claim_does_not(
    suite: pl.DataFrame, resources: Resources
) -> None:
    asked = "How many litres of clean water does the tank of the Kestrel boiler hold?"
    row = suite.filter(query=asked, category=NOISE, difficulty="0.8")
    rows = pl.concat([row.with_columns(id=pl.lit(said), answer=pl.lit(said)) for said in SAID])
    outcomes = judge_answers(rows, resources)
    assert dict(zip(SAID, outcomes["right"], strict=True)) == SAID


def test_a_verifying_model_decides_what_the_rules_leave_open(
    suite: pl.DataFrame, resources: Resources
) -> None:
    asked = "How many litres of clean water does the tank of the Kestrel boiler hold?"
    said = "In the tank of the Kestrel boiler there may be 340 litres of water."
    row = suite.filter(query=asked, category=NOISE, difficulty="0.8").with_columns(answer=pl.lit(said))
    assert judge_answers(row, resources).select("right", "decided_by").row(0) == (True, ["words"])
    rejecting = ScriptedModel(deciding("reject"))
    decided = judge_answers(row, resources, rejecting)
    assert decided.select("right", "decided_by").row(0) == (False, ["llm"])
    assert len(rejecting.asked) == 1


def test_rows_that_are_none_of_a_suite_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = build_suite([boiler_source()], 1).lines()
    path.write_bytes(lines + b'{"query": "Why?", "contexts": ["a"], "category": "' + NOISE.encode() + b'"}\n')
    assert read_suite(path).left_out.height == 0
    path.write_bytes(lines + b'{"query": "Why?", "contexts": ["a"], "category": "fact"}\n')
    left = read_suite(path).left_out
    assert left.select("reason", "rows").row(0) == ("no_row_of_a_suite", 1)
    assert set(read_suite(path).items["category"]) == set(ABILITIES)
    with pytest.raises(InputError, match="cannot be read"):
        read_suite(tmp_path / "no.jsonl")
