from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.tables import CLAIMS
from qa_pipeline.verification.deciding import decide_claims, scores_of_other_models
from qa_pipeline_tests.settings.artefacts import thresholds
from qa_pipeline_tests.verification.test_deciding import claim

SETTINGS = VerificationSettings()
FITTED = thresholds(entailment={"accept": 0.9, "reject": 0.1, "contradict": 0.8})
DENIED = ("contradicted", "entailment", "entailment_contradiction")
OPEN = ("undecided", "no_step", "undecided_without_model")


def scored(place: int = 0, **fields: Any) -> dict[str, Any]:
    """A claim that the rules before leave open, with models that the thresholds were fitted for."""
    return claim(place, **{"token_recall": 0.5, "entailment_model": "reader", **fields})


def decided(*rows: dict[str, Any], settings: VerificationSettings = SETTINGS) -> list[tuple[Any, ...]]:
    verdicts = decide_claims(CLAIMS.frame(list(rows)), None, settings, thresholds=FITTED)
    return verdicts.select("verdict", "decided_by", "reason").rows()


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({}, OPEN),
        ({"entailment": 0.9}, ("supported", "entailment", None)),
        ({"entailment": 0.9, "scope_differs": True}, OPEN),
        ({"entailment": 0.9, "contradiction": 0.6}, OPEN),
        ({"entailment": 0.9, "contradiction": 0.8}, DENIED),
        ({"entailment": 0.5}, OPEN),
        ({"entailment": 0.1}, ("unsupported", "entailment", "not_entailed")),
        ({"entailment": 0.1, "contradiction": 0.6}, OPEN),
        ({"entailment": float("nan"), "contradiction": float("nan")}, OPEN),
        ({"entailment": 0.99, "contradiction": 0.99, "entailment_model": "other"}, OPEN),
        ({"entailment": 0.99, "evidence_doubt": "table"}, ("undecided", "entailment", "evidence_in_doubt")),
        ({"entailment": 0.01, "proved_by": "quotation"}, ("supported", "quotation", None)),
        ({"entailment": 0.99, "citation_status": "uncited"}, ("unsupported", "citation", "uncited")),
    ],
)
def test_a_fitted_step_decides_what_the_rules_before_left_open(
    fields: dict[str, Any], outcome: tuple[Any, ...]
) -> None:
    assert decided(scored(**fields)) == [outcome]


def test_scores_of_other_models_are_counted() -> None:
    rows = [
        scored(0, entailment=0.5),
        scored(1, entailment=0.5, entailment_model="other"),
        scored(2, entailment=0.5, entailment_model=None),
        scored(3, entailment_model="other"),
    ]
    assert scores_of_other_models(CLAIMS.frame(rows), FITTED) == 2
    assert scores_of_other_models(CLAIMS.frame(rows), thresholds()) == 0


def test_verdicts_name_the_artefact_that_decided() -> None:
    verdicts = decide_claims(CLAIMS.frame([scored()]), None, SETTINGS, thresholds=FITTED)
    assert verdicts["thresholds_id"].to_list() == [SETTINGS.thresholds_id_of(FITTED)]
    assert verdicts["thresholds_id"].item().startswith(f"{FITTED.full_id}-")


share = st.none() | st.floats(0, 1) | st.just(float("nan"))
random_scores = st.fixed_dictionaries(
    {
        "entailment": share,
        "contradiction": share,
        "entailment_model": st.sampled_from(["reader", "other", None]),
        "token_recall": st.floats(0, 1),
        "proved_by": st.sampled_from(["quotation", None]),
        "denied": st.sampled_from([[], ["number_mismatch: x"]]),
        "scope_differs": st.booleans(),
    }
)


def frame_of(drawn: list[dict[str, Any]]) -> pl.DataFrame:
    return CLAIMS.frame([scored(place, **fields) for place, fields in enumerate(drawn)])


@given(st.lists(random_scores, max_size=8))
def test_no_fitted_step_accepts_a_difference_or_changes_what_the_rules_before_decide(
    drawn: list[dict[str, Any]],
) -> None:
    claims = frame_of(drawn)
    without = decide_claims(claims, None, SETTINGS, thresholds=thresholds())
    fitted = decide_claims(claims, None, SETTINGS, thresholds=FITTED)
    for fields, verdict in zip(drawn, fitted["verdict"], strict=True):
        differs = fields["proved_by"] is None and (fields["denied"] or fields["scope_differs"])
        assert not (verdict == "supported" and differs)
    settled = without["decided_by"] != "no_step"
    assert without.drop("thresholds_id").filter(settled).equals(fitted.drop("thresholds_id").filter(settled))


@given(st.lists(random_scores, max_size=8), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_band_never_supports_more_and_never_rejects_less(
    drawn: list[dict[str, Any]], one: float, other: float
) -> None:
    low, high = sorted((one, other))
    claims = frame_of(drawn)

    def of(verdict: str, side: str, limit: float) -> set[str]:
        fitted = thresholds(entailment={side: limit})
        verdicts = decide_claims(claims, None, SETTINGS, thresholds=fitted)
        return set(verdicts.filter(pl.col("verdict") == verdict)["claim_id"])

    assert of("supported", "accept", high) <= of("supported", "accept", low)
    assert of("unsupported", "reject", low) <= of("unsupported", "reject", high)
