"""The pieces of text that decided claims rest on: their evidence, and the second piece where one was weighed.

What belongs here: pure selection from claims and their verdicts. What does not: finding evidence
(`qa_pipeline.verification`), holding it against documents (`quality.py`).
"""

import polars as pl

WEIGHS_PAIRS = ("entailment", "llm", "person")
"""Who reads both pieces; what any other step supports rests on the first alone."""
_SECOND = "second_"


def evidence_pieces(claims: pl.DataFrame, claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Claim_id and the evidence columns: a row for each claim, and one for each second piece weighed."""
    names = [name for name in claims.columns if name.startswith("evidence_")]
    weighed = claim_verdicts.filter(pl.col("decided_by").is_in(WEIGHS_PAIRS)).select("claim_id")
    shared = [name for name in names if f"{_SECOND}{name}" in claims.columns]
    second = (
        claims.filter(pl.col("second_evidence_quote").is_not_null())
        .join(weighed, on="claim_id", how="semi", maintain_order="left")
        .select("claim_id", **{name: pl.col(f"{_SECOND}{name}") for name in shared})
    )
    return pl.concat([claims.select("claim_id", *names), second], how="diagonal")
