"""Models that read a passage and a claim together: token ids to logits with torch, each input once, ever.

Which texts are read for a claim is decided in `verification/entailment.py`.
"""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.classifier import Input, compute_logits, load_classifier
from qa_pipeline.models.devices import TorchPrecision, check_device, choose_precision, device_of, workers_on
from qa_pipeline.models.entailment.files import (
    Labels,
    Logits,
    PairModelFiles,
    Scores,
    find_pair_model,
    read_labels,
)
from qa_pipeline.models.entailment.tokens import PairReader
from qa_pipeline.models.vector_cache import VectorCache, VectorSpace, compute_cached
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline.settings.verification import EntailmentSettings

SETTING = "verification.entailment"
"""The setting that names the model."""


@dataclass(eq=False)
class Network:
    """A transformers model behind a store of its logits; weights are loaded at the first input.

    Args:
        files: the model.
        precision: arithmetic of the weights, with its device.
        store: logits computed before; equal inputs have equal logits in all processes.
    """

    files: PairModelFiles
    precision: TorchPrecision
    store: VectorCache

    @property
    def name(self) -> str:
        """Return model, revision and arithmetic, as tables show them."""
        return f"{self.files.name}@{self.files.revision} {self.precision}"

    def run(self, inputs: Sequence[Input], notify: ProgressCallback = no_progress) -> list[Logits]:
        """Return the logits of each input, in order.

        Raises:
            SettingsError: the weights cannot be used.
            StorageError: the store cannot be used.
        """
        space = VectorSpace(self.files.name, self.files.revision, self.precision)
        keys = [_key(pair) for pair in inputs]
        outputs = compute_cached(
            space,
            dict(zip(keys, inputs, strict=True)),
            lambda pair: len(pair.ids),
            self.compute,
            self.store,
            notify,
        )
        return [outputs[key] for key in keys]

    def compute(self, inputs: Sequence[Input]) -> list[Logits]:
        """Return the logits of each input, by the model."""
        return compute_logits(self.model, inputs, self._workers)

    @cached_property
    def model(self) -> Any:
        """Return the model itself, ready to run."""
        import torch

        check_device(self.precision)
        model = load_classifier(self.files.folder, self.files.refused)
        return model.to(
            device_of(self.precision),
            torch.bfloat16 if self.precision.endswith("bfloat16") else torch.float32,
        )

    @cached_property
    def _workers(self) -> ThreadPoolExecutor:
        return workers_on(self.precision)


def _key(pair: Input) -> str:
    content = np.array([*pair.ids, *pair.types], dtype="<i4").tobytes()
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, eq=False)
class CrossEncoder:
    """A model, what its labels mean, and how it is given texts."""

    network: Network
    labels: Labels
    reader: PairReader

    def probabilities(
        self, pairs: Sequence[tuple[str, str]], notify: ProgressCallback = no_progress
    ) -> Scores:
        """Return the entailment, neutral and contradiction of each pair of passage and claim.

        Returns:
            pairs x 3; NaN where the model has no such class, and for all of a pair it has no finite number
            for.
        """
        if not pairs:
            return np.zeros((0, 3))
        self.reader.learn(text for pair in pairs for text in pair)
        inputs = [self.reader.join(passage, claim) for passage, claim in pairs]
        return self.labels.probabilities(np.stack(self.network.run(inputs, notify)))


def load_cross_encoder(
    settings: EntailmentSettings, store: VectorCache, embedding: EmbeddingSettings
) -> CrossEncoder:
    """Find and check the model; its weights are read at the first input that must be computed.

    Args:
        settings: names the model.
        store: keeps its logits.
        embedding: device and precision, which hold for all local models.

    Raises:
        SettingsError: there is no model, or it cannot be used; the message tells what to do.
    """
    if settings.model is None:
        raise SettingsError(f"{SETTING}.model names no model; set it to a folder or a name of the hub")
    files = find_pair_model(settings.model, settings.revision, SETTING)
    reader = PairReader(files.tokenizer(), files.most_tokens(), SETTING)
    network = Network(files, choose_precision(embedding.precision, embedding.device), store)
    return CrossEncoder(network, read_labels(files), reader)
