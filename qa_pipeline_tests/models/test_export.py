from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.models import onnx_encoder as embedding_export
from qa_pipeline.models.embedding_files import token_counter
from qa_pipeline.models.encoder import SentenceEncoder
from qa_pipeline.models.onnx_encoder import ARCHITECTURES, TextGraph, check_exportable, export_graph
from qa_pipeline_tests.models.tiny_models import MODULES, WIDTH, write_model

TEXTS = ["How many workers start?", "", "word " * 100, "Hur många arbetare startar som standard?"]


def modules(*kinds: str) -> dict[str, Any]:
    paths = {"Transformer": "", "Pooling": "1"}
    return {
        "modules.json": [
            {"name": kind, "type": f"sentence_transformers.models.{kind}", "path": paths.get(kind, kind)}
            for kind in kinds
        ]
    }


@pytest.mark.parametrize("architecture", sorted(ARCHITECTURES))
def test_each_architecture_is_reproduced_at_any_length(tmp_path: Path, architecture: str) -> None:
    files = write_model(tmp_path / "m", architecture)
    check_exportable(files)
    export = export_graph(files, "int8")
    found = TextGraph(files, export.content).vectors(TEXTS)
    wanted = SentenceEncoder(files, token_counter(files), "float32", 8).encode(TEXTS)
    assert found.shape == (len(TEXTS), WIDTH)
    assert (found * wanted).sum(axis=1).min() > 0.98
    assert export.min_cosine <= export.mean_cosine <= 1


def test_pooling_by_the_first_token_and_a_model_that_does_not_normalise(tmp_path: Path) -> None:
    files = write_model(tmp_path / "m", pooling="cls_token", files=modules("Transformer", "Pooling"))
    check_exportable(files)
    found = TextGraph(files, export_graph(files, "int7").content).vectors(TEXTS)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    assert np.abs(lengths - 1).min() > 0.1
    wanted = SentenceEncoder(files, token_counter(files), "float32", 8).encode(TEXTS)
    assert (found / lengths * wanted).sum(axis=1).min() > 0.95


def test_a_prompt_stands_before_each_text(tmp_path: Path) -> None:
    prompts = {"prompts": {"passage": "passage: "}, "default_prompt_name": "passage"}
    files = write_model(tmp_path / "m", files={"config_sentence_transformers.json": prompts})
    graph = TextGraph(files, export_graph(files, "int8").content)
    wanted = SentenceEncoder(files, token_counter(files), "float32", 8).encode(TEXTS)
    assert (graph.vectors(TEXTS) * wanted).sum(axis=1).min() > 0.98
    assert len(graph.tokenize(["word"])[0]) == 5


@pytest.mark.parametrize(
    ("files", "named"),
    [
        (modules(*MODULES[:2], "Dense"), "it consists of Transformer, Pooling, Dense"),
        (modules("Pooling"), "it consists of Pooling"),
        ({"config.json": {"model_type": "t5"}}, "its architecture is 't5'"),
        ({"1/config.json": {"pooling_mode_max_tokens": True}}, "it pools by max,"),
        ({"1/config.json": {"pooling_mode": ["mean", "cls"]}}, "it pools by mean and cls,"),
        (
            {
                "1/config.json": {"pooling_mode": "mean", "include_prompt": False},
                "config_sentence_transformers.json": {
                    "prompts": {"q": "query: "},
                    "default_prompt_name": "q",
                },
            },
            "leaves the prompt out",
        ),
    ],
)
def test_what_the_graph_could_not_reproduce_is_refused_by_name(
    tmp_path: Path, files: dict[str, Any], named: str
) -> None:
    written = write_model(tmp_path / "m", files=files)
    with pytest.raises(SettingsError, match=rf"cannot take the model m: .*{named}.*; set embedding\.backend"):
        check_exportable(written)


def test_weights_too_large_for_one_file_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_export, "LARGEST_WEIGHTS", 1000)
    with pytest.raises(SettingsError, match="its weights have more than 1000 bytes"):
        check_exportable(write_model(tmp_path / "m"))


def test_a_graph_that_is_another_model_fails_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = write_model(tmp_path / "one"), write_model(tmp_path / "other", "distilbert")
    exact = embedding_export.export_graph(other, "int8").content
    monkeypatch.setattr(embedding_export, "_traced", lambda files, model: exact)
    with pytest.raises(SettingsError, match="its exported graph gives other vectors"):
        export_graph(one, "int8")


def test_a_trace_that_holds_for_one_length_only_fails_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnx
    from onnx import helper, numpy_helper

    ids = helper.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, ["texts", "tokens"])
    out = helper.make_tensor_value_info("sentence_embedding", onnx.TensorProto.FLOAT, ["texts", 7])
    nodes = [
        helper.make_node("Reshape", ["input_ids", "shape"], ["seven"]),
        helper.make_node("Cast", ["seven"], ["sentence_embedding"], to=onnx.TensorProto.FLOAT),
    ]
    shape = numpy_helper.from_array(np.array([1, 7], dtype=np.int64), "shape")
    graph = helper.make_graph(nodes, "fixed", [ids], [out], [shape])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    monkeypatch.setattr(embedding_export, "_traced", lambda *_: bytes(model.SerializeToString()))
    with pytest.raises(SettingsError, match="its exported graph does not run"):
        export_graph(write_model(tmp_path / "m"), "int8")


def test_a_model_that_integers_cannot_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_export, "LEAST_COSINE", 1.1)
    with pytest.raises(SettingsError, match="8-bit integers move its vectors too far"):
        export_graph(write_model(tmp_path / "m"), "int8")
