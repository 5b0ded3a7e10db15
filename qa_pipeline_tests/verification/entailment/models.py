"""Small classifiers written as folders, and a network whose logits are counted from words."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from qa_pipeline.models.embedding_files import find_model
from qa_pipeline.models.vector_cache import MemoryVectorCache
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline.settings.verification import EntailmentSettings
from qa_pipeline.verification.entailment.files import Labels, PairModelFiles
from qa_pipeline.verification.entailment.models import CrossEncoder, RememberedNetwork
from qa_pipeline.verification.entailment.network import Kind, Logits
from qa_pipeline.verification.entailment.tokens import Input, PairReader

THREE = ("entailment", "neutral", "contradiction")
WINDOW = 128
SETTING = "verification.entailment"


def write_classifier(
    folder: Path,
    labels: Sequence[str] = THREE,
    *,
    kind: Kind = "texts",
    architecture: str = "bert",
    bias: Sequence[float] | None = None,
    config: dict[str, Any] | None = None,
) -> Path:
    """Write a model of two layers that reads the packaged model's tokens.

    With `bias` its head ignores what it reads: these are its logits for every input.
    """
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoModelForTokenClassification

    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder)
    torch.manual_seed(0)
    sizes = {"vocab_size": 30_522, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 2, "max_position_embeddings": WINDOW, "type_vocab_size": 2}
    sizes |= {"pad_token_id": 0} | (config or {})
    names = dict(enumerate(labels))
    made = AutoConfig.for_model(architecture, **sizes, id2label=names, initializer_range=0.5)
    loader: Any = AutoModelForSequenceClassification if kind == "texts" else AutoModelForTokenClassification
    model = loader.from_config(made)
    if bias is not None:
        head = model.classifier
        head.weight.data.zero_()
        head.bias.data = torch.tensor(list(bias), dtype=torch.float32)
    model.save_pretrained(folder)
    return folder


def write_tokenizer(folder: Path) -> None:
    shutil.copy(find_model(EmbeddingSettings()).folder / "tokenizer.json", folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 512}))


def tokenizer() -> Tokenizer:
    return PairModelFiles("packaged", find_model(EmbeddingSettings()).folder).tokenizer()


@dataclass
class WordNetwork:
    """Entailment grows with the share of the claim's tokens in the passage; `no` in the passage contradicts.

    `seen` lists every input that was computed.
    """

    most_tokens: int = WINDOW
    nan_word: str = "poison"
    precision: str = "float32"
    files: PairModelFiles = field(default_factory=lambda: PairModelFiles("words", Path(), "0" * 40))
    seen: list[Input] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tokenizer = tokenizer()

    def run(self, inputs: Sequence[Input], notify: ProgressCallback = no_progress) -> list[Logits]:
        self.seen += inputs
        return [self._logits(one) for one in inputs]

    def _logits(self, one: Input) -> Logits:
        claim = {i for i, kind in zip(one.ids, one.types, strict=True) if kind} - {102}
        passage = {i for i, kind in zip(one.ids, one.types, strict=True) if not kind} - {101, 102}
        words = {self._tokenizer.id_to_token(i) for i in passage}
        if self.nan_word in words:
            return np.full(3, np.nan, dtype=np.float32)
        share = len(claim & passage) / max(1, len(claim))
        return np.array([8 * share - 4, 0.0, 3.0 if "no" in words else -3.0], dtype=np.float32)


def word_encoder(network: WordNetwork | None = None) -> CrossEncoder:
    network = network or WordNetwork()
    reader = PairReader(tokenizer(), network.most_tokens, None, SETTING)
    return CrossEncoder(RememberedNetwork(network, MemoryVectorCache()), Labels(3, (0,), (1,), (2,)), reader)


def small_windows() -> EntailmentSettings:
    return EntailmentSettings(window_tokens=40)
