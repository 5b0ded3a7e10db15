"""What is known of a model that reads a passage and a claim together, without its weights in memory.

Its files, found and checked (this module never imports torch); what its classes mean, and the probabilities
that follow from its logits; and presets: how public models are given texts, as their cards and the code of
their authors say. None of those weights is at hand where this project is built: `qa-pipeline eval
grounding` measures them. A setting that is given wins over its preset; where a preset knows no commit,
`revision` must be set.

Models disagree about names, order and number of their classes; one that cannot be read is an error that
shows what was found, never a guess.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, get_args

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.files import PICKLED_WEIGHTS, ModelFolder, find_folder
from qa_pipeline.settings.verification import EntailmentSettings, Meaning, SpanSettings

_PAST_PADDING = frozenset({"camembert", "longformer", "roberta", "xlm-roberta", "xlm-roberta-xl", "data2vec"})
"""Architectures that count positions from behind the padding token: they read fewer than they declare."""
_ANY_LENGTH = frozenset({"deberta", "deberta-v2", "mt5", "t5", "umt5"})
"""Architectures of relative positions, which read more than they declare."""
_UNLIMITED = 1_000_000
"""Tokenizers without a limit declare a number beyond this."""


@dataclass(frozen=True)
class PairModelFiles(ModelFolder):
    """A folder of a cross-encoder or span detector; `setting` is the group that names it."""

    setting: str = ""

    kind: ClassVar[str] = "model"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes in order, as many as the model has logits.

        Raises:
            SettingsError: the configuration does not tell.
        """
        names = self._config.get("id2label", {"0": "LABEL_0", "1": "LABEL_1"})  # as transformers takes it
        if not isinstance(names, dict) or sorted(names) != sorted(map(str, range(len(names)))):
            raise self.refused("its config.json does not number its labels from 0")
        return tuple(str(names[str(place)]) for place in range(len(names)))

    @cached_property
    def window(self) -> int:
        """Most tokens the model reads.

        Raises:
            SettingsError: neither model nor tokenizer declares it.
        """
        positions = self._config.get("max_position_embeddings")
        if isinstance(positions, int) and self._config.get("model_type") in _PAST_PADDING:
            positions -= 1 + int(self._config.get("pad_token_id") or 0)
        tokenizer = self.read_json("tokenizer_config.json") or {}
        limits = [positions, tokenizer.get("model_max_length")]
        declared = [int(one) for one in limits if isinstance(one, int | float) and 0 < one < _UNLIMITED]
        if not declared:
            raise self.refused(
                f"it does not declare how many tokens it reads; set {self.setting}.input_tokens"
            )
        return min(declared)

    def most_tokens(self, wanted: int | None) -> int:
        """Tokens of an input: as many as wanted, or as the model declares.

        Raises:
            SettingsError: more are wanted than a model of absolute positions has positions.
        """
        if wanted is None:
            return self.window
        if self._config.get("model_type") not in _ANY_LENGTH and wanted > self.window:
            raise SettingsError(
                f"{self.setting}.input_tokens is {wanted}, but {self.name} reads {self.window} tokens at most"
            )
        return wanted

    def check(self) -> None:
        """Refuse weights that would have to be unpickled, and code of the model's own.

        Raises:
            SettingsError: naming what it is.
        """
        if "auto_map" in self._config and "model_type" not in self._config:
            raise self.refused("it wants to run code of its own")
        if not any(self.folder.glob("*.safetensors")):
            pickled = (self.folder / PICKLED_WEIGHTS).is_file()
            what = f"{PICKLED_WEIGHTS} must become safetensors" if pickled else "it has no safetensors"
            raise self.refused(what)
        if not (self.folder / "tokenizer.json").is_file():
            raise self.refused(
                "it has no tokenizer.json; load its tokenizer once with transformers and save it"
            )

    def tokenizer(self) -> Tokenizer:
        """A tokenizer of its own, without truncation or padding, to which special tokens are mere text.

        A document may hold `[SEP]` or `</s>`; it must not end its own passage by it.

        Raises:
            SettingsError: it knows tokens that the model does not.
        """
        content = (self.folder / "tokenizer.json").read_text(encoding="utf-8")
        tokenizer = Tokenizer.from_str(content)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        largest, known = max(tokenizer.get_vocab().values(), default=0), self._config.get("vocab_size")
        if isinstance(known, int) and largest >= known:
            raise self.refused(f"its tokenizer has a token {largest}, and the model knows {known}")
        return tokenizer

    def refused(self, what: str) -> SettingsError:
        """The error that says why the model cannot be used."""
        return SettingsError(f"{self.setting}.model {self.name}: {what}")

    @cached_property
    def _config(self) -> dict[str, Any]:
        config = self.read_json("config.json")
        if not isinstance(config, dict):
            raise self.refused("it has no config.json")
        return config


