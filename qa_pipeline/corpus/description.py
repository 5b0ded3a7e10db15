"""`batch.yaml`: what its owner says about a batch and its documents.

What belongs here: the shape of that file. What does not: what a document says about itself
(`front_matter`), which stands between the two: a line for the document wins over the document, and the
document over the line for the batch.
"""

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError

from qa_pipeline.corpus.files import DESCRIPTION_FILE, DocumentFailure, read_bytes
from qa_pipeline.corpus.places import BatchFiles
from qa_pipeline.errors import CorpusError
from qa_pipeline.records import Mask, keep
from qa_pipeline.settings.documents import MaskingAction
from qa_pipeline.text.characters import clean, lay_out

_LONGEST = 5_000_000
_TOLD = 3


def _line(text: str) -> str:
    return lay_out("heading", clean(text))


def _composed(paths: Mapping[str, "Source"]) -> Mapping[str, "Source"]:
    return {unicodedata.normalize("NFC", path): source for path, source in paths.items()}


def _or_none_listed(value: object) -> object:
    return {} if value is None else value


def _or_off(value: object) -> object:
    return "off" if value is False else value  # which is what YAML makes of the word


Line = Annotated[str, AfterValidator(_line)]


class Source(BaseModel):
    """Where something came from and under which licence."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    licence: Line | None = None
    source_uri: Line | None = None


SourceT = TypeVar("SourceT", bound=Source)


class BatchDescription(Source):
    """The whole file: values for the batch, and for single documents by their path.

    `masking` says what becomes of personal data in this batch. It may ask for more than the settings do, in
    the order off, flag, mask, drop; for less only where `documents.masking.batches_may_loosen` is set.
    `kind` says what the batch is where its files could mislead: `folder` believes no mark of an origin, the
    others only theirs. None believes all that are found.
    """

    masking: Annotated[MaskingAction | None, BeforeValidator(_or_off)] = None
    kind: Literal["folder", "git", "website", "dataset"] | None = None

    documents: Annotated[
        Mapping[str, Source], BeforeValidator(_or_none_listed), AfterValidator(_composed)
    ] = {}

    def licence_of(self, path: str) -> str | None:
        """The licence named for one document."""
        return self.documents[path].licence if path in self.documents else None

    def source_uri_of(self, path: str) -> str | None:
        """The origin named for one document."""
        return self.documents[path].source_uri if path in self.documents else None

    def masked(self, mask: Mask) -> "BatchDescription":
        """The same with what it says of the documents masked; their paths stay, to be looked up by."""
        documents = {path: _masked(source, mask) for path, source in self.documents.items()}
        return _masked(self, mask).model_copy(update={"documents": documents})


def _masked(source: SourceT, mask: Mask) -> SourceT:
    said = {"licence": source.licence, "source_uri": source.source_uri}
    return source.model_copy(update={name: mask(line)[0] if line else line for name, line in said.items()})


def read_description(files: BatchFiles, mask: Mask = keep) -> BatchDescription:
    """Read the description of a batch; an empty one when there is no file.

    Args:
        files: the files of the batch.
        mask: masks the names of files in messages.

    Raises:
        CorpusError: the file is not readable YAML of the right shape.
    """
    found = files.find(DESCRIPTION_FILE)
    name = f"{files.name}/{DESCRIPTION_FILE}"
    if found is None:
        return BatchDescription()
    try:
        content = read_bytes(found, _LONGEST, "its limit")
    except DocumentFailure as failure:
        raise CorpusError(f"{name} cannot be read: {failure.detail}") from failure
    values = _parsed(content, name)
    if not isinstance(values, dict):
        raise CorpusError(f"{name} must hold names and values, such as `licence: CC0-1.0`")
    try:
        return BatchDescription.model_validate(values)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False)
        rest = f" and {len(problems) - _TOLD} more" if len(problems) > _TOLD else ""
        told = "; ".join(_problem(one, mask) for one in problems[:_TOLD])
        raise CorpusError(f"{name}: {told}{rest}") from None  # the error quotes the file


def _parsed(content: bytes, name: str) -> Any:
    try:
        return yaml.safe_load(content.decode("utf-8-sig")) or {}
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise CorpusError(f"{name}{line}: {error.problem}; it must be plain YAML") from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise CorpusError(f"{name} is not readable YAML in UTF-8") from error


def _problem(problem: Mapping[str, Any], mask: Mask) -> str:
    place = ".".join(mask(str(part))[0] for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{place} is unknown; known are licence, source_uri and, for a batch, documents, kind, masking"
    return f"{place}: {problem['msg']}"
