"""Withdrawing a release that is out: its data go, and a tombstone says why; its number and its keys stay."""

import json
from pathlib import Path

from qa_pipeline.errors import InputError, ReleaseError, StorageError
from qa_pipeline.publishing.manifest import (
    LATEST,
    MANIFEST,
    PLACES,
    SIGNATURE,
    TOMBSTONE,
    alone,
    latest_release,
    manifest_of,
    point_to,
    release_folders,
    yank_reason,
)
from qa_pipeline.storage.files import delete, write_bytes

LONGEST_REASON = 500
"""Characters of a reason, which is shown on one line wherever the release is named."""
_FILES_THAT_STAY = (MANIFEST, SIGNATURE, PLACES, TOMBSTONE)


def check_reason(reason: str) -> str:
    """Return a person's reason, as it is stored.

    Raises:
        InputError: it is empty, too long, or holds control characters.
    """
    stripped = reason.strip()
    if not stripped or len(stripped) > LONGEST_REASON or not stripped.isprintable():
        raise InputError(f"a reason is one line of 1 to {LONGEST_REASON} letters without control characters")
    return stripped


def newest_instead(folder: Path) -> Path | None:
    """Return the newest release that is not yanked, this one aside; None where there is none."""
    others = (other for other in reversed(_open_releases(folder.parent)) if other != folder)
    return next(others, None)


def yank_release(folder: Path, reason: str) -> str:
    """Withdraw a release and return why; one that is yanked already keeps its reason, and loses what is left.

    The pointer moves first, so that who reads the latest never meets a yanked one.

    Raises:
        InputError: the reason cannot be kept.
        ReleaseError: there is no such release.
        StorageError: something cannot be written or deleted, or somebody else changes the releases.
    """
    checked_reason = check_reason(reason)
    check_release(folder)
    with alone(folder.parent):
        final_reason = yank_reason(folder) or checked_reason
        rows = sum(manifest_of(folder).splits.values())
        tombstone = {"version": int(folder.name), "reason": final_reason, "rows": rows}
        latest, newest = latest_release(folder.parent), newest_instead(folder)
        if latest is not None and latest.name == folder.name:
            if newest is not None:
                point_to(folder.parent, int(newest.name))
            else:
                _delete(folder.parent / LATEST)
        write_bytes(folder / TOMBSTONE, f"{json.dumps(tombstone, indent=1, ensure_ascii=False)}\n".encode())
        for path in sorted(folder.iterdir()):
            if path.name not in _FILES_THAT_STAY:
                _delete(path)
    return final_reason


def check_release(folder: Path) -> None:
    """Verify that a path is that of a release in its place.

    Raises:
        ReleaseError: it is none.
    """
    if manifest_of(folder).version != (int(folder.name) if folder.name.isdecimal() else None):
        raise ReleaseError(f"{folder} is no release in its place; name one as OUT/releases/N")


def _delete(path: Path) -> None:
    try:
        delete(path)
    except OSError as error:
        raise StorageError(
            f"cannot delete {path}: {error.strerror or error}; give this user the right, then run again"
        ) from error


def _open_releases(releases: Path) -> list[Path]:
    return [folder for folder in release_folders(releases) if yank_reason(folder) is None]