def find_pair_model(model: str, revision: str | None, setting: str) -> PairModelFiles:
    """Find a model by path, or by hub name and pinned commit.

    Args:
        model: path or hub name.
        revision: commit; a local folder has none, and is known by the hash of its files.
        setting: the group of settings that names the model.

    Raises:
        SettingsError: it is not there, not the pinned one, or cannot be used.
    """
    ways_out = (
        f"Either name a folder with the model, or run once where the hub can be reached so that it is "
        f"cached, or leave {setting}.model out."
    )
    place = find_folder(model, revision, setting=setting, ways_out=ways_out)
    files = PairModelFiles(place.name, place.folder, place.commit, setting)
    files.check()
    if revision is not None and revision != files.revision:
        raise SettingsError(
            f"{setting}.revision pins {revision}, but the files of {files.name} are {files.revision}; "
            "correct the setting or restore the files"
        )
    return files


Scores = npt.NDArray[np.float64]

_MEANINGS: tuple[Meaning, ...] = get_args(Meaning)
_NAMES: dict[Meaning, frozenset[str]] = {
    "entailment": frozenset(
        {
            *("entailment", "entail", "entails", "entailed", "implied", "implies", "implication"),
            *("supported", "supports", "support", "fully supported", "consistent", "factual"),
            *("factually consistent", "faithful", "grounded", "attributable", "yes", "true"),
        }
    ),
    "neutral": frozenset(
        {"neutral", "nei", "not enough info", "not enough information", "unknown", "unrelated", "maybe"}
    ),
    "contradiction": frozenset(
        {"contradiction", "contradict", "contradicts", "contradicted", "contradictory", "refutes", "refuted"}
    ),
    "not_entailment": frozenset(
        {
            *("not entailment", "not entailed", "no entailment", "non entailment", "notentailment"),
            *("unsupported", "not supported", "inconsistent", "not factual", "non factual", "unfaithful"),
            *("ungrounded", "not grounded", "not attributable", "hallucinated", "hallucination"),
            *("factually inconsistent", "no", "false"),
        }
    ),
}


@dataclass(frozen=True, slots=True)
class Labels:
    """Places of the classes of each meaning among a model's logits.

    One class is the logit of entailment itself; its counterpart has no place.
    """

    count: int
    entailment: tuple[int, ...]
    neutral: tuple[int, ...] = ()
    contradiction: tuple[int, ...] = ()

    def probabilities(self, logits: npt.NDArray[np.float32]) -> Scores:
        """Entailment, neutral and contradiction of each row.

        Args:
            logits: rows x classes.

        Returns:
            rows x 3; NaN where the model does not tell, and in every column of a row that is not finite.
        """
        values = logits.astype(np.float64)
        finite = np.isfinite(values).all(axis=1, keepdims=True)
        values = np.where(finite, values, 0.0)
        shares = _sigmoid(values) if self.count == 1 else _softmax(values)
        columns = [
            shares[:, list(places)].sum(axis=1) if places else np.full(len(values), np.nan)
            for places in (self.entailment, self.neutral, self.contradiction)
        ]
        return np.where(finite, np.stack(columns, axis=1).clip(max=1.0), np.nan)


def read_labels(
    names: Sequence[str], wanted: Mapping[str, Meaning] | None, *, model: str, setting: str
) -> Labels:
    """Find out what a model's classes mean.

    Args:
        names: the model's label names in order.
        wanted: the meaning of each label by name or number, where somebody says it; None reads the names.
        model: name of the model, for messages.
        setting: the setting that holds `wanted`, for messages.

    Raises:
        SettingsError: a name says nothing, `wanted` does not fit, or no class stands for entailment.
    """
    if len(names) == 1 and wanted is None:
        return Labels(1, (0,))
    meanings = [_read(name) for name in names] if wanted is None else _given(names, wanted, model, setting)
    if None in meanings or "entailment" not in meanings:
        raise SettingsError(
            f"{model} has the labels {_listed(names)}, whose meaning is unclear; set {setting}, such "
            f"as {{{', '.join(_example(names))}}} (meanings: {', '.join(_MEANINGS)})"
        )
    places = {
        meaning: tuple(place for place, found in enumerate(meanings) if found == meaning)
        for meaning in _MEANINGS
    }
    return Labels(len(names), places["entailment"], places["neutral"], places["contradiction"])


def _read(name: str) -> Meaning | None:
    plain = " ".join(re.findall(r"[a-z]+", name.casefold()))
    return next((meaning for meaning in _MEANINGS if plain in _NAMES[meaning]), None)


def _given(
    names: Sequence[str], wanted: Mapping[str, Meaning], model: str, setting: str
) -> list[Meaning | None]:
    known = {name for place, label in enumerate(names) for name in (label, str(place))}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SettingsError(
            f"{setting} names {', '.join(unknown)}, but the labels of {model} are {_listed(names)}"
        )
    return [wanted.get(label, wanted.get(str(place))) for place, label in enumerate(names)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"{place}: {name}" for place, name in enumerate(names))


def _example(names: Sequence[str]) -> list[str]:
    usual: Sequence[Meaning] = ("not_entailment", "entailment") if len(names) == 2 else _MEANINGS[:3]
    return [f"{name}: {meaning}" for name, meaning in zip(names, usual, strict=False)]


