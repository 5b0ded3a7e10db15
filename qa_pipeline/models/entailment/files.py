"""What is known of a model that reads a passage and a claim together, without its weights in memory.

Its files, found and checked (this module never imports torch); what its classes mean, and the probabilities
that follow from its logits; and presets for public models. Models disagree about names, order and number of
their classes; one that cannot be read is an error that shows what was found, never a guess.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.files import PICKLED_WEIGHTS, ModelFolder, find_folder
from qa_pipeline.settings.verification import EntailmentSettings, Meaning, SpanSettings

Logits = npt.NDArray[np.float32]
Scores = npt.NDArray[np.float64]

_PAST_PADDING = frozenset({"camembert", "longformer", "roberta", "xlm-roberta", "xlm-roberta-xl", "data2vec"})
"""Architectures that count positions from behind the padding token: they read fewer than they declare."""
_ANY_LENGTH = frozenset({"deberta", "deberta-v2", "mt5", "t5", "umt5"})
"""Architectures of relative positions, which read more than they declare."""


@dataclass(frozen=True)
class PairModelFiles(ModelFolder):
    """A folder of a cross-encoder or span detector; `setting` is the group that names it."""

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

    def most_tokens(self, most: int | None) -> int:
        """Return the tokens of an input: as many as wanted, or as the model declares.

        Raises:
            SettingsError: more are wanted than a model of absolute positions has positions, or none are and
                neither model nor tokenizer declares any.
        """
        if most is not None and self._config.get("model_type") in _ANY_LENGTH:
            return most
        unread = 0
        if self._config.get("model_type") in _PAST_PADDING:
            unread = 1 + int(self._config.get("pad_token_id") or 0)
        declared = self.declared_limits(unread)
        if not declared:
            raise self.refused(
                f"it does not declare how many tokens it reads; set {self.setting}.input_tokens"
            )
        if most is not None and most > min(declared):
            raise SettingsError(
                f"{self.setting}.input_tokens is {most}, but {self.name} reads {min(declared)} tokens at most"
            )
        return most or min(declared)

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
    """Return the probabilities of the classes: softmax, or the sigmoid of a single logit.

    Args:
        logits: rows x classes.

    Returns:
        rows x classes; NaN throughout a row that is not finite.
    """
    values = logits.astype(np.float64)
    finite = np.isfinite(values).all(axis=1, keepdims=True)
    values = np.where(finite, values, 0.0)
    if values.shape[1] == 1:
        return np.where(finite, 0.5 * (1.0 + np.tanh(0.5 * values)), np.nan)
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return np.where(finite, powers / powers.sum(axis=1, keepdims=True), np.nan)


_NAMES: dict[Meaning, str] = {
    "entailment": "entailment|entail|entails|entailed|implied|implies|implication|supported|supports|support|"
    "fully supported|consistent|factual|factually consistent|faithful|grounded|attributable|yes|true",
    "neutral": "neutral|nei|not enough info|not enough information|unknown|unrelated|maybe",
    "contradiction": "contradiction|contradict|contradicts|contradicted|contradictory|refutes|refuted",
    "not_entailment": "not entailment|not entailed|no entailment|non entailment|notentailment|unsupported|"
    "not supported|inconsistent|not factual|non factual|unfaithful|ungrounded|not grounded|"
    "not attributable|hallucinated|hallucination|factually inconsistent|no|false",
}


@dataclass(frozen=True, slots=True)
class Labels:
    """Places of the classes of each meaning among a model's logits.

    One class is the logit of entailment itself; its counterpart has no place.
    """

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


def read_labels(
    names: Sequence[str], labels: Mapping[str, Meaning] | None, *, model: str, setting: str
) -> Labels:
    """Find out what a cross-encoder's classes mean; one class is the logit of entailment.

    Raises:
        SettingsError: as `places_of_meanings`, or no class means entailment.
    """
    if len(names) == 1 and labels is None:
        return Labels((0,))
    usual: Sequence[str] = ("not_entailment", "entailment") if len(names) == 2 else tuple(_NAMES)[:3]
    meaning_of = _meaning if labels is None else lambda _: None
    places = places_of_meanings(names, labels, meaning_of, usual, "entailment", model=model, setting=setting)
    return Labels(*(tuple(places[meaning]) for meaning in ("entailment", "neutral", "contradiction")))


def _meaning(name: str) -> Meaning | None:
    plain = " ".join(re.findall(r"[a-z]+", name.casefold()))
    return next((meaning for meaning, spellings in _NAMES.items() if plain in spellings.split("|")), None)


def places_of_meanings(
    names: Sequence[str],
    labels: Mapping[str, str] | None,
    default_meaning: Callable[[str], str | None],
    usual: Sequence[str],
    needed: str,
    *,
    model: str,
    setting: str,
) -> Mapping[str | None, list[int]]:
    """Return the places of the classes of each meaning: as set by name or number, else as a name is known.

    Raises:
        SettingsError: a name is unknown, `labels` names another label, or no class has the needed meaning.
            Shows the labels, and the usual meanings as an example of the setting.
    """
    configured = labels or {}
    listed = ", ".join(f"{place}: {name}" for place, name in enumerate(names))
    if unknown := [name for name in configured if name not in {*names, *map(str, range(len(names)))}]:
        raise SettingsError(f"{setting} names {', '.join(unknown)}, but the labels of {model} are {listed}")
    places: defaultdict[str | None, list[int]] = defaultdict(list)
    for place, name in enumerate(names):
        places[configured.get(name, configured.get(str(place), default_meaning(name)))].append(place)
    if None in places or needed not in places:
        example = ", ".join(f"{name}: {meaning}" for name, meaning in zip(names, usual, strict=False))
        raise SettingsError(
            f"{model} has the labels {listed}, whose meaning is unclear; set {setting}, such as {{{example}}}"
        )
    return places


_MINICHECK = {"labels": {"0": "not_entailment", "1": "entailment"}, "template": "{passage}{sep}{claim}"}
_LETTUCEDETECT = {
    "labels": {"0": "supported", "1": "unsupported"},
    "template": "Briefly answer the following question:\n{question}\nBear in mind that your response should "
    "be strictly based on the following {count} passages:\n{numbered}\nIn case the passages do not contain "
    'the necessary information to answer the question, please reply with: "Unable to answer based on given '
    'passages."\noutput:',
    "input_tokens": 4096,
}
Presets = Mapping[str, Mapping[str, object]]
CROSS_ENCODERS: Presets = {
    "lytang/MiniCheck-RoBERTa-Large": {**_MINICHECK, "input_tokens": 512},
    "lytang/MiniCheck-DeBERTa-v3-Large": {**_MINICHECK, "input_tokens": 2048},
    "yaxili96/FactCG-DeBERTa-v3-Large": {
        **_MINICHECK,
        "revision": "7582b255f0b45a1be2db6fff5076d0e8ea7aa072",
        "template": "{passage}\n\nChoose your answer: based on the paragraph above can we conclude that "
        '"{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is ',
        "input_tokens": 2048,
    },
}
"""The inputs of public cross-encoders, by their name on the hub: as their cards and the code of their
authors do it. A revision is a commit whose files were seen to be safetensors and a fast tokenizer."""
SPAN_DETECTORS: Presets = {
    "KRLabsOrg/lettucedect-base-modernbert-en-v1": _LETTUCEDETECT,
    "KRLabsOrg/lettucedect-large-modernbert-en-v1": _LETTUCEDETECT,
}
PairSettingsT = TypeVar("PairSettingsT", EntailmentSettings, SpanSettings)


def with_preset(settings: PairSettingsT, presets: Presets) -> PairSettingsT:
    """Return the settings, filled in from the preset of their model where they have no value."""
    preset = presets.get(settings.model or "", {})
    missing = {name: value for name, value in preset.items() if getattr(settings, name) is None}
    return settings.model_copy(update=missing)
