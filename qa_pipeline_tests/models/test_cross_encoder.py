from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import CrossEncoder

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.cross_encoder import EntailmentModel, load_entailment_model
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline.settings.verification import EntailmentSettings
from qa_pipeline_tests.fakes import memory_cache
from qa_pipeline_tests.models.cross_encoders import WINDOW, write_classifier

PAIRS = [
    ("The pump runs at 40 bar.", "The pump runs."),
    ("Short.", "The pump runs."),
    ("The valve " * 20, "Closed."),
]


def load(folder: Path, revision: str | None = None, **settings: object) -> EntailmentModel:
    embedding = EmbeddingSettings.model_validate({"precision": "float32", **settings})
    named = EntailmentSettings(model=str(folder), revision=revision)
    model = load_entailment_model(named, memory_cache(), embedding)
    assert model is not None
    return model


def test_probabilities_follow_the_labels_whatever_their_order(tmp_path: Path) -> None:
    folder = write_classifier(
        tmp_path / "m", ("CONTRADICTION", "Entailment", "neutral"), bias=(0.0, 2.0, 1.0)
    )
    found = load(folder).probabilities(PAIRS)
    powers = np.exp([2.0, 1.0, 0.0])
    assert np.allclose(found, np.tile(powers / powers.sum(), (3, 1)), atol=1e-6)


def test_scores_are_those_of_the_library_in_any_order_and_company(tmp_path: Path) -> None:
    folder = write_classifier(tmp_path / "m")
    library = CrossEncoder(str(folder), device="cpu", max_length=WINDOW, local_files_only=True)
    alone = np.concatenate([load(folder).probabilities([pair]) for pair in PAIRS])
    assert np.array_equal(load(folder).probabilities([*PAIRS[::-1], *PAIRS])[3:], alone)
    assert np.allclose(alone, library.predict(PAIRS, apply_softmax=True), atol=1e-5)


def test_a_gpu_that_is_not_there_is_missed_at_the_first_pair(tmp_path: Path) -> None:
    encoder = load(write_classifier(tmp_path / "m"), device="cuda")
    assert encoder.identity.endswith(" cuda float32")
    with pytest.raises(SettingsError, match=r"embedding\.device"):
        encoder.probabilities(PAIRS)


ARCHITECTURES: dict[str, dict[str, object]] = {
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0},
    "modernbert": {},
}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_any_architecture_of_transformers_is_read(tmp_path: Path, architecture: str) -> None:
    config = ARCHITECTURES[architecture]
    folder = write_classifier(tmp_path / "m", architecture=architecture, config=config)
    found = load(folder).probabilities([*PAIRS, PAIRS[0]])
    assert np.allclose(found.sum(axis=1), 1.0)
    assert np.array_equal(found[0], found[-1])
    assert np.unique(found[:3, 0].round(6)).size == 3
    assert np.abs(load(folder, precision="bfloat16").probabilities(PAIRS) - found[:3]).max() < 0.2


def test_a_model_without_a_trained_head_is_refused(tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    folder = write_classifier(tmp_path / "m")
    AutoModelForSequenceClassification.from_pretrained(folder).base_model.save_pretrained(folder)
    with pytest.raises(SettingsError, match="ForSequenceClassification"):
        load(folder).probabilities(PAIRS)


def test_a_class_that_a_model_lacks_is_unknown(tmp_path: Path) -> None:
    found = load(write_classifier(tmp_path / "m", ("not_entailment", "entailment"))).probabilities(PAIRS)
    assert np.isfinite(found[:, 0]).all()
    assert np.isnan(found[:, 1:]).all()


@pytest.mark.parametrize("names", [("LABEL_0", "LABEL_1"), ("neutral", "contradiction"), ("entailment", "x")])
def test_classes_without_a_known_meaning_are_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    with pytest.raises(SettingsError, match=", ".join(names).lower()):
        load(write_classifier(tmp_path / "m", names))


def test_a_marker_in_a_document_ends_no_passage(tmp_path: Path) -> None:
    encoder = load(write_classifier(tmp_path / "m"))
    marked, written = encoder.probabilities([("The pump [SEP] runs.", "A"), ("The pump [ SEP ] runs.", "A")])
    assert np.array_equal(marked, written)


def test_a_hub_model_must_be_pinned() -> None:
    with pytest.raises(SettingsError, match=r"entailment\.revision to the 40 digits"):
        load(Path("someone/some-nli"))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"model.safetensors": None}, "safetensors"),
        ({"tokenizer.json": None}, "tokenizer.json"),
        ({"config.json": None}, "config.json"),
        ({"model.safetensors": "not weights"}, "loaded"),
    ],
)
def test_what_cannot_be_a_model_is_refused_by_name(
    tmp_path: Path, files: dict[str, str | None], message: str
) -> None:
    folder = write_classifier(tmp_path / "nli")
    for name, content in files.items():
        (folder / name).unlink(missing_ok=True)
        if content is not None:
            (folder / name).write_text(content)
    with pytest.raises(SettingsError, match=message) as caught:
        load(folder).probabilities(PAIRS)
    assert "nli" in str(caught.value)
