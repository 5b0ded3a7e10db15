import pytest

from qa_pipeline.evaluation.summaries import decider_shares, describe_deciders, rests_on_likeness


def test_steps_are_told_as_rules_likeness_model_and_people() -> None:
    counts = {
        "quotation": 3,
        "rules": 1,
        "similarity": 2,
        "llm": 1,
        "entailment": 1,
        "person": 2,
        "without date": 9,
    }
    assert decider_shares(counts) == {"rules": 0.4, "likeness": 0.2, "model": 0.2, "people": 0.2}
    assert describe_deciders(counts) == "rules 40 %, likeness 20 %, model 20 %, people 20 %"


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({}, "arithmetic"),
        ({"similarity": 1, "quotation": 999}, "rules > 99 %, likeness < 1 %"),
        ({"similarity": 0, "quotation": 2}, "rules 100 %"),
    ],
)
def test_small_shares_are_not_rounded_away(counts: dict[str, int], told: str) -> None:
    assert describe_deciders(counts) == told


def test_more_than_half_is_what_rests_on_likeness() -> None:
    assert not rests_on_likeness({})
    assert not rests_on_likeness({"similarity": 1, "quotation": 1})
    assert rests_on_likeness({"similarity_only": 2, "quotation": 1})
