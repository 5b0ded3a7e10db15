from qa_pipeline.settings.verification import VerificationSettings


def test_a_model_that_scores_decides_nothing_by_itself() -> None:
    scored = VerificationSettings.model_validate({"entailment": {"model": "m"}})
    assert scored.thresholds_id == VerificationSettings().thresholds_id
