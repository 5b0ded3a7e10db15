"""Folders of model files: finding one by path or by a pinned commit of the hub, and its files."""

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
"""Weights, configuration and vocabularies: what may be downloaded, and what shapes a result."""
PICKLED_WEIGHTS = "pytorch_model.bin"
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
UNLIMITED = 1_000_000
"""Tokenizers without a limit declare a number beyond this."""


@dataclass(frozen=True)
class ModelFolder:
    """A model's folder; `commit` is known for models of the hub."""

    name: str
    folder: Path
    commit: str | None = None

    kind: ClassVar[str] = "model"

    @cached_property
    def revision(self) -> str:
        """Return the hub's commit, or `sha256:` and the hash of the files that shape a result."""
        if self.commit is not None:
            return self.commit
        paths = {path for pattern in FILE_PATTERNS for path in self.folder.rglob(pattern) if path.is_file()}
        names = sorted(path.relative_to(self.folder).as_posix() for path in paths)
        listing = "".join(f"{hash_file(self.folder / name)}  {name}\n" for name in names)
        return f"sha256:{hash_text(listing)}"

    def check_revision(self, pinned: str | None, setting: str, field: str = "revision") -> None:
        """Refuse a folder that is not the pinned one, where one is pinned by a group of settings.

        Raises:
            SettingsError: naming both revisions.
        """
        if pinned is not None and pinned != self.revision:
            raise SettingsError(
                f"{setting}.{field} pins {pinned}, but the files of {self.name} are {self.revision}; "
                "correct the setting or restore the files"
            )

    def read_json(self, *parts: str) -> Any:
        """Return the content of a JSON file of the folder, by the parts of its path; None without it.

        Raises:
            SettingsError: it is not JSON.
        """
        path = self.folder.joinpath(*parts)
        if not path.is_file():
            return None
        try:
            return json.loads(path.read_bytes())
        except ValueError as error:
            raise SettingsError(f"{self.kind} {self.name}: {path.name} is not JSON: {error}") from error

    def read_tokenizer(self) -> Tokenizer:
        """Return a tokenizer of its own, so that nobody's truncation or padding leaks into it."""
        tokenizer = Tokenizer.from_str((self.folder / "tokenizer.json").read_text(encoding="utf-8"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def declared_limits(self, unread: int = 0) -> list[int]:
        """Return the tokens of an input that model and tokenizer declare, less the unread positions."""
        positions = (self.read_json("config.json") or {}).get("max_position_embeddings")
        tokens = (self.read_json("tokenizer_config.json") or {}).get("model_max_length")
        limits = (positions - unread if isinstance(positions, int) else positions, tokens)
        return [int(limit) for limit in limits if isinstance(limit, int | float) and 0 < limit < UNLIMITED]


def find_folder(
    model: str,
    revision: str | None,
    setting: str,
    fields: tuple[str, str] = ("model", "revision"),
    *,
    ways_out: str = "Or leave the model out.",
) -> tuple[str, Path, str | None]:
    """Find a local folder, or a pinned commit of the hub in its cache or, where it can be reached, there.

    `setting` is the group of settings whose `fields` name the model and its commit,
    `ways_out` what to do where there is none.

    Returns:
        Name, folder, and the commit of a model of the hub.

    Raises:
        SettingsError: the model is not there, or its commit is not pinned.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        # The folder's name, not its path: two machines must write the same rows.
        return folder.resolve().name, folder, None
    if not _HUB_NAME.fullmatch(model):
        raise SettingsError(f"{setting}.{fields[0]}: there is no folder {model}. {ways_out}")
    if revision is None or not _COMMIT.fullmatch(revision):
        raise SettingsError(
            f"{setting}.{fields[0]} {model} is not a folder here, and a model of the hub is used only with "
            f"its commit pinned: set {setting}.{fields[1]} to the 40 digits its page shows under 'Files and "
            f"versions', and with which the folder ends that `hf download {model}` prints. {ways_out}"
        )
    try:
        return model, _snapshot(model, revision), revision
    except (OSError, ValueError) as error:
        from huggingface_hub.constants import HF_HUB_CACHE

        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SettingsError(
            f"{setting}.{fields[0]}: {model} at {revision} is not in {HF_HUB_CACHE} and cannot be downloaded "
            f"from the hub ({reason}). Where the hub can be reached, `hf download {model} --revision "
            f"{revision}` puts it there, and with `--local-dir FOLDER` into a folder to copy and name. "
            f"{ways_out}"
        ) from error


def _snapshot(name: str, revision: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(name, revision=revision, local_files_only=True))
        if any(folder.rglob("*.safetensors")):  # else another program cached some of the files
            return folder
    except LocalEntryNotFoundError:
        pass
    return Path(snapshot_download(name, revision=revision, allow_patterns=list(FILE_PATTERNS)))
