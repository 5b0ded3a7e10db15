"""Reading a release: what a training job needs of this package."""

from pathlib import Path

import polars as pl

from qa_pipeline.errors import ReleaseError
from qa_pipeline.publishing.manifest import latest_release, read_manifest


def load_release(path: Path | str, split: str) -> pl.LazyFrame:
    """As `qa_pipeline.load_release`."""
    folder = release_folder(Path(path))
    manifest = read_manifest(folder)
    if split not in manifest.splits:
        raise ReleaseError(f"{folder} has no split {split!r}; it has {', '.join(manifest.splits)}")
    return pl.scan_parquet(folder / "data" / f"{split}.parquet")


def release_folder(path: Path) -> Path:
    """The release at a path, which is the latest where it is a folder of releases.

    Raises:
        ReleaseError: the pointer to the latest is damaged.
    """
    return latest_release(path) or path
