"""`batch.yaml`: what its owner says about a batch and its documents.

What belongs here: the shape of that file. What does not: what a document says about itself
(`front_matter`), which stands between the two: a line for the document wins over the document, and the
document over the line for the batch.
"""

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError

from qa_pipeline.documents.characters import clean, lay_out
from qa_pipeline.documents.files import DESCRIPTION_FILE
from qa_pipeline.errors import CorpusError

_LONGEST = 5_000_000
_TOLD = 3


def _line(text: str) -> str:
    return lay_out("heading", clean(text))


def _composed(paths: Mapping[str, "Source"]) -> Mapping[str, "Source"]:
    return {unicodedata.normalize("NFC", path): source for path, source in paths.items()}


def _or_none_listed(value: object) -> object:
    return {} if value is None else value


Line = Annotated[str, AfterValidator(_line)]


class Source(BaseModel):
    """Where something came from and under which licence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    licence: Line | None = None
    source_uri: Line | None = None


class BatchDescription(Source):
    """The whole file: values for the batch, and for single documents by their path."""

    documents: Annotated[
        Mapping[str, Source], BeforeValidator(_or_none_listed), AfterValidator(_composed)
    ] = {}

    def licence_of(self, path: str) -> str | None:
        """The licence named for one document."""
        return self.documents[path].licence if path in self.documents else None

    def source_uri_of(self, path: str) -> str | None:
        """The origin named for one document."""
        return self.documents[path].source_uri if path in self.documents else None


def read_description(folder: Path) -> BatchDescription:
    """Read the description of a batch; an empty one when there is no file.

    Raises:
        CorpusError: the file is not readable YAML of the right shape.
    """
    path = folder / DESCRIPTION_FILE
    name = f"{folder.name}/{DESCRIPTION_FILE}"
    if not path.is_file():
        return BatchDescription()
    if path.stat().st_size > _LONGEST or not path.resolve().is_relative_to(folder.resolve()):
        raise CorpusError(f"{name} is larger than 5 MB or lies outside the batch")
    values = _parsed(path, name)
    if not isinstance(values, dict):
        raise CorpusError(f"{name} must hold names and values, such as `licence: CC0-1.0`")
    try:
        return BatchDescription.model_validate(values)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False)
        rest = f" and {len(problems) - _TOLD} more" if len(problems) > _TOLD else ""
        told = "; ".join(_problem(one) for one in problems[:_TOLD])
        raise CorpusError(f"{name}: {told}{rest}") from error


def _parsed(path: Path, name: str) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise CorpusError(f"{name}{line}: {error.problem}; it must be plain YAML") from error
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise CorpusError(f"{name} is not readable YAML in UTF-8") from error


def _problem(problem: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{place} is unknown; known are licence, source_uri and, for the batch, documents"
    return f"{place}: {problem['msg']}"
