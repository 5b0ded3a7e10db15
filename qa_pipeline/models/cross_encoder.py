"""The entailment model, a cross-encoder that compares a passage with a claim.

It is a `sentence_transformers.CrossEncoder` with a cache of its logits. It loads from safetensors, without
remote code or the hub.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.devices import (
    Numbers,
    TorchPrecision,
    batches_of_one_length,
    check_device,
    choose_precision,
    device_of,
    quiet_transformers,
)
from qa_pipeline.models.files import ModelFolder, find_folder
from qa_pipeline.models.vector_cache import VectorCache, VectorSpace, compute_cached
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline.settings.verification import EntailmentSettings
from qa_pipeline.storage.hashes import hash_parts

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

Pair = tuple[str, str]
Scores = npt.NDArray[np.float64]

MOST_TOKENS = 512
"""Maximum tokens of an input, as most cross-encoders are trained with."""
_BATCH_TOKENS = 4096
"""Maximum tokens of a batch: enough to keep a core busy, with small activations."""
MEANINGS = ("entailment", "neutral", "contradiction", "not_entailment")
"""Class names of an entailment model, in any case."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EntailmentModel(ModelFolder):
    """A model whose classes say how far a passage entails and contradicts a claim.

    Its weights load at the first pair without stored logits in the cache. `setting` is the setting that names
    the model. `precision` is the arithmetic of the weights, with its device.
    """

    setting: str
    precision: TorchPrecision
    cache: VectorCache

    @property
    def identity(self) -> str:
        """Return model, revision and arithmetic, as shown in tables."""
        return f"{self.name}@{self.revision} {self.precision}"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Return the class names in order, in lower case."""
        names = self.config.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}  # the default of transformers
        return tuple(str(names.get(str(index))).casefold() for index in range(len(names)))

    @cached_property
    def most_tokens(self) -> int:
        """Return the maximum tokens of an input, special tokens included."""
        return min([MOST_TOKENS, *self.declared_limits()])

    @cached_property
    def config(self) -> dict[str, Any]:
        """Return config.json, or an empty mapping without it."""
        return dict(self.read_json("config.json") or {})

    def check(self) -> None:
        """Raise a SettingsError without a tokenizer and the configuration of a trained classifier."""
        _ = self.tokenizer  # raises if it is missing
        architectures = self.config.get("architectures") or []
        if not any(str(name).endswith("ForSequenceClassification") for name in architectures):
            raise self.refused(
                "its config.json does not name a trained classifier (ForSequenceClassification)"
            )

    def refused(self, what: str) -> SettingsError:
        """Return the error for an unusable model."""
        return SettingsError(f"{self.setting} {self.name}: {what}")

    def logits(self, pairs: Sequence[Pair]) -> Numbers:
        """Return the logits of pairs of texts, a row per pair; in a long pair the longer text is truncated.

        Raises a SettingsError or StorageError if the model or the cache is unusable.
        """
        space = VectorSpace(self.name, self.revision, self.precision)
        keys = [hash_parts(*pair) for pair in pairs]
        inputs = dict(zip(keys, pairs, strict=True))
        outputs = compute_cached(space, inputs, lambda pair: len(pair[0] + pair[1]), self.compute, self.cache)
        return np.stack([outputs[key] for key in keys])

    def compute(self, pairs: Sequence[Pair]) -> Numbers:
        """Compute the logits of pairs with the model.

        All inputs of a batch have the same length, so that pairs do not change each other's logits.
        """
        import torch

        from qa_pipeline.models.torch_blocks import RowBlocks

        model = self._model
        passages, claims = zip(*pairs, strict=True)
        tokens = model.tokenizer(passages, claims, truncation=True, max_length=self.most_tokens)
        lengths = np.array([len(token_ids) for token_ids in tokens["input_ids"]])
        logits = np.zeros((len(pairs), len(self.labels)), dtype=np.float32)
        for rows in batches_of_one_length(lengths, batch_size=lambda length: _BATCH_TOKENS // length):
            batch = [pairs[row] for row in rows]
            with RowBlocks():
                predicted = model.predict(batch, batch_size=len(batch), activation_fn=torch.nn.Identity())
            logits[rows] = np.asarray(predicted, dtype=np.float32).reshape(len(batch), -1)
        return logits

    @cached_property
    def _model(self) -> "CrossEncoder":
        import torch
        from sentence_transformers import CrossEncoder

        check_device(self.precision)
        dtype = torch.bfloat16 if self.precision.endswith("bfloat16") else torch.float32
        try:
            with quiet_transformers():
                model: CrossEncoder = CrossEncoder(
                    str(self.folder),
                    device=device_of(self.precision),
                    max_length=self.most_tokens,
                    trust_remote_code=False,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True, "dtype": dtype},
                    # "[SEP]" in a document must not end its passage
                    processor_kwargs={"split_special_tokens": True},
                )
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            raise self.refused(f"it cannot be loaded ({reason})") from error
        return model

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer, without truncation or padding; it reads special tokens as plain text."""
        tokenizer = self.read_tokenizer()
        tokenizer.encode_special_tokens = True
        return tokenizer

    def room_beside(self, claim: str) -> int:
        """Return the number of passage tokens that fit next to a claim."""
        return self.most_tokens - len(self.tokenizer.encode("", claim).ids)

    def windows(self, passage: str, most: int, overlap: int) -> list[str]:
        """Split a passage into windows of at most `most` tokens; neighbours share `overlap` tokens.

        A blank passage has no windows.
        """
        offsets = self.tokenizer.encode(passage, add_special_tokens=False).offsets  # (start, end) of tokens
        if len(offsets) <= most:
            return [passage] if offsets else []
        # the last `overlap` tokens are in the window before, so that no window starts there
        starts = range(0, len(offsets) - overlap, max(1, most - overlap))
        parts = [offsets[start : start + most] for start in starts]
        return [passage[part[0][0] : part[-1][1]] for part in parts]

    def probabilities(self, pairs: Sequence[Pair]) -> Scores:
        """Return the softmax probabilities of each pair of passage and claim.

        Returns:
            Array of pairs × (entailment, neutral, contradiction). A class that the model lacks is NaN, and so
            is a row with logits that are not finite.
        """
        from scipy.special import softmax

        if not pairs:
            return np.zeros((0, 3))
        logits = self.logits(pairs).astype(np.float64)
        logits[~np.isfinite(logits).all(axis=1)] = np.nan
        shares = softmax(logits, axis=1)
        probabilities = np.full((len(pairs), 3), np.nan)
        for column, name in enumerate(MEANINGS[:3]):  # without not_entailment
            if name in self.labels:
                probabilities[:, column] = shares[:, self.labels.index(name)]
        return probabilities


def load_entailment_model(
    settings: EntailmentSettings, cache: VectorCache, embedding: EmbeddingSettings
) -> EntailmentModel | None:
    """Find and check the model of the settings, if any; raises a SettingsError. Its weights load later."""
    if settings.model is None:
        return None
    group = "verification.entailment"
    location = find_folder(settings.model, settings.revision, group)  # name, folder and commit
    precision = choose_precision(embedding.precision, embedding.device)
    model = EntailmentModel(*location, setting=f"{group}.model", precision=precision, cache=cache)
    model.check()
    model.check_revision(settings.revision, group)
    if "entailment" not in model.labels or not set(model.labels) <= set(MEANINGS):
        raise model.refused(
            f"its labels are {', '.join(model.labels)}; name them {', '.join(MEANINGS)} in id2label of its "
            "config.json"
        )
    return model
