"""The entailment model, a cross-encoder that compares a passage with a claim.

It is a `sentence_transformers.CrossEncoder` with a cache of its logits. It loads from safetensors, without
remote code or the hub.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

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
from qa_pipeline.models.files import PICKLED_WEIGHTS, ModelFolder, find_folder
from qa_pipeline.models.vector_cache import VectorCache, VectorSpace, compute_cached
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline.settings.verification import EntailmentSettings
from qa_pipeline.storage.hashes import hash_parts

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

Pair = tuple[str, str]
Scores = npt.NDArray[np.float64]

MOST_TOKENS = 512
"""Most tokens of an input: what cross-encoders are usually trained with."""
_BATCH_TOKENS = 4096
"""Most tokens of a batch: a core is busy with them, and their activations stay small."""
_PAST_PADDING = frozenset({"camembert", "longformer", "roberta", "xlm-roberta", "xlm-roberta-xl", "data2vec"})
"""Architectures that count positions from behind the padding token: they read fewer than they declare."""
MEANINGS = ("entailment", "neutral", "contradiction", "not_entailment")
"""Names that the classes of an entailment model may have, in any case."""


@dataclass(frozen=True, eq=False)
class EntailmentModel(ModelFolder):
    """A model whose classes say how far a passage entails and contradicts a claim.

    Its weights load at the first pair without stored logits.

    Args:
        setting: the setting that names it.
        precision: arithmetic of the weights, with its device.
        cache: logits computed before.
    """

    setting: str
    precision: TorchPrecision
    cache: VectorCache

    kind: ClassVar[str] = "model"

    @property
    def identity(self) -> str:
        """Return model, revision and arithmetic, as tables show them."""
        return f"{self.name}@{self.revision} {self.precision}"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Return the names of the classes in order, in lower case."""
        names = self.config.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}  # as transformers has it
        return tuple(str(names.get(str(place))).casefold() for place in range(len(names)))

    @cached_property
    def most_tokens(self) -> int:
        """Return the tokens of an input, special tokens included."""
        padding = int(self.config.get("pad_token_id") or 0)
        unread = 1 + padding if self.config.get("model_type") in _PAST_PADDING else 0
        return min([MOST_TOKENS, *self.declared_limits(unread)])

    @cached_property
    def config(self) -> dict[str, Any]:
        """Return the configuration; empty without one."""
        return dict(self.read_json("config.json") or {})

    def check(self) -> None:
        """Refuse weights that would have to be unpickled, code of the model's own and a head without weights.

        Raises:
            SettingsError: naming what it is.
        """
        if not any(self.folder.glob("*.safetensors")):
            pickled = f"{PICKLED_WEIGHTS} and " if (self.folder / PICKLED_WEIGHTS).is_file() else ""
            raise self.refused(f"it has {pickled}no safetensors; save it with save_pretrained")
        if not (self.folder / "tokenizer.json").is_file():
            raise self.refused("it has no tokenizer.json; load its tokenizer with transformers and save it")
        architectures = self.config.get("architectures") or []
        if not any(str(name).endswith("ForSequenceClassification") for name in architectures):
            raise self.refused("its config.json names no trained classifier (ForSequenceClassification)")
        if "model_type" not in self.config:
            raise self.refused("its config.json names no model_type of transformers")

    def refused(self, what: str) -> SettingsError:
        """Return the error that names why the model cannot be used."""
        return SettingsError(f"{self.setting} {self.name}: {what}")

    def logits(self, pairs: Sequence[Pair]) -> Numbers:
        """Return the logits of pairs of texts, one row each; the longer text of a long pair is cut.

        Raises:
            SettingsError: the model cannot be loaded.
            StorageError: the cache cannot be used.
        """
        space = VectorSpace(self.name, self.revision, self.precision)
        keys = [hash_parts(*pair) for pair in pairs]
        inputs = dict(zip(keys, pairs, strict=True))
        outputs = compute_cached(space, inputs, lambda pair: len(pair[0] + pair[1]), self.compute, self.cache)
        return np.stack([outputs[key] for key in keys])

    def compute(self, pairs: Sequence[Pair]) -> Numbers:
        """Return the logits of pairs by the model.

        Each batch has inputs of one length, so that no pair changes the logits of another.
        """
        import torch

        from qa_pipeline.models.torch_blocks import RowBlocks

        model = self._model
        tokens = model.tokenizer(*zip(*pairs, strict=True), truncation=True, max_length=self.most_tokens)
        lengths = np.array([len(ids) for ids in tokens["input_ids"]])
        logits = np.zeros((len(pairs), len(self.labels)), dtype=np.float32)
        for rows in batches_of_one_length(lengths, lambda length: _BATCH_TOKENS // length):
            batch = [pairs[row] for row in rows]
            with RowBlocks():
                rated = model.predict(batch, batch_size=len(batch), activation_fn=torch.nn.Identity())
            logits[rows] = np.asarray(rated, dtype=np.float32).reshape(len(batch), -1)
        return logits

    @cached_property
    def _model(self) -> "CrossEncoder":
        import torch
        from sentence_transformers import CrossEncoder

        check_device(self.precision)
        dtype = torch.bfloat16 if self.precision.endswith("bfloat16") else torch.float32
        try:
            with quiet_transformers(warnings=False):
                model: CrossEncoder = CrossEncoder(
                    str(self.folder),
                    device=device_of(self.precision),
                    max_length=self.most_tokens,
                    trust_remote_code=False,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True, "dtype": dtype},
                    # a document may hold "[SEP]"; it must not end its own passage by it
                    processor_kwargs={"split_special_tokens": True},
                )
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            raise self.refused(f"it cannot be loaded ({reason})") from error
        return model

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer, without truncation or padding; special tokens are mere text to it."""
        tokenizer = self.read_tokenizer()
        tokenizer.encode_special_tokens = True
        return tokenizer

    def room_beside(self, claim: str) -> int:
        """Return the tokens of a passage that fit beside a claim."""
        return self.most_tokens - len(self.tokenizer.encode("", claim).ids)

    def windows(self, passage: str, most: int, overlap: int) -> list[str]:
        """Return parts of a passage of at most `most` tokens that share `overlap`; none if it is blank."""
        offsets = self.tokenizer.encode(passage, add_special_tokens=False).offsets
        if len(offsets) <= most:
            return [passage] if offsets else []
        starts = range(0, len(offsets) - overlap, max(1, most - overlap))
        parts = [offsets[start : start + most] for start in starts]
        return [passage[part[0][0] : part[-1][1]] for part in parts]

    def probabilities(self, pairs: Sequence[Pair]) -> Scores:
        """Return the entailment, neutral and contradiction of each pair of passage and claim, by softmax.

        Returns:
            pairs x 3; NaN where the model has no such class, and throughout a row without a finite number.
        """
        from scipy.special import softmax

        if not pairs:
            return np.zeros((0, 3))
        logits = self.logits(pairs).astype(np.float64)
        logits[~np.isfinite(logits).all(axis=1)] = np.nan
        shares = softmax(logits, axis=1)
        found = np.full((len(pairs), 3), np.nan)
        for place, name in enumerate(MEANINGS[:3]):
            if name in self.labels:
                found[:, place] = shares[:, self.labels.index(name)]
        return found


def load_entailment_model(
    settings: EntailmentSettings, cache: VectorCache, embedding: EmbeddingSettings
) -> EntailmentModel | None:
    """Find the entailment model; None where the settings name none.

    Raises:
        SettingsError: it cannot be used.
    """
    if settings.model is None:
        return None
    group = "verification.entailment"
    place = find_folder(settings.model, settings.revision, group)
    precision = choose_precision(embedding.precision, embedding.device)
    model = EntailmentModel(*place, f"{group}.model", precision, cache)
    model.check()
    model.check_revision(settings.revision, group)
    if "entailment" not in model.labels or not set(model.labels) <= set(MEANINGS):
        raise model.refused(
            f"its labels are {', '.join(model.labels)}; name them {', '.join(MEANINGS)} in id2label of its "
            "config.json"
        )
    return model
