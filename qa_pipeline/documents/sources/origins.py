"""What the place of a batch says about its documents: where they came from, and under which licence.

What belongs here: the record, and choosing what is believed of a batch. What does not: reading the marks of
each kind (one module each). What a document or `batch.yaml` says of a document wins over all of it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from qa_pipeline.documents.description import BatchDescription
from qa_pipeline.documents.files import FoundFile
from qa_pipeline.documents.sources.data_sets import read_data_set
from qa_pipeline.documents.sources.git_checkouts import read_checkout
from qa_pipeline.documents.sources.places import BatchFiles
from qa_pipeline.documents.sources.web_mirrors import read_mirror
from qa_pipeline.errors import CorpusError


class Origin(Protocol):
    """One kind of mark that a batch bears."""

    def source_uri_of(self, file: FoundFile) -> str | None:
        """Where a file came from, as far as it is known."""
        ...

    @property
    def licence(self) -> str | None:
        """The licence of all documents of the batch."""
        ...


class Origins:
    """All marks of a batch; the first that says something is believed."""

    def __init__(self, marks: Iterable[Origin] = ()) -> None:
        self._marks = tuple(marks)

    def source_uri_of(self, file: FoundFile) -> str | None:
        """Where a file came from."""
        return next((said for mark in self._marks if (said := mark.source_uri_of(file))), None)

    @property
    def licence(self) -> str | None:
        """The licence of all documents."""
        return next((mark.licence for mark in self._marks if mark.licence), None)


def find_origins(files: BatchFiles, found: Sequence[FoundFile], description: BatchDescription) -> Origins:
    """The marks of a batch: all that it bears, or the one kind its description names.

    Raises:
        CorpusError: the description names a kind of which the batch bears no mark.
    """
    readers: dict[str, Callable[[], Origin | None]] = {
        "git": lambda: read_checkout(files),
        "dataset": lambda: read_data_set(files, found),
        "website": lambda: read_mirror(files.name, found, sure=description.kind == "website"),
    }
    if description.kind is None:
        return Origins(mark for read in readers.values() if (mark := read()) is not None)
    if description.kind == "folder":
        return Origins()
    mark = readers[description.kind]()
    if mark is None:
        raise CorpusError(
            f"{files.name}: batch.yaml says kind: {description.kind}, and {_MISSING[description.kind]}"
        )
    return Origins([mark])


_MISSING = {
    "git": "there is no .git folder with a commit and an origin that can be read",
    "dataset": "there is no README.md whose front matter names one license",
    "website": "no folder is named like a host, such as www.example.org",
}
