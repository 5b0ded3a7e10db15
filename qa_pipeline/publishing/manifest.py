"""Releases as folders: `manifest.json`, written last, `latest.json`, which names the newest, and their rows.

Of one that is yanked there are left its manifest, its keys and a tombstone.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import polars as pl
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import ReleaseError
from qa_pipeline.settings.location import output_folder
from qa_pipeline.settings.verification import SPLIT_NAME
from qa_pipeline.storage.files import delete, locked, write_bytes
from qa_pipeline.storage.hashes import hash_json
from qa_pipeline.storage.object_stores import store_of
from qa_pipeline.storage.parquet import row_groups, scan_rows

MANIFEST, LATEST, CARD = "manifest.json", "latest.json", "README.md"
PUBLISHING = "publishing.json"
"""Names the release that is about to take its place, so that a publisher who is killed can be finished."""
TOMBSTONE = "tombstone.json"
"""In place of the data of a release that was yanked."""
DATA, SOURCES, PLACES, LEFT_OUT = "data", "sources.parquet", "keys.parquet", "left_out.parquet"
PASSAGES = "passages.parquet"
AUDIT = "audit.parquet"
"""The labels that the certificate was made from; only in a release that was audited."""
SIGNATURE = f"{MANIFEST}.minisig"
"""Signature of the manifest, and so of all files by their hashes; only in a release that was signed."""
FORMAT = 3
"""Version of the layout of a release folder."""
_OLDEST_FORMAT = 2
"""The oldest that can be read and continued; to verify it takes the version that made it."""
_LARGEST = 64_000_000
"""Bytes of a manifest that are read, lest a hostile one fill the memory; 100,000 batches take 4,000,000."""


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
    )


_MOST = 2**31 - 1
"""Rows and numbers of releases: columns hold 32 bits."""
Count = Annotated[int, Field(ge=0, le=_MOST)]


def _inside(name: str) -> str:
    """Return a path of a file that is in the folder of its release whatever the manifest says."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or path.as_posix() != name or "\0" in name:
        raise ValueError("names no file of the release")
    return name


class File(_Part):
    """A file of a release; `rows` of a table, null for others."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)
    rows: int | None = None


class Bound(_Part):
    """The bounds that an audit gives for a part of a release.

    `at_most` bounds its share of wrong rows, unsure ones counted as wrong; None with too few rows.
    """

    part: str
    audited: int = Field(ge=0)
    wrong: int = Field(ge=0)
    unsure: int = Field(ge=0)
    at_most: float | None


class Look(_Part):
    """A sample that people labelled.

    Args:
        seed: of its lots.
        sample: rows asked for when it was drawn; all rows, where the release has fewer.
        labelled: rows of the sample with a label, of those the release has now.
        wrong: rows of the release labelled so.
        unsure: likewise.
        removed: labelled rows that the release has no longer; stored as `gone`.
        gone_wrong: those of them labelled wrong or unsure, which count as wrong all the same.
        at_most: bound of the share of wrong rows; None where the sample does not count.
        why: why it does not.
    """

    seed: str
    sample: int = Field(ge=1)
    labelled: int = Field(ge=0)
    wrong: int = Field(ge=0)
    unsure: int = Field(ge=0)
    removed: int = Field(ge=0, alias="gone")
    gone_wrong: int = Field(ge=0)
    at_most: float | None
    why: str | None


class Certificate(_Part):
    """The bounds that people's audits allow for the wrong rows of a release.

    Args:
        rows: of the release.
        confidence: of each bound, so that all looks together keep 95 %.
        looks: every sample.
        best: the look whose bound is given, by its place; None where none counts.
        parts: bounds of that look, the first over all rows.
    """

    rows: int = Field(ge=0)
    confidence: float = Field(gt=0, lt=1)
    looks: tuple[Look, ...]
    best: int | None
    parts: tuple[Bound, ...]

    @property
    def at_most(self) -> float | None:
        """Return the bound over all rows; None where no look counts."""
        return None if self.best is None else self.looks[self.best].at_most


class Manifest(_Part):
    """A release.

    Args:
        format: of the folder.
        version: number of the release, from 1.
        previous: number of the one before.
        schema_version: of the tables it was made from.
        splits: rows of each.
        files: by path in the folder, without this one and its signature.
        batches: rows of each batch.
        batches_left_out: why a batch is not in it, by name.
        rows_left_out: accepted rows that are not in it, by reason.
        unsatisfied: what the splits could not satisfy, in words.
        settings: what decided.
        certificate: what audits show; None where nobody has audited it.
        system_prompts: the system messages of its rows, by language.
        contents: hashes of what its rows and its documents say, however their files are encoded.
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
    certificate: Certificate | None = None
    system_prompts: dict[str, list[str]] = {}
    contents: dict[str, str] = {}

    @property
    def content(self) -> str:
        """Hash of what a reader gets, whatever its number; the card, which names the number, aside."""
        document = self.model_dump(mode="json", exclude={"version", "previous"})
        document["files"].pop(CARD, None)
        return hash_json(document)


def read_manifest(folder: Path) -> Manifest:
    """Read what a release says of itself.

    Raises:
        ReleaseError: the folder is no whole release, one that is yanked, or one of a newer layout.
    """
    reason = yank_reason(folder)
    if reason is not None:
        newest = latest_release(folder.parent)
        instead = "there is no other" if newest is None else f"the newest release is {newest}"
        raise ReleaseError(f"{folder} is yanked: {reason}; {instead}")
    return manifest_of(folder)


