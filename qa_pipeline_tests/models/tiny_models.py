"""Small sentence-transformers models with random weights, written as folders."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qa_pipeline.models.embedding_files import ModelFiles, find_model
from qa_pipeline.settings.generation import EmbeddingSettings

WIDTH = 32
WINDOW = 64
MODULES = ("Transformer", "Pooling", "Normalize")
TOKENS = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}


def write_model(
    folder: Path,
    architecture: str = "bert",
    *,
    pooling: str = "mean_tokens",
    files: Mapping[str, Any] | None = None,
) -> ModelFiles:
    """Write a model of two layers that reads the packaged model's tokens.

    Args:
        folder: where; made when absent.
        architecture: as transformers names it.
        pooling: the switch of the pooling mode.
        files: JSON files that take the place of others or stand beside them.
    """
    import torch
    from transformers import AutoConfig, AutoModel

    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(find_model(EmbeddingSettings()).folder / "tokenizer.json", folder)
    torch.manual_seed(0)
    config = AutoConfig.for_model(architecture, **_sizes(architecture))
    AutoModel.from_config(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    for name, content in (_descriptions(pooling) | dict(files or {})).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    return ModelFiles(folder.name, folder)


def _sizes(architecture: str) -> dict[str, Any]:
    shared = {"vocab_size": 30_522, "max_position_embeddings": 2 * WINDOW, "initializer_range": 0.5}
    if architecture == "distilbert":
        return shared | {"dim": WIDTH, "n_layers": 2, "n_heads": 2, "hidden_dim": 2 * WIDTH}
    widths = {"hidden_size": WIDTH, "embedding_size": WIDTH, "intermediate_size": 2 * WIDTH}
    return shared | widths | {"num_hidden_layers": 2, "num_attention_heads": 2, "pad_token_id": 0}


def _descriptions(pooling: str) -> dict[str, Any]:
    types = [f"sentence_transformers.models.{kind}" for kind in MODULES]
    return {
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", **TOKENS},
        "sentence_bert_config.json": {"max_seq_length": WINDOW},
        "modules.json": [
            {"idx": place, "name": str(place), "type": kind, "path": f"{place}" if place else ""}
            for place, kind in enumerate(types)
        ],
        "1/config.json": {"word_embedding_dimension": WIDTH, f"pooling_mode_{pooling}": True},
        "2/config.json": {},
    }
