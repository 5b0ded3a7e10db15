"""Folders of model files: find a folder by path or pinned commit of the hub, and read its files."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from tokenizers import Tokenizer

from qa_pipeline.errors import SettingsError
from qa_pipeline.storage.hashes import hash_file, hash_text

FILE_PATTERNS = ("*.safetensors", "*.json", "*.txt", "*.model")
"""Weights, configuration and vocabularies: the files to download, and the files that affect a result."""
PICKLED_WEIGHTS = "pytorch_model.bin"
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

    kind: ClassVar[str] = "model"

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
        """Compare the folder's revision with the pinned revision, if there is one.

        Raises:
            SettingsError: with both revisions, if they differ.
        """
        if pinned is not None and pinned != self.revision:
            raise SettingsError(
                f"{setting}.revision pins {pinned}, but the files of {self.name} are {self.revision}; "
                "correct the setting or restore the files"
            )

    def read_json(self, *parts: str) -> Any:
        """Return the content of a JSON file by the parts of its path; None if it is missing.

        Raises:
            SettingsError: the file is not JSON.
        """
        path = self.folder.joinpath(*parts)
        if not path.is_file():
            return None
        try:
            return json.loads(path.read_bytes())
        except ValueError as error:
            raise SettingsError(f"{self.kind} {self.name}: {path.name} is not JSON: {error}") from error

    def read_tokenizer(self) -> Tokenizer:
        """Return a new tokenizer without truncation or padding, independent of other users."""
        tokenizer = Tokenizer.from_str((self.folder / "tokenizer.json").read_text(encoding="utf-8"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def declared_limits(self, unread: int = 0) -> list[int]:
        """Return the token limits of model and tokenizer; `unread` lowers the model's number of positions."""
        positions = (self.read_json("config.json") or {}).get("max_position_embeddings")
        tokens = (self.read_json("tokenizer_config.json") or {}).get("model_max_length")
        limits = (positions - unread if isinstance(positions, int) else positions, tokens)
        return [int(limit) for limit in limits if isinstance(limit, int | float) and 0 < limit < UNLIMITED]


def find_folder(
    model: str,
    revision: str | None,
    setting: str,
    *,
    ways_out: str = "Or leave the model out.",
) -> tuple[str, Path, str | None]:
    """Find a local folder, or a pinned commit of the hub in its cache or by download.

    Args:
        model: path of a folder, or name of a model on the hub.
        revision: the pinned commit.
        setting: the group of settings that names the model.
        ways_out: advice for the message if the model is missing.

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
        raise SettingsError(f"{setting}.model: there is no folder {model}. {ways_out}")
    if revision is None or not _COMMIT.fullmatch(revision):
        raise SettingsError(
            f"{setting}.model {model} is not a folder here, and a model of the hub is used only with "
            f"its commit pinned: set {setting}.revision to the 40 digits its page shows under 'Files and "
            f"versions', and with which the folder ends that `hf download {model}` prints. {ways_out}"
        )
    try:
        return model, _snapshot(model, revision), revision
    except (OSError, ValueError) as error:
        from huggingface_hub.constants import HF_HUB_CACHE

        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SettingsError(
            f"{setting}.model: {model} at {revision} is not in {HF_HUB_CACHE} and cannot be downloaded "
            f"from the hub ({reason}). Where the hub can be reached, `hf download {model} --revision "
            f"{revision}` puts it there, and with `--local-dir FOLDER` into a folder to copy and name. "
            f"{ways_out}"
        ) from error


def _snapshot(name: str, revision: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(name, revision=revision, local_files_only=True))
        if any(folder.rglob("*.safetensors")):  # otherwise another program cached only some of the files
            return folder
    except LocalEntryNotFoundError:
        pass
    return Path(snapshot_download(name, revision=revision, allow_patterns=list(FILE_PATTERNS)))
