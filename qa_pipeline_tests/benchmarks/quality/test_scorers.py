from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline_tests.benchmarks.quality.scorers import SCORERS, chosen_scorers, claim_scores, pair_scores

VALUES = st.none() | st.sampled_from([0.0, 0.2, 0.9, 1.0])


def claims_of(**columns: Sequence[object]) -> pl.DataFrame:
    return pl.DataFrame(columns)


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_an_answer_has_the_smallest_score_of_its_claims_and_none_while_one_is_unknown(
    scores: list[float | None],
) -> None:
    claims = pl.DataFrame(
        {"pair_id": ["p"] * len(scores), "entailment": scores}, schema_overrides={"entailment": pl.Float64()}
    )
    found = pair_scores(claims, SCORERS["entailment"])["score"].to_list()
    known = [score for score in scores if score is not None]
    if len(known) == len(scores) or 0.0 in known:
        assert found == [min(known)]
    else:
        assert found == [None]


def test_a_score_that_is_no_number_is_unknown() -> None:
    claims = claims_of(pair_id=["p", "q", "r"], entailment=[float("nan"), float("inf"), 0.3])
    assert claim_scores(claims, SCORERS["entailment"]).to_list() == [None, None, 0.3]


def test_a_table_without_the_column_leaves_every_claim_unknown() -> None:
    assert claim_scores(claims_of(pair_id=["p", "q"]), SCORERS["spans"]).to_list() == [None, None]


def test_verdicts_and_replies_become_scores() -> None:
    verdicts = ["supported", "undecided", "unsupported", "contradicted", "failed"]
    found = claim_scores(claims_of(verdict=verdicts), SCORERS["cascade"]).to_list()
    assert found == [1.0, 0.5, 0.0, 0.0, None]
    said = claim_scores(claims_of(llm_said=["accept", "unsure", "reject", None]), SCORERS["llm"]).to_list()
    assert said == [1.0, 0.5, 0.0, None]


def test_scorers_are_chosen_by_name_and_what_costs_money_only_by_name() -> None:
    assert [one.name for one in chosen_scorers(None)] == [name for name in SCORERS if name != "llm"]
    assert [one.name for one in chosen_scorers(["llm", "similarity"])] == ["similarity", "llm"]
    with pytest.raises(InputError, match="no such scorer; there are similarity, entailment"):
        chosen_scorers(["bleu"])
