"""Verification as other frameworks ask for it: pytest, Ragas, DeepEval and Inspect.

Each verifies as `verify` does and has its score. The frameworks are imported where they are asked for.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qa_pipeline.api.models import AnyModel
from qa_pipeline.api.verification import Verification, verify

NAME = "supported"


def score(verification: Verification) -> float | None:
    """Return the share of claims supported; of a refusal 1 where it is right, 0 where it is wrong.

    None where that is unknown: the answer could not be verified, or a refusal neither proved nor denied.
    """
    if verification.grounding is None or verification.verdict == "failed":
        return {"accepted": 1.0, "rejected": 0.0}.get(verification.verdict)
    return verification.grounding


def assert_supported(
    question: str,
    answer: str,
    contexts: Sequence[str | Mapping[str, Any]],
    *,
    language: str | None = None,
    model: AnyModel | None = None,
) -> None:
    """Assert that every claim of an answer is supported; arguments and errors are those of `verify`.

    Raises:
        AssertionError: the verdict is not accepted; each claim that is not supported is named.
    """
    __tracebackhide__ = True  # pytest shows the line of the caller
    verification = verify(question, answer, contexts, language=language, model=model)
    if not verification.accepted:
        raise AssertionError("\n".join([verification.explanation, *_open_claims(verification)]))


def _open_claims(verification: Verification) -> list[str]:
    lines = []
    for claim in verification.claims:
        if claim.verdict != "supported":
            lines.append(f"  {claim.verdict}: {claim.text}")
            if claim.evidence is not None:
                lines.append(f"    context {claim.evidence.context}: {claim.evidence.quote}")
    return lines


def ragas_metric(model: AnyModel | None = None) -> Any:
    """Return a `SingleTurnMetric` of Ragas; a score that is unknown is NaN, which Ragas leaves out of means.

    Args:
        model: as of `verify`.
    """
    from ragas.metrics.base import MetricType, SingleTurnMetric

    columns = {"user_input", "response", "retrieved_contexts"}

    @dataclass
    class Supported(SingleTurnMetric):  # type: ignore[misc]  # untyped where it is not installed
        name: str = NAME
        _required_columns: dict[Any, set[str]] = field(
            default_factory=lambda: {MetricType.SINGLE_TURN: columns}
        )

        def init(self, run_config: Any) -> None:
            pass

        async def _single_turn_ascore(self, sample: Any, callbacks: Any) -> float:
            verification = await asyncio.to_thread(
                verify, sample.user_input, sample.response, sample.retrieved_contexts, model=model
            )
            value = score(verification)
            return math.nan if value is None else value

    return Supported()


def deepeval_metric(threshold: float = 1.0, model: AnyModel | None = None) -> Any:
    """Return a `BaseMetric` of DeepEval; one whose score is unknown fails with an error.

    Args:
        threshold: score from which a test case is passed; 1 asks that every claim is supported.
        model: as of `verify`.
    """
    from deepeval.metrics import BaseMetric

    class Supported(BaseMetric):  # type: ignore[misc]  # untyped where it is not installed
        def __init__(self) -> None:
            self.threshold = threshold
            self.include_reason = True
            self.evaluation_model = None if model is None else str(model)

        def measure(self, test_case: Any, *_: Any, **__: Any) -> float | None:
            verification = verify(
                test_case.input, test_case.actual_output, test_case.retrieval_context, model=model
            )
            self.score, self.reason = score(verification), verification.explanation
            self.error = verification.explanation if self.score is None else None
            self.success = self.score is not None and self.score >= threshold
            return self.score

        async def a_measure(self, test_case: Any, *_: Any, **__: Any) -> float | None:
            return await asyncio.to_thread(self.measure, test_case)

        def is_successful(self) -> bool:
            return bool(self.success)

        @property
        def __name__(self) -> str:
            return NAME.capitalize()

    return Supported()


def inspect_scorer(contexts: str = "contexts", model: AnyModel | None = None) -> Any:
    """Return a scorer of Inspect, whose mean leaves samples out whose score is unknown.

    Args:
        contexts: the entry of a sample's metadata that holds its contexts.
        model: as of `verify`.
    """
    from inspect_ai.scorer import Score, mean, scorer, stderr

    @scorer(metrics=[mean(), stderr()], name=NAME)  # type: ignore[untyped-decorator, unused-ignore]
    def supported() -> Any:
        async def score_sample(state: Any, target: Any) -> Any:
            answer = state.output.completion
            verification = await asyncio.to_thread(
                verify, state.input_text, answer, state.metadata.get(contexts), model=model
            )
            value = score(verification)
            return Score(
                value=math.nan if value is None else value,
                answer=answer,
                explanation=verification.explanation,
                metadata={"verdict": verification.verdict, "reason": verification.reason},
            )

        return score_sample

    return supported()
