"""Pages of PDF files are drawn in a process of their own, which a page may take down without the server."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from qa_pipeline.errors import InputError
from qa_pipeline.review.source import PageFiles, find_document
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.table_schema import DocumentRow
from qa_pipeline_tests.documents.builders import pdf_bytes
from qa_pipeline_tests.documents.sandbox import hostile_worker
from qa_pipeline_tests.review.test_source_view import Sources

pytestmark = pytest.mark.slow

HARM = {
    "crash": "the parser crashed its process: Segmentation fault",
    "endless": "page 2 takes longer than 5 seconds to draw",
    "greedy": "parsing takes more than documents.parse_memory",
    "false": "sent an unusable reply",
}
LIMITS = DocumentSettings(parse_seconds=20, parse_memory=800_000_000)
SHORT = LIMITS.model_copy(update={"parse_seconds": 5})


class Pages:
    """A document of two pages, the second of which asks for harm, and a worker that does it."""

    def __init__(self, folder: Path, harm: str, limits: DocumentSettings) -> None:
        self.sources = Sources(folder)
        self.identity = self.sources.read(pdf_bytes("The first page is harmless.", f"The other is {harm}."))
        self.files = PageFiles(self.sources.layout, limits, hostile_worker.COMMAND)

    @property
    def document(self) -> DocumentRow:
        return find_document(StoredTables(self.sources.layout), "b", self.identity)

    @property
    def process(self) -> int:
        (worker,) = self.files._pool.idle
        return worker.process.pid


Asks = Callable[..., Pages]


@pytest.fixture
def pages_that_ask_for(tmp_path: Path) -> Iterator[Asks]:
    made: list[Pages] = []

    def make(harm: str, limits: DocumentSettings = LIMITS) -> Pages:
        made.append(Pages(tmp_path, harm, limits))
        return made[-1]

    yield make
    for pages in made:
        pages.files.close()


@pytest.mark.parametrize("harm", HARM)
def test_a_page_that_does_harm_costs_that_page_only_and_says_why(pages_that_ask_for: Asks, harm: str) -> None:
    pages = pages_that_ask_for(harm, SHORT if harm == "endless" else LIMITS)
    assert pages.files.draw_page(pages.document, 1, None)
    with pytest.raises(InputError, match=rf"^a\.pdf: .*{HARM[harm]}"):
        pages.files.draw_page(pages.document, 2, None)
    assert pages.files.draw_page(pages.document, 1, (4, 9)).startswith(b"\x89PNG")


def test_a_process_is_kept_for_the_next_page_and_one_that_died_meanwhile_is_replaced(
    pages_that_ask_for: Asks,
) -> None:
    pages = pages_that_ask_for("harmless")
    pages.files.draw_page(pages.document, 1, None)
    first = pages.process
    pages.files.draw_page(pages.document, 2, None)
    assert pages.process == first
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert pages.files.draw_page(pages.document, 1, None)
    assert pages.process != first
