import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.settings.verification import VerificationSettings


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"labels": {"LABEL_0": "perhaps"}}, "labels"),
        ({"window_tokens": 15}, "window_tokens"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(group: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings(verification={"entailment": group})


def test_labels_can_be_named_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QA_PIPELINE_VERIFICATION__ENTAILMENT__LABELS", '{"LABEL_1": "entailment"}')
    assert load_settings().verification.entailment.labels == {"LABEL_1": "entailment"}


def test_a_model_that_scores_decides_nothing_by_itself() -> None:
    scored = VerificationSettings.model_validate({"entailment": {"model": "m"}, "spans": {"model": "s"}})
    assert scored.thresholds_id == VerificationSettings().thresholds_id
