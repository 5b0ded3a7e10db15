"""The weights of a question's worth are those that the labelled rows in the repository give."""

import json
from pathlib import Path

import pytest

from qa_pipeline.generation import worth
from qa_pipeline_tests.benchmarks.quality.fit_worth import CHOSEN, fit

LABELS = Path(__file__).parents[3] / "docs/figures/worth"


@pytest.mark.skipif(not LABELS.exists(), reason="the labels are in the repository only")
def test_the_costs_are_those_of_the_labelled_rows() -> None:
    rows = [
        json.loads(line) for file in LABELS.glob("*.jsonl") for line in file.read_text("utf-8").splitlines()
    ]
    figures = fit(sorted(rows, key=str))
    costs = {name: cost for name, cost in worth.COSTS.items() if name != CHOSEN}
    assert figures["costs"] == pytest.approx(costs, abs=0.02)
    assert figures["full"] == pytest.approx(worth.FULL, abs=0.02)
    assert figures["measured"]["good of kept"] >= figures["measured"]["good"]
    assert all("licence" in row for row in rows if "question" in row)
