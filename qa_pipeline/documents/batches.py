"""The names of batches: which may be used, and what is found of them in a corpus.

What belongs here: rules about names and the record of what a corpus holds. What does not: looking into a
corpus (`sources`), and the documents of a batch (`reading`).
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from qa_pipeline.errors import CorpusError

_LONGEST_NAME = 200
_FORBIDDEN = frozenset('/\\:*?"<>|,[]')


@dataclass(frozen=True, slots=True)
class FoundBatches:
    """What lies in a corpus.

    `refused` says why a folder or archive can be no batch, by its name as it can be shown; `loose` are the
    files beside them, which belong to no batch.
    """

    names: tuple[str, ...]
    refused: Mapping[str, str]
    loose: tuple[str, ...]


def check_batch_name(name: str) -> None:
    """Refuse a name that is no plain folder name on every system, or no partition key.

    Raises:
        CorpusError: with the rule that is broken.
    """
    problem = name_problem(name)
    if problem:
        raise CorpusError(refusal(name, problem))


def refusal(name: str, problem: str) -> str:
    """What is told of a name that cannot be used."""
    return f"batch name {name!r} cannot be used: {problem}; rename the folder"


def name_problem(name: str) -> str | None:
    """The rule a name breaks; None for a name that can be used."""
    length = len(name.encode("utf-8", "surrogatepass"))
    rules = (
        (not name, "it is empty"),
        (length > _LONGEST_NAME, f"it is longer than {_LONGEST_NAME} bytes"),
        (name.startswith("."), "it starts with a dot"),
        (name.endswith(".") or "..." in name, "it ends with a dot or holds three in a row"),
        (name != name.strip(), "it starts or ends with a space"),
        (not name.isprintable(), "it holds control or invisible characters"),
        (not _FORBIDDEN.isdisjoint(name), f"it holds one of {' '.join(sorted(_FORBIDDEN))}"),
        (not unicodedata.is_normalized("NFC", name), "its accents are not composed (NFC)"),
    )
    return next((problem for broken, problem in rules if broken), None)
