import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_pipeline.errors import SettingsError, StorageError
from qa_pipeline.models import onnx_encoder as embedding_onnx
from qa_pipeline.models.graph_cache import GRAPH, GraphCache
from qa_pipeline.models.loading import load_embedder
from qa_pipeline.models.onnx_encoder import OnnxEncoder
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline_tests.models.encoder_laws import TEXTS, check_vectors
from qa_pipeline_tests.models.tiny_models import write_model

INT8 = EmbeddingSettings(backend="onnx_int8")

ENCODE = """
import sys
from pathlib import Path
from qa_pipeline.models.loading import load_embedder
from qa_pipeline.settings.generation import EmbeddingSettings
settings = EmbeddingSettings(backend="onnx_int8", model=sys.argv[2] or EmbeddingSettings().model)
encoder = load_embedder(settings, Path(sys.argv[1]))
print(encoder.encode(["How many workers start?"]).tobytes().hex())
print(sorted({"torch", "onnx", "sentence_transformers", "transformers"} & sys.modules.keys()))
"""


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graphs")


@pytest.fixture(scope="module")
def encoder(graphs: Path) -> OnnxEncoder:
    made = load_embedder(INT8, graphs)
    assert isinstance(made, OnnxEncoder)
    return made


@given(texts=st.lists(st.sampled_from([*TEXTS, "a", "a b", "é" * 30]), min_size=1, max_size=12))
@settings(max_examples=25)
def test_a_vector_does_not_depend_on_its_neighbours(encoder: OnnxEncoder, texts: list[str]) -> None:
    alone = {text: encoder.encode([text])[0].tobytes() for text in set(texts)}
    assert [row.tobytes() for row in encoder.encode(texts)] == [alone[text] for text in texts]


def test_vectors_have_unit_length_and_keep_the_order_of_the_texts(encoder: OnnxEncoder) -> None:
    check_vectors(encoder)
    assert encoder.precision in {"int8", "int7"}


def test_vectors_stay_close_to_those_of_float32(encoder: OnnxEncoder) -> None:
    exact = load_embedder(EmbeddingSettings(precision="float32")).encode(TEXTS)
    assert (exact * encoder.encode(TEXTS)).sum(axis=1).min() > 0.985


def test_a_kept_graph_gives_the_same_vectors_without_torch(encoder: OnnxEncoder, graphs: Path) -> None:
    vector = encoder.encode(["How many workers start?"])
    script = [sys.executable, "-c", ENCODE, str(graphs), ""]
    told = subprocess.run(script, check=True, timeout=60, stdout=subprocess.PIPE, text=True).stdout
    assert told.splitlines() == [vector.tobytes().hex(), "[]"]


def test_two_processes_at_once_keep_one_graph(tmp_path: Path) -> None:
    model = tmp_path / "m"
    write_model(model)
    script = [sys.executable, "-c", ENCODE, str(tmp_path / "graphs"), str(model)]
    started = [subprocess.Popen(script, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate(timeout=120)[0].splitlines()[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert told[0] == told[1]
    assert len(list((tmp_path / "graphs").iterdir())) == 1


def test_a_damaged_graph_is_refused_not_run(tmp_path: Path) -> None:
    files = write_model(tmp_path / "m")
    first = load_embedder(INT8.model_copy(update={"model": str(files.folder)}), tmp_path / "graphs")
    assert isinstance(first, OnnxEncoder)
    first.encode(["a"])
    (path,) = (tmp_path / "graphs").glob(f"*/{GRAPH}")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(StorageError, match="delete the folder, and the graph is made again"):
        replace(first, cache=GraphCache(tmp_path / "graphs")).encode(["a"])


def test_weights_in_seven_bits_are_another_graph_and_nearly_the_same_vectors(tmp_path: Path) -> None:
    files = write_model(tmp_path / "m")
    eight = load_embedder(INT8.model_copy(update={"model": str(files.folder)}), tmp_path / "graphs")
    assert isinstance(eight, OnnxEncoder)
    full, reduced = replace(eight, precision="int8"), replace(eight, precision="int7")
    cosines = (full.encode(TEXTS) * reduced.encode(TEXTS)).sum(axis=1)
    assert cosines.min() > 0.98
    assert len(list((tmp_path / "graphs").iterdir())) == 2


def test_a_missing_extra_is_named_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_onnx, "EXTRA", ("onnx", "no_such_runtime"))
    with pytest.raises(
        SettingsError, match=r"no_such_runtime is not installed; run: pip install 'qa-pipeline\[onnx\]'"
    ):
        load_embedder(INT8, tmp_path)


def test_a_precision_of_torch_contradicts_integers() -> None:
    with pytest.raises(ValueError, match=r"embedding\.precision is float32, but the backend onnx_int8"):
        EmbeddingSettings(backend="onnx_int8", precision="float32")


def test_a_place_for_graphs_must_be_named() -> None:
    with pytest.raises(ValueError, match="name a folder"):
        load_embedder(INT8)
