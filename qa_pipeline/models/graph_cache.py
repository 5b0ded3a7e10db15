"""Exported models that were made once: graphs by what they were made of, shared by many processes.

What belongs here: keeping graphs whole and finding them. What does not: making them
(`export.py`). A kept graph is final: whoever comes second with another one for the same key takes
the first, so that every process computes with one. The folder can be deleted at any time; only the making
is lost.
"""

import errno
import hashlib
import json
import shutil
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from qa_pipeline.errors import StorageError
from qa_pipeline.storage import write_bytes

GRAPH = "model.onnx"
MANIFEST = "manifest.json"
_ALREADY_THERE = {errno.EEXIST, errno.ENOTEMPTY}


@dataclass(frozen=True, slots=True)
class GraphKey:
    """What decides what a graph computes: the model, the arithmetic, and the versions of what made it."""

    model: str
    revision: str
    precision: str
    made_with: tuple[str, ...]

    @property
    def folder(self) -> str:
        """Name of its folder: nothing of the model's own name reaches a path."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:32]


class Manifest(BaseModel):
    """What is known of a kept graph: what it was made of, its hash, and how far its results moved.

    Graphs of vectors are measured by cosines, graphs of logits by how far probabilities moved.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    model: str
    revision: str
    precision: str
    made_with: list[str]
    sha256: str
    mean_cosine: float | None = None
    min_cosine: float | None = None
    mean_moved: float | None = None
    most_moved: float | None = None


@dataclass(frozen=True)
class GraphCache:
    """Graphs below one folder, each in a folder of its own with its manifest."""

    path: Path

    def get(self, key: GraphKey) -> bytes | None:
        """A kept graph, held to its hash; None where there is none.

        Raises:
            StorageError: what is there is damaged.
        """
        folder = self.path / key.folder
        if not folder.exists():
            return None
        try:
            manifest = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
            content = (folder / GRAPH).read_bytes()
        except (OSError, ValidationError) as error:
            raise _damaged(folder, f"{GRAPH} or {MANIFEST} cannot be read") from error
        if hashlib.sha256(content).hexdigest() != manifest.sha256:
            raise _damaged(folder, f"{GRAPH} is not what {MANIFEST} says")
        return content

    def put(self, key: GraphKey, content: bytes, **measured: float) -> None:
        """Keep a graph in one step; one that is there already stays.

        Args:
            key: what it was made of.
            content: the graph.
            measured: how far its results moved, by the names that `Manifest` has for it.

        Raises:
            StorageError: it could not be written.
        """
        known = {**asdict(key), "made_with": list(key.made_with), **measured}
        manifest = Manifest.model_validate({**known, "sha256": hashlib.sha256(content).hexdigest()})
        unfinished = self.path / f".{uuid.uuid4().hex}.tmp"
        try:
            write_bytes(unfinished / GRAPH, content)
            write_bytes(unfinished / MANIFEST, manifest.model_dump_json(indent=2).encode() + b"\n")
            unfinished.rename(self.path / key.folder)
        except OSError as error:
            if error.errno not in _ALREADY_THERE:
                raise StorageError(
                    f"cannot keep a graph in {self.path}: {error.strerror or error}"
                ) from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _damaged(folder: Path, what: str) -> StorageError:
    return StorageError(f"{folder} is damaged: {what}; delete the folder, and the graph is made again")
