"""Read `batch.yaml`: origin and licence of a batch and its documents.

A line for a document takes precedence over the document itself, and that over the lines for the batch.
"""

import unicodedata
from collections.abc import Mapping
from typing import Annotated, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError

from qa_pipeline.documents.assembly import lay_out
from qa_pipeline.documents.corpus.corpora import BatchFiles
from qa_pipeline.documents.corpus.files import DESCRIPTION_FILE, DocumentFailure, read_bytes
from qa_pipeline.errors import CorpusError
from qa_pipeline.records import Mask, keep
from qa_pipeline.settings.base import read_yaml
from qa_pipeline.text.words import clean

_LONGEST = 5_000_000  # bytes: lines for some 50,000 documents


def _clean_line(text: str) -> str:
    return lay_out("heading", clean(text))


Line = Annotated[str, AfterValidator(_clean_line)]


class Source(BaseModel):
    """An origin and its licence."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    licence: Line | None = None
    source_uri: Line | None = None


SourceT = TypeVar("SourceT", bound=Source)


class BatchDescription(Source):
    """The whole file: values for the batch, and for single documents by their path."""

    documents: Annotated[
        Mapping[str, Source],
        BeforeValidator(lambda value: {} if value is None else value),
        AfterValidator(lambda paths: {unicodedata.normalize("NFC", path): paths[path] for path in paths}),
    ] = {}

    def masked(self, mask: Mask) -> "BatchDescription":
        """Return the description with its values masked, but not the paths, which are looked up."""
        documents = {path: _mask_source(source, mask) for path, source in self.documents.items()}
        return _mask_source(self, mask).model_copy(update={"documents": documents})


def _mask_source(source: SourceT, mask: Mask) -> SourceT:
    licence = source.licence and mask(source.licence).text
    source_uri = source.source_uri and mask(source.source_uri).text
    return source.model_copy(update={"licence": licence, "source_uri": source_uri})


def read_description(files: BatchFiles, mask: Mask = keep) -> BatchDescription:
    """Read the description of a batch, empty without a file; raises a CorpusError.

    `mask` masks the names of files in messages.
    """
    file = files.find(DESCRIPTION_FILE)
    name = f"{files.name}/{DESCRIPTION_FILE}"
    if file is None:
        return BatchDescription()
    try:
        values = read_yaml(read_bytes(file, _LONGEST, "its limit").decode("utf-8-sig")) or {}
    except DocumentFailure as failure:
        raise CorpusError(f"{name} cannot be read: {failure.detail}") from failure
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", "not readable")
        line = f", line {mark.line + 1}" if mark else ""
        raise CorpusError(f"{name}{line}: {problem}; it must be plain YAML in UTF-8") from None
    if not isinstance(values, dict):
        raise CorpusError(f"{name} must contain names and values, such as `licence: CC0-1.0`")
    try:
        return BatchDescription.model_validate(values)
    except ValidationError as error:
        first_problem = error.errors(include_input=False, include_url=False)[0]
        # such as `documents.a.md.licence`
        field = ".".join(mask(str(part)).text for part in first_problem["loc"])
        message = f"{field}: {first_problem['msg'].removeprefix('Value error, ')}"
        if first_problem["type"] == "extra_forbidden":
            known_fields = "licence and source_uri; for a batch also documents"
            message = f"{field} is unknown; known are {known_fields}"
        raise CorpusError(f"{name}: {message}") from None  # the error quotes the file
