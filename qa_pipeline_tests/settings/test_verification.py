import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.settings.verification import VerificationSettings


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"window_tokens": 15}, "window_tokens"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(group: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings(verification={"entailment": group})


def test_a_model_that_scores_decides_nothing_by_itself() -> None:
    scored = VerificationSettings.model_validate({"entailment": {"model": "m"}})
    assert scored.thresholds_id == VerificationSettings().thresholds_id
