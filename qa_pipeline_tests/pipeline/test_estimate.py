from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.llm.budget.tokens import request_tokens
from qa_pipeline.llm.calls import calls_frame
from qa_pipeline.pipeline.estimate import MOST_SAVINGS, Estimate, estimate_run
from qa_pipeline.pipeline.expectations import IN_DOUBT
from qa_pipeline.pipeline.open_requests import made_by
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.running import run_batches
from qa_pipeline.records import Usage
from qa_pipeline.settings.generation import MixSettings
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline.settings.tree import Settings, load_settings
from qa_pipeline.storage.parquet import write_table
from qa_pipeline.storage.tables import LLM_CALLS
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.llm.budget.fakes import NOON
from qa_pipeline_tests.pipeline.scripted_replies import ScriptedReplies

CANARIES = 6  # calls of the judge besides those for pairs

WORDS = (
    "boiler", "valve", "pump", "pressure", "filter", "night", "heat", "drain", "cable", "switch", "meter",
    "panel", "frost", "sensor",
)  # fmt: skip


def guide(name: str) -> str:
    """Twelve sections about different things."""
    sections = [
        f"## The {one}\n\nThe {one} of the {name} is checked every {n + 2} weeks by a fitter. "
        f"A worn {one} leaks, and the {one} must then be replaced within {n + 1} days.\n"
        for n, one in enumerate(WORDS)
    ]
    return f"# {name} guide\n\n" + "\n".join(sections)


def settings_at(folder: Path, **llm: Any) -> Settings:
    for name in ("north", "south"):
        file = folder / "corpus" / name / "guide.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(guide(name))
    chosen = {"provider": "openai", "model": "scripted", "budget": {"max_calls": 1000}} | llm
    quality = {"min_pass_rate": 0.0}
    return load_settings(corpus=folder / "corpus", out=folder / "out", llm=chosen, quality=quality)


def estimate(settings: Settings, *batches: str) -> Estimate:
    resources = Resources(settings, embedder=HashEmbedder())
    return estimate_run(resources, batches or ("north",), now=NOON)


def run(settings: Settings, batch: str) -> ScriptedReplies:
    """Run a batch with a model that notes what each call took, and keep its calls as a real run does."""
    model = ScriptedReplies()
    resources = Resources(settings, embedder=HashEmbedder(), model=model)
    run_batches(resources, [batch])
    frame = calls_frame(model.calls, keep_prompts=False)
    write_table(resources.layout.table(LLM_CALLS.name, batch), frame, LLM_CALLS)
    return model


def tokens_of(model: ScriptedReplies) -> int:
    usages: list[Usage] = [call.usage for call in model.calls]
    return sum((usage.input_tokens or 0) + (usage.output_tokens or 0) for usage in usages)


