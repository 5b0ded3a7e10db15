"""Scored and labelled rows without texts, for fitting."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.calibration.fitting import LabelledRows
from qa_pipeline.storage.tables import CLAIMS
from qa_pipeline_tests.settings.artefacts import thresholds
from qa_pipeline_tests.verification.test_deciding import claim

BLANK = thresholds().model_copy(update={"target_precision": 0.95})


def labelled(
    scores: Sequence[Sequence[dict[str, Any]]],
    labels: Sequence[bool],
) -> LabelledRows:
    """Rows of claims that the rules before the fitted steps leave open, unless their fields say otherwise."""
    models = {"entailment_model": "reader", "token_recall": 0.5}
    claims = [
        claim(0, claim_id=f"{row}-{place}", pair_id=f"pair-{row}", **{**models, **fields})
        for row, of_row in enumerate(scores)
        for place, fields in enumerate(of_row)
    ]
    rows = pl.DataFrame(
        {
            "group": list(range(len(scores))),
            "label": list(labels),
            "pair_id": [f"pair-{row}" for row in range(len(scores))],
        },
        schema_overrides={"group": pl.Int64, "label": pl.Boolean},
    )
    return LabelledRows(rows, CLAIMS.frame(claims))


def noisy(count: int, seed: int, *, cut: float = 0.6, **also: float) -> LabelledRows:
    """One claim a row, supported where its score lies above the cut, save one in a hundred."""
    generator = np.random.default_rng(seed)
    score = generator.random(count)
    label = (score > cut) ^ (generator.random(count) < 0.01)
    return labelled([[{"entailment": float(one), **also}] for one in score], label.tolist())