def _sigmoid(values: Scores) -> Scores:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * values)), dtype=np.float64)


def _softmax(values: Scores) -> Scores:
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)


_ANY = TypeVar("_ANY", EntailmentSettings, SpanSettings)
_SECOND_SUPPORTS: Mapping[str, Meaning] = {"0": "not_entailment", "1": "entailment"}
_FACTCG = (
    "{passage}\n\nChoose your answer: based on the paragraph above can we conclude that "
    '"{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
)
_RAGTRUTH = (
    "Briefly answer the following question:\n{question}\nBear in mind that your response should be strictly "
    "based on the following {count} passages:\n{numbered}\nIn case the passages do not contain the necessary "
    'information to answer the question, please reply with: "Unable to answer based on given passages."\n'
    "output:"
)


@dataclass(frozen=True, slots=True)
class Preset:
    """A public model.

    Args:
        languages: it was trained on.
        licence: of the weights, as its card states it.
        note: what else decides whether to take it.
        revision: a commit whose files were seen to be safetensors and a fast tokenizer.
        settings: what it needs to be given texts the way it was trained.
    """

    languages: tuple[str, ...]
    licence: str
    note: str
    revision: str | None = None
    settings: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


_EN = ("en",)
_LANGUAGES = "ar bn de en es fa fr he hi id it ja ko mr nl pl ps pt ru sv sw ta tr uk ur vi zh"

CROSS_ENCODERS: Mapping[str, Preset] = {
    "MoritzLaurer/mDeBERTa-v3-base-xnli-multilingual-nli-2mil7": Preset(
        tuple(_LANGUAGES.split()), "MIT", "Three classes; the choice for Swedish and German. 280M parameters."
    ),
    "MoritzLaurer/multilingual-MiniLMv2-L6-mnli-xnli": Preset(
        ("ar", "bg", "de", "el", "en", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh"),
        "MIT",
        "Three classes; small and fast, less exact.",
    ),
    "MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli": Preset(_EN, "MIT", "Three classes. 184M parameters."),
    "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli": Preset(
        _EN, "MIT", "Three classes. 435M parameters."
    ),
    "MoritzLaurer/DeBERTa-v3-xsmall-mnli-fever-anli-ling-binary": Preset(
        _EN, "MIT", "Two classes: knows no contradiction. 71M parameters."
    ),
    "cross-encoder/nli-deberta-v3-base": Preset(_EN, "Apache-2.0", "Three classes, contradiction first."),
    "cross-encoder/nli-MiniLM2-L6-H768": Preset(
        _EN, "Apache-2.0", "Three classes, contradiction first; the fastest of them."
    ),
    "lytang/MiniCheck-RoBERTa-Large": Preset(
        _EN,
        "MIT",
        "Two classes; trained to check sentences of LLM answers. 355M parameters.",
        settings={"labels": _SECOND_SUPPORTS, "template": "{passage}{sep}{claim}", "input_tokens": 512},
    ),
    "lytang/MiniCheck-DeBERTa-v3-Large": Preset(
        _EN,
        "MIT",
        "Two classes; like the former, and reads 2,048 tokens.",
        settings={"labels": _SECOND_SUPPORTS, "template": "{passage}{sep}{claim}", "input_tokens": 2048},
    ),
    "yaxili96/FactCG-DeBERTa-v3-Large": Preset(
        _EN,
        "MIT",
        "Two classes; trained on claims that need several sentences. Reads 2,048 tokens.",
        revision="7582b255f0b45a1be2db6fff5076d0e8ea7aa072",
        settings={"labels": _SECOND_SUPPORTS, "template": _FACTCG, "input_tokens": 2048},
    ),
    "vectara/hallucination_evaluation_model": Preset(
        _EN,
        "Apache-2.0",
        "One logit. Only the commits of HHEM-1.0-Open: version 2.1 wants to run code of its own and is "
        "refused.",
    ),
}
"""Cross-encoders by their name on the hub."""

SPAN_DETECTORS: Mapping[str, Preset] = {
    name: Preset(
        _EN,
        "MIT",
        "ModernBERT, trained on RAGTruth; reads 4,096 tokens.",
        settings={
            "labels": {"0": "supported", "1": "unsupported"},
            "template": _RAGTRUTH,
            "input_tokens": 4096,
        },
    )
    for name in (
        "KRLabsOrg/lettucedect-base-modernbert-en-v1",
        "KRLabsOrg/lettucedect-large-modernbert-en-v1",
    )
}
"""Span detectors by their name on the hub."""


def with_preset(settings: _ANY, presets: Mapping[str, Preset]) -> _ANY:
    """The settings, with what the preset of their model knows where they say nothing."""
    preset = presets.get(settings.model or "")
    if preset is None:
        return settings
    known = {"revision": preset.revision, **preset.settings}
    missing = {name: value for name, value in known.items() if getattr(settings, name) is None}
    return settings.model_copy(update=missing)
