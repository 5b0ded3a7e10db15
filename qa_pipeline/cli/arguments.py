"""What the arguments of `run` and `estimate` mean: which batches, and which settings they change."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qa_pipeline.corpus.places import FoundBatches
    from qa_pipeline.settings.tree import Settings


def chosen_batches(asked: list[str] | None, found: "FoundBatches", corpus: str) -> list[str]:
    """The batches asked for, or all there are.

    Raises:
        CorpusError: there is no such batch.
    """
    from qa_pipeline.errors import CorpusError

    for name in asked or []:
        if name in found.refused:
            raise CorpusError(found.refused[name])
        if name not in found.names:
            raise CorpusError(f"{corpus} has no batch {name!r}; it has {', '.join(found.names)}")
    return list(dict.fromkeys(asked or found.names))


def located(corpus: str) -> tuple[str, str | None]:
    """The location of the corpus; and its only batch, where a batch was given in place of a corpus."""
    from qa_pipeline.corpus.corpora import single_batch

    found = single_batch(corpus)
    return (corpus, None) if found is None else found


def batches_at(settings: "Settings", single: str | None) -> "FoundBatches":
    """The batches of the corpus, or the only one that was asked for.

    Raises:
        CorpusError: the corpus cannot be used, or the batch has a name that cannot be one.
    """
    from qa_pipeline.corpus.corpora import open_corpus
    from qa_pipeline.corpus.places import FoundBatches
    from qa_pipeline.storage import check_batch_name

    if single is None:
        return open_corpus(settings.corpus, settings.documents).find_batches()
    check_batch_name(single)
    return FoundBatches((single,), {}, ())


def named_settings(
    provider: str | None,
    model: str | None,
    max_calls: int | None = None,
    max_cost: float | None = None,
    accept_unjudged: bool | None = None,
) -> dict[str, Any]:
    """The settings that have options of their own, by path."""
    values = {
        "llm.provider": provider,
        "llm.model": model,
        "llm.budget.max_calls": max_calls,
        "llm.budget.max_cost": max_cost,
        "judging.accept_unjudged": accept_unjudged,
    }
    return {path: value for path, value in values.items() if value is not None}


def overrides(corpus: str, out: Path, changes: list[str] | None, named: dict[str, Any]) -> dict[str, Any]:
    """What the arguments say of settings: corpus and output folder, `--set`, and before it the options.

    Raises:
        SettingsError: a `--set` cannot be read, or stands for an argument.
    """
    from qa_pipeline.errors import SettingsError
    from qa_pipeline.settings.base import read_assignments

    tree = read_assignments(changes or [], named)
    for name in ("corpus", "out"):
        if name in tree:
            raise SettingsError(f"--set {name}: give it as an argument of the command instead")
    return {**tree, "corpus": corpus, "out": out}
