"""A Hugging Face dataset folder as a batch: the licence of its rows as its card tells it.

What belongs here: the front matter of the `README.md` beside the data. What does not: the rows, which are
documents like any others (`text_rows/parquet_files`, `text_rows/json_lines`, `tables/parser`). The language
a card names is not believed: what a text is written in, the text tells better.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import yaml

from qa_pipeline.documents.characters import clean, lay_out
from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.files import FoundFile, read_bytes
from qa_pipeline.documents.sources.places import BatchFiles

_CARD = "README.md"
_DATA = (".parquet", ".jsonl", ".ndjson", ".csv", ".tsv")
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_LARGEST, _LONGEST = 5_000_000, 200_000
_LONGEST_NAME = 200


@dataclass(frozen=True)
class DataSet:
    """What the card of a dataset says of all rows."""

    licence: str

    def source_uri_of(self, file: FoundFile) -> str | None:
        """Nothing: a card does not name the place it was fetched from."""
        return None


def read_data_set(files: BatchFiles, found: Sequence[FoundFile]) -> DataSet | None:
    """The dataset a batch is; None without data files, or without a card that names one licence."""
    if not any(file.path.lower().endswith(_DATA) for file in found):
        return None
    card = files.find(_CARD)
    fields = _fields(card) if card is not None else {}
    licence = _only(fields, "license")
    if licence == "other":
        licence = _only(fields, "license_name") or licence
    return DataSet(licence) if licence else None


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
    """The value of a field, also where it is the only one of a list; of several none holds for all rows."""
    value = fields.get(name)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        return None
    return lay_out("heading", clean(value))[:_LONGEST_NAME] or None
