"""Small classifiers written as folders, and a network whose logits are counted from words."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from qa_pipeline.models.classifier import Input
from qa_pipeline.models.embedding_files import find_model
from qa_pipeline.models.entailment.files import Labels, Logits, PairModelFiles
from qa_pipeline.models.entailment.models import CrossEncoder, Network
from qa_pipeline.models.entailment.tokens import PairReader
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline_tests.fakes import memory_cache

THREE = ("entailment", "neutral", "contradiction")
WINDOW = 128
SETTING = "verification.entailment"


def write_classifier(
    folder: Path,
    labels: Sequence[str] = THREE,
    *,
    architecture: str = "bert",
    bias: Sequence[float] | None = None,
    config: dict[str, Any] | None = None,
) -> Path:
    """Write a model of two layers that reads the packaged model's tokens.

    With `bias` its head ignores what it reads: these are its logits for every input.
    """
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification

    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder)
    torch.manual_seed(0)
    sizes = {"vocab_size": 30_522, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 2, "max_position_embeddings": WINDOW, "type_vocab_size": 2}
    sizes |= {"pad_token_id": 0, "initializer_range": 0.5} | (config or {})
    names = dict(enumerate(labels))
    made = AutoConfig.for_model(architecture, **sizes, id2label=names)
    model: Any = AutoModelForSequenceClassification.from_config(made)  # type: ignore[no-untyped-call]
    if bias is not None:
        head = model.classifier
        head.weight.data.zero_()
        head.bias.data = torch.tensor(list(bias), dtype=torch.float32)
    model.save_pretrained(folder)
    return folder


def train(folder: Path, rows: Sequence[tuple[str, str, int]], *, steps: int = 30) -> None:
    """Train a written model of texts on passages, claims and the place of the right label."""
    import torch
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(folder)
    reader = tokenizer()
    reader.enable_padding(pad_id=model.config.pad_token_id)
    read = reader.encode_batch([(passage, claim) for passage, claim, _ in rows])
    inputs = {
        "input_ids": torch.tensor([encoding.ids for encoding in read]),
        "token_type_ids": torch.tensor([encoding.type_ids for encoding in read]),
        "attention_mask": torch.tensor([encoding.attention_mask for encoding in read]),
        "labels": torch.tensor([label for *_, label in rows]),
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    for _ in range(steps):
        optimizer.zero_grad()
        model(**inputs).loss.backward()
        optimizer.step()
    model.save_pretrained(folder)


def write_tokenizer(folder: Path) -> None:
    shutil.copy(find_model(EmbeddingSettings()).folder / "tokenizer.json", folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 512}))


def tokenizer() -> Tokenizer:
    return PairModelFiles("packaged", find_model(EmbeddingSettings()).folder).tokenizer()


class CountingNetwork(Network):
    """Computes without a model; `seen` lists every input that was computed."""

    def __init__(self, name: str) -> None:
        super().__init__(PairModelFiles(name, Path(), "0" * 40), "float32", memory_cache())
        self.seen: list[Input] = []

    def compute(self, inputs: Sequence[Input]) -> list[Logits]:
        self.seen += inputs
        return [self.logits(one) for one in inputs]

    def logits(self, one: Input) -> Logits:
        raise NotImplementedError


class WordNetwork(CountingNetwork):
    """Entailment grows with the share of the claim's tokens in the passage; `no` in it contradicts."""

    def __init__(self) -> None:
        super().__init__("words")
        self._tokenizer = tokenizer()

    def logits(self, one: Input) -> Logits:
        claim = {i for i, kind in zip(one.ids, one.types, strict=True) if kind} - {102}
        passage = {i for i, kind in zip(one.ids, one.types, strict=True) if not kind} - {101, 102}
        words = {self._tokenizer.id_to_token(i) for i in passage}
        if "poison" in words:
            return np.full(3, np.nan, dtype=np.float32)
        share = len(claim & passage) / max(1, len(claim))
        return np.array([8 * share - 4, 0.0, 3.0 if "no" in words else -3.0], dtype=np.float32)


def word_encoder(network: WordNetwork | None = None) -> CrossEncoder:
    reader = PairReader(tokenizer(), WINDOW, SETTING)
    return CrossEncoder(network or WordNetwork(), Labels((0,), (1,), (2,)), reader)
