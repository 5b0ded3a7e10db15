import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.models import files
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.models.files import ModelFiles, find_model, load_token_counter
from qa_pipeline.settings.generation import EmbeddingSettings

COMMIT = "0" * 40
TRANSFORMER = {"type": "sentence_transformers.models.Transformer", "path": ""}
POOLING = {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}


def model_folder(folder: Path, files: dict[str, Any]) -> Path:
    for name, content in ({"model.safetensors": "weights", "modules.json": [TRANSFORMER]} | files).items():
        if content is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def test_the_packaged_model_is_the_pinned_one() -> None:
    files = find_model(EmbeddingSettings())
    files.check()
    weights = hashlib.sha256((files.folder / "model.safetensors").read_bytes()).hexdigest()
    assert files.revision == f"sha256:{weights}"
    assert files.window == 256


def test_long_texts_are_counted_whole_and_short_ones_without_padding() -> None:
    counter = load_token_counter(EmbeddingSettings())
    assert counter.count(["word " * 1000, "word", ""]) == [1002, 3, 2]


def test_an_altered_packaged_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(files.EMBEDDED_SHA256, "model.safetensors", "0" * 64)
    with pytest.raises(SettingsError, match=r"model\.safetensors"):
        load_embedder(EmbeddingSettings())


@pytest.mark.parametrize("revision", [None, "main", "v1.0", "abc123"])
def test_a_hub_model_without_a_pinned_commit_is_refused(revision: str | None) -> None:
    with pytest.raises(SettingsError, match=r"KBLab/some-model.*embedding\.revision"):
        find_model(EmbeddingSettings(model="KBLab/some-model", revision=revision))


def test_a_hub_model_in_the_cache_is_found_without_the_hub(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    folder = model_folder(tmp_path / "models--KBLab--some-model" / "snapshots" / COMMIT, {})
    files = find_model(EmbeddingSettings(model="KBLab/some-model", revision=COMMIT))
    assert files == ModelFiles("KBLab/some-model", folder, commit=COMMIT)
    assert files.revision == COMMIT


def test_a_folders_revision_follows_every_file_that_shapes_a_vector(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "m", {"1_Pooling/config.json": {"mode": "mean"}, "README.md": "one"})
    before = ModelFiles("m", folder).revision
    (folder / "README.md").write_text("two")
    assert ModelFiles("m", folder).revision == before
    for name in ("model.safetensors", "modules.json", "1_Pooling/config.json"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content + b" ")
        assert ModelFiles("m", folder).revision != before
        (folder / name).write_bytes(content)
    assert ModelFiles("m", folder).revision == before


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"model.safetensors": None}, "safetensors"),
        ({"modules.json": [{"type": "evil.Module", "path": ""}]}, "'evil.Module'"),
        ({"modules.json": "{"}, "modules.json"),
        ({"modules.json": ["x"]}, "modules.json"),
        (
            {"modules.json": [TRANSFORMER, {**POOLING, "path": "2_Dense"}], "2_Dense/pytorch_model.bin": "x"},
            "safetensors",
        ),
    ],
)
def test_a_folder_that_could_run_code_or_is_broken_is_refused(
    tmp_path: Path, files: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        ModelFiles("m", model_folder(tmp_path, files)).check()


def test_a_pinned_folder_with_other_content_is_refused(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "m", {})
    with pytest.raises(SettingsError, match=r"embedding\.revision .*sha256:0"):
        load_embedder(EmbeddingSettings(model=str(folder), revision="sha256:0"))


@pytest.mark.parametrize(
    ("files", "window"),
    [
        ({"sentence_bert_config.json": {"max_seq_length": 128}}, 128),
        (
            {
                "sentence_bert_config.json": {"max_seq_length": None},
                "config.json": {"max_position_embeddings": 514},
                "tokenizer_config.json": {"model_max_length": 512},
            },
            512,
        ),
        (
            {
                "tokenizer_config.json": {"model_max_length": 1e30},
                "config.json": {"max_position_embeddings": 40},
            },
            40,
        ),
    ],
)
def test_the_window_is_the_models_own(tmp_path: Path, files: dict[str, Any], window: int) -> None:
    assert ModelFiles("m", model_folder(tmp_path, files)).window == window
