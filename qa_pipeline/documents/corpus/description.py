"""Origin, licence and masking of a batch and its documents, as their owner states them in `batch.yaml`.

A line for one document wins over what the document states itself, and that over the lines for the batch.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError

from qa_pipeline.documents.corpus.files import DESCRIPTION_FILE, DocumentFailure, FoundFile, read_bytes
from qa_pipeline.documents.corpus.places import BatchFiles
from qa_pipeline.errors import CorpusError
from qa_pipeline.records import Mask, keep
from qa_pipeline.settings.documents import MaskingAction
from qa_pipeline.settings.plain_yaml import read_yaml
from qa_pipeline.text.characters import clean, lay_out

_LONGEST = 5_000_000  # bytes: lines for some 50,000 documents
_MOST_PROBLEMS = 3  # shown of a file: they stand in one message, and mending them shows the others
_CARD = "README.md"
_DATA = (".parquet", ".jsonl", ".ndjson", ".csv", ".tsv")
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_LONGEST_FRONT, _LONGEST_NAME = 200_000, 200  # characters of a card's head, and of a licence's name


def _clean_line(text: str) -> str:
    return lay_out("heading", clean(text))


def _check_base(address: str) -> str:
    if (
        not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^\s?#@/]+(/[^\s?#]*)?", address)
        or _clean_line(address) != address
    ):
        raise ValueError("it must be an address without query, such as https://example.org/manuals")
    return address.rstrip("/")


Line = Annotated[str, AfterValidator(_clean_line)]


class Source(BaseModel):
    """An origin and its licence."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    licence: Line | None = None
    source_uri: Line | None = None


SourceT = TypeVar("SourceT", bound=Source)


class BatchDescription(Source):
    """The whole file: values for the batch, and for single documents by their path.

    `base_uri` is the address of the folder that the batch is a copy of, such as a web site or the page of a
    git commit: the path of each document is appended to it. `masking` is the action on personal data in this
    batch. It may ask for more than the settings do, in the order off, flag, mask, drop; for less only
    where `documents.masking.batches_may_loosen` is set.
    """

    base_uri: Annotated[str, AfterValidator(_check_base)] | None = None
    # YAML reads the word off as false
    masking: Annotated[
        MaskingAction | None, BeforeValidator(lambda value: "off" if value is False else value)
    ] = None
    documents: Annotated[
        Mapping[str, Source],
        BeforeValidator(lambda value: {} if value is None else value),
        AfterValidator(lambda paths: {unicodedata.normalize("NFC", path): paths[path] for path in paths}),
    ] = {}

    def stated_of(self, path: str) -> Source:
        """Return what is stated for one document alone."""
        return self.documents.get(path, Source())

    def address_of(self, raw: bytes) -> str | None:
        """Return the address of a file below `base_uri`, from its name as bytes."""
        return f"{self.base_uri}/{quote(raw, safe='/')}" if self.base_uri else None

    def masked(self, mask: Mask) -> "BatchDescription":
        """Return the description with its values masked, but not the paths, which are looked up."""
        documents = {path: _mask_source(source, mask) for path, source in self.documents.items()}
        return _mask_source(self, mask).model_copy(update={"documents": documents})


def _mask_source(source: SourceT, mask: Mask) -> SourceT:
    values = {"licence": source.licence, "source_uri": source.source_uri}
    return source.model_copy(update={name: mask(line)[0] if line else line for name, line in values.items()})


def read_description(files: BatchFiles, mask: Mask = keep) -> BatchDescription:
    """Read the description of a batch; an empty one when there is no file.

    Args:
        files: the files of the batch.
        mask: masks the names of files in messages.

    Raises:
        CorpusError: the file is not readable YAML of the right shape.
    """
    file = files.find(DESCRIPTION_FILE)
    name = f"{files.name}/{DESCRIPTION_FILE}"
    if file is None:
        return BatchDescription()
    try:
        content = read_bytes(file, _LONGEST, "its limit")
    except DocumentFailure as failure:
        raise CorpusError(f"{name} cannot be read: {failure.detail}") from failure
    values = _parse_yaml(content, name)
    if not isinstance(values, dict):
        raise CorpusError(f"{name} must hold names and values, such as `licence: CC0-1.0`")
    try:
        return BatchDescription.model_validate(values)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False)
        rest = f" and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
        first_problems = "; ".join(_describe_problem(problem, mask) for problem in problems[:_MOST_PROBLEMS])
        raise CorpusError(f"{name}: {first_problems}{rest}") from None  # the error quotes the file


def _parse_yaml(content: bytes, name: str) -> Any:
    try:
        return read_yaml(content.decode("utf-8-sig")) or {}
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise CorpusError(f"{name}{line}: {error.problem}; it must be plain YAML") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise CorpusError(f"{name} cannot be read as YAML in UTF-8; save it so") from error


def _describe_problem(problem: Mapping[str, Any], mask: Mask) -> str:
    place = ".".join(mask(str(part))[0] for part in problem["loc"])
    if problem["type"] != "extra_forbidden":
        return f"{place}: {problem['msg'].removeprefix('Value error, ')}"
    if problem["loc"] == ("kind",):
        return "kind is no longer read; state source_uri or base_uri, and licence, in its place"
    fields = "licence and source_uri; for a batch also base_uri, documents and masking"
    return f"{place} is unknown; known are {fields}"


def card_licence(files: Sequence[FoundFile]) -> str | None:
    """Return the one licence that the card of a Hugging Face dataset names for its rows.

    None without data files or without such a card. Its language is not used: the text shows it more reliably.
    """
    card = next((file for file in files if file.path == _CARD), None)
    if card is None or not any(file.path.lower().endswith(_DATA) for file in files):
        return None
    try:
        front = _FRONT_MATTER.match(read_bytes(card, _LONGEST).decode("utf-8", "replace"))
        fields = read_yaml(front[1]) if front and len(front[1]) <= _LONGEST_FRONT else None
    except (DocumentFailure, yaml.YAMLError):  # its row has the reason
        return None
    if not isinstance(fields, Mapping):
        return None
    licence = _only_value(fields, "license")
    return (_only_value(fields, "license_name") or licence) if licence == "other" else licence


def _only_value(fields: Mapping[object, object], name: str) -> str | None:
    """Return the value of a field, or the only one of a list; several values do not hold for every row."""
    value = fields.get(name)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        return None
    return lay_out("heading", clean(value))[:_LONGEST_NAME] or None
