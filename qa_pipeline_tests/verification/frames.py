"""Claims frames with the columns that the combined score reads."""

from typing import Any

import polars as pl

from qa_pipeline.tables import CLAIMS

PLAIN: dict[str, Any] = {
    "pair_id": "p",
    "batch": "b",
    "position": 0,
    "text": "The pump weighs 80 kg.",
    "start": 0,
    "end": 22,
    "citation_status": "resolved",
    "verbatim": False,
    "similarity": 0.6,
    "token_recall": 0.5,
    "cited_recall": 0.5,
    "number_conflicts": [],
    "date_conflicts": [],
    "name_conflicts": [],
    "polarity_conflicts": [],
    "quantifier_conflicts": [],
}


def claims(*rows: dict[str, Any]) -> pl.DataFrame:
    return CLAIMS.frame([{**PLAIN, "claim_id": f"c{place}", **row} for place, row in enumerate(rows)])
