"""What is known of a model that reads a passage and a claim together, without its weights in memory.

Its files, found and checked (this module never imports torch); what its classes mean, and the probabilities
that follow from its logits.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.files import PICKLED_WEIGHTS, ModelFolder, find_folder

Logits = npt.NDArray[np.float32]
Scores = npt.NDArray[np.float64]

_PAST_PADDING = frozenset({"camembert", "longformer", "roberta", "xlm-roberta", "xlm-roberta-xl", "data2vec"})
"""Architectures that count positions from behind the padding token: they read fewer than they declare."""


@dataclass(frozen=True)
class PairModelFiles(ModelFolder):
    """A folder of a cross-encoder; `setting` is the group that names it."""

    setting: str = ""

    kind: ClassVar[str] = "model"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Return the names of the classes in order, as many as the model has logits.

        Raises:
            SettingsError: the configuration does not number them.
        """
        names = self._config.get("id2label", {"0": "LABEL_0", "1": "LABEL_1"})  # as transformers takes it
        if not isinstance(names, dict) or sorted(names) != sorted(map(str, range(len(names)))):
            raise self.refused("its config.json does not number its labels from 0")
        return tuple(str(names[str(place)]) for place in range(len(names)))

    def most_tokens(self) -> int:
        """Return the tokens of an input that the model declares.

        Raises:
            SettingsError: neither model nor tokenizer declares any.
        """
        unread = 0
        if self._config.get("model_type") in _PAST_PADDING:
            unread = 1 + int(self._config.get("pad_token_id") or 0)
        declared = self.declared_limits(unread)
        if not declared:
            raise self.refused("it does not declare how many tokens it reads")
        return min(declared)

    def check(self) -> None:
        """Refuse weights that would have to be unpickled, and code of the model's own.

        Raises:
            SettingsError: naming what it is.
        """
        if "auto_map" in self._config and "model_type" not in self._config:
            raise self.refused("it wants to run code of its own")
        if not any(self.folder.glob("*.safetensors")):
            pickled = (self.folder / PICKLED_WEIGHTS).is_file()
            what = f"it has {PICKLED_WEIGHTS} and no safetensors" if pickled else "it has no safetensors"
            raise self.refused(
                f"{what}; pickled weights can run code, so name a copy that was saved as safetensors (of "
                "pickled ones you trust, load them once with transformers and call save_pretrained)"
            )
        if not (self.folder / "tokenizer.json").is_file():
            raise self.refused(
                "it has no tokenizer.json; load its tokenizer once with transformers and save it"
            )

    def tokenizer(self) -> Tokenizer:
        """Return a tokenizer without truncation or padding, to which special tokens are mere text.

        A document may hold `[SEP]` or `</s>`; it must not end its own passage by it.

        Raises:
            SettingsError: it knows tokens that the model does not.
        """
        tokenizer = self.read_tokenizer()
        tokenizer.encode_special_tokens = True
        largest, vocabulary_size = (
            max(tokenizer.get_vocab().values(), default=0),
            self._config.get("vocab_size"),
        )
        if isinstance(vocabulary_size, int) and largest >= vocabulary_size:
            raise self.refused(f"its tokenizer has a token {largest}, and the model knows {vocabulary_size}")
        return tokenizer

    def refused(self, what: str) -> SettingsError:
        """Return the error that names why the model cannot be used."""
        return SettingsError(f"{self.setting}.model {self.name}: {what}")

    @cached_property
    def _config(self) -> dict[str, Any]:
        config = self.read_json("config.json")
        if not isinstance(config, dict):
            raise self.refused("it has no config.json")
        return config


def find_pair_model(model: str, revision: str | None, setting: str) -> PairModelFiles:
    """Find a model by path, or by hub name and pinned commit.

    A local folder has no commit, and is known by the hash of its files.

    Raises:
        SettingsError: it is not there, not the pinned one, or cannot be used.
    """
    ways_out = f"Either name a folder with the model, or leave {setting}.model out."
    place = find_folder(model, revision, setting=setting, ways_out=ways_out)
    files = PairModelFiles(*place, setting)
    files.check()
    files.check_revision(revision, setting)
    return files


def class_shares(logits: Logits) -> Scores:
    """Return the probabilities of the classes by softmax.

    Args:
        logits: rows x classes.

    Returns:
        rows x classes; NaN throughout a row that is not finite.
    """
    values = logits.astype(np.float64)
    finite = np.isfinite(values).all(axis=1, keepdims=True)
    values = np.where(finite, values, 0.0)
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return np.where(finite, powers / powers.sum(axis=1, keepdims=True), np.nan)


MEANINGS = ("entailment", "neutral", "contradiction", "not_entailment")
"""Names that the classes of a cross-encoder may have, in any case."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Places of the classes of each meaning among a model's logits."""

    entailment: tuple[int, ...]
    neutral: tuple[int, ...] = ()
    contradiction: tuple[int, ...] = ()

    def probabilities(self, logits: Logits) -> Scores:
        """Return the entailment, neutral and contradiction of each row.

        Args:
            logits: rows x classes.

        Returns:
            rows x 3; NaN where the model has no such class, and throughout a row that is not finite.
        """
        shares = class_shares(logits)
        columns = [
            shares[:, list(places)].sum(axis=1) if places else np.full(len(shares), np.nan)
            for places in (self.entailment, self.neutral, self.contradiction)
        ]
        return np.stack(columns, axis=1).clip(max=1.0)


def read_labels(files: PairModelFiles) -> Labels:
    """Return the places of the meanings among the classes of a cross-encoder.

    Raises:
        SettingsError: a class has another name than those of `MEANINGS`, or none is `entailment`.
    """
    names = [name.casefold() for name in files.labels]
    if "entailment" not in names or not set(names) <= set(MEANINGS):
        raise files.refused(
            f"its labels are {', '.join(files.labels)}; name them {', '.join(MEANINGS)} in id2label of its "
            "config.json"
        )
    return Labels(
        *(tuple(place for place, name in enumerate(names) if name == meaning) for meaning in MEANINGS[:3])
    )
