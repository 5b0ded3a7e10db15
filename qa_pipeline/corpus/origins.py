"""The licence that a Hugging Face dataset folder states for its rows, in the front matter of its card.

The language a card names is not used: the text itself shows it more reliably.
"""

import re
from collections.abc import Mapping, Sequence

import yaml

from qa_pipeline.corpus.files import DocumentFailure, FoundFile, read_bytes
from qa_pipeline.text.characters import clean, lay_out

_CARD = "README.md"
_DATA = (".parquet", ".jsonl", ".ndjson", ".csv", ".tsv")
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_LARGEST, _LONGEST, _LONGEST_NAME = 5_000_000, 200_000, 200


def card_licence(found: Sequence[FoundFile]) -> str | None:
    """The one licence that the card of a dataset names; None without data files or without such a card."""
    card = next((file for file in found if file.path == _CARD), None)
    if card is None or not any(file.path.lower().endswith(_DATA) for file in found):
        return None
    fields = _fields(card)
    licence = _only(fields, "license")
    return (_only(fields, "license_name") or licence) if licence == "other" else licence


def _fields(card: FoundFile) -> Mapping[object, object]:
    try:
        text = read_bytes(card, _LARGEST).decode("utf-8", "replace")
    except DocumentFailure:  # its row says why
        return {}
    front = _FRONT_MATTER.match(text)
    if front is None or len(front[1]) > _LONGEST:
        return {}
    try:
        loaded = yaml.safe_load(front[1])
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, Mapping) else {}


def _only(fields: Mapping[object, object], name: str) -> str | None:
    """The value of a field, or the only one of a list; several values do not hold for every row."""
    value = fields.get(name)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        return None
    return lay_out("heading", clean(value))[:_LONGEST_NAME] or None
