"""Verification in other frameworks, whose documented protocols stand here for packages that do not install.

`measure_frames` runs the same adapters by the packages themselves.
"""

import asyncio
import math
import sys
from dataclasses import dataclass, field
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from qa_pipeline.api.adapters import assert_supported, deepeval_metric, inspect_scorer, ragas_metric, score
from qa_pipeline.api.verification import verify
from qa_pipeline.errors import InputError

QUESTION = "When was the Eiffel Tower completed?"
RIGHT, WRONG = "The Eiffel Tower was completed in 1889.", "The Eiffel Tower was completed in 1899."
HALF = f"{RIGHT} It was painted blue."
CONTEXTS = ["The Eiffel Tower was completed in 1889. It is 330 metres tall."]
REFUSAL = "This information is not available in the knowledge base."


def install(monkeypatch: pytest.MonkeyPatch, name: str, **contents: object) -> None:
    """Have a module importable that holds these."""
    module = ModuleType(name)
    vars(module).update(contents)
    parts = name.split(".")
    for end in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(parts[end - 1]))
    monkeypatch.setitem(sys.modules, name, module)


def test_an_answer_that_its_contexts_state_is_asserted() -> None:
    assert_supported(QUESTION, RIGHT, CONTEXTS)


def test_a_failed_assertion_names_the_claim_and_what_the_context_says() -> None:
    with pytest.raises(AssertionError) as failure:
        assert_supported(QUESTION, WRONG, CONTEXTS)
    assert str(failure.value).splitlines() == [
        'rejected: date mismatch: "1889" became "1899"',
        f"  contradicted: {WRONG}",
        f"    context 0: {RIGHT}",
    ]


def test_what_cannot_be_verified_is_no_failed_assertion() -> None:
    with pytest.raises(InputError, match="no context has text"):
        assert_supported(QUESTION, RIGHT, [])


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        (QUESTION, RIGHT, 1.0),
        (QUESTION, WRONG, 0.0),
        (QUESTION, HALF, 0.5),
        ("How many chickens live on the moon?", REFUSAL, 1.0),
        (QUESTION, REFUSAL, 0.0),
    ],
)
def test_the_score_is_the_share_of_claims_or_whether_a_refusal_is_right(
    question: str, answer: str, expected: float
) -> None:
    assert score(verify(question, answer, CONTEXTS)) == expected


def broken(prompt: str) -> str:
    return "no JSON"


def test_a_score_that_nobody_knows_is_none() -> None:
    assert score(verify(QUESTION, "Eiffel's tower got finished that year.", CONTEXTS, model=broken)) is None


def test_ragas_scores_its_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    class MetricType(Enum):
        SINGLE_TURN = "single_turn"

    @dataclass
    class SingleTurnMetric:
        _required_columns: dict[Any, set[str]] = field(default_factory=dict)
        name: str = ""

    install(monkeypatch, "ragas.metrics.base", MetricType=MetricType, SingleTurnMetric=SingleTurnMetric)
    metric: Any = ragas_metric()
    assert issubclass(type(metric), SingleTurnMetric)
    assert metric.name == "supported"
    assert metric._required_columns == {
        MetricType.SINGLE_TURN: {"user_input", "response", "retrieved_contexts"}
    }
    sample = SimpleNamespace(user_input=QUESTION, response=HALF, retrieved_contexts=CONTEXTS)
    assert asyncio.run(metric._single_turn_ascore(sample, None)) == 0.5
    vague = SimpleNamespace(user_input=QUESTION, response="It got finished.", retrieved_contexts=CONTEXTS)
    assert math.isnan(asyncio.run(ragas_metric(broken)._single_turn_ascore(vague, None)))


def test_deepeval_measures_its_test_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    class BaseMetric:
        error: str | None = None

    install(monkeypatch, "deepeval.metrics", BaseMetric=BaseMetric)
    case = SimpleNamespace(input=QUESTION, actual_output=HALF, retrieval_context=CONTEXTS)
    strict, lenient = deepeval_metric(), deepeval_metric(threshold=0.5)
    assert issubclass(type(strict), BaseMetric)
    assert (strict.measure(case), strict.is_successful(), strict.error) == (0.5, False, None)
    assert strict.reason.startswith("needs review: ")
    assert (asyncio.run(lenient.a_measure(case)), lenient.is_successful()) == (0.5, True)
    vague = SimpleNamespace(input=QUESTION, actual_output="It got finished.", retrieval_context=CONTEXTS)
    unknown = deepeval_metric(threshold=0.0, model=broken)
    assert (unknown.measure(vague), unknown.is_successful()) == (None, False)
    assert unknown.error is not None


def test_inspect_scores_what_a_model_replied(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[dict[str, Any]] = []

    def scorer(**values: Any) -> Any:
        registered.append(values)
        return lambda function: function

    parts = {name: (lambda name=name: name) for name in ("mean", "stderr")}
    install(monkeypatch, "inspect_ai.scorer", Score=SimpleNamespace, scorer=scorer, **parts)
    score_sample = inspect_scorer("passages")
    assert registered == [{"metrics": ["mean", "stderr"], "name": "supported"}]
    state = SimpleNamespace(
        input_text=QUESTION, output=SimpleNamespace(completion=WRONG), metadata={"passages": CONTEXTS}
    )
    found = asyncio.run(score_sample(state, None))
    assert (found.value, found.answer, found.metadata["verdict"]) == (0.0, WRONG, "rejected")
    state.metadata = {}
    with pytest.raises(InputError, match="contexts is missing"):
        asyncio.run(score_sample(state, None))
