"""Names of persons, found by pipelines of spaCy that are installed beside this package."""

import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from qa_pipeline.documents.masking.items import Family, Item
from qa_pipeline.errors import SettingsError

if TYPE_CHECKING:
    from spacy.language import Language

_LABELS = frozenset({"PERSON", "PER", "PRS"})
_LONGEST = 100_000
"""Characters a pipeline reads at once; it needs memory for each."""


def names_family(pipelines: Sequence[str]) -> Family:
    """Return the family of names of persons that any of the pipelines recognises.

    Raises:
        SettingsError: spaCy or a pipeline is not installed.
    """
    for name in pipelines:  # not loaded here, so that a slip shows before files are read
        _check_installed(name)

    def find(text: str) -> Iterator[Item]:
        for start, end in _merge_spans(_find_spans(text, pipelines)):
            yield Item("name", start, end, " ".join(text[start:end].casefold().split()))

    return Family("name", find)


def _merge_spans(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans in order, those that overlap as one."""
    start, end = 0, 0
    for first, last in (*sorted(spans), (sys.maxsize, 0)):
        if first >= end:
            if end > start:
                yield start, end
            start, end = first, last
        end = max(end, last)


def _find_spans(text: str, pipelines: Sequence[str]) -> Iterator[tuple[int, int]]:
    for name in pipelines:
        for offset in range(0, len(text), _LONGEST):
            for entity in _load(name)(text[offset : offset + _LONGEST]).ents:
                if entity.label_ in _LABELS and any(character.isalpha() for character in entity.text):
                    yield offset + entity.start_char, offset + entity.end_char


def _check_installed(name: str) -> None:
    try:
        from spacy import util
    except ImportError as error:
        raise SettingsError(
            "documents.masking.names_models needs spaCy; install the extra: pip install 'qa-pipeline[names]'"
        ) from error
    if not (util.is_package(name) or (Path(name) / "meta.json").is_file()):
        raise SettingsError(
            f"documents.masking.names_models names {name}: no spaCy pipeline of that name is installed"
        )


@cache
def _load(name: str) -> "Language":
    import spacy

    return spacy.load(name)


def names_version(pipelines: Sequence[str]) -> str:
    """Return the versions of the pipelines, which decide about names as code does."""
    return " ".join(f"{name}={_version(name)}" for name in pipelines)


def _version(name: str) -> str:
    settings = Path(name) / "meta.json"
    if settings.is_file():
        return hashlib.sha256(settings.read_bytes()).hexdigest()
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
