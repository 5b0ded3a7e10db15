import polars as pl
import pytest

from qa_pipeline.llm.calls import calls_frame
from qa_pipeline.pipeline.costs import STAGES
from qa_pipeline.pipeline.expectations import (
    FEWEST_CALLS,
    SHARE_KEPT,
    UNSET_THOUGHTS,
    default_expectations,
    learn,
    thought_tokens,
)
from qa_pipeline.records import Role, Usage
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline_tests.calls import call

DEFAULT = default_expectations(dict.fromkeys(STAGES, ModelSettings(provider="openai", model="m")), 1)
LIKELY: dict[Role, float] = dict.fromkeys(STAGES, 100.0)


def made(**counts: int) -> pl.DataFrame:
    """So many calls by role, each of 120 tokens in and 50 out."""
    roles = [role for role, count in counts.items() for _ in range(count)]
    return calls_frame(
        [call(n, role, usage=Usage(120, 50)) for n, role in enumerate(roles)],  # type: ignore[arg-type]
        keep_prompts=False,
    )


def test_enough_calls_teach_lengths_and_what_follows_from_what() -> None:
    learned = learn(
        DEFAULT,
        made(
            questions=40,
            standalone=40,
            validate=40,
            guard=40,
            answer=60,
            split=12,
            verify=30,
            solve=40,
            recall=40,
            compare=40,
            judge=50,
            evaluate=40,
        ),
        60,
        LIKELY,
    )
    assert learned.split == 0.2
    assert learned.verified == 0.5
    assert learned.judged == pytest.approx(50 / 60)
    assert learned.reply_tokens == dict.fromkeys(STAGES, 50.0)
    assert learned.prompt_factors == dict.fromkeys(STAGES, 1.2)


def test_canaries_of_the_judge_are_no_pairs_that_reach_it() -> None:
    learned = learn(DEFAULT, made(questions=40, judge=50), 100, LIKELY, judge_canaries=6)
    assert learned.judged == pytest.approx(44 / 100)


def test_too_few_calls_teach_nothing() -> None:
    learned = learn(DEFAULT, made(questions=FEWEST_CALLS - 1, answer=3), 3, LIKELY)
    assert learned.accepted_questions == SHARE_KEPT
    assert learned.reply_tokens == DEFAULT.reply_tokens
    assert not learned.learned


def test_a_request_that_took_two_calls_costs_the_tokens_of_both() -> None:
    calls = [call(n // 2, "questions", call_id=f"{n:032x}", usage=Usage(120, 50)) for n in range(40)]
    learned = learn(DEFAULT, calls_frame(calls, keep_prompts=False), 0, LIKELY)
    assert learned.reply_tokens["questions"] == 100.0
    assert learned.prompt_factors["questions"] == 2.4


def test_calls_whose_tokens_are_not_reported_count_as_the_others() -> None:
    calls = [call(n, "questions", usage=Usage(120, 50) if n % 2 else Usage()) for n in range(40)]
    learned = learn(DEFAULT, calls_frame(calls, keep_prompts=False), 0, LIKELY)
    assert learned.reply_tokens["questions"] == 50.0


@pytest.mark.parametrize(
    ("model", "thoughts"),
    [
        (ModelSettings(provider="gemini"), UNSET_THOUGHTS),
        (ModelSettings(provider="gemini", thinking_budget=0), 0.0),
        (ModelSettings(provider="gemini", thinking_budget=300), 300.0),
        (ModelSettings(provider="gemini", thinking_budget=-1), UNSET_THOUGHTS),
        (ModelSettings(provider="openai", model="m"), 0.0),
        (ModelSettings(provider="openai", model="m", thinking_level="high"), 1200.0),
    ],
)
def test_thoughts_are_expected_as_the_settings_say(model: ModelSettings, thoughts: float) -> None:
    assert thought_tokens(model) == thoughts


def test_chunks_are_expected_to_give_what_enough_earlier_ones_gave() -> None:
    none = made()
    assert learn(DEFAULT, none, 0, LIKELY, (3, FEWEST_CALLS)).accepted_questions == 3 / FEWEST_CALLS
    assert learn(DEFAULT, none, 0, LIKELY, (3, FEWEST_CALLS - 1)).accepted_questions == SHARE_KEPT
