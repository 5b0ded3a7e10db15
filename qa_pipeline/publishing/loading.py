"""Reading a release: what a training job needs of this package."""

from pathlib import Path

import polars as pl

from qa_pipeline.errors import ReleaseError
from qa_pipeline.publishing.manifest import DATA, latest_release, read_manifest, release_folders


def load_release(path: Path | str, split: str) -> pl.LazyFrame:
    """Return the rows of one split of a release, as `qa_pipeline.load_release` does."""
    folder = release_folder(Path(path))
    manifest = read_manifest(folder)
    if split not in manifest.splits:
        raise ReleaseError(f"{folder} has no split {split!r}; it has {', '.join(manifest.splits)}")
    path = folder / DATA / f"{split}.parquet"
    if not path.is_file():
        raise ReleaseError(f"{path} is missing; restore the release from a copy, or publish it anew")
    return pl.scan_parquet(path)


def release_folder(path: Path) -> Path:
    """Return the release at a path, which is the latest where it is a folder of releases.

    Raises:
        ReleaseError: the pointer to the latest is damaged, or all releases are yanked.
    """
    latest = latest_release(path)
    if latest is None and (yanked := release_folders(path)):
        raise ReleaseError(f"{path} has no latest release; the newest, {yanked[-1].name}, is yanked")
    return latest or path