def manifest_of(folder: Path) -> Manifest:
    """Return the manifest of a release, be it yanked or not.

    Raises:
        ReleaseError: the folder is no whole release, or one of a newer layout.
    """
    path = folder / MANIFEST
    damaged = f"{path} is damaged; restore the release from a copy, or publish it anew"
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise ReleaseError(f"{folder} is no whole release: {MANIFEST} cannot be read") from error
    if len(content) > _LARGEST:
        raise ReleaseError(f"{path} has more than {_LARGEST} bytes; no release of ours is so large")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ReleaseError(damaged) from error
    form = document.get("format") if isinstance(document, dict) else None
    if isinstance(form, int) and not _OLDEST_FORMAT <= form <= FORMAT:
        advice = (
            "install a newer qa_pipeline"
            if form > FORMAT
            else "move the folder of releases aside and publish anew"
        )
        raise ReleaseError(f"{path} has format {form}, this version reads {FORMAT}; {advice}")
    try:
        return Manifest.model_validate(document)
    except ValidationError as error:
        raise ReleaseError(damaged) from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write it; equal releases give equal bytes.

    Raises:
        StorageError: it cannot be written.
    """
    content = json.dumps(manifest.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False)
    write_bytes(folder / MANIFEST, f"{content}\n".encode())


def latest_release(releases: Path) -> Path | None:
    """Return the folder that `latest.json` names; None before the first release.

    Raises:
        ReleaseError: the pointer is damaged.
    """
    return _pointed_to(releases / LATEST)


def point_to(releases: Path, version: int) -> None:
    """Mark a release as the latest, in one step.

    Raises:
        StorageError: the pointer cannot be written.
    """
    _point(releases / LATEST, version)


@contextmanager
def published(releases: Path, version: int) -> Iterator[None]:
    """Mark the release that the block puts in its place as the latest; if killed, the next `alone` does it.

    Raises:
        StorageError: a pointer cannot be written.
    """
    _point(releases / PUBLISHING, version)
    yield
    _finish_publishing(releases)


def _finish_publishing(releases: Path) -> None:
    """Mark the release that was about to be published as the latest, if it is in its place."""
    folder = _pointed_to(releases / PUBLISHING)
    if folder is not None:
        if (folder / MANIFEST).is_file():
            point_to(releases, int(folder.name))
        delete(releases / PUBLISHING)


def _pointed_to(path: Path) -> Path | None:
    if not path.is_file():
        return None
    try:
        version = json.loads(path.read_bytes())["version"]
        return path.parent / str(int(version))
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ReleaseError(
            f'{path} is damaged; write {{"version": N}} into it, of the newest release'
        ) from error


def _point(path: Path, version: int) -> None:
    write_bytes(path, f"{json.dumps({'version': version})}\n".encode())


def yank_reason(folder: Path) -> str | None:
    """Return why a release is yanked; None where it is not.

    Raises:
        ReleaseError: the tombstone is damaged.
    """
    path = folder / TOMBSTONE
    if not path.is_file():
        return None
    try:
        return str(json.loads(path.read_bytes())["reason"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ReleaseError(f"{path} is damaged; yank the release again, once it is deleted") from error


def release_folders(releases: Path) -> list[Path]:
    """Return all whole releases, yanked ones too, in the order of their numbers."""
    numbered = (
        folder for folder in releases.glob("*") if folder.name.isdecimal() and (folder / MANIFEST).is_file()
    )
    return sorted(numbered, key=lambda folder: int(folder.name))


def newest_keys(releases: Path) -> Path | None:
    """Return the keys of the newest release, be it yanked or not; None before the first.

    They say where every key stands, those of earlier releases too: what was once in a split stays there.
    """
    files = (folder / PLACES for folder in reversed(release_folders(releases)))
    return next((file for file in files if file.is_file()), None)


def row_groups_of(folder: Path, splits: Iterable[str], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield columns of the rows of a release, split after split, a row group at a time."""
    for name in splits:
        yield from row_groups(folder / DATA / f"{name}.parquet", columns)


def load_release(path: Path | str, split: str) -> pl.LazyFrame:
    """Return the rows of one split of a release, read only as far as they are asked for.

    Args:
        path: a release folder, or the folder of releases, whose latest is read.
        split: its name, such as train.

    Raises:
        ReleaseError: there is no whole release, or it has no such split.
    """
    folder = release_folder(output_folder(path))
    manifest = read_manifest(folder)
    if split not in manifest.splits:
        raise ReleaseError(f"{folder} has no split {split!r}; it has {', '.join(manifest.splits)}")
    path = folder / DATA / f"{split}.parquet"
    if not path.is_file():
        raise ReleaseError(f"{path} is missing; restore the release from a copy, or publish it anew")
    return scan_rows(path)


def release_folder(path: Path) -> Path:
    """Return the release at a path, which is the latest where it is a folder of releases.

    Raises:
        ReleaseError: the pointer to the latest is damaged, all releases are yanked, or the publisher of the
            first one was killed before it pointed to it.
    """
    latest = latest_release(path)
    if latest is None and (folders := release_folders(path)):
        why = "is yanked"
        if yank_reason(folders[-1]) is None:
            why = "is whole, and its command ended before it was the latest: run release again"
        raise ReleaseError(f"{path} has no latest release; the newest, {folders[-1].name}, {why}")
    return latest or path


@contextmanager
def alone(releases: Path) -> Iterator[None]:
    """Be the only one who changes the releases, once what a killed publisher left is finished or removed.

    Raises:
        ReleaseError: the note of a publisher is damaged.
        StorageError: somebody else changes them.
    """
    with locked(releases, across_hosts=True):
        _finish_publishing(releases)
        unfinished = [*releases.glob(".*.tmp")]
        if store_of(releases):  # where a release takes its place file by file, its manifest last
            numbered = (folder for folder in releases.iterdir() if folder.name.isdecimal())
            unfinished += [folder for folder in numbered if not (folder / MANIFEST).is_file()]
        for path in unfinished:
            delete(path)
        yield
