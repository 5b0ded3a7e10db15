"""What a release says of itself: `manifest.json`, written last, and `latest.json`, which names the newest."""

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import ReleaseError
from qa_pipeline.storage import write_bytes

MANIFEST, LATEST, CARD = "manifest.json", "latest.json", "README.md"
FORMAT = 1
"""Version of the layout of a release folder."""
_DAMAGED = "{} is damaged; restore the release from a copy, or publish it anew"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class File(_Part):
    """One file of a release; `rows` of a table, null for others."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)
    rows: int | None = None


class Manifest(_Part):
    """A release.

    Args:
        format: of the folder.
        version: number of the release, from 1.
        previous: number of the one before.
        schema_version: of the tables it was made from.
        splits: rows of each.
        files: by path in the folder, without this one.
        batches: rows of each batch.
        batches_left_out: why a batch is not in it, by name.
        rows_left_out: accepted rows that are not in it, by reason.
        settings: what decided.
    """

    format: int = Field(ge=1)
    version: int = Field(ge=1)
    previous: int | None
    schema_version: int
    splits: dict[str, int]
    files: dict[str, File]
    batches: dict[str, int]
    batches_left_out: dict[str, str]
    rows_left_out: dict[str, int]
    settings: dict[str, Any]

    @property
    def content(self) -> str:
        """Hash of what a reader gets, whatever its number."""
        said = self.model_dump(mode="json", exclude={"version", "previous"})
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def hash_file(path: Path) -> str:
    """SHA-256 of a file, in hex.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read what a release says of itself.

    Raises:
        ReleaseError: the folder is no whole release, or one of a newer layout.
    """
    path = folder / MANIFEST
    try:
        said = json.loads(path.read_bytes())
    except OSError as error:
        raise ReleaseError(f"{folder} is no whole release: {MANIFEST} cannot be read") from error
    except ValueError as error:
        raise ReleaseError(
            f"{path} is damaged; restore the release from a copy, or publish it anew"
        ) from error
    newer = said.get("format") if isinstance(said, dict) else None
    if isinstance(newer, int) and newer > FORMAT:
        raise ReleaseError(
            f"{path} has format {newer}, this version reads {FORMAT}; install a newer qa_pipeline"
        )
    try:
        return Manifest.model_validate(said)
    except ValidationError as error:
        raise ReleaseError(
            f"{path} is damaged; restore the release from a copy, or publish it anew"
        ) from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write it; equal releases give equal bytes.

    Raises:
        StorageError: it cannot be written.
    """
    said = json.dumps(manifest.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False)
    write_bytes(folder / MANIFEST, f"{said}\n".encode())


def latest_release(releases: Path) -> Path | None:
    """The folder that `latest.json` names; None before the first release.

    Raises:
        ReleaseError: the pointer is damaged.
    """
    path = releases / LATEST
    if not path.is_file():
        return None
    try:
        version = json.loads(path.read_bytes())["version"]
        return releases / str(int(version))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReleaseError(
            f'{path} is damaged; write {{"version": N}} into it, of the newest release'
        ) from error


def point_to(releases: Path, version: int) -> None:
    """Make a release the latest, in one step.

    Raises:
        StorageError: the pointer cannot be written.
    """
    write_bytes(releases / LATEST, f"{json.dumps({'version': version})}\n".encode())
