"""The table holds the worst verdict of each canary, and rates count what was rejected and accepted."""

import polars as pl
import pytest
from scipy.stats import binomtest

from qa_pipeline.storage.tables import CANARIES
from qa_pipeline.verification.canaries.outcomes import canary_rates, canary_rows
from qa_pipeline.verification.canaries.seeding import seed_canaries
from qa_pipeline_tests.curation.rows import claim, claim_verdict, claim_verdicts, claims
from qa_pipeline_tests.verification.canaries.rows import canaries
from qa_pipeline_tests.verification.canaries.sentences import material


def test_of_several_claims_the_worst_verdict_counts() -> None:
    drawn = seed_canaries(material("en"), 1)[:2]
    first, second = (one.canary_id for one in drawn)
    held = claims(claim(first, 0), claim(first, 1, similarity=0.4), claim(second, 0))
    decided = claim_verdicts(
        claim_verdict(first, "supported", 0),
        claim_verdict(first, "contradicted", 1, decided_by="consistency", reason="number_mismatch"),
        claim_verdict(second, "undecided", 0),
    )
    frame = canary_rows(drawn, "b", held, decided)
    assert CANARIES.problems(frame) == []
    rows = frame.select("verdict", "decided_by", "similarity").rows()
    assert rows == [("contradicted", "consistency", 0.4), ("undecided", "verbatim", None)]


def test_a_canary_in_which_no_claim_was_found_says_so() -> None:
    drawn = seed_canaries(material("en"), 1)[:1]
    frame = canary_rows(drawn, "b", claims(), claim_verdicts())
    assert frame["verdict"].to_list() == ["no_claims"]


@pytest.mark.parametrize(("rejected", "held"), [(0, 3), (3, 3), (7, 9), (1, 20)])
def test_shares_have_wilson_intervals(rejected: int, held: int) -> None:
    frame = canaries(number=["contradicted"] * rejected + ["supported"] * (held - rejected))
    row = canary_rates(frame).row(0, named=True)
    expected = binomtest(rejected, held).proportion_ci(method="wilson")
    assert (row["canaries"], row["rejected"], row["accepted"]) == (held, rejected, held - rejected)
    assert row["rejected_low"] == pytest.approx(expected.low)
    assert row["rejected_high"] == pytest.approx(expected.high)


def test_no_canaries_give_no_rates() -> None:
    assert canary_rates(CANARIES.empty()).height == 0
    assert isinstance(canary_rates(CANARIES.empty()), pl.DataFrame)
