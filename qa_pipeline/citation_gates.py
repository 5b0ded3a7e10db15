"""Gates over citations: nothing accepted cites what does not exist, and what is cited supports a claim.

What belongs here: the two gates. What does not: measuring the citations of a pair (`citation_quality.py`).
"""

import polars as pl

from qa_pipeline.gate import Gate, law
from qa_pipeline.grounding import fabricated_citations
from qa_pipeline.settings.checking import QualitySettings


def citations_gate(*, pairs: pl.DataFrame, verdicts: pl.DataFrame, claims: pl.DataFrame) -> Gate:
    """No accepted pair cites a source, number, passage or quote that does not exist."""
    accepted = verdicts.filter(pl.col("verdict") == "accepted").select("pair_id")
    found = fabricated_citations(pairs, claims).join(accepted, on="pair_id", how="semi")
    breaches = {"fabricated": int(found["fabricated"].sum())}
    return law(
        "fabricated_citations", accepted.height, breaches, f"{accepted.height} accepted pairs looked at"
    )


def accuracy_gate(*, verdicts: pl.DataFrame, settings: QualitySettings) -> Gate:
    """The mean citation accuracy of accepted pairs that cite anything reaches its limit.

    Known-answer pairs are left out, as of every rate.
    """
    limit = settings.min_citation_accuracy
    accepted = verdicts.filter(pl.col("verdict") == "accepted", pl.col("expected_verdict").is_null())
    known = accepted["citation_accuracy"].drop_nulls()
    if not known.len():
        return Gate("citation_accuracy", True, False, None, limit, 0, "no accepted pair cites anything")
    mean = float(known.sum()) / known.len()
    below = known.filter(known < 1.0).len()
    detail = (
        f"mean {mean:.3f} over {known.len()} accepted pairs, {below} with citations that support no claim"
    )
    return Gate(
        "citation_accuracy", mean >= limit, False, mean, limit, known.len(), detail, {"below_1": below}
    )
