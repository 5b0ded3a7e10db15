import pytest

from qa_pipeline.calibration.what_if import DECIDING, read_changes
from qa_pipeline.errors import InputError, SettingsError
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.settings.verification import JudgingSettings, VerificationSettings


def test_changes_become_settings() -> None:
    changes = read_changes(
        [
            "verification.accept_grounding=0.85",
            "judging.accept_unjudged=true",
            "verification.entailment_accept = none",
        ]
    )
    settings = load_settings(**changes)
    assert settings.verification.accept_grounding == 0.85
    assert settings.judging.accept_unjudged is True
    assert settings.verification.entailment_accept is None


def test_every_name_that_may_change_is_a_setting() -> None:
    verification = {f"verification.{name}" for name in VerificationSettings.model_fields}
    judging = {f"judging.{name}" for name in JudgingSettings.model_fields}
    assert set(DECIDING) <= verification | judging


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("verification.accept_groundin=0.8", "did you mean verification.accept_grounding"),
        ("accept_grounding=0.8", "did you mean verification.accept_grounding"),
        ("judging.weight_sorce=1", "did you mean judging.weight_source"),
        ("verification.probe_passages=true", "takes scores or replies that are not stored"),
        ("judging.temperature=1", "takes scores or replies that are not stored"),
        ("zzz=1", "those that do are verification.policy"),
        ("verification.accept_grounding", "must be GROUP.NAME=VALUE"),
        ("=1", "no such setting"),
    ],
)
def test_a_name_that_decides_nothing_is_refused_and_near_ones_are_named(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_changes([text])


@pytest.mark.parametrize(
    "text", ["verification.accept_grounding=high", "verification.policy=hope", "judging.weight_source=-1"]
)
def test_a_value_of_the_wrong_kind_is_refused_by_the_settings(text: str) -> None:
    with pytest.raises(SettingsError, match=r"setting (verification|judging)"):
        load_settings(**read_changes([text]))
