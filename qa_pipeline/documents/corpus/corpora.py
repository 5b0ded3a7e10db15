"""From the location of a corpus to the place that opens it."""

import os
from pathlib import Path

from qa_pipeline.documents.corpus.folders import FolderCorpus
from qa_pipeline.documents.corpus.places import Corpus, is_archive, without_suffix
from qa_pipeline.documents.corpus.remote import RemoteCorpus, is_remote_file
from qa_pipeline.errors import CorpusError
from qa_pipeline.settings.location import is_remote, location_of


def open_corpus(location: str | Path) -> Corpus:
    """Return the corpus at a local folder, or at an address that fsspec can open.

    Raises:
        CorpusError: the location is none that can be used.
    """
    path = _check_location(location)
    return RemoteCorpus(path) if is_remote(path) else FolderCorpus(path)


def split_batch(location: str | Path) -> tuple[str, str]:
    """Return the corpus that holds a batch, and the batch's name in it.

    Raises:
        CorpusError: the location is none that can be used.
    """
    place = _check_location(location)
    if not is_remote(place):
        path = Path(place).resolve()
        return str(path.parent), path.name if path.is_dir() else without_suffix(path.name)
    corpus, _, name = place.rpartition("/")
    if corpus.endswith("/"):
        raise CorpusError(f"{place} is not a folder of documents; name one below it")
    return corpus, without_suffix(name)


def single_batch(location: str | Path) -> tuple[str, str] | None:
    """Return corpus and name of a batch that is given in place of a corpus; None for other locations.

    That is a file, or a folder with files that holds neither folders nor archives.

    Raises:
        CorpusError: the location is none that can be used.
    """
    place = _check_location(location)
    if is_remote(place):
        return split_batch(place) if is_remote_file(place) else None
    path = Path(place)
    try:
        if path.is_file():
            return split_batch(place)
        with os.scandir(path) as entries:
            visible = [entry for entry in entries if not entry.name.startswith(".")]
    except (OSError, ValueError):  # opening it as a corpus gives the reason
        return None
    flat = bool(visible) and not any(entry.is_dir() or is_archive(entry.name) for entry in visible)
    return split_batch(place) if flat else None


def _check_location(location: str | Path) -> str:
    try:
        return location_of(location)
    except ValueError as error:
        raise CorpusError(f"the location cannot be opened: {error}") from error
