"""Documents in, question-answer training data out, every sentence proved from its source."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import polars as pl

    from qa_pipeline.monitoring.observing import Context, Observer


def load_release(path: "Path | str", split: str) -> "pl.LazyFrame":
    """The rows of one split of a release, read only as far as they are asked for.

    Args:
        path: a release folder, or the folder of releases, whose latest is read.
        split: its name, such as train.

    Raises:
        ReleaseError: there is no whole release, or it has no such split.
    """
    from qa_pipeline.publishing import loading  # heavy, and nothing else of the package needs it

    return loading.load_release(path, split)


def start_observing(
    folder: "Path | str | None" = None,
    share: float | None = None,
    redact: "Callable[[str], str] | None" = None,
) -> "Observer":
    """Have `observe` write a sample of answered requests to a folder; see `monitoring.observing`."""
    from qa_pipeline.monitoring import observing

    return observing.start_observing(folder, share, redact)


def observe(
    request_id: str,
    query: str,
    answer: str | None,
    contexts: "Sequence[Context]" = (),
    citations: "Sequence[str]" = (),
    **more: Any,
) -> bool:
    """Log one answered request for evaluation, where it is in the sample; never raises, never waits.

    Args:
        request_id: decides whether it is in the sample.
        query: what was asked.
        answer: what was answered; None where nothing was.
        contexts: passages in their order, as texts or as mappings of text, document, rank and score.
        citations: names of documents or passages that the answer cites.
        more: seconds, error, model and time, as far as they are known.
    """
    from qa_pipeline.monitoring import observing

    return observing.observe(request_id, query, answer, contexts, citations, **more)
