import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.vector_cache import MemoryVectorCache
from qa_pipeline.settings.verification import EntailmentSettings, SpanSettings
from qa_pipeline.verification.entailment import network
from qa_pipeline.verification.entailment.models import CrossEncoder, load_cross_encoder, load_span_detector
from qa_pipeline.verification.entailment.spans import Answer
from qa_pipeline_tests.verification.entailment.models import write_classifier

PAIRS = [("The pump runs at 40 bar. " * count, "The pump runs.") for count in (1, 3, 2, 1)]


def load(folder: Path, graphs: Path, **settings: object) -> CrossEncoder:
    wanted = EntailmentSettings.model_validate({"model": str(folder), **settings})
    return load_cross_encoder(wanted, MemoryVectorCache(), graphs)


@pytest.mark.parametrize("architecture", ["bert", "deberta-v2", "roberta", "xlm-roberta"])
def test_integers_stay_near_torch(tmp_path: Path, architecture: str) -> None:
    config = {"type_vocab_size": 1} if "roberta" in architecture else {}
    folder = write_classifier(tmp_path / "m", architecture=architecture, config=config)
    exact = load(folder, tmp_path / "g", precision="float32").probabilities(PAIRS)
    encoder = load(folder, tmp_path / "g", backend="onnx_int8")
    found = encoder.probabilities(PAIRS)
    assert encoder.name.rsplit(" ", 1)[1] in {"int8", "int7"}
    assert np.abs(found - exact).max() < 0.1
    assert np.array_equal(found[0], found[3])


def test_a_graph_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_classifier(tmp_path / "m")
    first = load(folder, tmp_path / "g", backend="onnx_int8").probabilities(PAIRS)

    def made_again(*_: object) -> None:
        pytest.fail("the graph was made again")

    monkeypatch.setattr(network, "export_classifier", made_again)
    assert np.array_equal(load(folder, tmp_path / "g", backend="onnx_int8").probabilities(PAIRS), first)


def test_a_kept_graph_needs_no_torch(tmp_path: Path) -> None:
    folder = write_classifier(tmp_path / "m")
    load(folder, tmp_path / "g", backend="onnx_int8").probabilities(PAIRS)
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from qa_pipeline.models.vector_cache import MemoryVectorCache\n"
        "from qa_pipeline.settings.verification import EntailmentSettings\n"
        "from qa_pipeline.verification.entailment.models import load_cross_encoder\n"
        "settings = EntailmentSettings(model=sys.argv[1], backend='onnx_int8')\n"
        "load_cross_encoder(settings, MemoryVectorCache(), Path(sys.argv[2])).probabilities([('a', 'b')])\n"
        "assert not {'torch', 'transformers'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", script, str(folder), str(tmp_path / "g")], check=True, timeout=60)


def test_spans_are_read_in_integers_too(tmp_path: Path) -> None:
    folder = write_classifier(tmp_path / "d", ("supported", "hallucinated"), kind="tokens")
    answer = Answer("How?", ("The pump runs.",), "It runs at 40 bar.")
    found = [
        load_span_detector(SpanSettings.model_validate(one), MemoryVectorCache(), tmp_path / "g").read(
            [answer]
        )[0]
        for one in (
            {"model": str(folder), "precision": "float32"},
            {"model": str(folder), "backend": "onnx_int8"},
        )
    ]
    assert found[0].offsets == found[1].offsets
    assert np.allclose(found[0].unsupported, found[1].unsupported, atol=0.1)


def test_an_architecture_that_was_never_tried_is_refused(tmp_path: Path) -> None:
    folder = write_classifier(tmp_path / "m", architecture="modernbert")
    with pytest.raises(
        SettingsError, match=r"architecture is 'modernbert'.*verification\.entailment\.backend"
    ):
        load(folder, tmp_path / "g", backend="onnx_int8")


def test_a_graph_that_is_another_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_classifier(tmp_path / "m")
    monkeypatch.setattr(network, "MOST_MEAN_MOVED", -1.0)
    with pytest.raises(SettingsError, match="8-bit integers move its probabilities"):
        load(folder, tmp_path / "g", backend="onnx_int8").probabilities(PAIRS)
    monkeypatch.setattr(network, "SAME_PROBABILITY", -1.0)
    with pytest.raises(SettingsError, match="its exported graph moves probabilities"):
        load(folder, tmp_path / "g", backend="onnx_int8").probabilities(PAIRS)
