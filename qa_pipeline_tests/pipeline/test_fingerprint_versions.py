from importlib.resources import files
from pathlib import Path

from qa_pipeline.pipeline.fingerprint import SETTINGS, code_version
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


def test_another_wording_of_a_prompt_changes_the_steps_that_ask_with_it(tmp_path: Path) -> None:
    changed_steps = {
        "questions": {"questions"}, "questions_quoted": {"questions"}, "standalone": {"questions"},
        "guard": {"pairs"}, "answer": {"pairs", "assessments"}, "split": {"claims"},
        "verify": {"claim_verdicts", "canaries"}, "judge": {"assessments", "canaries"},
    }  # fmt: skip
    for name, steps in changed_steps.items():
        prompts = tmp_path / name
        (prompts / "en").mkdir(parents=True)
        text = files("qa_pipeline").joinpath(f"prompts/en/{name}.md").read_text(encoding="utf-8")
        (prompts / "en" / f"{name}.md").write_text(f"{text}\nBe brief.\n", encoding="utf-8")
        assert changed(llm={"prompts": str(prompts)}) == steps, name


def test_speed_and_caps_change_nothing() -> None:
    speed = {"workers": 50, "timeout_seconds": 5, "max_tries": 1, "wait_minutes": 1}
    assert changed(llm={**speed, "budget": {"max_calls": 10}}) == set()
