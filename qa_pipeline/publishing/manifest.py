"""Release folders: rows, `manifest.json` (written last) and `latest.json` (the newest version)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import polars as pl
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import ReleaseError
from qa_pipeline.settings.base import output_folder
from qa_pipeline.settings.verification import SPLIT_NAME
from qa_pipeline.storage.files import delete, locked, write_bytes
from qa_pipeline.storage.hashes import hash_file, hash_json
from qa_pipeline.storage.object_stores import store_of
from qa_pipeline.storage.parquet import readable

MANIFEST, LATEST, CARD = "manifest.json", "latest.json", "README.md"
DATA, SOURCES, SPLIT_KEYS, LEFT_OUT = "data", "sources.parquet", "keys.parquet", "left_out.parquet"
FORMAT = 5
"""Format version of a release folder."""
_OLDEST_FORMAT = 2
"""The oldest format that can be read and continued; verifying it needs the version that wrote it."""
_LARGEST = 64_000_000
"""Most bytes of a manifest, so that a hostile file cannot fill the memory; 100,000 batches need 4,000,000."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")  # earlier versions wrote more fields


_MOST = 2**31 - 1
"""Highest row count or release number; columns have 32 bits."""
Count = Annotated[int, Field(ge=0, le=_MOST)]


def _inside(name: str) -> str:
    """Return a path such as data/train.parquet, or raise ValueError if it leaves the release folder."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or path.as_posix() != name or "\0" in name:
        raise ValueError("does not name a file of the release")
    return name


class File(_Part):
    """A file of a release."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)


class Manifest(_Part):
    """The manifest of a release.

    Args:
        splits: number of rows by split.
        files: size and hash by path in the folder, without the manifest itself.
        batches: number of rows by batch.
        batches_left_out: reason by name of each batch that is left out.
        rows_left_out: number of accepted rows that are left out, by reason.
        unsatisfied: sentences about rules that the splits break.
        settings: settings that decided about rows and splits.
        facts: data for the card, as `CardFacts.document` returns it, and `lacking`, the omitted columns.
    """

    format: int = Field(ge=1)
    version: int = Field(ge=1, le=_MOST)
    previous: int | None = Field(ge=1, le=_MOST)
    schema_version: int
    splits: dict[Annotated[str, Field(pattern=f"^{SPLIT_NAME.pattern}$")], Count]
    files: dict[Annotated[str, AfterValidator(_inside)], File]
    batches: dict[str, Count]
    batches_left_out: dict[str, str]
    rows_left_out: dict[str, int]
    unsatisfied: list[str]
    settings: dict[str, Any]
    facts: dict[str, Any] = {}

    @property
    def content(self) -> str:
        """Hash of the released content; version numbers and the card, which shows them, are excluded."""
        document = self.model_dump(mode="json", exclude={"version", "previous"})
        document["files"].pop(CARD, None)
        return hash_json(document)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; raise ValueError for a repeated key, which readers resolve differently."""
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key repeats")
    return document


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a release folder; raises a ReleaseError if it is missing, damaged or too new."""
    path = folder / MANIFEST
    damaged = f"{path} is damaged; restore the release from a copy, or publish it again"
    try:
        if not path.is_file():  # opening a pipe would block until somebody writes to it
            raise FileNotFoundError(path)
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise ReleaseError(f"{folder} is not a complete release: {MANIFEST} cannot be read") from error
    if len(content) > _LARGEST:
        raise ReleaseError(f"{path} has more than {_LARGEST} bytes; a release is never that large")
    try:
        document = json.loads(content, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise ReleaseError(damaged) from error
    version = document.get("format") if isinstance(document, dict) else None
    if isinstance(version, int) and not _OLDEST_FORMAT <= version <= FORMAT:
        raise ReleaseError(
            f"{path} has format {version}, this version reads {_OLDEST_FORMAT} to {FORMAT}; use a version "
            "that reads it, or publish into another folder"
        )
    try:
        return Manifest.model_validate(document)
    except ValidationError as error:
        raise ReleaseError(damaged) from error


def file_of(path: Path) -> File:
    """Return the size and hash of a file."""
    return File(sha256=hash_file(path), size=path.stat().st_size)


def latest_release(releases: Path) -> Path | None:
    """Return the folder of the newest complete release, if there is one."""
    return next(reversed(release_folders(releases)), None)


def point_to(releases: Path, version: int) -> None:
    """Write the version of the latest release to `latest.json`, atomically; raises a StorageError.

    If later releases were deleted, the file also keeps their highest version, which is not used again.
    """
    content = {"version": version}
    if (highest := highest_version(releases)) > version:
        content["highest"] = highest
    write_bytes(releases / LATEST, f"{json.dumps(content)}\n".encode())


def highest_version(releases: Path) -> int:
    """Return the highest version of any release so far, including deleted releases; 0 without releases."""
    numbers = [int(folder.name) for folder in releases.glob("*") if folder.name.isdecimal()]
    try:
        pointer = json.loads((releases / LATEST).read_bytes())
        numbers += [int(pointer["version"]), int(pointer.get("highest", 0))]
    except FileNotFoundError:
        pass
    except (ValueError, LookupError, TypeError) as error:
        raise ReleaseError(f"{releases / LATEST} is damaged; delete it and publish again") from error
    return max(numbers, default=0)


def release_folders(releases: Path) -> list[Path]:
    """Return all complete releases, sorted by version."""
    numbered = (folder for folder in releases.glob("*") if folder.name.isdecimal())
    # a release that an earlier version of this package withdrew has only its manifest left
    complete = (folder for folder in numbered if (folder / MANIFEST).is_file() and (folder / CARD).is_file())
    return sorted(complete, key=lambda folder: int(folder.name))


def load_release(path: Path | str, split: str) -> pl.LazyFrame:
    """Return the rows of a split, as a lazy scan of its file.

    `path` is a release folder, or the folder of all releases, which means the latest.

    Raises:
        ReleaseError: the release is incomplete, or lacks this split.
    """
    folder = release_folder(output_folder(path))
    manifest = read_manifest(folder)
    if split not in manifest.splits:
        raise ReleaseError(f"{folder} has no split {split!r}; it has {', '.join(manifest.splits)}")
    file = folder / DATA / f"{split}.parquet"
    if not file.is_file():
        raise ReleaseError(f"{file} is missing; restore the release from a copy, or publish it again")
    return pl.scan_parquet(readable(file))


def release_folder(path: Path) -> Path:
    """Return the release at a path, or the latest in a folder of releases."""
    return latest_release(path) or path


@contextmanager
def publisher_lock(releases: Path) -> Iterator[None]:
    """Lock the releases and clear up an interrupted publication; raises a StorageError if they are locked."""
    with locked(releases):
        unfinished = [*releases.glob(".*.tmp")]
        if store_of(releases):  # a store receives a release file by file, the manifest last
            numbered = (folder for folder in releases.glob("*") if folder.name.isdecimal())
            unfinished += [folder for folder in numbered if not (folder / MANIFEST).is_file()]
        for path in unfinished:
            delete(path)
        if (last := latest_release(releases)) is not None:
            point_to(releases, int(last.name))
        yield
