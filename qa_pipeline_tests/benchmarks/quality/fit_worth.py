"""Weights of what a question lacks, fitted on rows that a reader labelled, and what they are worth on others.

Run as `python -m qa_pipeline_tests.benchmarks.quality.fit_worth docs/figures/worth/*.jsonl`; prints a JSON
line.

A row has `part` (fitted, or measured: from sources of which no row was fitted), `label` (good, thin or bad)
and what it `lacks`, as `generation/worth.py` names it. Question and answer are given where the licence of the
source lets them be. The weights are those of a logistic regression with a ridge of 1, scikit-learn's default.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from qa_pipeline.generation.worth import COSTS
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

CHOSEN = "nothing"
"""The feature whose cost is a choice: too few rows have it."""


def fit(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the costs, the log odds of a row that lacks nothing, and shares of good rows by part."""
    features = [name for name in COSTS if name != CHOSEN]
    lacks = np.array([[name in row["lacks"] for name in features] for row in rows], dtype=float)
    good = np.array([row["label"] == "good" for row in rows])
    fitted = np.array([row["part"] == "fitted" for row in rows])
    model = LogisticRegression(max_iter=1000).fit(lacks[fitted], good[fitted])
    worth = model.decision_function(lacks) >= 0
    costs = (-model.coef_[0]).round(2).tolist()
    shares = {
        part: {
            "rows": int(of_part.sum()),
            "good": round(float(good[of_part].mean()), 3),
            "kept": round(float(worth[of_part].mean()), 3),
            "good of kept": round(float(good[of_part & worth].mean()), 3),
        }
        for part, of_part in (("fitted", fitted), ("measured", ~fitted))
    }
    costs_by_name = dict(zip(features, costs, strict=True))
    return {"full": round(float(model.intercept_[0]), 2), "costs": costs_by_name, **shares}


def main() -> None:
    """Print the fit of the rows of files."""
    parser = parser_of(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    lines = [line for file in parser.parse_args().files for line in file.read_text("utf-8").splitlines()]
    print_json(fit([json.loads(line) for line in lines]))


if __name__ == "__main__":
    main()
