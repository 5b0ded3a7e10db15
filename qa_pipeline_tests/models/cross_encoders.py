"""Small classifiers written as folders, and a model whose logits are counted from words."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from qa_pipeline.models.cross_encoder import EntailmentModel, Pair
from qa_pipeline.models.devices import Numbers
from qa_pipeline.models.files import find_model
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
    marks = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    config = {"model_max_length": 512, "tokenizer_class": "PreTrainedTokenizerFast", **marks}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def tokenizer() -> Tokenizer:
    return find_model(EmbeddingSettings()).read_tokenizer()


class WordModel(EntailmentModel):
    """Entailment grows with the share of the claim's words in the passage; `no` in it contradicts.

    It computes without weights; `seen` lists every pair that was computed.
    """

    def __init__(self) -> None:
        folder = find_model(EmbeddingSettings()).folder
        super().__init__(
            "words", folder, "0" * 40, setting=SETTING, precision="float32", cache=memory_cache()
        )
        object.__setattr__(self, "seen", [])

    seen: list[Pair]
    most_tokens = WINDOW
    labels = THREE

    def compute(self, pairs: Sequence[Pair]) -> Numbers:
        self.seen.extend(pairs)
        return np.array([self._logits(*pair) for pair in pairs], dtype=np.float32)

    def _logits(self, passage: str, claim: str) -> list[float]:
        words, asked = ({*text.lower().split()} for text in (passage, claim))
        if "poison" in words:
            return [float("nan")] * 3
        share = len(asked & words) / max(1, len(asked))
        return [8 * share - 4, 0.0, 3.0 if "no" in words else -3.0]
