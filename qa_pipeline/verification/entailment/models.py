"""Cross-encoders: from pairs of texts to probabilities, each input computed once, ever.

Loads them, and span detectors, from settings. Which texts are read for a claim is decided in `claims.py`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.cpu import choose_precision
from qa_pipeline.models.vector_cache import VectorCache, VectorSpace, compute_cached
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.settings.verification import EntailmentSettings, PairModelSettings, SpanSettings
from qa_pipeline.verification.entailment.files import (
    CROSS_ENCODERS,
    SPAN_DETECTORS,
    Labels,
    PairModelFiles,
    Scores,
    find_pair_model,
    read_labels,
    with_preset,
)
from qa_pipeline.verification.entailment.network import Kind, Logits, Network, TorchNetwork
from qa_pipeline.verification.entailment.spans import SpanDetector, unsupported_classes
from qa_pipeline.verification.entailment.tokens import Input, PairReader

SETTING = "verification.entailment"
SPANS = "verification.spans"


@dataclass(frozen=True, eq=False)
class RememberedNetwork:
    """A network behind a store of logits; equal inputs have equal logits in all processes."""

    inner: Network
    store: VectorCache

    @property
    def files(self) -> PairModelFiles:
        """The model."""
        return self.inner.files

    @property
    def precision(self) -> str:
        """Arithmetic of its weights."""
        return self.inner.precision

    def run(self, inputs: Sequence[Input], notify: ProgressCallback = no_progress) -> list[Logits]:
        """Logits of each input in order, as one row of numbers; those stored are not computed again.

        Raises:
            SettingsError: the weights cannot be used.
            StorageError: the store cannot be used.
        """
        space = VectorSpace(self.files.name, self.files.revision, self.precision)
        keys = [_key(one) for one in inputs]
        found = compute_cached(
            space,
            dict(zip(keys, inputs, strict=True)),
            lambda one: len(one.ids),
            lambda part: [logits.ravel() for logits in self.inner.run(part)],
            self.store,
            notify,
        )
        return [found[key] for key in keys]


def _key(one: Input) -> str:
    content = np.array([*one.ids, *one.types, one.tail], dtype="<i4").tobytes()
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, eq=False)
class CrossEncoder:
    """A model, what its labels mean, and how it is given texts."""

    network: Network
    labels: Labels
    reader: PairReader

    @property
    def name(self) -> str:
        """Model, revision and arithmetic, as tables show them."""
        files = self.network.files
        return f"{files.name}@{files.revision} {self.network.precision}"

    def probabilities(
        self, pairs: Sequence[tuple[str, str]], notify: ProgressCallback = no_progress
    ) -> Scores:
        """Entailment, neutral and contradiction of each pair of passage and claim.

        Returns:
            pairs x 3; NaN where the model does not tell, and for all of a pair it has no finite number for.
        """
        if not pairs:
            return np.zeros((0, 3))
        self.reader.learn(text for pair in pairs for text in pair)
        inputs = [self.reader.join(passage, claim) for passage, claim in pairs]
        logits = np.stack(self.network.run(inputs, notify))
        return self.labels.probabilities(logits)


def load_cross_encoder(settings: EntailmentSettings, store: VectorCache) -> CrossEncoder:
    """Find and check the model; its weights are read at the first input that must be computed.

    Args:
        settings: which model, and how it is given texts.
        store: logits computed before.

    Raises:
        SettingsError: there is no model, or it cannot be used; says what to do.
    """
    if settings.model is None:
        raise SettingsError(f"{SETTING}.model names no model; set it to a folder or a name of the hub")
    settings = with_preset(settings, CROSS_ENCODERS)
    files = find_pair_model(settings.model or "", settings.revision, SETTING)
    labels = read_labels(files.labels, settings.labels, model=files.name, setting=f"{SETTING}.labels")
    most = files.most_tokens(settings.input_tokens)
    reader = PairReader(files.tokenizer(), most, settings.template, SETTING)
    network = RememberedNetwork(_network(settings, files, "texts"), store)
    return CrossEncoder(network, labels, reader)


def load_span_detector(settings: SpanSettings, store: VectorCache) -> SpanDetector:
    """Find and check the detector; its weights are read at the first input that must be computed.

    Args:
        settings: which model, and how it is given texts.
        store: logits computed before.

    Raises:
        SettingsError: there is no model, or it cannot be used; says what to do.
    """
    if settings.model is None:
        raise SettingsError(f"{SPANS}.model names no model; set it to a folder or a name of the hub")
    settings = with_preset(settings, SPAN_DETECTORS)
    files = find_pair_model(settings.model or "", settings.revision, SPANS)
    names = files.labels
    places = unsupported_classes(names, settings.labels, model=files.name, setting=f"{SPANS}.labels")
    reader = PairReader(files.tokenizer(), files.most_tokens(settings.input_tokens), None, SPANS)
    network = RememberedNetwork(_network(settings, files, "tokens"), store)
    return SpanDetector(network, len(names), places, reader, settings)


def _network(settings: PairModelSettings, files: PairModelFiles, kind: Kind) -> TorchNetwork:
    return TorchNetwork(files, kind, choose_precision(settings.precision))
