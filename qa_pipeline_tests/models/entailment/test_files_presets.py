import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.entailment.files import CROSS_ENCODERS, SPAN_DETECTORS, with_preset
from qa_pipeline.models.entailment.models import load_cross_encoder
from qa_pipeline.models.entailment.tokens import PairReader
from qa_pipeline.settings.verification import EntailmentSettings, SpanSettings
from qa_pipeline_tests.fakes import memory_cache
from qa_pipeline_tests.models.entailment.models import SETTING, tokenizer


@pytest.mark.parametrize("name", CROSS_ENCODERS)
def test_the_settings_of_a_preset_are_settings_one_could_write(name: str) -> None:
    preset = CROSS_ENCODERS[name]
    made = with_preset(EntailmentSettings(model=name), CROSS_ENCODERS)
    written = {"model": name, **preset}
    assert EntailmentSettings.model_validate(written) == made
    PairReader(tokenizer(), 512, made.template, SETTING)


@pytest.mark.parametrize("name", SPAN_DETECTORS)
def test_a_span_detector_is_asked_the_way_it_was_trained(name: str) -> None:
    made = with_preset(SpanSettings(model=name), SPAN_DETECTORS)
    assert made.template is not None
    assert SpanSettings.model_validate({"model": name, **SPAN_DETECTORS[name]}) == made


def test_what_is_set_wins_over_a_preset() -> None:
    name = "yaxili96/FactCG-DeBERTa-v3-Large"
    made = with_preset(EntailmentSettings(model=name, revision="a" * 40, input_tokens=512), CROSS_ENCODERS)
    assert (made.revision, made.input_tokens) == ("a" * 40, 512)
    assert made.template == CROSS_ENCODERS[name]["template"]


def test_other_models_have_no_preset() -> None:
    settings = EntailmentSettings(model="someone/else")
    assert with_preset(settings, CROSS_ENCODERS) == settings


def test_a_preset_without_a_known_commit_asks_for_one() -> None:
    settings = EntailmentSettings(model="lytang/MiniCheck-RoBERTa-Large")
    with pytest.raises(SettingsError, match=r"set verification\.entailment\.revision"):
        load_cross_encoder(settings, memory_cache())
