"""`batch.yaml`: what its owner says about a batch and its documents.

What belongs here: the shape of that file. What does not: what a document says about itself
(`front_matter`), which stands between the two: a line for the document wins over the document, and the
document over the line for the batch.
"""

from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from qa_pipeline.documents.files import DESCRIPTION_FILE
from qa_pipeline.errors import CorpusError

_LONGEST = 5_000_000


class Source(BaseModel):
    """Where something came from and under which licence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    licence: str | None = None
    source_uri: str | None = None


class BatchDescription(Source):
    """The whole file: values for the batch, and for single documents by their path."""

    documents: Mapping[str, Source] = {}

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
    if not path.is_file():
        return BatchDescription()
    if path.stat().st_size > _LONGEST or not path.resolve().is_relative_to(folder.resolve()):
        raise CorpusError(f"{folder.name}/{DESCRIPTION_FILE} is larger than 5 MB or lies outside the batch")
    try:
        return BatchDescription.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
            for problem in error.errors(include_input=False, include_url=False)
        )
        raise CorpusError(f"{folder.name}/{DESCRIPTION_FILE}: {problems}") from error
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise CorpusError(f"{folder.name}/{DESCRIPTION_FILE} is not readable YAML in UTF-8") from error
