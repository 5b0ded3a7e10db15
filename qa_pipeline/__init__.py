"""Documents in, question-answer training data out, every sentence proved from its source."""

from typing import TYPE_CHECKING

from qa_pipeline.monitoring.observing import observe, start_observing

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

__all__ = ["load_release", "observe", "start_observing"]


def load_release(path: "Path | str", split: str) -> "pl.LazyFrame":
    """Return the rows of one split of a release, read only as far as they are asked for.

    Args:
        path: a release folder, or the folder of releases, whose latest is read.
        split: its name, such as train.

    Raises:
        ReleaseError: there is no whole release, or it has no such split.
    """
    from qa_pipeline.publishing import manifest  # heavy, and nothing else of the package needs it

    return manifest.load_release(path, split)
