from qa_pipeline.pipeline.versions import SETTINGS, code_version
from qa_pipeline.settings.tree import Settings, load_settings


def changed(**settings: dict[str, object]) -> set[str]:
    """The steps whose code version changes with the settings."""
    before, after = load_settings(), load_settings(**settings)
    stages = SETTINGS.keys() - {"gates", "release", "production_quality"}
    return {stage for stage in stages if code_version(stage, before) != code_version(stage, after)}


def test_every_group_of_settings_counts_for_some_step() -> None:
    paths = {"corpus", "out", "cache", "private"}
    over_all_batches = {"release", "monitoring", "evaluation", "review"}
    known = {group.partition(".")[0] for groups in SETTINGS.values() for group in groups} - {"release"}
    assert known == set(Settings.model_fields) - paths - over_all_batches - {"profile"}


def test_a_setting_changes_the_steps_it_decides_in_and_no_others() -> None:
    assert changed(judging={"threshold": 0.9}) == {"assessments", "canaries", "verdicts"}
    assert changed(training={"distractors": 3}) == {"training_examples"}
    assert changed(quality={"min_pass_rate": 0.6}) == {"training_examples"}
    assert changed(release={"min_grounding": 0.5}) == set()


def test_speed_and_caps_change_nothing() -> None:
    speed = {"workers": 50, "timeout_seconds": 5, "max_tries": 1, "wait_minutes": 1}
    assert changed(llm={**speed, "budget": {"max_calls": 10}}) == set()
