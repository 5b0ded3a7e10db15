import numpy as np
import pytest

from qa_pipeline.calibration.fitting import LabelledRows, fit_band, rows_of_side
from qa_pipeline.settings.verification import Fit, Thresholds, VerificationSettings
from qa_pipeline_tests.calibration.synthetic import BLANK, labelled, noisy

SETTINGS = VerificationSettings()


def fitted(rows: LabelledRows) -> tuple[Thresholds, dict[str, Fit]]:
    thresholds = fit_band(rows, SETTINGS, BLANK)
    return thresholds, {fit.side: fit for fit in thresholds.fits}


def test_both_bands_of_a_good_score_are_found_and_lie_apart() -> None:
    thresholds, fits = fitted(noisy(1500, 1))
    band = thresholds.band
    assert band.accept is not None
    assert band.reject is not None
    assert 0.55 <= band.accept <= 0.65
    assert band.reject == 0.5
    assert fits["accept"].precision_low >= 0.95  # type: ignore[operator]
    assert set(fits) == {"contradict", "accept", "reject"}


def test_a_score_that_says_nothing_accepts_nothing_and_tells_the_best_precision() -> None:
    generator = np.random.default_rng(0)
    rows = labelled(
        [[{"entailment": float(one)}] for one in generator.random(600)],
        (generator.random(600) < 0.7).tolist(),
    )
    thresholds, fits = fitted(rows)
    assert thresholds.band.accept is None
    assert fits["accept"].why
    assert fits["accept"].right / fits["accept"].n == pytest.approx(0.7, abs=0.1)


def test_an_answer_is_as_good_as_its_lowest_claim_and_settled_claims_do_not_count() -> None:
    proved: dict[str, str] = {"proved_by": "quotation"}
    rows = labelled(
        [
            [{"entailment": 0.9}, {"entailment": 0.4}],
            [{"entailment": 0.1, **proved}, {"entailment": 0.8}],
            [{"entailment": 0.9}, {"entailment": 0.9, "citation_status": "uncited"}],
            [{"entailment": 0.9}, {"entailment": 0.9, "scope_differs": True}],
            [{"entailment": 0.1, **proved}],
        ],
        [True] * 5,
    )
    accept = rows_of_side(rows, SETTINGS, BLANK, "accept")
    assert accept["group"].to_list() == [0, 1, 3]
    assert accept["score"].to_list() == [0.4, 0.8, None]
    assert rows_of_side(rows, SETTINGS, BLANK, "reject")["score"].to_list() == [0.4, 0.8, 0.9]
