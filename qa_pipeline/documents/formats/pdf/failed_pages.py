"""Pages of a PDF that cannot be read, each with its reason; the other pages are read all the same.

What belongs here: catching what goes wrong on one page, and what the document's row says about it. What does
not: failures of the file as a whole (`parser`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.pdf.lines import Line, printed

_NAMED = 20
_OF_THE_PROCESS = (MemoryError, RecursionError)
"""Errors that say nothing about the page, and that whoever contains the parser must see."""


class FailedPages:
    """The pages of one document that failed, in the order in which they did.

    Attributes:
        errors: what was raised, by the number of the page.
    """

    def __init__(self, left_out: Omissions) -> None:
        """Count failed pages in `left_out`."""
        self.errors: dict[int, Exception] = {}
        self._left_out = left_out

    @contextmanager
    def guard(self, number: int, lines: Sequence[Line] = ()) -> Iterator[None]:
        """End the block without an error, whatever its page raises.

        Args:
            number: the page.
            lines: what was read of it so far, which is lost.
        """
        try:
            yield
        except _OF_THE_PROCESS:
            raise
        except Exception as error:  # noqa: BLE001 - a fault in reading one page must not cost the others
            self.errors[number] = error
            self._left_out.add("unreadable_page", " ".join(map(printed, lines)))

    def raise_first(self) -> None:
        """Raise what the first failed page raised, if any did: for documents of which nothing is left."""
        for error in self.errors.values():
            raise error

    def notes(self, pages: int) -> list[str]:
        """A sentence such as `2 of 9 pages could not be read: 3 (too_many_objects), 7 (damaged)`."""
        if not self.errors:
            return []
        named = [f"{number} ({_reason(self.errors[number])})" for number in sorted(self.errors)]
        more = ", …" if len(named) > _NAMED else ""
        return [f"{len(named)} of {pages} pages could not be read: {', '.join(named[:_NAMED])}{more}"]


def _reason(error: Exception) -> str:
    """A code; messages of exceptions may quote the document."""
    from pypdfium2 import PdfiumError

    if isinstance(error, DocumentFailure):
        return error.reason
    return "damaged" if isinstance(error, PdfiumError) else type(error).__name__