def test_after_one_batch_the_next_is_estimated_within_a_tenth(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    run(settings, "north")
    made = estimate(settings, "south")
    actual = tokens_of(run(settings, "south"))
    assert made.total.tokens == pytest.approx(actual, rel=0.1)
    assert "corrected by earlier calls" in made.notes[0]


def test_questions_are_estimated_from_the_very_prompts_of_a_run(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    made = estimate(settings, "north")
    asked: list[Any] = []

    class Remembering(ScriptedReplies):
        async def complete(self, request: Any) -> Any:
            asked.append(request)
            return await super().complete(request)

    run_batches(Resources(settings, embedder=HashEmbedder(), model=Remembering()), ["north"])
    questions = [request for request in asked if request.role == "questions"]
    assert made.stages[0].calls == len(questions)
    assert made.stages[0].input_tokens == sum(request_tokens(request) for request in questions)


def with_generation(settings: Settings, **changes: Any) -> Settings:
    generation = settings.generation.model_copy(update=changes)
    return settings.model_copy(update={"generation": generation})


def test_cutting_answers_is_estimated_by_how_often_the_settings_want_it(tmp_path: Path) -> None:
    settings = with_generation(settings_at(tmp_path), answers="from_passages")
    calls = {}
    for mode in ("rules", "auto", "model"):
        verification = settings.verification.model_copy(update={"split_claims": mode})
        made = estimate(settings.model_copy(update={"verification": verification}))
        calls[mode] = {stage.stage: stage.calls for stage in made.stages}
    assert "split" not in calls["rules"]
    assert 0 < calls["auto"]["split"] < calls["model"]["split"] == calls["model"]["answer"]


def test_questions_of_two_hops_are_looked_at_again_and_solved_from_each_passage(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    mix = {**dict.fromkeys(settings.generation.mix.weights, 0.0), "fact_single": 0.5, "multi_hop": 0.5}
    generation = settings.generation.model_copy(update={"mix": MixSettings.model_validate(mix)})
    made = estimate(settings.model_copy(update={"generation": generation}))
    calls = {stage.stage: stage.calls for stage in made.stages}
    assert {"solve", "recall", "compare"}.isdisjoint(stage.stage for stage in estimate(settings).stages)
    assert calls["recall"] == pytest.approx((calls["judge"] - CANARIES) / 2, abs=1)
    assert calls["solve"] == pytest.approx(3 * calls["recall"], abs=1)


def test_every_further_draft_is_an_answer_more(tmp_path: Path) -> None:
    settings = with_generation(settings_at(tmp_path), answers="from_passages")
    once, thrice = (
        {stage.stage: stage.calls for stage in estimate(one).stages}
        for one in (settings, with_generation(settings, drafts_per_question=3))
    )
    assert thrice["questions"] == once["questions"]
    assert thrice["answer"] == pytest.approx(3 * once["answer"], rel=0.05)
    assert thrice["judge"] - CANARIES == pytest.approx(3 * (once["judge"] - CANARIES), rel=0.05)


def test_answers_that_come_with_their_questions_are_calls_only_where_they_are_in_doubt(
    tmp_path: Path,
) -> None:
    settings = settings_at(tmp_path)
    at_once, apart = (
        {stage.stage: stage for stage in estimate(each).stages}
        for each in (settings, with_generation(settings, answers="from_passages"))
    )
    assert at_once["answer"].calls == pytest.approx(IN_DOUBT * apart["answer"].calls, abs=1)
    assert at_once["questions"].output_tokens > 2 * apart["questions"].output_tokens
    assert at_once["judge"].calls == apart["judge"].calls


def test_the_three_largest_savings_are_named_with_their_size(tmp_path: Path) -> None:
    settings = with_generation(
        settings_at(tmp_path), answers="from_passages", drafts_per_question=2, questions_per_chunk=1
    )
    made = estimate(settings)
    tokens = {stage.stage: stage.input_tokens + stage.output_tokens for stage in made.stages}
    assert len(made.savings) == MOST_SAVINGS
    assert [saving.tokens for saving in made.savings] == sorted(
        (saving.tokens for saving in made.savings), reverse=True
    )
    sizes = {saving.change: saving.tokens for saving in made.savings}
    assert sizes["generation.answers=with_questions"] == pytest.approx(
        tokens["answer"] * (1 - IN_DOUBT) / 2, abs=1
    )
    half = sum(tokens.get(role, 0) for role in ("answer", "split", "verify", "judge")) / 2
    assert sizes["generation.drafts_per_question=1"] == pytest.approx(half, abs=1)
    assert all(saving.cost is None for saving in made.savings)


def test_batch_delivery_would_save_half_of_what_gemini_costs(tmp_path: Path) -> None:
    made = estimate(settings_at(tmp_path, provider="gemini", model="gemini-2.5-flash"))
    (batch,) = [saving for saving in made.savings if saving.change.startswith("--half-price")]
    assert made.cost is not None
    assert batch.cost == made.cost / 2
    later = estimate(settings_at(tmp_path, provider="gemini", model="gemini-2.5-flash", delivery="batch"))
    assert not any(saving.change.startswith("--half-price") for saving in later.savings)


def test_canaries_of_the_judge_are_in_the_estimate_where_they_are_switched_on(tmp_path: Path) -> None:
    def judged(**canaries: Any) -> int:
        settings = settings_at(tmp_path)
        changed = settings.canaries.model_copy(update=canaries)
        made = estimate(settings.model_copy(update={"canaries": changed}))
        return next(stage.calls for stage in made.stages if stage.stage == "judge")

    assert judged() == judged(judged=0) + 6 == judged(enabled=False) + 6


def test_an_estimate_writes_nothing_and_asks_nobody(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    assert estimate(settings).total.calls > 0
    assert not settings.out.exists()


def test_a_batch_that_has_run_would_ask_nothing_more(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    run(settings, "north")
    assert estimate(settings, "north").total.calls == 0


def test_without_a_hosted_model_nothing_is_asked(tmp_path: Path) -> None:
    made = estimate(settings_at(tmp_path, provider="extractive"))
    assert (made.stages, made.total.calls, made.cost) == ((), 0, Decimal(0))
    assert "no hosted model is asked" in made.notes[0]


def test_cost_is_that_of_the_tokens_and_null_where_nobody_knows_the_price(tmp_path: Path) -> None:
    priced = estimate(settings_at(tmp_path, model="gpt-4o-mini"))
    assert priced.cost is not None
    read = sum(stage.input_tokens for stage in priced.stages)
    written = sum(stage.output_tokens for stage in priced.stages)
    exact = (read * Decimal("0.15") + written * Decimal("0.60")) / 1_000_000
    assert float(priced.cost) == pytest.approx(float(exact), rel=0.02)
    unpriced = estimate(settings_at(tmp_path))
    assert unpriced.cost is None
    assert "No price is known for openai/scripted" in unpriced.notes[-1]


def test_the_caps_a_run_would_reach_are_named(tmp_path: Path) -> None:
    caps = {"max_calls": 5, "max_tokens_a_day": 10, "max_cost": 100.0}
    made = estimate(settings_at(tmp_path, model="gpt-4o-mini", budget=caps))
    assert [told.partition(":")[0] for told in made.stopped_by] == [
        "llm.budget.max_calls",
        "llm.budget.max_tokens_a_day",
    ]
    assert "5 are allowed" in made.stopped_by[0]


def test_a_judge_of_another_provider_is_priced_by_itself(tmp_path: Path) -> None:
    made = estimate(
        settings_at(tmp_path, model="gpt-4o-mini", judge={"provider": "gemini", "model": "gemini-2.5-pro"})
    )
    by_stage = {stage.stage: stage for stage in made.stages}
    judge, answer = by_stage["judge"], by_stage["answer"]
    assert judge.cost is not None
    assert answer.cost is not None
    assert judge.cost / judge.calls > answer.cost / answer.calls


def test_an_empty_batch_costs_nothing(tmp_path: Path) -> None:
    settings = settings_at(tmp_path, model="gpt-4o-mini")
    (tmp_path / "corpus" / "empty").mkdir()
    assert estimate(settings, "empty").cost == 0


def test_rows_of_a_fake_server_are_done_like_those_of_the_model_whose_place_it_took() -> None:
    names = ["openai/m", "openai/m@http://127.0.0.1:1", "fake-openai/m@http://127.0.0.1:1", "openai/m2", None]
    asked = made_by("model", ModelSettings(provider="openai", model="m"))
    assert pl.DataFrame({"model": names}).filter(asked)["model"].to_list() == names[:3]
