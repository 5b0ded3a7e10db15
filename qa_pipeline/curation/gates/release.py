"""Check the minimum quality of the accepted pairs in a release, in addition to the gates of a batch."""

import polars as pl

from qa_pipeline.curation.gates.gate import Gate
from qa_pipeline.settings.verification import ReleaseSettings
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims


def release_floor(
    *,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
    verdicts: pl.DataFrame,
    settings: ReleaseSettings,
) -> list[Gate]:
    """Return blocking gates over the accepted pairs of a batch. A measure without rows passes.

    `faithfulness` is the share of supported claims over all accepted pairs. `grounding` is the mean share of
    supported claims per pair. `citation_accuracy` is the mean share of citations that support a claim.
    """
    accepted = verdicts.filter(pl.col("verdict") == "accepted", pl.col("expected_verdict").is_null())
    made = decided_claims(claims, claim_verdicts).join(accepted, on="pair_id", how="semi")
    measured = {
        "faithfulness": ((made["verdict"] == SUPPORTED).cast(pl.Float64), settings.min_faithfulness),
        "grounding": (accepted["grounding"], settings.min_grounding),
        "citation_accuracy": (accepted["citation_accuracy"], settings.min_citation_accuracy),
    }
    return [_at_least(name, values.drop_nulls(), limit) for name, (values, limit) in measured.items()]


def _at_least(name: str, values: pl.Series, limit: float) -> Gate:
    if values.is_empty():
        return Gate(name, True, True, None, limit, 0, "nothing to measure")
    mean = float(values.sum()) / values.len()
    message = f"{name} {mean:.3f} over {values.len()}, the release floor is {limit}"
    return Gate(name, mean >= limit, True, mean, limit, values.len(), message)
