from typing import Any

import pytest

from qa_pipeline.curation.gate import Gate, release_floor
from qa_pipeline.settings.verification import ReleaseSettings
from qa_pipeline_tests.curation.rows import (
    claim,
    claim_verdict,
    claim_verdicts,
    claims,
    verdict,
    verdicts,
)


def floor(*words: str, **measured: Any) -> dict[str, Gate]:
    """The floor under one accepted pair with claims of these verdicts, and a rejected pair beside it."""
    gates = release_floor(
        claims=claims(*(claim("p", n) for n in range(len(words))), claim("r")),
        claim_verdicts=claim_verdicts(
            *(claim_verdict("p", word, n) for n, word in enumerate(words)), claim_verdict("r", "contradicted")
        ),
        verdicts=verdicts(verdict("p", **measured), verdict("r", "rejected", grounding=0.0)),
        settings=ReleaseSettings(),
    )
    assert all(gate.blocking for gate in gates)
    return {gate.name: gate for gate in gates}


def test_a_batch_whose_accepted_pairs_are_proved_is_above_the_floor() -> None:
    gates = floor("supported", "supported", grounding=1.0, citation_accuracy=1.0)
    assert all(gate.passed for gate in gates.values())
    assert gates["faithfulness"].value == 1.0


@pytest.mark.parametrize(
    ("words", "measured", "broken"),
    [
        (("supported",) * 15 + ("undecided",), {"grounding": 1.0}, "faithfulness"),
        (("supported",), {"grounding": 0.89}, "grounding"),
        (("supported",), {"citation_accuracy": 0.94}, "citation_accuracy"),
    ],
)
def test_what_lies_below_the_floor_blocks(
    words: tuple[str, ...], measured: dict[str, Any], broken: str
) -> None:
    gates = floor(*words, **measured)
    assert [name for name, gate in gates.items() if not gate.passed] == [broken]


def test_what_lies_on_the_floor_passes() -> None:
    words = ("supported",) * 19 + ("undecided",)
    gates = floor(*words, grounding=0.90, citation_accuracy=0.95)
    assert all(gate.passed for gate in gates.values())
